"""Common parts of noisy Newton and gradient steps: an assumed aggregator sees records and releases noisy sums.

Message                                  from, to                     payload, bytes
scaled columns, response, in shares      every party, aggregator      Cipher, key: no single party       8 n p_k; 8 n
coefficients of the next score           analyst, aggregator          Public (post-processing)           8 (p + 1)
mean score                               aggregator, analyst          Release, central                   8 (p + 1)
coefficients of its columns              analyst, every party         Public (post-processing)           8 p_k, 8 more
                                                                                                         if active

The aggregator is an assumption (`partywise.federation.exchanges.secure_sum`): it sees records, and a party that
colludes with it sees them too.  Releases are published: every party and the analyst can compute each iterate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Generic, TypeVar

import numpy as np

from ....core.randomness import Rng
from ....federation.cipher import Cipher
from ....federation.exchanges.secure_sum import AGGREGATOR, assumed_releases, shared_once
from ....federation.parties import Party
from ....federation.places import PerPlace
from ....federation.roles import ANALYST, records_together, roles
from ....federation.run import Run
from ....models.intervals import NOT_COMPUTED, Intervals
from ....privacy.accounted_values import AccountedValue, Public, parents_of
from ....privacy.ledger.event import Event
from ....privacy.mechanisms.integer import MECHANISM, IntegerGaussian
from ....privacy.mechanisms.release import Release, announcement
from ....privacy.statistics.bounded import SensitivityCertificate
from ....privacy.statistics.whole import Whole
from ..model import GlmEstimate, GlmFacts
from ..noisy_statistics.clip_counts import NoisyCounts
from ..noisy_statistics.scaling import (
    check_columns,
    check_eta_start,
    check_statistic,
    constant,
    facts_of,
    local_clipped,
    local_response,
    local_scaled_block,
    split_budget,
    total_radius,
    unscale_coefficients,
)
from ..noisy_statistics.scores import NoisyScores, ScoreClip, clip_of, mean_score, whole_score
from ..options import GlmNoisyGradientOptions, NoisyNewtonOptions
from .scoring import held_parts, with_records

ScoreOptions = NoisyNewtonOptions | GlmNoisyGradientOptions
Options = TypeVar("Options", bound=ScoreOptions, covariant=True)
# A step leaves (I - A^-1 H) of earlier noise, H the curvature of the records' clipped scores at its iterate.
CURVATURE = (
    "earlier noise fades with the curvature of the records' clipped scores at each iterate, which is not released; "
    "protocol 'moments' states its noise"
)
AFTER = "a function of releases and of public constants"
# Families of which the mean of later iterates was better at every epsilon on every table tried.
AVERAGED = ("gaussian", "inverse_gaussian")
# Iterates (1 + p,) of scaled columns, the public start first.
Trail = tuple[np.ndarray, ...]
Shares = Sequence[tuple[Cipher, ...]]


@dataclass(frozen=True)
class CentralPlan(Generic[Options]):
    """Public facts of a run before its fit.

    radius : S of a record; clip : of scores; shares : of the squared budget, one for each release
    mu : Gaussian-DP parameters of the releases; party_columns : columns of each party
    """

    public: GlmFacts
    options: Options
    epsilon: float
    n: int
    radius: AccountedValue
    clip: ScoreClip
    mu: tuple[float, ...]
    party_columns: tuple[tuple[int, ...], ...]

    @property
    def p(self) -> int:
        """Number of columns of all parties."""
        return len(self.public.names)

    @property
    def score(self) -> Whole:
        """Public facts of a mean score before it is computed."""
        return whole_score(np.zeros(1 + self.p), self.clip, self.n)

    @property
    def start(self) -> np.ndarray:
        """(1 + p,) the public start: no slope."""
        return np.concatenate([[float(constant(self.public, "eta_start"))], np.zeros(self.p)])


def check_private(run: Run) -> None:
    """Everything that a private fit takes for public is there; ValueError or TypeError before anything is sent."""
    public = facts_of(run)
    roles(run.parties)
    check_columns(public, run.parties)
    check_eta_start(public)
    if public.family == "gaussian" or public.statistic is not None:
        check_statistic(public)


def make_plan(run: Run, n: int, shares: Sequence[float]) -> CentralPlan[Options]:
    """The plan of a run with one release for each share of its squared budget."""
    options, public = run.spec.options, facts_of(run)
    radius = total_radius(public, run.parties)
    return CentralPlan(
        public=public,
        options=options,
        epsilon=run.epsilon,
        n=n,
        radius=radius,
        clip=clip_of(options.clip, options.bound, public, radius),
        mu=split_budget(run.epsilon, run.spec.study.delta, shares, records_together(run.spec)),
        party_columns=tuple(party.columns for party in run.parties),
    )


def announced_scores(plan: CentralPlan[ScoreOptions], mus: Sequence[float]) -> tuple[Event, ...]:
    """Return the cost of the mean scores of all steps; the columns leave every party once, for all of them."""
    certificate = plan.score.certificate
    parents = parents_of(plan.clip.radius, plan.public.eta_start)
    return tuple(announced_noise(certificate, mu, f"score {step}", parents) for step, mu in enumerate(mus))


def announced_noise(certificate: SensitivityCertificate, mu: float, name: str, parents: tuple[str, ...]) -> Event:
    """Return the cost, for every party, of one sum with the aggregator's noise."""
    trust, knows = "central", (AGGREGATOR,)
    return announcement(certificate, {"mu": float(mu)}, MECHANISM, name, parents, trust_model=trust, knows=knows)


def records(blocks: Sequence[np.ndarray], party_columns: Sequence[Sequence[int]]) -> np.ndarray:
    """(n, p) scaled columns of all parties in the order of their global numbers."""
    order = np.concatenate([np.asarray(columns, dtype=int) for columns in party_columns])
    return np.concatenate(blocks, axis=1)[:, np.argsort(order)]


def noisy_score(
    blocks: Sequence[np.ndarray],
    response: Sequence[np.ndarray],
    beta: np.ndarray,
    parts: Sequence[AccountedValue],
    plan: CentralPlan[ScoreOptions],
    mu: float,
    step: int,
    rng_for: Rng,
) -> tuple[tuple[Release, ...], float]:
    """One mean score with its noise, and the share of scores that were clipped, which stays inside the aggregation.

    parts : what brought the coefficients
    """
    at = Public(beta, because=AFTER, made_of=parts)
    score = mean_score(records(blocks, plan.party_columns), response[0], at, plan.clip, plan.public)
    release = IntegerGaussian(mu=mu)(
        score,
        rng_for("score", AGGREGATOR, step),
        release_id=f"score {step}",
        trust_model="central",
        knows=(AGGREGATOR,),
    )
    return (release,), score.clip_share


def drawn_releases(drawn: tuple[tuple[Release, ...], float]) -> tuple[Release, ...]:
    """Return the releases, which leave the aggregator."""
    return drawn[0]


def clipped_scores(drawn: tuple[tuple[Release, ...], float]) -> float:
    """Return the share of scores that were clipped, which stays at the aggregator."""
    return drawn[1]


def only(released: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """The one value of the one functionality."""
    ((value,),) = released
    return value


def server_coefficients(trail: Trail, made_of: Sequence[AccountedValue]) -> Public:
    """The last iterate, for the aggregator."""
    return Public(trail[-1], because=AFTER, made_of=made_of)


def server_started(plan: CentralPlan[ScoreOptions]) -> Trail:
    """Trail that holds the public start alone."""
    return (plan.start,)


def server_answer(trail: Trail, plan: CentralPlan[ScoreOptions]) -> np.ndarray:
    """Coefficients (1 + p,) of the columns as they were given: the last iterate, or the mean of the later half."""
    return unscale_coefficients(np.mean([trail[place] for place in kept_of(plan, len(trail) - 1)], axis=0), plan.public)


def kept_of(plan: CentralPlan[ScoreOptions], steps: int) -> range:
    """Places in a trail of the iterates whose mean is answered."""
    iterate = plan.options.iterate or ("mean" if plan.public.family in AVERAGED else "last")
    return range(steps if iterate == "last" else max(ceil(steps / 2), 1), steps + 1)


def server_back(answer: np.ndarray, made_of: Sequence[AccountedValue], columns: Sequence[int], active: bool) -> Public:
    """Coefficients of a party's own columns, the active one's after the intercept."""
    slopes = answer[1 + np.asarray(columns, dtype=int)]
    return Public(np.concatenate([answer[:1], slopes]) if active else slopes, because=AFTER, made_of=made_of)


def server_estimate(
    answer: np.ndarray,
    plan: CentralPlan[ScoreOptions],
    steps: int,
    counts: NoisyCounts | None = None,
    intervals: Intervals = NOT_COMPUTED,
    scores: NoisyScores | None = None,
) -> GlmEstimate:
    """The estimate; only the aggregator sees a record, and nothing is opened."""
    return GlmEstimate(
        answer,
        epsilon_claimed=plan.epsilon,
        noise_errors_reason=CURVATURE if np.isfinite(plan.epsilon) else "",
        intervals=intervals,
        iterations=steps,
        scores=scores,
        clip_counts=counts,
        numbers={"openings": 0, "record_openings": 0, "secure_products": 0},
    )


def local_ready(party: Party, values: np.ndarray) -> np.ndarray:
    """Values that the party has looked at."""
    return values


def records_in(run: Run, rows: PerPlace[np.ndarray]) -> Shares:
    """Records at the aggregator, closed to all others."""
    active, _ = roles(run.parties)
    public = facts_of(run)
    # All are looked at before the first is sent.
    blocks = run.each(run.parties, local_scaled_block, rows, public)
    response = run.at(active, local_response, rows, public)
    columns = run.parties, "scaled columns in shares", local_ready, (blocks,)
    return shared_once(run, (columns, ((active,), "response in shares", local_ready, (response,))))


def released_score(
    run: Run,
    shares: Shares,
    plan: CentralPlan[ScoreOptions],
    trail: Trail,
    step: int,
    mu: float,
    earlier: tuple[str, ...],
) -> tuple[Sequence[Sequence[np.ndarray]], float]:
    """A noisy mean score at the analyst (see `only`), at the last iterate, and at the aggregator what was clipped.

    earlier : releases that the iterate is made of
    """
    beta, parts = plan.start, (plan.public.eta_start,)
    if step:
        made_of = run.received(ANALYST, *earlier)
        beta = run.send(ANALYST, AGGREGATOR, f"coefficients {step}", server_coefficients, trail, made_of)
        parts = run.received(AGGREGATOR, f"coefficients {step}")
    inputs = beta, parts, plan, mu, step, run.rng_for
    drawn = run.at(AGGREGATOR, assumed_releases, noisy_score, shares, *inputs)
    names = (f"score {step}",)
    score = run.gather((AGGREGATOR,), ANALYST, lambda _: names, drawn_releases, drawn)
    return score, run.at(AGGREGATOR, clipped_scores, drawn)


def return_coefficients(
    run: Run,
    plan: CentralPlan[ScoreOptions],
    trail: Trail,
    names: Sequence[str],
) -> tuple[np.ndarray, PerPlace[GlmEstimate]]:
    """Return the coefficients, and the parts of the parties, to which they go back.

    They cost nothing beyond the releases of these names.
    """
    answer = run.at(ANALYST, server_answer, trail, plan)
    made_of = run.received(ANALYST, *names)
    sent = {
        p.name: run.send(ANALYST, p, "coefficients", server_back, answer, made_of, p.columns, p.role == "active")
        for p in run.parties
    }
    return answer, held_parts(run, sent)


def assemble(
    run: Run,
    plan: CentralPlan[ScoreOptions],
    estimate: GlmEstimate,
    parts: PerPlace[GlmEstimate],
    rows: PerPlace[np.ndarray],
    shares: Sequence[float],
) -> GlmEstimate:
    """Return the estimate with its parts and what was clipped; ``shares``: of scores, by step, at the aggregator."""
    positions = None if plan.public.aligned else rows
    clipped = run.each(run.parties, local_clipped, rows, plan.public)
    return run.assemble(with_records, estimate, positions, clipped, shares, parts=parts)
