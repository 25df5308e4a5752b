"""Protocol: federated sliced inverse regression with a proof.

Public, fixed before data are seen: slice edges, clipping radius R, sizes n_k, T, all budgets.  Each client releases
its slice means and its second moment with Gaussian noise at the exact level; where there are many columns, it first
releases noisy contrasts between the slices of the signs of all columns (or noisy votes), and T of them stay.

Formal guarantee: (epsilon_certified, delta)-DP for replacing one record of a client, by exact Gaussian composition of
the client's releases; clients compose in parallel, so that their number does not enter.  Trust: local, each client
noises its own moments; or, where clients share noise, that no t + 1 of them join what they know (`noise_shares`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ....core.randomness import Rng, once
from ....federation.parties import Party
from ....federation.run import Run
from ....models.simulation.base import ReleasedSum
from ....privacy.mechanisms.release import Release
from ....privacy.statistics.isometry import to_vector
from ....privacy.statistics.whole import Whole
from ....privacy.strata import cell_of
from ..bounded import second_of_model, whole_second, whole_slices
from ..certified import (
    about_the_mean,
    covariance_of,
    read_second,
    read_slices,
    release_second,
    release_slices,
)
from ..estimate import noise_edge, values_of
from ..model import SlicingEstimate
from ..moments import SliceMoments
from ..options import SlicingCertifiedOptions
from ..slices import case_clip
from .budgets import CertifiedPlan, user_epsilon
from .common import (
    ClientTerms,
    local_facts,
    local_moments,
    merged_sd,
    noise_sd,
    participating_clients,
    server_basis,
    server_estimate,
    weighted_mean,
    with_facts,
)
from .dimension import estimate_order
from .intervals import ReleasedLaw, intervals_of, slices_sum
from .noise import Deviations, basis_errors
from .noise_shares import SharedNoise, agree_to_share, local_whole_slices, shared_release
from .screening import screen

# Of one release of both moments.
MomentsPlan = CertifiedPlan[SlicingCertifiedOptions]


@once
def local_release(
    client: Party, plan: MomentsPlan, columns: np.ndarray | None, rng_for: Rng
) -> tuple[Release, Release]:
    """Noisy slices (p + 1, H) and second moment (p, p): one release at an epsilon, however many others take part."""
    spec, budget, delta = plan.spec, plan.budget, plan.spec.settings.release_delta
    number = spec.public.number(client.name)
    moments = local_moments(client, plan.view, False, columns, True, rng_for)
    common: ClientTerms = {"owner": client.name, "stratum": cell_of("clients", client.name)}
    mean_terms = common | {"release_id": f"slice means of {client.name}"}
    terms = common | {"release_id": f"second moment of {client.name}"}
    means = release_slices(moments, budget["means"], delta, rng_for("client", number, "mean"), **mean_terms)
    rng = rng_for("client", number, "covariance")
    mirrored = spec.options.second == "mirrored"
    return means, release_second(moments, budget["second"], delta, rng, mirrored=mirrored, **terms)


def local_whole_second(client: Party, moments: SliceMoments, mirrored: bool) -> Whole:
    """Return a client's contribution to the second moment of all, which stays with it."""
    return whole_second(moments, mirrored=mirrored)


def server_fit(
    means: Sequence[np.ndarray | Release],
    seconds: Sequence[np.ndarray | Release],
    releases: tuple[Sequence[Release], Sequence[Release]],
    weights: Sequence[int],
    columns: np.ndarray | None,
    plan: MomentsPlan,
    clients: tuple[int, int],
) -> SlicingEstimate:
    """Slice means and second moment about the released mean, inverted; the noise sds are those of the last client."""
    spec = plan.spec
    tables = values_of(means)
    slices = weighted_mean(tables, weights)
    M, mean = about_the_mean(slices)
    second, aggregation = weighted_mean(values_of(seconds), weights), spec.options.aggregation
    covariance = covariance_of(second, mean)
    # Kernel and projector are made of every client's matrix, about its own mean.
    stack, shares = ([M], [1]) if aggregation == "mean" else (list(about_the_mean(tables)[0]), weights)
    sd = merged_sd(releases[0], weights)
    length = case_clip(spec.settings.radius).length(len(M))
    sds = Deviations(sd, sd / length, merged_sd(releases[1], weights))
    order = estimate_order(spec, slices, covariance, sds, sum(weights))
    d = order.directions(spec.public.n_directions)
    # Entries above the diagonal have less noise in the isometric vector, and as much in the mirrored triangle.
    least = noise_edge(sds.second * (math.sqrt(2) if spec.options.second == "mirrored" else 1.0), len(M))
    subspace = server_basis(stack, shares, covariance, d, aggregation=aggregation, least=least)
    errors = None
    if spec.options.has_law and np.all(np.isfinite(subspace.basis)):
        errors = basis_errors(slices, covariance, mean, d, sds)
    intervals, loss_bound = intervals_of(
        spec, released_law(spec.settings.radius, slices, second, sds, sum(weights)), subspace.basis
    )
    return server_estimate(
        subspace,
        spec,
        errors=errors,
        intervals=intervals,
        loss_bound=loss_bound,
        sds=sds,
        order=order,
        records=sum(weights),
        epsilon_claimed=plan.epsilon_claimed,
        epsilon=plan.epsilon,
        clients=clients[0],
        columns=columns,
        skipped_clients=clients[0] - clients[1],
        sd_means=noise_sd(releases[0]),
        sd_second=noise_sd(releases[1]),
        epsilon_user=user_epsilon(plan),
    )


def released_law(radius: float, slices: np.ndarray, second: np.ndarray, sds: Deviations, n: int) -> ReleasedLaw:
    """Return what was released of n records as intervals need it: slices (p + 1, H) and second moment (p, p)."""
    clip = case_clip(radius)
    vector = to_vector(second)
    sums = [
        slices_sum(slices, sds, clip, n),
        ReleasedSum(vector, np.full(len(vector), sds.second**2), lambda sample: second_of_model(sample, clip), n),
    ]
    return ReleasedLaw(sums, lambda sample: np.abs(sample.columns) > clip.size, slices[-1], slices[:-1], second)


def shared_moments(
    run: Run, shared: SharedNoise[SlicingCertifiedOptions], clients: Sequence[Party], columns: np.ndarray | None
) -> tuple[Release, Release]:
    """Noisy slices and second moment of all records, as releases at the server."""
    plan = shared.plan
    mirrored = plan.spec.options.second == "mirrored"
    pooled = shared.moments(plan.n_kept, case_clip(plan.spec.settings.radius))
    slices, second = whole_slices(pooled), whole_second(pooled, mirrored=mirrored)
    moments = run.each(clients, local_moments, plan.view, False, columns, True, run.rng_for)
    statistics = run.each(clients, local_whole_slices, moments)
    means = shared_release(run, shared, "slice means", statistics, slices, shared.mu("means"))
    means = run.at("server", read_slices, means, slices, pooled)
    statistics = run.each(clients, local_whole_second, moments, mirrored)
    release = shared_release(run, shared, "second moment", statistics, second, shared.mu("second"))
    return means, run.at("server", read_second, release, mirrored, pooled.p)


def fit(run: Run) -> SlicingEstimate:
    """Screening (many columns only), one release of moments by each client, or by all of them, aggregation."""
    clients, weights = participating_clients(run)
    plan: MomentsPlan
    plan, counted = CertifiedPlan.of(run.spec, run.epsilon, len(clients)), (len(run.parties), len(clients))
    shared = agree_to_share(run, clients, weights, plan) if run.spec.options.shares_noise else None
    columns = screen(run, clients, weights, plan, shared)
    means: Sequence[Release]
    seconds: Sequence[Release]
    counts = weights
    if shared is not None:
        slices, second = shared_moments(run, shared, clients, columns)
        means, seconds, counts = (slices,), (second,), [shared.records]
        releases = means, seconds
    else:
        names = ("slice means", "second moment")
        means, seconds = run.gather(clients, "server", names, local_release, plan, columns, run.rng_for)
        releases = run.received("server", names[0]), run.received("server", names[1])
    estimate = run.at("server", server_fit, means, seconds, releases, counts, columns, plan, counted)
    facts = run.each(clients, local_facts, plan.view, False, columns, True, run.rng_for)
    return run.assemble(with_facts, estimate, facts, weights)
