"""Columns of numbers that declared columns become: a category an indicator of each level but the first."""

from __future__ import annotations

import numpy as np

from .grammar import ColumnBlock


def indicators(values: np.ndarray, column: ColumnBlock) -> list[np.ndarray]:
    """The columns (n,) that one becomes, from its numbers or the numbers of its levels (n,)."""
    if column.levels is None:
        return [values]
    return [(values == number).astype(float) for number in range(1, len(column.levels))]
