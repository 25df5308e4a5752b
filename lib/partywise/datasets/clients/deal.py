"""Rows of a table for clients: equally many for each, and none for two."""

from __future__ import annotations

import numpy as np

from ...randomness import Rng
from ..reading import require
from ..tables import Table
from .settings import ClientRows


def deal_rows(table: Table, settings: ClientRows, rng_for: Rng) -> list[np.ndarray]:
    """Numbers of the rows (n,) of each client: of its own where it is a natural one, or dealt from all of them."""
    count, n = settings.n_clients, settings.n
    require(len(table.y) >= count * n, f"{len(table.y)} records where {count} clients need {count * n}")
    if not settings.natural:
        return np.split(rng_for("sample").permutation(len(table.y))[: count * n], count)
    own = [np.flatnonzero(table.client == k) for k in range(count)]
    require(min(map(len, own)) >= n, f"a client has {min(map(len, own))} records where {n} are drawn")
    names = settings.table.clients
    return [
        rows[np.sort(rng_for("sample", name).choice(len(rows), n, replace=False))]
        for name, rows in zip(names, own, strict=True)
    ]
