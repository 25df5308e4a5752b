"""Which rows of a table train, where it has no division of its own."""

from __future__ import annotations

import numpy as np

__all__ = ["fewer", "training_rows"]


def training_rows(n: int, test_share: float, rng: np.random.Generator) -> np.ndarray:
    """(n,) bool: a random share of the rows trains, at least one."""
    train = np.zeros(n, dtype=bool)
    train[rng.permutation(n)[: max(1, n - int(np.ceil(test_share * n)))]] = True
    return train


def fewer(train: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """(n,) bool: which rows are left when only so many random ones train: these, and all that test.

    Raises
    ------
    ValueError
        If fewer rows train.
    """
    rows = np.flatnonzero(train)
    if count > len(rows):
        raise ValueError(f"data_size_for_debug is {count}: {len(rows)} rows train; leave it out for all of them.")
    kept = ~train
    kept[rng.choice(rows, count, replace=False)] = True
    return kept
