"""Protocol: federated sliced inverse regression with a proof.

Public, fixed before data are seen: slice edges, clipping radius R, sizes n_k, T, all budgets.  Each client releases
its slice means and its second moment with Gaussian noise at the exact level; where there are many columns, it first
releases noisy contrasts between the slices of the signs of all columns (or noisy votes), and T of them stay.

Formal guarantee: (epsilon_certified, delta)-DP for replacing one record of a client, by exact Gaussian composition of
the client's releases; clients compose in parallel, so that their number does not enter.  Trust: local, each client
noises its own moments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.mechanisms.release import Release, derived
from ...randomness import remembered
from ..certified import release_means, release_second, second_sigma
from ..model import Estimate
from ..moments import participants
from ..options import CertifiedOptions
from ..published import covariance_release
from .budgets import allotted, claimed, screening_rounds, user_epsilon
from .common import local_number, noise_sd, server_basis, server_estimate
from .screening import Heard, local_chosen_moments, local_screening, server_columns, server_heard


def local_release(
    client: Party, spec: Any, columns: np.ndarray | None, budget: dict[str, float], rng_for: Callable
) -> tuple[Release, Release, tuple[float, float]]:
    """Noisy slice means (H, p) and second moment (p, p), and the noise sds of their entries.

    A client releases once at an epsilon, however many others take part.
    """
    chosen = None if columns is None else tuple(columns.tolist())
    key = ("certified", client, spec.options, chosen, *budget.items())
    return remembered(rng_for, key, lambda: local_draw(client, spec, columns, budget, rng_for))


def local_draw(
    client: Party, spec: Any, columns: np.ndarray | None, budget: dict[str, float], rng_for: Callable
) -> tuple[Release, Release, tuple[float, float]]:
    """`local_release`, computed."""
    number, delta = local_number(client), spec.settings.release_delta
    moments = local_chosen_moments(client, spec, columns)
    common: dict[str, Any] = {"owner": client.name, "stratum": client.name}
    mean_terms = common | {"release_id": f"slice means of {client.name}"}
    terms = common | {"release_id": f"second moment of {client.name}"}
    means = release_means(moments, budget["means"], delta, rng_for("client", number, "mean"), **mean_terms)
    rng = rng_for("client", number, "covariance")
    if spec.options.second == "goe":
        second = release_second(moments, budget["second"], delta, rng, **terms)
    else:
        # One sd for the whole upper triangle, whose l2 sensitivity is at most the Frobenius one.
        sigma = second_sigma(moments, budget["second"], delta)
        second = covariance_release(moments, sigma, rng, norm=1.0, **terms)
    return means, second, (noise_sd(means.event), noise_sd(second.event))


def fit(run: Run) -> Estimate:
    """Screening (many columns only), one release of moments by each client, aggregation."""
    parties, channel, epsilon, rng_for, spec = run.parties, run.channel, run.epsilon, run.rng_for, run.spec
    options: CertifiedOptions = spec.options
    budget = allotted(spec, epsilon)
    sizes = spec.public.sizes[: len(parties)]
    taking = [parties[k] for k in participants(sizes)]
    weights = [sizes[local_number(client)] for client in taking]

    # 1. many columns: each round of screening, and the columns that stay
    columns: np.ndarray | None = None
    heard: list[Heard] = []
    said: list[Release] = []
    for step in screening_rounds(spec, budget):
        releases = [local_screening(client, spec, step, columns, budget["screening"], rng_for) for client in taking]
        values = [channel.send(c.name, "server", step.message, r) for c, r in zip(taking, releases, strict=True)]
        heard.append(server_heard(values, weights, step, columns))
        said += releases
        kept = server_columns(heard, step, spec)
        chosen = derived(kept, said, name=f"columns of round {step.number}", owner="server")
        for client in taking:
            columns = channel.send("server", client.name, "columns", chosen)

    # 2. one client after the other releases its moments
    means, second, sds = [], 0.0, (0.0, 0.0)
    for client, weight in zip(taking, weights, strict=True):
        M, S, sds = local_release(client, spec, columns, budget, rng_for)
        means.append(channel.send(client.name, "server", "slice means", M))
        second = second + weight * channel.send(client.name, "server", "second moment", S)

    # 3. aggregation and inversion with a floor
    second = second / sum(weights)
    found = server_basis(means, weights, second, spec.public.n_directions, aggregation=options.aggregation)
    return server_estimate(
        found,
        spec,
        claimed=sum(claimed(spec, epsilon).values()),
        epsilon=epsilon,
        clients=len(parties),
        columns=columns,
        skipped=len(parties) - len(taking),
        sd_means=sds[0],
        sd_second=sds[1],
        epsilon_user=user_epsilon(spec, budget),
    )
