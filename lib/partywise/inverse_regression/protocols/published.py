"""Protocol: federated sliced inverse regression as published, with the constants that come closest to its tables.

Source: seed 001, algorithms 1 to 3, proposition 2, lemma 1.  Not differentially private with its defaults: quantile
slices, c_R and the singular vectors behind the noise are taken from the data, and index sets cross in the clear.

What is claimed: (epsilon_m + epsilon_x, sum of the deltas) for one record of a client.  Trust: local, each client
noises its own moments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.accounted import UNPROVED, Clear
from ...privacy.mechanisms.release import Release, derived
from ...randomness import remembered
from ..dimension import eigengap_dimension
from ..estimate import leading
from ..model import Estimate
from ..moments import Moments, centred, participants
from ..options import PublishedOptions
from ..published import (
    covariance_release,
    fitted_sigma,
    iid_release,
    lemma1_sigma,
    minimal_n,
    prop2_sigma,
    vgm_floor,
    vgm_precision,
    vgm_release,
)
from ..screening import ccmd_multiplicity, ccmd_select
from .common import local_differences, local_moments, local_number, server_basis, server_estimate


def local_choice(client: Party, spec: Any, rng_for: Callable) -> Clear:
    """Multiset of columns that the client's slices select: no noise, so that it is unprotected."""
    return remembered(rng_for, ("selected columns", client, spec.options), lambda: local_computed_choice(client, spec))


def local_computed_choice(client: Party, spec: Any) -> Clear:
    """`local_choice`, computed."""
    options: PublishedOptions = spec.options
    top = None if options.threshold is not None else options.top or spec.settings.active
    omega = local_differences(client, spec, own=options.slices == "quantile")
    chosen = ccmd_multiplicity(omega, threshold=options.threshold, top=top)
    found = np.flatnonzero(chosen)
    return Clear(np.stack([found, chosen[found]]), units=("row",), owner=client.name)


def local_release(
    client: Party, spec: Any, columns: np.ndarray | None, epsilon: float, epsilon_second: float, rng_for: Callable
) -> tuple[Release, Release, float]:
    """Noisy slice means (H, p) and second moment (p, p), and the entries' noise sd of the first.

    A client releases once at an epsilon, however many others take part.
    """
    chosen = None if columns is None else tuple(columns.tolist())
    key = ("published", client, spec.options, chosen, epsilon, epsilon_second)
    return remembered(
        rng_for, key, lambda: local_computed_release(client, spec, columns, epsilon, epsilon_second, rng_for)
    )


def local_computed_release(
    client: Party, spec: Any, columns: np.ndarray | None, epsilon: float, epsilon_second: float, rng_for: Callable
) -> tuple[Release, Release, float]:
    """`local_release`, computed."""
    options: PublishedOptions = spec.options
    settings, number = spec.settings, local_number(client)
    own = options.slices == "quantile"
    moments = local_moments(client, spec, own=own, columns=columns)
    # How many columns there are, and with them the sensitivity, was chosen in the clear.
    parents: tuple[str, ...] = () if columns is None else (UNPROVED,)
    if options.centre:
        moments = centred(moments)
    common: dict[str, Any] = {"owner": client.name, "stratum": client.name, "data_dependent_parameters": parents}
    means, sd = local_means(moments, spec, epsilon, rng_for("client", number, "mean"), common)

    plain = moments if options.cov_clipped else local_moments(client, spec, own=own, columns=columns, clipped=False)
    sigma = lemma1_sigma(moments.n, moments.p, epsilon_second, settings.delta)
    second = covariance_release(
        plain,
        sigma,
        rng_for("client", number, "covariance"),
        scale=options.cov_scale,
        release_id=f"second moment of {client.name}",
        epsilon_claimed=epsilon_second,
        **common,
    )
    return means, second, sd


def local_means(
    moments: Moments, spec: Any, epsilon: float, rng: np.random.Generator, common: dict[str, Any]
) -> tuple[Release, float]:
    """The slice means with independent noise, or with noise shaped by their own singular vectors."""
    options, delta = spec.options, spec.settings.delta
    terms = common | {"release_id": f"slice means of {common['owner']}", "epsilon_claimed": epsilon}
    size = (moments.n, moments.p, spec.settings.radius)
    if options.mechanism == "iid":
        fitted = options.iid_variance == "fitted"
        sigma = fitted_sigma(moments.n, epsilon, delta) if fitted else prop2_sigma(*size, epsilon, delta)
        return iid_release(moments, sigma, rng, **terms), sigma
    floor = (vgm_floor if options.vgm_variance == "variance" else vgm_precision)(*size, epsilon, delta)
    d = spec.public.n_directions
    if options.dimension == "eigengap":
        d = eigengap_dimension(np.linalg.svd(moments.means, compute_uv=False))
    return vgm_release(moments, d, floor, rng, gap_sign=options.gap_sign, **terms), float(np.sqrt(floor))


def server_participants(sizes: tuple[int, ...], epsilon: float, spec: Any) -> np.ndarray:
    """Clients that are large enough for the noise they tolerate, by public numbers alone."""
    if spec.options.sigma0 is None:
        return participants(sizes)
    settings = spec.settings
    least = minimal_n(spec.public.n_columns, settings.radius, epsilon, settings.delta, spec.options.sigma0)
    return participants(sizes, least)


def server_columns(choices: list[np.ndarray], spec: Any) -> tuple[np.ndarray, bool]:
    """Columns selected by a majority, and whether the most wanted ones had to complete them to d columns."""
    table = np.zeros((len(choices), spec.public.n_columns), dtype=np.int64)
    for row, (columns, multiplicity) in zip(table, choices, strict=True):
        row[columns] = multiplicity
    selected, d = ccmd_select(table), spec.public.n_directions
    if len(selected) >= d:
        return selected, False
    return np.sort(np.argsort(-table.sum(axis=0), kind="stable")[:d]), True


def server_dimension(means: list[np.ndarray], weights: list[int], spec: Any) -> int:
    """The true d, or by the gaps of the singular values of the merged matrix."""
    if spec.options.dimension == "true":
        return spec.public.n_directions
    stack = np.stack(means).transpose(0, 2, 1)
    return eigengap_dimension(leading(stack, weights, 1)[1])


def fit(run: Run) -> Estimate:
    """One shot: screen (many columns only), release, aggregate."""
    parties, channel, epsilon, rng_for, spec = run.parties, run.channel, run.epsilon, run.rng_for, run.spec
    options: PublishedOptions = spec.options
    epsilon_second = spec.settings.epsilon_second or epsilon

    # 1. who takes part, by public sizes
    sizes = spec.public.sizes[: len(parties)]
    taking = [parties[k] for k in server_participants(sizes, epsilon, spec)]
    weights = [sizes[local_number(client)] for client in taking]

    # 2. many columns: index sets in the clear, the majority's columns back
    columns, completed = None, False
    if spec.settings.screened:
        choices = [local_choice(client, spec, rng_for) for client in taking]
        heard = [
            channel.send(client.name, "server", "selected columns", choice)
            for client, choice in zip(taking, choices, strict=True)
        ]
        selected, completed = server_columns(heard, spec)
        names = tuple(client.name for client in taking)
        answer = derived(selected, choices, name="columns", owner="server", audience=names)
        for client in taking:
            columns = channel.send("server", client.name, "columns", answer)

    # 3. one client after the other releases its moments
    means, second, sd = [], 0.0, 0.0
    for client, weight in zip(taking, weights, strict=True):
        M, S, sd = local_release(client, spec, columns, epsilon, epsilon_second, rng_for)
        means.append(channel.send(client.name, "server", "slice means", M))
        second = second + weight * channel.send(client.name, "server", "second moment", S)

    # 4. the server aggregates and inverts, whatever the noise left
    second = second / sum(weights)
    d = server_dimension(means, weights, spec)
    found = server_basis(
        means,
        weights,
        second,
        d,
        aggregation=options.chosen_aggregation,
        inversion="plain",
        estimator=options.estimator,
    )
    return server_estimate(
        found,
        spec,
        claimed=epsilon + epsilon_second,
        epsilon=epsilon,
        clients=len(parties),
        columns=columns,
        skipped=len(parties) - len(taking),
        completed=completed,
        sd_means=sd,
        delta_claimed=spec.settings.claimed_delta,
    )
