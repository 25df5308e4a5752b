"""Structure dimension by eigengaps, as algorithm 2 of seed 001 has it."""

from __future__ import annotations

import numpy as np

__all__ = ["eigengap_dimension"]


def eigengap_dimension(strengths, largest: int | None = None) -> int:
    """The d with the largest gap s_d - s_{d+1} (step 3, with the sign that makes sense).

    Parameters
    ----------
    strengths : ndarray
        Singular values of one slice mean matrix, decreasing, at least two. On a private matrix the result is a
        private number: certified mode refuses it (`refusals.refuse`).
    largest : int, optional
        Greatest d considered; by default all but the last value.

    Raises
    ------
    ValueError
        If values are not finite or do not decrease, or ``largest`` is out of range.
    """
    s = np.asarray(strengths, dtype=float)
    if s.ndim != 1 or len(s) < 2 or not np.all(np.isfinite(s)) or np.any(np.diff(s) > 0):
        raise ValueError(f"strengths={strengths!r} must be at least two finite, decreasing numbers.")
    most = len(s) - 1 if largest is None else largest
    if not 1 <= most <= len(s) - 1:
        raise ValueError(f"largest={largest!r} must lie between 1 and {len(s) - 1}.")
    return int(np.argmax((s[:-1] - s[1:])[:most])) + 1
