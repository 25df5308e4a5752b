"""What clients and server do in every protocol of this study: records, moments, screening, the final estimate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...federation.parties import Party
from ...privacy.ledger.event import Event
from ...privacy.statistics.isometry import to_matrix
from ..dp_lda import dp_lda
from ..estimate import Subspace, aggregate
from ..model import Estimate
from ..moments import Moments, client_moments
from ..screening import mean_differences, slice_profile
from ..simulation.clients import Client, client_at, client_differences, client_restricted, own_slices
from ..slices import Slices, case_radius


def local_number(client: Party) -> int:
    """Number of the client, part of the address of its noise."""
    return int(client.block["address"][1])


def local_client(client: Party, spec: Any) -> Client:
    """A simulated client at its address."""
    key, number = map(int, client.block["address"])
    return client_at(key, number, client.block["beta"], spec.public.fixed.edges, spec.settings)


def local_records(client: Party, spec: Any, columns: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Records (n, p) and responses (n,): as they are kept (there of some columns only), or drawn again."""
    if "X" in client.block:
        X, y = client.block["X"], client.block["y"]
        return (X if columns is None else X[:, columns]), y
    return local_client(client, spec).drawn


def local_moments(
    client: Party, spec: Any, *, own: bool, columns: np.ndarray | None = None, clipped: bool = True
) -> Moments:
    """Moments of the client in its own slices or the public ones; kept ones where there are any."""
    kept, radius = client.block, spec.settings.radius
    if clipped and columns is None and "means_fixed" in kept:
        separate = own and "means_own" in kept
        return Moments(
            n=spec.public.sizes[local_number(client)],
            means=kept["means_own" if separate else "means_fixed"],
            second=to_matrix(kept["second"], spec.public.n_columns),
            counts=kept["counts_own" if separate else "counts_fixed"],
            kind="quantile" if separate else spec.public.fixed.kind,
            radius=radius,
            largest_norm=float(kept["norms"]),
            clip_share=float(kept["clip_share"]),
        )
    if columns is not None and "X" not in kept:
        chosen = tuple(columns.tolist())
        return client_restricted(local_client(client, spec), own, chosen, radius if clipped else None)
    X, y = local_records(client, spec, columns)
    slices = own_slices(y, spec.public.fixed) if own else spec.public.fixed
    return client_moments(X, y, slices, radius=case_radius(radius) if clipped else None)


def local_differences(client: Party, spec: Any, *, own: bool) -> np.ndarray:
    """(p, H) distances of the slice means of unclipped records from their mean: what screening looks at."""
    fixed: Slices = spec.public.fixed
    if "X" in client.block:
        y = client.block["y"]
        return mean_differences(*slice_profile(client.block["X"], y, own_slices(y, fixed) if own else fixed))
    return client_differences(local_client(client, spec), own)


def noise_sd(event: Event) -> float:
    """Noise sd of an entry, as the event of a Gaussian release states it."""
    return 0.0 if not event.mu or event.sensitivity is None else event.sensitivity / event.mu


def server_basis(
    means: Sequence[np.ndarray],
    weights: Sequence[int],
    second: np.ndarray,
    n_directions: int,
    *,
    aggregation: str = "mean",
    inversion: str = "floor",
    estimator: str = "sir",
) -> Subspace:
    """Basis from received slice means, each (H, p), and the merged second moment (p, p); NaN if nothing can be made.

    Raises
    ------
    ValueError
        If ``estimator`` is "lda" and there are not two classes.
    """
    stack = np.stack(means).transpose(0, 2, 1)
    if not (np.all(np.isfinite(stack)) and np.all(np.isfinite(second))):
        return failed(stack.shape[1], n_directions)
    if inversion == "floor" and not np.linalg.eigvalsh(second)[-1] > 0:
        return failed(stack.shape[1], n_directions)
    found = aggregate(stack, weights, second, n_directions, aggregation=aggregation, inversion=inversion)
    if estimator == "sir":
        return found
    merged = np.tensordot(np.asarray(weights) / np.sum(weights), stack, 1)
    return Subspace(dp_lda(merged, second, inversion), found.strengths, found.floored, found.indefinite, False)


def failed(p: int, n_directions: int) -> Subspace:
    """No basis: noise left no positive eigenvalue, or numbers left the range of floating point."""
    return Subspace(np.full((p, n_directions), np.nan), np.zeros(1), 0, True, True)


def server_estimate(
    found: Subspace,
    spec: Any,
    *,
    claimed: float,
    epsilon: float,
    clients: int,
    columns: np.ndarray | None = None,
    **numbers: float | int | bool | None,
) -> Estimate:
    """The estimate in all p columns, with its flags."""
    basis = found.basis
    if columns is not None:
        basis = np.zeros((spec.public.n_columns, found.basis.shape[1]))
        basis[columns] = found.basis
    flags: dict[str, Any] = {
        "floored": found.floored,
        "indefinite": found.indefinite,
        "unidentified": found.unidentified,
    }
    return Estimate(basis, claimed, epsilon, clients, columns, flags | numbers)
