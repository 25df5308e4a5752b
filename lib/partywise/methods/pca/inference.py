"""Statistics of a correlation matrix: p-values, inflation of variances, the nearest one without noise."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc

from ...privacy.statistics.isometry import nearest_semidefinite
from .components import checked_matrix

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
