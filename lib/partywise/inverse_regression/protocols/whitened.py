"""Protocol: the certified method in two rounds; the released second moment whitens the records of the second round.

Where there are many columns, they are screened first, as in ``certified``.  In round 2 the noise of the slice means is
independent in the whitened space, so that in x-space its covariance is proportional to the released second moment:
noise shaped by an already private output.  The second moment is that of records clipped to a ball, which keeps
their directions; public numbers choose its radius, the larger the less noise there is (`reach_of`).

Formal guarantee: as in ``certified``; the adaptive choice of the whitening matrix is a function of releases that are
charged.  Whether noise left a second moment that whitens nothing decides what the messages say, not which there are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.accounted_values import AccountedValue, Clear, Public
from ...privacy.accounting.calibration import gdp_mu
from ...privacy.mechanisms.release import Release, derive
from ...privacy.statistics.clips import BallClip, WholeClip
from ...privacy.strata import cell_of
from ...randomness import Rng
from ..bounded import MEAN_SHARE
from ..certified import covariance_of, reach_of, release_second_and_mean, release_slices, unwhiten
from ..estimate import inverse_root
from ..model import Estimate
from ..moments import client_moments, whitened_means
from ..slices import case_clip
from .budgets import CertifiedPlan, user_epsilon
from .common import (
    failed_subspace,
    local_clip_share,
    local_records,
    merged_sd,
    noise_sd,
    participating_clients,
    server_estimate,
    weighted_mean,
    with_clip_share,
)
from .noise import Deviations, basis_errors
from .screening import screen


def public_radius(plan: CertifiedPlan, p: int, counted: tuple[int, int]) -> float | None:
    """Radius of the ball behind the second moment, from public numbers; None where entries are clipped instead.

    counted : records of all clients together, and clients
    """
    options, settings = plan.spec.options, plan.spec.settings
    if options.clip == "box":
        return None
    mu = float(gdp_mu(plan.budget["second"], settings.release_delta))
    reach = options.reach or reach_of(p, *counted, mu)
    return reach * settings.radius * math.sqrt(p)


def local_second(
    client: Party, plan: CertifiedPlan, columns: np.ndarray | None, counted: tuple[int, int], rng_for: Rng
) -> Release:
    """Round 1: noisy second moment of clipped records and, as last row, their mean: (p + 1, p)."""
    spec, view = plan.spec, plan.view
    radius = public_radius(plan, spec.public.n_columns if columns is None else len(columns), counted)
    clip: WholeClip = case_clip(spec.settings.radius)
    if radius is not None:
        clip = BallClip(Public(radius, because="by public numbers: columns, sizes and the budget"))
    X, y = local_records(client, view, rng_for).records(columns)
    moments = client_moments(X, y, spec.public.public_slices, clip=clip, bits=spec.public.bits)
    return release_second_and_mean(
        moments,
        plan.budget["second"],
        spec.settings.release_delta,
        rng_for("client", spec.public.number(client.name), "covariance"),
        owner=client.name,
        stratum=cell_of("clients", client.name),
        release_id=f"second moment of {client.name}",
    )


def local_whitened(
    client: Party,
    plan: CertifiedPlan,
    columns: np.ndarray | None,
    merged_moments: np.ndarray,
    releases: Sequence[Release],
    rng_for: Rng,
) -> tuple[Release, float]:
    """Round 2: noisy slices (p + 1, H) of whitened records, and the share of records that shrank.

    Nothing, where the merged covariance has no positive eigenvalue.
    """
    spec, covariance = plan.spec, server_covariance(merged_moments)
    if not whitens(covariance):
        return replace(releases[-1], value=None), math.nan
    root = replace(releases[-1], value=inverse_root(covariance)[0])
    mean = replace(releases[-1], value=merged_moments[-1])
    ball = Public(spec.options.ball, because="ball of the method, an option")
    X, y = local_records(client, plan.view, rng_for).records(columns)
    public = spec.public
    moments = whitened_means(X, y, public.public_slices, root, ball, bits=public.bits, shift=mean)
    release = release_slices(
        moments,
        plan.budget["means"],
        spec.settings.release_delta,
        rng_for("client", spec.public.number(client.name), "mean"),
        owner=client.name,
        stratum=cell_of("clients", client.name),
        release_id=f"whitened slice means of {client.name}",
    )
    return release, moments.clip_share


def local_means(client: Party, whitened: tuple[Release, float]) -> Release:
    """What leaves the client in round 2."""
    return whitened[0]


def server_merge(
    seconds: Sequence[np.ndarray], weights: Sequence[int], releases: Sequence[Release]
) -> Release | Public | Clear:
    """Weighted mean (p + 1, p) of the released second moments and means."""
    mean = np.tensordot(np.asarray(weights) / sum(weights), np.stack(seconds), 1)
    return derive(mean, releases, name="merged moments", owner="server")


def server_covariance(released: np.ndarray) -> np.ndarray:
    """Covariance (p, p) from a released second moment and mean (p + 1, p)."""
    return covariance_of(released[:-1], released[-1])


def whitens(covariance: np.ndarray) -> bool:
    """Whether a covariance has a positive eigenvalue."""
    return bool(np.linalg.eigvalsh(covariance)[-1] > 0)


def server_fit(
    answer: AccountedValue,
    means: Sequence[np.ndarray],
    releases: Sequence[Any],
    weights: Sequence[int],
    columns: np.ndarray | None,
    plan: CertifiedPlan,
    clients: int,
) -> Estimate:
    """Back to x-space; the noise sds are those of the last client."""
    spec, d, covariance = plan.spec, plan.spec.public.n_directions, server_covariance(answer.value)
    found, errors, numbers = failed_subspace(len(covariance), d), None, dict[str, float]()
    if whitens(covariance):
        found = unwhiten(np.stack(means), weights, covariance, d)
        numbers["sd_means"] = noise_sd(releases[1])
        sds = deviations(plan, releases, weights, len(covariance))
        errors = basis_errors(weighted_mean(means, weights), covariance, answer.value[-1], d, sds)
    return server_estimate(
        found,
        spec,
        epsilon_claimed=plan.epsilon_claimed,
        epsilon=plan.epsilon,
        clients=clients,
        columns=columns,
        errors=errors,
        skipped_clients=clients - len(weights),
        epsilon_user=user_epsilon(spec, plan.budget),
        **numbers,
        sd_second=noise_sd(releases[0]),
        clip_radius=public_radius(plan, len(covariance), (sum(weights), len(weights))),
    )


def deviations(plan: CertifiedPlan, releases: Sequence[Any], weights: Sequence[int], p: int) -> Deviations:
    """Noise of what was merged; the mean beside the second moment is released times sqrt(2) c."""
    radius = public_radius(plan, p, (sum(weights), len(weights)))
    length = case_clip(plan.spec.settings.radius).length(p) if radius is None else radius
    means, second = merged_sd(releases[1], weights), merged_sd(releases[0], weights)
    return Deviations(means, means / plan.spec.options.ball, second, second / math.sqrt(2 * MEAN_SHARE) / length)


def with_both(
    estimate: Estimate, drawn: Sequence[tuple[Any, float]], clipped: Mapping[str, float], weights: Sequence[int]
) -> Estimate:
    """The estimate, with the shares of entries that were clipped and of records that shrank."""
    return with_shrunk(with_clip_share(estimate, clipped, weights), drawn)


def with_shrunk(estimate: Estimate, drawn: Sequence[tuple[Any, float]]) -> Estimate:
    """The estimate, with the share of records that shrank, which stays with the clients."""
    if "sd_means" not in estimate.numbers:
        return estimate
    return replace(estimate, numbers=estimate.numbers | {"shrunk": float(np.mean([share for _, share in drawn]))})


def fit(run: Run) -> Estimate:
    """Screening (many columns only), second moments, whitened slice means."""
    plan, (clients, weights) = CertifiedPlan(run.spec, run.epsilon), participating_clients(run)
    columns = screen(run, clients, weights, plan)

    # 1. second moments, merged
    counted = sum(weights), len(weights)
    seconds = run.gather(clients, "server", "second moment", local_second, plan, columns, counted, run.rng_for)
    answer = run.at("server", server_merge, seconds, weights, run.received("server", "second moment"))

    # 2. one client after the other gets the merged matrix, whitens its records with it and releases their slice means
    means, drawn = [], []
    for client in clients:
        moments = run.send("server", client, "merged moments", answer)
        releases = run.received(client, "merged moments")
        drawn.append(run.at(client, local_whitened, plan, columns, moments, releases, run.rng_for))
        means.append(run.send(client, "server", "whitened slice means", local_means, drawn[-1]))

    # 3. back to x-space
    releases = tuple(run.received("server", name) for name in ("second moment", "whitened slice means"))
    estimate = run.at("server", server_fit, answer, means, releases, weights, columns, plan, len(run.parties))
    if plan.spec.options.clip == "ball":
        return run.assemble(with_shrunk, estimate, drawn)
    clipped = run.each(clients, local_clip_share, plan.view, False, columns, run.rng_for)
    return run.assemble(with_both, estimate, drawn, clipped, weights)
