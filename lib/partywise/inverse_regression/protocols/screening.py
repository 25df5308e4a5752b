"""Steps of certified screening that both certified protocols share: what a client releases, what the server keeps.

Rounds are those of `budgets.screening_rounds`.  A protocol sends each release, and the columns that stay, itself.

Formal guarantee: each round is mu-Gaussian-DP for replacing one record of the client; what stays is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...federation.parties import Party
from ...privacy.accounted import Public
from ...privacy.mechanisms.release import Release
from ...randomness import remembered
from ..contrasts import contrasts, contrasts_release, score, sign_sums
from ..moments import Moments, check_records
from ..screening import vote_release, vote_select
from ..simulation.clients import client_sign_sums, client_signed
from .budgets import Round, kept_columns
from .common import local_client, local_differences, local_moments, local_number, local_records

__all__ = [
    "Heard",
    "local_chosen_moments",
    "local_chosen_records",
    "local_screening",
    "server_columns",
    "server_heard",
]


@dataclass(frozen=True, eq=False)
class Heard:
    """What the server heard in one round.

    columns : (q,) of which it was; merged : (m, q) contrasts, or votes (1, q), over all clients
    weight : inverse variance of the noise, in units that all rounds share
    """

    columns: np.ndarray
    merged: np.ndarray
    weight: float


def local_sign_sums(client: Party, spec: Any) -> np.ndarray:
    """Sums (H, p) of the signs of all columns over the public slices."""
    if "X" not in client.block:
        return client_sign_sums(local_client(client, spec))
    X, y = check_records(client.block["X"], client.block["y"])
    return sign_sums(X, spec.public.fixed.codes(y), spec.public.n_slices)


def local_screening(
    client: Party, spec: Any, step: Round, columns: np.ndarray | None, epsilon: float, rng_for: Callable
) -> Release:
    """Release of one round: contrasts of signs (m, q) of the columns that are left (None: all), or votes (p,)."""
    key = ("screening", client, spec.options, step, None if columns is None else tuple(columns.tolist()), epsilon)
    return remembered(rng_for, key, lambda: local_draw(client, spec, step, columns, epsilon, rng_for))


def local_draw(
    client: Party, spec: Any, step: Round, columns: np.ndarray | None, epsilon: float, rng_for: Callable
) -> Release:
    """`local_screening`, computed."""
    number = local_number(client)
    if spec.options.screening == "votes":
        return vote_release(
            local_differences(client, spec, own=False),
            kept_columns(spec),
            step.mu,
            rng_for("client", number, "votes"),
            owner=client.name,
            stratum=client.name,
            release_id=f"votes of {client.name}",
            epsilon_claimed=epsilon,
        )
    sums = local_sign_sums(client, spec)
    return contrasts_release(
        sums if columns is None else sums[:, columns],
        Public(contrasts(spec.public.fixed), because="a function of the number of the public slices"),
        spec.public.sizes[number],
        step.mu,
        rng_for("client", number, "signs", step.number),
        owner=client.name,
        stratum=client.name,
        release_id=f"contrasts of signs {step.number} of {client.name}",
    )


def local_chosen_moments(client: Party, spec: Any, columns: np.ndarray | None) -> Moments:
    """Clipped moments, in the public slices, of the columns that stayed: of the records that were screened."""
    if columns is None or "X" in client.block or spec.options.screening == "votes":
        return local_moments(client, spec, own=False, columns=columns)
    return client_signed(local_client(client, spec), tuple(columns.tolist()), spec.settings.radius)


def local_chosen_records(client: Party, spec: Any, columns: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Records (n, T) of the columns that stayed, the ones that were screened, and responses (n,)."""
    if columns is None or "X" in client.block:
        return local_records(client, spec, columns)
    one = local_client(client, spec)
    X = one.columns(columns) if spec.options.screening == "votes" else one.signed_records(columns)
    return X, one.drawn[1]


def server_heard(
    values: Sequence[np.ndarray], weights: Sequence[int], step: Round, columns: np.ndarray | None
) -> Heard:
    """One round over all clients: contrasts weighted by n_k / N, votes summed."""
    stack = np.stack(values)
    if step.message == "votes":
        merged = stack.sum(axis=0)[None]
    else:
        merged = np.tensordot(np.asarray(weights) / np.sum(weights), stack, 1)
    q = merged.shape[1]
    return Heard(np.arange(q) if columns is None else columns, merged, step.share / q)


def server_columns(heard: Sequence[Heard], step: Round, spec: Any) -> np.ndarray:
    """The columns that stay after the rounds so far, increasing: the best by all that was heard of them."""
    left = heard[-1].columns
    total = np.zeros_like(heard[-1].merged)
    for one in heard:
        total += one.weight * one.merged[:, np.searchsorted(one.columns, left)]
    scores = total[0] if step.message == "votes" else score(total)
    return left[vote_select(scores, step.keep, spec.public.n_directions)]
