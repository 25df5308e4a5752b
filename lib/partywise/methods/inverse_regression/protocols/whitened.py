"""Protocol: the certified method in two rounds; the released second moment whitens the records of the second round.

Where there are many columns, they are screened first, as in ``certified``.  In round 2 the noise of the slice means is
independent in the whitened space, so that in x-space its covariance is proportional to the released second moment:
noise shaped by an already private output.  The second moment is that of records clipped to a ball, which keeps
their directions; public numbers choose its radius, the larger the less noise there is (`reach_of`).

Formal guarantee: as in ``certified``; the adaptive choice of the whitening matrix is a function of releases that are
charged.  Whether noise left a second moment that whitens nothing decides the content of the messages, not their number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ....core.randomness import Rng
from ....federation.parties import Party
from ....federation.places import per_place
from ....federation.run import Run
from ....models.intervals import Intervals, reason_of
from ....models.simulation.base import ReleasedSum, Sample
from ....privacy.accounted_values import AccountedValue, Clear, Public
from ....privacy.mechanisms.release import Release, derive
from ....privacy.statistics.clips import BallClip
from ....privacy.statistics.isometry import to_vector
from ....privacy.strata import cell_of
from ..bounded import MEAN_SHARE, second_and_mean_of_model
from ..certified import (
    covariance_of,
    release_second_and_mean,
    release_slices,
    unwhiten,
)
from ..estimate import inverse_root, values_of
from ..model import SlicingEstimate
from ..moments import SliceMoments
from .budgets import CertifiedPlan, user_epsilon
from .common import (
    ClientFacts,
    failed_subspace,
    local_facts,
    merged_sd,
    noise_sd,
    participating_clients,
    server_estimate,
    weighted_mean,
    with_facts,
)
from .dimension import NOT_ESTIMATED, estimate_order
from .intervals import ReleasedLaw, intervals_of, slices_sum
from .noise import Deviations, basis_errors
from .noise_shares import agree_to_share
from .screening import screen
from .whitening import (
    MERGED,
    WhitenedPlan,
    ball_of,
    least_eigenvalue,
    local_clipped_moments,
    local_whitened_moments,
    public_radius,
    second_clip,
    server_covariance,
    shared_second,
    shared_whitened,
    whitens,
)


def local_second(
    client: Party,
    plan: WhitenedPlan,
    columns: np.ndarray | None,
    counted: tuple[int, float],
    rng_for: Rng,
) -> Release:
    """Round 1: noisy second moment of clipped records and, as last row, their mean: (p + 1, p)."""
    spec = plan.spec
    return release_second_and_mean(
        local_clipped_moments(client, plan, columns, counted, rng_for),
        plan.budget["second"],
        spec.settings.release_delta,
        rng_for("client", spec.public.number(client.name), "covariance"),
        owner=client.name,
        stratum=cell_of("clients", client.name),
        release_id=f"second moment of {client.name}",
    )


def local_whitened(
    client: Party,
    plan: WhitenedPlan,
    moments: SliceMoments | None,
    releases: Sequence[Release],
    rng_for: Rng,
) -> Release:
    """Noisy slices (p + 1, H) of whitened records, and the share that shrank; no value without positive eigenvalues."""
    spec = plan.spec
    if moments is None:
        return replace(releases[-1], value=None)
    return release_slices(
        moments,
        plan.budget["means"],
        spec.settings.release_delta,
        rng_for("client", spec.public.number(client.name), "mean"),
        owner=client.name,
        stratum=cell_of("clients", client.name),
        release_id=f"whitened slice means of {client.name}",
    )


def server_merge(
    seconds: Sequence[np.ndarray | Release], weights: Sequence[int], releases: Sequence[Release]
) -> Release | Public | Clear:
    """Weighted mean (p + 1, p) of the released second moments and means."""
    mean = np.tensordot(np.asarray(weights) / sum(weights), values_of(seconds), 1)
    return derive(mean, releases, name=MERGED, owner="server")


def server_fit(
    answer: AccountedValue,
    means: Sequence[np.ndarray | Release | None],
    releases: Sequence[Sequence[Release]],
    weights: Sequence[int],
    columns: np.ndarray | None,
    plan: WhitenedPlan,
    clients: tuple[int, int],
) -> SlicingEstimate:
    """Back to x-space; the noise sds are those of the last client."""
    counted = sum(weights), plan.variance(clients[1])
    spec, d, covariance = plan.spec, plan.spec.public.n_directions, server_covariance(answer.value)
    subspace, errors, sd_means, order = failed_subspace(len(covariance), d), None, None, NOT_ESTIMATED
    intervals, loss_bound = Intervals(reason=reason_of("not estimable")), None
    if whitens(covariance):
        tables = values_of(means)
        sds, merged = deviations(plan, releases, weights, counted), weighted_mean(tables, weights)
        least = least_eigenvalue(plan, counted)
        order = estimate_order(spec, merged, covariance, sds, counted[0], least)
        d = order.directions(d)
        subspace = unwhiten(tables, weights, covariance, d, least)
        sd_means = noise_sd(releases[1])
        errors = basis_errors(merged, covariance, answer.value[-1], d, sds)
        law = released_law(plan, counted, answer.value, merged, sds)
        intervals, loss_bound = intervals_of(spec, law, subspace.basis)
    return server_estimate(
        subspace,
        spec,
        epsilon_claimed=plan.epsilon_claimed,
        epsilon=plan.epsilon,
        clients=clients[0],
        columns=columns,
        errors=errors,
        intervals=intervals,
        loss_bound=loss_bound,
        order=order,
        records=sum(weights),
        skipped_clients=clients[0] - clients[1],
        epsilon_user=user_epsilon(plan),
        sd_means=sd_means,
        sd_second=noise_sd(releases[0]),
        clip_radius=public_radius(plan, plan.n_kept, counted),
    )


def released_law(
    plan: WhitenedPlan, counted: tuple[int, float], second_and_mean: np.ndarray, slices: np.ndarray, sds: Deviations
) -> ReleasedLaw:
    """Return what was released as intervals need it, the matrix that whitens held fixed at its released value.

    second_and_mean : (p + 1, p) of round 1; slices : (p + 1, H) of round 2
    """
    n, clip, ball = counted[0], second_clip(plan, counted), BallClip(ball_of(plan))
    second, mean = second_and_mean[:-1], second_and_mean[-1]
    root = inverse_root(covariance_of(second, mean), least_eigenvalue(plan, counted))[0]
    vector = np.append(to_vector(second), mean)
    assert sds.mean is not None
    variances = np.repeat([sds.second**2, sds.mean**2], [len(vector) - len(mean), len(mean)])

    def whitened(columns: np.ndarray) -> np.ndarray:
        return (columns - mean) @ root

    def beyond(sample: Sample) -> np.ndarray:
        entries = np.abs(sample.columns) > clip.size
        if isinstance(clip, BallClip):
            entries = np.linalg.norm(sample.columns, axis=1, keepdims=True) > clip.size
        return np.hstack([entries, np.linalg.norm(whitened(sample.columns), axis=1, keepdims=True) > ball.size])

    sums = [
        ReleasedSum(vector, variances, lambda sample: second_and_mean_of_model(sample, clip), n),
        slices_sum(slices, sds, ball, n, whitened),
    ]
    shares = slices[-1]
    sums_of_columns = np.linalg.solve(root, slices[:-1]) + np.outer(mean, shares)
    return ReleasedLaw(sums, beyond, shares, sums_of_columns, second, is_whitened=True)


def deviations(
    plan: WhitenedPlan,
    releases: Sequence[Sequence[Release]],
    weights: Sequence[int],
    counted: tuple[int, float],
) -> Deviations:
    """Noise of what was merged; the mean next to the second moment is released times sqrt(2) c."""
    length = second_clip(plan, counted).length(plan.n_kept)
    means, second = merged_sd(releases[1], weights), merged_sd(releases[0], weights)
    return Deviations(means, means / plan.spec.options.ball, second, second / math.sqrt(2 * MEAN_SHARE) / length)


def with_shrunk(
    estimate: SlicingEstimate,
    whitened: Mapping[str, SliceMoments | None],
    facts: Mapping[str, ClientFacts],
    weights: Sequence[int],
) -> SlicingEstimate:
    """The estimate, with what the clients' records give and the share of them that shrank, which stay with them."""
    estimate = with_facts(estimate, facts, weights)
    shrunk = [moments.clip_share for moments in whitened.values() if moments is not None]
    if not shrunk:
        return estimate
    return replace(estimate, numbers=estimate.numbers | {"shrunk": float(np.mean(shrunk))})


def fit(run: Run) -> SlicingEstimate:
    """Screening (many columns only), second moments, whitened slice means."""
    clients, weights = participating_clients(run)
    plan: WhitenedPlan
    plan, n = CertifiedPlan.of(run.spec, run.epsilon, len(clients)), (len(run.parties), len(clients))
    counted = sum(weights), plan.variance(len(clients))
    shared = agree_to_share(run, clients, weights, plan) if run.spec.options.shares_noise else None
    columns = screen(run, clients, weights, plan, shared)
    if shared is not None:
        second = shared_second(run, shared, clients, columns, counted)
        answer = run.at("server", server_merge, [second], [1], [second])
        released, whitened = shared_whitened(run, shared, clients, columns, counted, answer)
        values = [released], ([second], [released]), [shared.records]
    else:
        # 1. second moments, merged
        seconds = run.gather(clients, "server", "second moment", local_second, plan, columns, counted, run.rng_for)
        answer = run.at("server", server_merge, seconds, weights, run.received("server", "second moment"))

        # 2. one client after the other gets the merged matrix, whitens with it and releases its slice means
        means, moments = [], {}
        for client in clients:
            merged = run.send("server", client, MERGED, answer)
            releases = run.received(client, MERGED)
            inputs = plan, columns, counted, merged, releases, run.rng_for
            moments[client.name] = run.at(client, local_whitened_moments, *inputs)
            drawn = plan, moments[client.name], releases, run.rng_for
            means.append(run.send(client, "server", "whitened slice means", local_whitened, *drawn))
        whitened = per_place(moments)
        releases = tuple(run.received("server", name) for name in ("second moment", "whitened slice means"))
        values = means, releases, weights

    # 3. back to x-space
    estimate = run.at("server", server_fit, answer, *values, columns, plan, n)
    clipped = True if plan.spec.options.clip == "box" else None
    facts = run.each(clients, local_facts, plan.view, False, columns, clipped, run.rng_for)
    return run.assemble(with_shrunk, estimate, whitened, facts, weights)
