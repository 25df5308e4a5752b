"""Rows of a table for clients, none for two."""

from __future__ import annotations

import numpy as np

from ...core.randomness import Rng
from ..reading import require
from ..tables import Table
from .settings import ClientRows


def deal_rows(table: Table, settings: ClientRows, rng_for: Rng) -> list[np.ndarray]:
    """Numbers of the rows of each client: of its own where it is a natural one, or dealt from all of them."""
    count, n = settings.n_clients, settings.least_size
    if settings.natural:
        dealt = [np.flatnonzero(table.client == k) for k in range(count)]
    else:
        order = rng_for("sample").permutation(len(table.y))
        dealt = [order[k * n : (k + 1) * n] for k in range(count)]
    fewest, most = min(map(len, dealt)), max(map(len, dealt))
    bound = settings.rows_per_user or most
    require(n <= fewest and most <= bound, f"clients have {fewest} to {most} records where {n} to {bound} are expected")
    if not settings.natural or settings.n is None:
        return dealt
    names = settings.table.clients
    return [
        rows[np.sort(rng_for("sample", name).choice(len(rows), n, replace=False))]
        for name, rows in zip(names, dealt, strict=True)
    ]
