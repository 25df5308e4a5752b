"""Protocol: the certified method in two rounds; the released second moment whitens the records of the second round.

Where there are many columns, they are screened first, as in ``certified``.  In round 2 the noise of the slice means is
independent in the whitened space, so that in x-space its covariance is proportional to the released second moment:
noise shaped by an already private output.  The second moment is that of records clipped to a ball, which keeps
their directions; public numbers choose its radius, the larger the less noise there is (`reach_of`).

Formal guarantee: as in ``certified``; the adaptive choice of the whitening matrix is a function of releases that are
charged.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.accounted import Accounted, Public
from ...privacy.accounting.calibration import gdp_mu
from ...privacy.mechanisms.release import Release, derived
from ..certified import reach_of, release_means, release_second, unwhiten
from ..estimate import Subspace
from ..inversion import inverse_root
from ..model import Estimate
from ..moments import ball_moments, participants, whitened_means
from .budgets import allotted, claimed, screening_rounds, user_epsilon
from .common import failed, local_number, noise_sd, server_estimate
from .screening import Heard, local_chosen_moments, local_chosen_records, local_screening, server_columns, server_heard


def public_radius(spec: Any, p: int, weights: list[int], epsilon: float) -> float | None:
    """Radius of the ball behind the second moment, from public numbers; None where entries are clipped instead."""
    if spec.options.clip == "box":
        return None
    mu = float(gdp_mu(epsilon, spec.settings.release_delta))
    reach = spec.options.reach or reach_of(p, sum(weights), len(weights), mu)
    return reach * spec.settings.radius * math.sqrt(p)


def local_second(
    client: Party, spec: Any, columns: np.ndarray | None, radius: float | None, epsilon: float, rng_for: Callable
) -> tuple[Release, float]:
    """Round 1: noisy second moment (p, p) of clipped records, and the noise sd of its diagonal."""
    delta = spec.settings.release_delta
    if radius is None:
        moments = local_chosen_moments(client, spec, columns)
    else:
        ball = Public(radius, because="by public numbers: columns, sizes and the budget")
        moments = ball_moments(*local_chosen_records(client, spec, columns), spec.public.fixed, ball)
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
    client: Party,
    spec: Any,
    columns: np.ndarray | None,
    root: Accounted,
    epsilon: float,
    *,
    rng_for: Callable,
) -> tuple[Release, float, float]:
    """Round 2: noisy slice means (H, p) of whitened records, their noise sd, and the share of records that shrank."""
    delta = spec.settings.release_delta
    X, y = local_chosen_records(client, spec, columns)
    ball = Public(spec.options.ball, because="ball of the method, an option")
    moments = whitened_means(X, y, spec.public.fixed, root, ball)
    release = release_means(
        moments,
        epsilon,
        delta,
        rng_for("client", local_number(client), "mean"),
        owner=client.name,
        stratum=client.name,
        release_id=f"whitened slice means of {client.name}",
    )
    return release, noise_sd(release.event), moments.clip_share


def server_merge(seconds: list[np.ndarray], weights: list[int]) -> np.ndarray:
    """Weighted mean (p, p) of the released second moments."""
    return np.tensordot(np.asarray(weights) / sum(weights), np.stack(seconds), 1)


def server_subspace(means: list[np.ndarray], weights: list[int], merged: np.ndarray, n_directions: int) -> Subspace:
    """Basis in x-space."""
    return unwhiten(np.stack(means).transpose(0, 2, 1), weights, merged, n_directions)


def fit(run: Run) -> Estimate:
    """Screening (many columns only), second moments, whitened slice means."""
    parties, channel, epsilon, rng_for, spec = run.parties, run.channel, run.epsilon, run.rng_for, run.spec
    budget = allotted(spec, epsilon)
    sizes, d = spec.public.sizes[: len(parties)], spec.public.n_directions
    taking = [parties[k] for k in participants(sizes)]
    weights = [sizes[local_number(client)] for client in taking]
    facts: dict[str, Any] = {
        "claimed": sum(claimed(spec, epsilon).values()),
        "epsilon": epsilon,
        "clients": len(parties),
        "skipped": len(parties) - len(taking),
        "epsilon_user": user_epsilon(spec, budget),
    }

    # 0. many columns: each round of screening, and the columns that stay
    columns: np.ndarray | None = None
    heard: list[Heard] = []
    said: list[Release] = []
    for step in screening_rounds(spec, budget):
        signs = [local_screening(client, spec, step, columns, budget["screening"], rng_for) for client in taking]
        values = [channel.send(c.name, "server", step.message, r) for c, r in zip(taking, signs, strict=True)]
        heard.append(server_heard(values, weights, step, columns))
        said += signs
        kept = server_columns(heard, step, spec)
        chosen = derived(kept, said, name=f"columns of round {step.number}", owner="server")
        for client in taking:
            columns = channel.send("server", client.name, "columns", chosen)
    facts["columns"] = columns

    # 1. second moments, merged; the server sends the merged matrix back
    p = spec.public.n_columns if columns is None else len(columns)
    radius = public_radius(spec, p, weights, budget["second"])
    releases = [local_second(client, spec, columns, radius, budget["second"], rng_for) for client in taking]
    sd_second = releases[-1][1]
    seconds = [
        channel.send(client.name, "server", "second moment", release)
        for client, (release, _) in zip(taking, releases, strict=True)
    ]
    merged = server_merge(seconds, weights)
    if not np.linalg.eigvalsh(merged)[-1] > 0:
        return server_estimate(failed(len(merged), d), spec, **facts, sd_second=sd_second, clip_radius=radius)
    made_of = [release for release, _ in releases]
    answer = derived(merged, made_of, name="merged second moment", owner="server")

    # 2. each client whitens its records with it and releases their slice means
    means, sd, shares = [], 0.0, []
    for client in taking:
        received = channel.send("server", client.name, "merged second moment", answer)
        root = replace(answer, value=inverse_root(received)[0])
        release, sd, share = local_means(client, spec, columns, root, budget["means"], rng_for=rng_for)
        means.append(channel.send(client.name, "server", "whitened slice means", release))
        shares.append(share)

    # 3. back to x-space
    found = server_subspace(means, weights, merged, d)
    numbers: dict[str, Any] = {"sd_means": sd, "sd_second": sd_second, "clip_radius": radius}
    numbers["shrunk"] = float(np.mean(shares))
    return server_estimate(found, spec, **facts, **numbers)
