"""Computations of a client in the two rounds of ``whitened``, and both rounds of all clients together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....core.randomness import Rng
from ....federation.parties import Party
from ....federation.payloads import Payload
from ....federation.places import PerPlace
from ....federation.run import Run
from ....privacy.accounted_values import Public
from ....privacy.mechanisms.release import Release
from ....privacy.statistics.clips import BallClip, WholeClip
from ....privacy.statistics.whole import Whole
from ..bounded import MEAN_SHARE, whole_second_and_mean, whole_slices
from ..certified import covariance_of, reach_of, read_second_and_mean, read_slices, release_mu
from ..estimate import inverse_root, noise_edge
from ..moments import SliceMoments, client_moments, whitened_means
from ..options import WhitenedOptions
from ..slices import case_clip
from .budgets import CertifiedPlan
from .common import local_records
from .noise_shares import SharedNoise, shared_release

WhitenedPlan = CertifiedPlan[WhitenedOptions]
# Name of the message, and of the release that it is.
MERGED = "merged moments"


def public_radius(plan: WhitenedPlan, p: int, counted: tuple[int, float]) -> float | None:
    """Radius of the ball behind the second moment, from public numbers; None where entries are clipped instead.

    counted : records of all clients together, and the variance of the noise on their sum (`CertifiedPlan.variance`)
    """
    options, settings = plan.spec.options, plan.spec.settings
    if options.clip == "box":
        return None
    mu = release_mu(plan.budget["second"], settings.release_delta)
    reach = options.reach or reach_of(p, *counted, mu)
    return reach * settings.radius * math.sqrt(p)


def least_eigenvalue(plan: WhitenedPlan, counted: tuple[int, float]) -> float:
    """Return the eigenvalue of the merged second moment that noise alone gives, by public numbers; 0 without noise."""
    mu = release_mu(plan.budget["second"], plan.spec.settings.release_delta)
    squared = second_clip(plan, counted).length(plan.n_kept) ** 2 * (1 + MEAN_SHARE)
    records, variance = counted
    return noise_edge(math.sqrt(2 * variance) * squared / (records * mu), plan.n_kept)


def second_clip(plan: WhitenedPlan, counted: tuple[int, float]) -> WholeClip:
    """Return the clip of records before their second moment is released."""
    radius = public_radius(plan, plan.n_kept, counted)
    if radius is None:
        return case_clip(plan.spec.settings.radius)
    return BallClip(Public(radius, because="by public numbers: columns, sizes and the budget"))


def local_clipped_moments(
    client: Party,
    plan: WhitenedPlan,
    columns: np.ndarray | None,
    counted: tuple[int, float],
    rng_for: Rng,
) -> SliceMoments:
    """Moments of the records of a client, clipped for their second moment, which stay with it."""
    X, y = local_records(client, plan.view, rng_for).records(columns)
    public = plan.spec.public
    # A ball of public size clips by its design, the box is what the caller declares.
    client.clips.add("radius", int(np.count_nonzero(np.abs(X) > plan.spec.settings.radius)), X.size)
    return client_moments(X, y, public.public_slices, clip=second_clip(plan, counted), bits=public.bits)


def local_whitened_moments(
    client: Party,
    plan: WhitenedPlan,
    columns: np.ndarray | None,
    counted: tuple[int, float],
    merged_moments: np.ndarray,
    releases: Sequence[Release],
    rng_for: Rng,
) -> SliceMoments | None:
    """Moments of whitened records, which stay with the client; None without a positive eigenvalue."""
    covariance, public = server_covariance(merged_moments), plan.spec.public
    if not whitens(covariance):
        return None
    root = replace(releases[-1], value=inverse_root(covariance, least_eigenvalue(plan, counted))[0])
    mean = replace(releases[-1], value=merged_moments[-1])
    X, y = local_records(client, plan.view, rng_for).records(columns)
    return whitened_means(X, y, public.public_slices, root, ball_of(plan), bits=public.bits, shift=mean)


def ball_of(plan: WhitenedPlan) -> Public:
    """Radius to which whitened records are shrunk."""
    return Public(plan.spec.options.ball, because="ball of the method, an option")


def server_covariance(released: np.ndarray) -> np.ndarray:
    """Covariance (p, p) from a released second moment and mean (p + 1, p)."""
    return covariance_of(released[:-1], released[-1])


def whitens(covariance: np.ndarray) -> bool:
    """Whether a covariance has a positive eigenvalue."""
    return bool(np.linalg.eigvalsh(covariance)[-1] > 0)


def shared_second(
    run: Run,
    shared: SharedNoise[WhitenedOptions],
    clients: Sequence[Party],
    columns: np.ndarray | None,
    counted: tuple[int, float],
) -> Release:
    """Round 1 of all clients together, as a release at the server."""
    plan = shared.plan
    pooled = shared.moments(plan.n_kept, second_clip(plan, counted))
    moments = run.each(clients, local_clipped_moments, plan, columns, counted, run.rng_for)
    statistics = run.each(clients, local_whole_second, moments)
    release = shared_release(
        run, shared, "second moment", statistics, whole_second_and_mean(pooled), shared.mu("second")
    )
    return run.at("server", read_second_and_mean, release, pooled)


def local_whole_second(client: Party, moments: SliceMoments) -> Whole:
    """Return a client's contribution to the second moment and the mean of all, which stays with it."""
    return whole_second_and_mean(moments)


def shared_whitened(
    run: Run,
    shared: SharedNoise[WhitenedOptions],
    clients: Sequence[Party],
    columns: np.ndarray | None,
    counted: tuple[int, float],
    answer: Payload,
) -> tuple[Release, PerPlace[SliceMoments | None]]:
    """Round 2 of all clients together, as a release at the server, and at each the moments of its whitened records."""
    pooled = shared.moments(shared.plan.n_kept, BallClip(ball_of(shared.plan)), (MERGED,))
    total = whole_slices(pooled)
    merged = run.broadcast("server", clients, MERGED, answer)
    releases = run.received(clients, MERGED)
    moments = run.each(clients, local_whitened_moments, shared.plan, columns, counted, merged, releases, run.rng_for)
    statistics = run.each(clients, local_whole_whitened, moments, total)
    release = shared_release(run, shared, "whitened slice means", statistics, total, shared.mu("means"))
    return run.at("server", read_slices, release, total, pooled), moments


def local_whole_whitened(client: Party, moments: SliceMoments | None, nothing: Whole) -> Whole:
    """Return a client's contribution to the whitened slices of all; nothing without a positive eigenvalue."""
    return nothing if moments is None else whole_slices(moments)
