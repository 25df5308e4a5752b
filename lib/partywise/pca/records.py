"""What a party does to its own columns before anything leaves it: checks, centring and scaling by what it holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["checked_columns", "standardised"]

# A column that varies by less than so many units in the last place of its largest value is constant.
CONSTANT = 8.0


def checked_columns(X: np.ndarray, owner: str, names: Sequence[str]) -> np.ndarray:
    """Columns (n, k) of a party; ValueError naming party, column and value if they have no correlations."""
    if len(X) < 2:
        raise ValueError(f"{owner} has {len(X)} common records: correlations need at least 2.")
    if not np.issubdtype(X.dtype, np.number):
        raise ValueError(f"X of {owner} holds {X.dtype}: correlations need numbers; code its columns first.")
    X = X.astype(float)
    for name, column in zip(names, X.T, strict=True):
        wrong = np.flatnonzero(~np.isfinite(column))
        if len(wrong):
            raise ValueError(
                f"column {name!r} of {owner} has the value {column[wrong[0]]} in record {wrong[0]}: fill or drop "
                "incomplete records first."
            )
        if np.ptp(column) <= CONSTANT * np.spacing(np.max(np.abs(column))):
            raise ValueError(
                f"column {name!r} of {owner} is {column[0]:g} in every record: a constant has no correlation; leave it "
                "out."
            )
    return X


def standardised(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns (n, k) with mean 0 and standard deviation 1 (of n - 1), and their standard deviations (k,)."""
    # Of units that floating point squares without loss, whatever those of the data are.
    unit = np.max(np.abs(X), axis=0)
    centred = X / unit
    centred -= centred.mean(axis=0)
    # Once more: what rounding of a large mean has left.
    centred -= centred.mean(axis=0)
    sds = np.sqrt((centred**2).sum(axis=0) / (len(X) - 1))
    return centred / sds, sds * unit
