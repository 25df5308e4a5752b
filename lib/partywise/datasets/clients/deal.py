"""Rows of a table dealt to clients: equally many to each, and none to two."""

from __future__ import annotations

import numpy as np

from ...randomness import Rng
from .settings import ClientRows


def deal_rows(rows: int, settings: ClientRows, rng_for: Rng) -> np.ndarray:
    """Numbers of the rows (clients * n,), client after client."""
    wanted = settings.clients * settings.n
    if wanted > rows:
        raise ValueError(
            f"n is {settings.n}: {settings.clients} clients would need {wanted} records, and dataset "
            f"{settings.dataset!r} has {rows}; give fewer."
        )
    return rng_for("sample").permutation(rows)[:wanted]
