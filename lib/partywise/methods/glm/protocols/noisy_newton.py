"""Protocol: Newton steps from noisy scores, along a noisy matrix of second moments (trust model ``central``).

The corrected, private form of the joint fit where an aggregator may be trusted: it releases the mean of v v',
v = (c, z), c about S / sqrt(p), once (``share`` of the squared budget) and T mean scores, each at coefficients that all
can compute from earlier releases.  A step follows w (M + rho I)^-1, w the family's public mean weight, rho = sigma
sqrt(p / 2).  Messages: `partywise.methods.glm.protocols.central`, and once

second moments                           aggregator, analyst          Release, central        8 ((p + 1)(p + 2) / 2 - 1)
clipped records                          every party, analyst         Release, local          16
clipped responses                        active, analyst              Release, local          8, unless binomial

Of Gaussian and inverse Gaussian responses the default answers the mean of the iterates from half of the steps on:
their noise is independent where they have arrived, and a step too far is taken back by half.  Others are still on
their way after two steps, and their last iterate is answered.  Clipped scores of skewed responses are biased, which no
epsilon removes; the cell epsilon = inf shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....alignment.rows import common_rows
from ....federation.exchanges.secure_sum import AGGREGATOR, sums_of_shares
from ....federation.roles import ANALYST
from ....federation.run import Run
from ....models.intervals import NOT_ASKED_FOR, Intervals
from ....privacy.ledger.event import Event
from ....privacy.mechanisms.integer import IntegerGaussian
from ....privacy.mechanisms.release import Release, Terms, noise_scale
from ..model import GlmEstimate
from ..noisy_statistics.clip_counts import CountPlan, NoisyCounts, with_counts
from ..noisy_statistics.intervals import RecordLaw, intervals_of_scores
from ..noisy_statistics.moments import MomentScale
from ..noisy_statistics.scaling import constant, record_scale
from ..noisy_statistics.scores import (
    Matrix,
    NoisyScores,
    constant_entry,
    mean_weight,
    moments_certificate,
    second_moments,
    whole_moments,
)
from ..options import NoisyNewtonOptions
from .central import (
    CentralPlan,
    Trail,
    announced_noise,
    announced_scores,
    assemble,
    check_private,
    make_plan,
    only,
    records,
    records_in,
    released_score,
    return_coefficients,
    server_estimate,
    server_started,
)
from .scoring import released_counts

LARGE = 20_000
SECOND = "second moments"


def steps_of(options: NoisyNewtonOptions, family: str, n: int) -> int:
    """Number of scores: of the options, or 4 (Gaussian), 8 (at least 20,000 records), 2."""
    if options.steps is not None:
        return options.steps
    return 4 if family == "gaussian" else 8 if n >= LARGE else 2


def announced_second(plan: CentralPlan[NoisyNewtonOptions]) -> Event:
    """Return the cost of the second moments for every party."""
    certificate = moments_certificate(plan.radius, plan.p, plan.n)
    return announced_noise(certificate, plan.mu[0], SECOND, plan.radius.parents)


def noisy_second(
    blocks: Sequence[np.ndarray],
    response: Sequence[np.ndarray],
    plan: CentralPlan[NoisyNewtonOptions],
    rng_for: Callable,
) -> tuple[Release, ...]:
    """The second moments with their noise: computed inside the aggregation."""
    moments = second_moments(records(blocks, plan.party_columns), plan.radius)
    rng = rng_for(SECOND, AGGREGATOR)
    terms: Terms = {"release_id": SECOND, "trust_model": "central", "knows": (AGGREGATOR,)}
    return (IntegerGaussian(mu=plan.mu[0])(moments, rng, **terms),)


def server_matrix(released: Sequence[Sequence[np.ndarray]], plan: CentralPlan[NoisyNewtonOptions]) -> Matrix:
    """The matrix of all steps; the sd of its noise is public."""
    sigma = noise_scale(moments_certificate(plan.radius, plan.p, plan.n).value, plan.mu[0])
    constant = constant_entry(plan.radius, plan.p, plan.n)
    return Matrix.of(only(released), constant, sigma, mean_weight(plan.public), plan.p)


def server_step(trail: Trail, released: Sequence[Sequence[np.ndarray]], matrix: Matrix) -> Trail:
    """Return the trail with the coefficients of one more Newton step."""
    return (*trail, trail[-1] + matrix.step(only(released)))


def server_scores(
    matrix: Matrix,
    second: Sequence[Sequence[np.ndarray]],
    scores: Sequence[Sequence[Sequence[np.ndarray]]],
    trail: Trail,
    scale: MomentScale,
    plan: CentralPlan[NoisyNewtonOptions],
) -> NoisyScores:
    """All that was released, except counts."""
    public, moments = plan.public, only(second)
    return NoisyScores(
        (moments, *map(only, scores)),
        (announced_second(plan), *announced_scores(plan, plan.mu[1 : 1 + len(scores)])),
        (whole_moments(np.zeros(len(moments)), plan.radius, plan.p, plan.n).units, *[plan.score.units] * len(scores)),
        np.array(trail[:-1]),
        plan.clip,
        matrix.constant,
        plan.n,
        scale,
        constant(public, "location"),
        constant(public, "scale"),
    )


def server_intervals(
    noisy: NoisyScores,
    matrix: Matrix,
    trail: Trail,
    counts: NoisyCounts | None,
    plan: CentralPlan[NoisyNewtonOptions],
    delta: float,
) -> Intervals:
    """Return intervals of the coefficients, from all that was released at a delta."""
    if plan.options.intervals == "none":
        return NOT_ASKED_FOR
    law = RecordLaw(noisy.public, noisy.location, noisy.scale, plan.public.family, plan.public.names, delta)
    return intervals_of_scores(noisy, matrix, trail[-1], counts, law)


def fit(run: Run) -> GlmEstimate:
    """Release the second moments, then a score at every iterate; the coefficients go back to their parties."""
    check_private(run)
    rows, n = common_rows(run)
    options = run.spec.options
    steps = steps_of(options, run.spec.public.family, n)
    shares = options.share, *((1 - options.share) / steps,) * steps
    plan: CentralPlan[NoisyNewtonOptions]
    plan = make_plan(run, n, with_counts(shares, options.count_clipped, run.spec.public, run.parties))
    run.charge(run.parties, announced_second(plan), *announced_scores(plan, plan.mu[1 : 1 + steps]))
    columns = records_in(run, rows)
    second = sums_of_shares(run, columns, ANALYST, (SECOND,), noisy_second, plan, run.rng_for)
    matrix = run.at(ANALYST, server_matrix, second, plan)
    trail, names, scores, clipped = run.at(ANALYST, server_started, plan), [SECOND], [], []
    for step in range(steps):
        score, share = released_score(run, columns, plan, trail, step, plan.mu[1 + step], tuple(names))
        scores.append(score)
        clipped.append(share)
        trail = run.at(ANALYST, server_step, trail, score, matrix)
        names.append(f"score {step}")
    answer, parts = return_coefficients(run, plan, trail, names)
    counts = released_counts(run, rows, CountPlan.of(run, n, plan.mu[1 + steps :]), (ANALYST,))
    scale = record_scale(plan.public, run.parties)
    delta = run.spec.study.delta
    noisy = run.at(ANALYST, server_scores, matrix, second, scores, trail, scale, plan)
    intervals = run.at(ANALYST, server_intervals, noisy, matrix, trail, counts, plan, delta)
    estimate = run.at(ANALYST, server_estimate, answer, plan, steps, counts, intervals, noisy)
    return assemble(run, plan, estimate, parts, rows, clipped)
