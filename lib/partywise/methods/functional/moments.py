"""Additive sums, second moments and their correction for the noise of the releases.

Everything the method needs from N records is a handful of sums, additive over disjoint chunks of records:
(n, Sx, Sy, SSxx, SSxy, SSyy).  Training = sum of its chunks; test risk of any operator = a function of the sums of
the clean test chunk.  Moments are centred with divisor n - 1 and corrected: G = S_zz - Sigma, H = S_zy, K = S_yy.
Source: document 000, "Finite-sample, centered moment correction".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CurveSums:
    """Additive sums of a set of records: X of shape (n, P), Y of shape (n, Qy)."""

    n: float
    x: np.ndarray
    y: np.ndarray
    xx: np.ndarray
    xy: np.ndarray
    yy: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, Y: np.ndarray) -> CurveSums:
        """Sums of the records in X (n, P) and Y (n, Qy), in float64."""
        if X.ndim != 2 or Y.ndim != 2 or len(X) != len(Y):
            raise ValueError(f"X has shape {X.shape} and Y {Y.shape}: give (n, P) and (n, Qy) of the same n.")
        for name, values in (("X", X), ("Y", Y)):
            if not np.all(np.isfinite(values)):
                raise ValueError(f"{name} holds non-finite coordinates: fill or drop incomplete curves first.")
        return cls(float(len(X)), X.sum(0), Y.sum(0), X.T @ X, X.T @ Y, Y.T @ Y)

    def __add__(self, other: CurveSums) -> CurveSums:
        return CurveSums(
            self.n + other.n,
            self.x + other.x,
            self.y + other.y,
            self.xx + other.xx,
            self.xy + other.xy,
            self.yy + other.yy,
        )


@dataclass(frozen=True)
class CurveMoments:
    """Corrected second moments of a set of records.

    G : (P, P)  S_zz - Sigma, possibly indefinite
    H : (P, Qy) S_zy
    K : (Qy, Qy) S_yy less the noise covariance of the response
    raw : (P, P) S_zz before correction
    noise : (P, P) the correction Sigma (block diagonal)
    n : number of records
    mean_x, mean_y : (P,), (Qy,) means of what was released
    """

    G: np.ndarray
    H: np.ndarray
    K: np.ndarray
    raw: np.ndarray
    noise: np.ndarray
    n: float
    mean_x: np.ndarray
    mean_y: np.ndarray


def block_noise(noise: np.ndarray, n_coordinates: int, n_predictors: int) -> np.ndarray:
    """Expand noise of the predictors to the (P, P) matrix that the released moments carry."""
    noise = np.asarray(noise, dtype=float)
    if noise.shape[:1] != (n_predictors,) or noise.ndim not in (1, 3):
        raise ValueError(
            f"noise_var has shape {noise.shape}: give one variance (or one Q x Q covariance) for each of the "
            f"{n_predictors} predictors."
        )
    if noise.ndim == 1 and (not np.all(np.isfinite(noise)) or np.any(noise < 0)):
        raise ValueError("noise_var holds a negative or non-finite variance: a variance is at least 0.")
    size = n_coordinates * n_predictors
    if noise.ndim == 1:
        return np.diag(np.repeat(noise, n_coordinates))
    if noise.shape[1:] != (n_coordinates, n_coordinates):
        raise ValueError(f"noise_var has blocks of shape {noise.shape[1:]}: they must be {n_coordinates} square.")
    full = np.zeros((size, size))
    for j in range(n_predictors):
        block = slice(j * n_coordinates, (j + 1) * n_coordinates)
        full[block, block] = noise[j]
    return full


def corrected_moments(sums: CurveSums, noise: np.ndarray, response_noise: np.ndarray | None = None) -> CurveMoments:
    """Moments of the released records, unbiased for those of the clean ones.

    ``noise`` (P, P) is the covariance of the noise (`block_noise`), ``response_noise`` (Qy, Qy) that of noise on Y.
    """
    if sums.n < 2:
        raise ValueError(f"n is {sums.n:g}: second moments need at least 2 records in each part.")
    if noise.shape != sums.xx.shape:
        raise ValueError(f"the noise has shape {noise.shape}: the moments are {sums.xx.shape}.")
    mean_x, mean_y = sums.x / sums.n, sums.y / sums.n
    divisor = sums.n - 1
    raw = (sums.xx - sums.n * np.outer(mean_x, mean_x)) / divisor
    raw = (raw + raw.T) / 2
    cross = (sums.xy - sums.n * np.outer(mean_x, mean_y)) / divisor
    response = (sums.yy - sums.n * np.outer(mean_y, mean_y)) / divisor
    response = (response + response.T) / 2
    if response_noise is not None:
        response = response - response_noise
    return CurveMoments(raw - noise, cross, response, raw, noise, sums.n, mean_x, mean_y)


def project(matrix: np.ndarray, floor: float) -> tuple[np.ndarray, float, bool]:
    """Nearest symmetric matrix with eigenvalues at least ``floor``; its least eigenvalue before; moved or not."""
    values, vectors = np.linalg.eigh(matrix)
    if values[0] >= floor:
        return matrix, float(values[0]), False
    below = values < floor
    lifted = vectors[:, below] * (floor - values[below])
    projected = matrix + lifted @ vectors[:, below].T
    return (projected + projected.T) / 2, float(values[0]), True


def stabilize_published(block: np.ndarray, alpha: float, ridge: float) -> np.ndarray:
    """Shrink a block by ``alpha`` towards (tr / Q) I and lift its eigenvalues to at least ``ridge``.

    Source: document 000, Troubleshooting, ``stabilize = list(alpha=0.05, ridge=1e-6, ...)``; the target of the
    shrinkage is our reading.
    """
    size = len(block)
    shrunk = (1 - alpha) * block + alpha * np.trace(block) / size * np.eye(size)
    return project(shrunk, ridge)[0]
