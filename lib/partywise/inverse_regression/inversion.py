"""Inverses of noisy second moments: eigenvalues that noise made small or negative are raised, and counted."""

from __future__ import annotations

import numpy as np

__all__ = ["FLOOR", "floored_spectrum", "inverse_root", "invert"]

INVERSIONS = ("floor", "plain")
# Certified floor: eigenvalues below this share of the largest are raised to it.
FLOOR = 0.05
# A spectrum that holds a smaller share than this of its largest magnitude has no inverse in floating point.
SINGULAR = 1e-14


def floored_spectrum(second, floor: float = FLOOR) -> tuple[np.ndarray, np.ndarray, int, bool]:
    """Eigenvalues raised to ``floor`` times the largest, eigenvectors, how many were raised, whether one was <= 0.

    Raises
    ------
    ValueError
        If no eigenvalue is positive: then no floor makes a covariance of it.
    """
    values, vectors = np.linalg.eigh(np.asarray(second, dtype=float))
    if not values[-1] > 0:
        raise ValueError(
            f"second has no positive eigenvalue (largest {values[-1]:.3g}): noise or constant columns left nothing; "
            "use more records or a larger budget."
        )
    lifted = np.maximum(values, floor * values[-1])
    return lifted, vectors, int(np.count_nonzero(lifted > values)), bool(values[0] <= 0)


def inverse_root(second, floor: float = FLOOR) -> tuple[np.ndarray, int, bool]:
    """Symmetric Sigma^(-1/2) of the floored matrix, the number of raised eigenvalues, and the flag ``indefinite``."""
    values, vectors, floored, indefinite = floored_spectrum(second, floor)
    return (vectors / np.sqrt(values)) @ vectors.T, floored, indefinite


def invert(second, directions, inversion: str = "floor", floor: float = FLOOR) -> tuple[np.ndarray, int, bool]:
    """Sigma^(-1) U: the last step of algorithm 1 of seed 001.

    Parameters
    ----------
    second : ndarray of shape (p, p)
        Merged second moment, possibly indefinite through noise.
    directions : ndarray of shape (p, d)
        U.
    inversion : {"floor", "plain"}
        ``"plain"`` is the published inverse: it also inverts an indefinite matrix, and says so. Only a singular
        matrix, which has no inverse, is floored.
    floor : float
        Share of the largest eigenvalue.

    Returns
    -------
    basis : ndarray of shape (p, d)
    floored : int
        Eigenvalues that were raised.
    indefinite : bool
        Whether an eigenvalue was not positive.

    Raises
    ------
    ValueError
        For an unknown inversion, or if a floor is needed and no eigenvalue is positive.
    """
    if inversion not in INVERSIONS:
        raise ValueError(f"inversion={inversion!r} is unknown; use one of {INVERSIONS}.")
    if inversion == "plain":
        values, vectors = np.linalg.eigh(np.asarray(second, dtype=float))
        magnitudes = np.abs(values)
        if magnitudes.min() > SINGULAR * magnitudes.max():
            return vectors @ ((vectors.T @ directions) / values[:, None]), 0, bool(values[0] <= 0)
    values, vectors, floored, indefinite = floored_spectrum(second, floor)
    return vectors @ ((vectors.T @ directions) / values[:, None]), floored, indefinite
