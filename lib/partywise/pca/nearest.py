"""The nearest correlation matrix, to what noise has made of one."""

from __future__ import annotations

import numpy as np

from ..privacy.statistics.isometry import nearest_semidefinite
from .components import checked_matrix

__all__ = ["nearest_correlation"]


def nearest_correlation(matrix: np.ndarray, tolerance: float = 1e-10, max_iter: int = 2000) -> tuple[np.ndarray, float]:
    """The nearest correlation matrix in Frobenius norm, and the least eigenvalue before.

    Projections onto the semi-definite matrices and onto those of unit diagonal in turn, the first with Dykstra's
    correction (Higham, IMA J. Numer. Anal. 2002).

    Parameters
    ----------
    matrix : ndarray of shape (p, p)
    tolerance : float
        Of the relative change of a step, and of the entries of the diagonal.
    max_iter : int
        Steps; afterwards the diagonal is divided out, so that the result is a correlation matrix in any case.

    Raises
    ------
    ValueError
        If a diagonal entry is not positive: that column has no correlation.
    """
    square = checked_matrix(matrix)
    if np.any(np.diag(square) <= 0):
        raise ValueError(f"matrix has the diagonal entry {np.diag(square).min():.3g}: a correlation matrix has ones.")
    least = float(np.linalg.eigvalsh(square)[0])
    found, correction = square, np.zeros_like(square)
    for _ in range(max_iter):
        shifted = found - correction
        projected = nearest_semidefinite(shifted)
        correction = projected - shifted
        following = projected.copy()
        np.fill_diagonal(following, 1.0)
        change = np.linalg.norm(following - found) / np.linalg.norm(following)
        found = following
        if change <= tolerance and np.max(np.abs(np.diag(projected) - 1)) <= tolerance:
            break
    # The unit diagonal was set last: one more projection, scaled back, is semi-definite and has it too.
    projected = nearest_semidefinite(found)
    sds = np.sqrt(np.diag(projected))
    scaled = (projected + projected.T) / 2 / np.outer(sds, sds)
    np.fill_diagonal(scaled, 1.0)
    return scaled, least
