"""Values per replicate, of fits or of functions: their ratio, and what they are reduced to."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np

REDUCTIONS = ("mean", "sd", "min", "max", "median")


def ratio(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Values whose mean is the ratio of means, and whose spread is that of its linearisation."""
    whole = first.mean() / second.mean()
    return np.asarray(whole + (first - whole * second) / second.mean())


def reduce_replicates(values: np.ndarray, how: str) -> tuple[float, float | None]:
    """A mean, standard deviation, least, largest or median value, and the standard error of the first two."""
    n = len(values)
    if n == 0:
        return nan, None
    if how == "mean":
        finite = bool(np.isfinite(values).all())
        error = float(values.std(ddof=1)) / sqrt(n) if n > 1 and finite else None
        return float(values.mean()), error
    if how == "sd":
        return _spread(values)
    if how not in REDUCTIONS:
        raise ValueError(f"reduce is {how!r}: it must be one of {', '.join(REDUCTIONS)}.")
    return float(np.quantile(values, {"min": 0.0, "max": 1.0, "median": 0.5}[how])), None


def _spread(values: np.ndarray) -> tuple[float, float | None]:
    """Standard deviation and its standard error from the fourth moment."""
    n, centred = len(values), values - values.mean()
    variance = float((centred**2).sum()) / (n - 1)
    if variance == 0:
        return 0.0, 0.0
    fourth = float((centred**4).mean())
    return sqrt(variance), sqrt(max(fourth - variance**2 * (n - 3) / (n - 1), 0.0) / n / variance) / 2
