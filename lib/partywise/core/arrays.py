"""Arrays whose values do not depend on what a processor or a version of LAPACK leaves open, and arrays as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

# Entries that are closer to the largest one than this share of it tie with it.
TIE = 1e-10


def orient(vectors: np.ndarray) -> np.ndarray:
    """Return columns (p, c) with the sign that makes their largest absolute entry positive: LAPACK leaves it open.

    Of entries that tie (to 1e-10 of the largest) the first one decides, so that rounding does not: the components of
    two equally loaded columns are (1, 1) and (1, -1), never (-1, 1).
    """
    sizes = np.abs(vectors)
    tied = sizes >= sizes.max(axis=0, initial=0.0) * (1 - TIE)
    leading = np.take_along_axis(vectors, tied.argmax(axis=0)[None], axis=0)
    return vectors * np.where(leading < 0, -1.0, 1.0)


def symmetric_root(matrix: np.ndarray) -> np.ndarray:
    """Return the symmetric root (p, p) of a symmetric matrix, negative eigenvalues as 0: it has no signs to choose."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def summary_rows(columns: Mapping[str, np.ndarray], names: Sequence[str], width: int) -> list[str]:
    """An empty line, the titles of columns (k,) of numbers, and a row for each of k names, cut off at a width."""
    heads = " ".join(f"{title:>11}" for title in columns)
    rows = zip(names, zip(*columns.values(), strict=True), strict=True)
    lines = (f"{name[:width]:{width}} " + " ".join(f"{value:11.4g}" for value in row) for name, row in rows)
    return ["", f"{'':{width}} {heads}", *lines]
