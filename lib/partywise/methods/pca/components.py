"""Columns to be correlated, eigenvalues and loadings of their matrix, and the distance between two decompositions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ...core.arrays import orient

# Eigenvalues that differ by less, relative to the largest, count as equal.
EQUAL = 1e-8


def components(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Principal components of a symmetric matrix.

    Parameters
    ----------
    matrix : ndarray of shape (p, p)
        Symmetric; the mean of it and its transpose is taken.

    Returns
    -------
    eigenvalues : ndarray of shape (p,)
        From the largest, in the squared units of the columns; a private matrix may have negative ones.
    loadings : ndarray of shape (p, p)
        One component a column, of length 1, signed by `orient`.

    Raises
    ------
    ValueError
        If the matrix is not square or not finite.
    """
    square = checked_matrix(matrix)
    values, vectors = np.linalg.eigh(square)
    return values[::-1].copy(), orient(vectors[:, ::-1])


def checked_matrix(matrix: np.ndarray) -> np.ndarray:
    """A matrix (p, p), symmetric to the last bit; ValueError if it is not square or not finite."""
    square = np.asarray(matrix, dtype=float)
    if square.ndim != 2 or square.shape[0] != square.shape[1] or not square.size:
        raise ValueError(f"matrix has shape {square.shape}: give (p, p), a correlation or a covariance matrix.")
    if not np.all(np.isfinite(square)):
        count = np.count_nonzero(~np.isfinite(square))
        raise ValueError(f"matrix has {count} entries that are not finite: remove or impute them.")
    return (square + square.T) / 2


def shares(eigenvalues: np.ndarray) -> np.ndarray:
    """(p,) share of the total variance of every component; of a correlation matrix the total is p."""
    total = float(np.sum(eigenvalues))
    if not total > 0:
        raise ValueError(f"eigenvalues sum to {total:.3g}: shares need a positive total variance.")
    return np.asarray(eigenvalues, dtype=float) / total


def eigenspaces(eigenvalues: np.ndarray, tolerance: float = EQUAL) -> tuple[range, ...]:
    """Runs of equal eigenvalues, falling: only the spaces of such runs are determined, not the vectors in them.

    Neighbours that differ by at most ``tolerance`` of the largest absolute one belong together.
    """
    values = np.asarray(eigenvalues, dtype=float)
    gaps = np.abs(np.diff(values)) > tolerance * np.max(np.abs(values), initial=0.0)
    cuts = [0, *(np.flatnonzero(gaps) + 1).tolist(), len(values)]
    return tuple(range(start, end) for start, end in pairwise(cuts))


def loading_angle(loadings: np.ndarray, truth: np.ndarray, eigenvalues: np.ndarray, tolerance: float = EQUAL) -> float:
    """Largest angle in radians between corresponding eigenspaces of two sets of loadings (p, p).

    The eigenvalues, falling, are those of ``truth``: components of equal ones are compared as subspaces.
    """
    if loadings.shape != truth.shape or truth.shape[1] != len(eigenvalues):
        raise ValueError(
            f"loadings, truth and eigenvalues have shapes {loadings.shape}, {truth.shape} and {np.shape(eigenvalues)}: "
            "give (p, p), (p, p) and (p,)."
        )
    angle = 0.0
    for run in eigenspaces(eigenvalues, tolerance):
        space, other = loadings[:, run.start : run.stop], truth[:, run.start : run.stop]
        # The sine, of what sticks out of the other space: the cosine loses small angles to rounding.
        outside = space - other @ (other.T @ space)
        angle = max(angle, float(np.arcsin(min(1.0, float(np.linalg.norm(outside, 2))))))
    return angle


def alike(loadings: np.ndarray, truth: np.ndarray, eigenvalues: np.ndarray, tolerance: float = EQUAL) -> np.ndarray:
    """``loadings`` (p, p) whose vectors of every run of equal eigenvalues are turned towards those of ``truth``.

    What remains between the two is a difference, not a choice of signs or of a basis.
    """
    turned = np.array(loadings, dtype=float)
    for run in eigenspaces(eigenvalues, tolerance):
        columns = slice(run.start, run.stop)
        left, _, right = np.linalg.svd(loadings[:, columns].T @ truth[:, columns])
        turned[:, columns] = loadings[:, columns] @ (left @ right)
    return turned


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
