"""Protocol: the certified method in two rounds; the released second moment whitens the records of the second round.

In round 2 the noise of the slice means is independent in the whitened space, so that in x-space its covariance is
proportional to the released second moment: noise shaped by an already private output.

Formal guarantee: as in ``certified``; the adaptive choice of the whitening matrix is a function of releases that are
charged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..parties import Party
from ..privacy.mechanisms import Release
from ..wire import Channel, Public
from .budgets import allotted, claimed
from .data import Estimate
from .estimate import Subspace
from .inversion import inverse_root
from .mechanisms_certified import release_means, release_second, unwhiten
from .moments import participants, whitened_means
from .sides import failed, local_moments, local_number, local_records, noise_sd, server_estimate


def local_second(client: Party, spec: Any, epsilon: float, rng_for: Callable) -> tuple[Release, float]:
    """Round 1: noisy second moment (p, p), and the noise sd of its diagonal."""
    delta = spec.settings.release_delta
    moments = local_moments(client, spec, own=False)
    release = release_second(
        moments,
        epsilon,
        delta,
        rng_for("client", local_number(client), "covariance"),
        owner=client.name,
        stratum=client.name,
        release_id=f"second moment of {client.name}",
    )
    return release, noise_sd(release.event)


def local_means(
    client: Party, spec: Any, root: np.ndarray, epsilon: float, behind: tuple[str, ...], rng_for: Callable
) -> tuple[Release, float, float]:
    """Round 2: noisy slice means (H, p) of whitened records, their noise sd, and the share of records that shrank."""
    delta = spec.settings.release_delta
    X, y = local_records(client, spec)
    moments = whitened_means(X, y, spec.public.fixed, root, spec.options.ball)
    release = release_means(
        moments,
        epsilon,
        delta,
        rng_for("client", local_number(client), "mean"),
        owner=client.name,
        stratum=client.name,
        release_id=f"whitened slice means of {client.name}",
        data_dependent_parameters=behind,
    )
    return release, noise_sd(release.event), moments.clip_share


def server_merge(seconds: list[np.ndarray], weights: list[int]) -> np.ndarray:
    """Weighted mean (p, p) of the released second moments."""
    return np.tensordot(np.asarray(weights) / sum(weights), np.stack(seconds), 1)


def server_subspace(means: list[np.ndarray], weights: list[int], merged: np.ndarray, n_directions: int) -> Subspace:
    """Basis in x-space."""
    return unwhiten(np.stack(means).transpose(0, 2, 1), weights, merged, n_directions)


def fit(
    parties: list[Party],
    channel: Channel,
    *,
    epsilon: float,
    fold: Any,
    rng_for: Callable[..., np.random.Generator],
    spec: Any,
) -> Estimate:
    """Second moments, their merged matrix back, whitened slice means.  Arguments as in ``published``."""
    budget = allotted(spec, epsilon)
    sizes, p, d = spec.public.sizes[: len(parties)], spec.public.n_columns, spec.public.n_directions
    taking = [parties[k] for k in participants(sizes)]
    weights = [sizes[local_number(client)] for client in taking]
    facts: dict[str, Any] = {
        "claimed": sum(claimed(spec, epsilon).values()),
        "epsilon": epsilon,
        "clients": len(parties),
    }
    skipped = len(parties) - len(taking)

    # 1. second moments, merged; the server sends the merged matrix back
    releases = [local_second(client, spec, budget["second"], rng_for) for client in taking]
    sd_second = releases[-1][1]
    seconds = [
        channel.send(client.name, "server", "second moment", release)
        for client, (release, _) in zip(taking, releases, strict=True)
    ]
    merged = server_merge(seconds, weights)
    if not np.linalg.eigvalsh(merged)[-1] > 0:
        return server_estimate(failed(p, d), spec, **facts, skipped=skipped, sd_second=sd_second)
    answer = Public(merged, because="post-processing of the released second moments")
    behind = tuple(release.event.release_id for release, _ in releases)

    # 2. each client whitens its records with it and releases their slice means
    means, sd, shares = [], 0.0, []
    for client in taking:
        root = inverse_root(channel.send("server", client.name, "merged second moment", answer))[0]
        release, sd, share = local_means(client, spec, root, budget["means"], behind, rng_for)
        means.append(channel.send(client.name, "server", "whitened slice means", release))
        shares.append(share)

    # 3. back to x-space
    found = server_subspace(means, weights, merged, d)
    numbers: dict[str, Any] = {
        "skipped": skipped,
        "sd_means": sd,
        "sd_second": sd_second,
        "shrunk": float(np.mean(shares)),
    }
    return server_estimate(found, spec, **facts, **numbers)
