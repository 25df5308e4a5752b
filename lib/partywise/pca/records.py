"""What a party does to its own columns before anything leaves it: checks, centring and scaling by what it holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["check_spread", "standardise"]

# A column that varies by less than so many units in the last place of its largest value is constant.
CONSTANT = 8.0


def check_spread(X: np.ndarray, names: Sequence[str], party: str) -> None:
    """ValueError naming party and column if columns (n, k) have no correlations."""
    if len(X) < 2:
        raise ValueError(f"{party!r} has {len(X)} common records: correlations need at least 2.")
    for name, column in zip(names, X.T, strict=True):
        if np.ptp(column) <= CONSTANT * np.spacing(np.max(np.abs(column))):
            raise ValueError(
                f"column {name!r} of {party!r} is {column[0]:g} in every record: a constant has no correlation; leave "
                "it out."
            )


def standardise(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns (n, k) with mean 0 and standard deviation 1 (of n - 1), and their standard deviations (k,)."""
    # Of units that floating point squares without loss, whatever those of the data are.
    unit = np.max(np.abs(X), axis=0)
    centred = X / unit
    centred -= centred.mean(axis=0)
    # Once more: what rounding of a large mean has left.
    centred -= centred.mean(axis=0)
    sds = np.sqrt((centred**2).sum(axis=0) / (len(X) - 1))
    return centred / sds, sds * unit
