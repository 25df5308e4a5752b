"""Columns to be correlated; eigenvalues, loadings, p-values and inflation of variances of their matrix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.special import betainc

from ...core.arrays import orient
from ...privacy.statistics.isometry import nearest_semidefinite

# Eigenvalues that differ by less, relative to the largest, count as equal.
EQUAL = 1e-8


def components(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (p,) of a symmetric matrix (p, p), falling, and loadings (p, p), one component a column.

    Eigenvalues are in the squared units of the columns, and those of a private matrix may be negative. Loadings have
    length 1, signed by `orient`. ValueError if the matrix is not square or not finite.
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


# Eigenvalues below this share of the largest are zero: the columns are linearly dependent.
DEPENDENT = 1e-12


def correlation_of(matrix: np.ndarray, names: tuple[str, ...] | None = None) -> np.ndarray:
    """Correlation matrix of a covariance matrix (p, p)."""
    square = checked_matrix(matrix)
    variances = np.diag(square)
    if np.any(variances <= 0):
        place = int(np.argmin(variances))
        column = place if names is None else repr(names[place])
        raise ValueError(f"column {column} has variance {variances[place]:.3g}: it has no correlations; leave it out.")
    sds = np.sqrt(variances)
    correlation = square / np.outer(sds, sds)
    np.fill_diagonal(correlation, 1.0)
    return correlation


def pvalues(correlation: np.ndarray, n: int) -> np.ndarray:
    """Two-sided p-values (p, p) of no correlation, by Student's t with n - 2 degrees of freedom; noise is not counted.

    t^2 = r^2 (n - 2) / (1 - r^2), so that P(|T| > t) is the incomplete beta function of 1 - r^2, which does not cancel.
    """
    if n < 3:
        raise ValueError(f"n is {n}: a p-value of a correlation needs at least 3 records.")
    r = np.clip(checked_matrix(correlation), -1.0, 1.0)
    values = betainc((n - 2) / 2, 0.5, (1 - r) * (1 + r))
    np.fill_diagonal(values, 0.0)
    return values


def variance_inflation(correlation: np.ndarray) -> np.ndarray:
    """(p,) variance inflation factors 1 / (1 - R_j^2) of regressing each column on all others with an intercept.

    Infinite for columns that are linear functions of others. ValueError for negative eigenvalues, as noise makes them:
    project such a matrix first (`nearest_correlation`).
    """
    values, vectors = np.linalg.eigh(checked_matrix(correlation))
    zero = values <= DEPENDENT * values[-1]
    if values[0] < -1e-8 * values[-1]:
        raise ValueError(f"correlation has the eigenvalue {values[0]:.3g}: take the nearest correlation matrix first.")
    inverse = np.divide(1.0, values, out=np.zeros_like(values), where=~zero)
    factors = vectors**2 @ inverse
    factors[np.any(np.abs(vectors[:, zero]) > 1e-6, axis=1)] = np.inf
    return factors


def nearest_correlation(matrix: np.ndarray, tolerance: float = 1e-10, max_iter: int = 2000) -> tuple[np.ndarray, float]:
    """The nearest correlation matrix in Frobenius norm, and the least eigenvalue before.

    Projections onto the semi-definite matrices and onto those of unit diagonal in turn, the first with Dykstra's
    correction (Higham, IMA J. Numer. Anal. 2002), until a step changes less than ``tolerance``. After ``max_iter`` of
    them the diagonal is divided out, so that the result is a correlation matrix in any case.
    """
    square = checked_matrix(matrix)
    if np.any(np.diag(square) <= 0):
        raise ValueError(f"matrix has the diagonal entry {np.diag(square).min():.3g}: a correlation matrix has ones.")
    least = float(np.linalg.eigvalsh(square)[0])
    nearest, correction = square, np.zeros_like(square)
    for _ in range(max_iter):
        shifted = nearest - correction
        projected = nearest_semidefinite(shifted)
        correction = projected - shifted
        following = projected.copy()
        np.fill_diagonal(following, 1.0)
        change = np.linalg.norm(following - nearest) / np.linalg.norm(following)
        nearest = following
        if change <= tolerance and np.max(np.abs(np.diag(projected) - 1)) <= tolerance:
            break
    # The unit diagonal was set last: one more projection, scaled back, is semi-definite and has it too.
    projected = nearest_semidefinite(nearest)
    sds = np.sqrt(np.diag(projected))
    scaled = (projected + projected.T) / 2 / np.outer(sds, sds)
    np.fill_diagonal(scaled, 1.0)
    return scaled, least
