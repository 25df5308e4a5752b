"""Lengths of differences in the geometry of a noise covariance or of a Gram matrix."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..rounding import round_up

# An eigenvalue below this share of the largest one cannot be told from zero, or from a negative one.
RANK_TOLERANCE = 1e-13


@dataclass(frozen=True, eq=False)
class Ball:
    """All differences d with sqrt(sum d' M d) <= radius; M = ``metric`` of shape (q, q), the identity if None."""

    radius: float
    metric: np.ndarray | None = None


def mahalanobis(differences: "Ball | ArrayLike", covariance: ArrayLike) -> float:
    """Largest length ``sqrt(sum d' Sigma^-1 d)`` of a set of differences: the mu of Gaussian noise N(0, Sigma).

    Of a ball in a metric M = L L' it is radius / sqrt(lambda_min(L' Sigma L)), of a finite set (..., q) its maximum;
    inf if Sigma is singular along a difference.
    """
    sigma = np.asarray(covariance, dtype=float)
    eigenvalues, vectors = _spectrum(sigma)
    cut = RANK_TOLERANCE * max(eigenvalues[-1], 0.0)
    positive = eigenvalues > cut
    if isinstance(differences, Ball):
        if differences.radius == 0:
            return 0.0
        if not np.all(positive):
            return float("inf")
        if differences.metric is None:
            return _quotient(differences.radius, float(np.sqrt(eigenvalues[0])))
        # sup = radius ||K^-1 L^-T||, Sigma = K K'. Working with factors halves the digits lost to conditioning.
        root = vectors * np.sqrt(eigenvalues)
        lower = factor("metric", differences.metric, len(sigma))
        smallest = np.linalg.svd(lower.T @ root, compute_uv=False)[-1]
        return _quotient(differences.radius, float(smallest))
    rotated = np.atleast_2d(np.asarray(differences, dtype=float)) @ vectors
    flat = np.abs(rotated[..., ~positive])
    if flat.size and np.any(flat > 1e-12 * np.max(np.abs(rotated), axis=-1, keepdims=True)):
        return float("inf")
    # Powers of two change no digit, and keep squares and quotients where they have all of theirs.
    _, exponent = np.frexp(np.max(np.abs(rotated), initial=0.0))
    _, scale = np.frexp(eigenvalues[-1])
    scale -= scale % 2
    squares = np.ldexp(rotated[..., positive], -exponent) ** 2 / np.ldexp(eigenvalues[positive], -scale)
    longest = float(np.sqrt(np.max(np.sum(squares, axis=-1), initial=0.0)))
    with np.errstate(over="ignore"):
        return round_up(float(np.ldexp(longest, exponent - scale // 2)), longest)


def lengths(vectors: ArrayLike) -> np.ndarray:
    """Euclidean lengths along the last axis of finite vectors; no square vanishes or overflows.

    Vectors are scaled by powers of two, which changes no digit of a length that needs no scaling.
    """
    vectors = np.asarray(vectors, dtype=float)
    _, exponent = np.frexp(np.max(np.abs(vectors), axis=-1, initial=0.0))
    with np.errstate(over="ignore"):
        return np.ldexp(np.linalg.norm(np.ldexp(vectors, -exponent[..., None]), axis=-1), exponent)


def _quotient(radius: float, smallest: float) -> float:
    """Radius over the smallest deviation; positive for a positive radius, infinite if no float is as large."""
    return round_up(radius / smallest, radius) if smallest > 0 else float("inf")


def _spectrum(sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (ascending) and vectors of a covariance; a named error if it is none."""
    if sigma.ndim != 2 or sigma.shape[0] != sigma.shape[1] or not np.all(np.isfinite(sigma)):
        raise ValueError(f"covariance of shape {sigma.shape} must be a finite square matrix.")
    largest = float(np.max(np.abs(sigma), initial=0.0))
    if np.max(np.abs(sigma - sigma.T), initial=0.0) > 1e-12 * largest:
        raise ValueError("covariance is not symmetric; symmetrise it where it is made.")
    eigenvalues, vectors = np.linalg.eigh(sigma / 2 + sigma.T / 2)
    if eigenvalues[0] < -1e-12 * largest:
        raise ValueError(
            f"covariance is not positive semi-definite: lambda_min = {eigenvalues[0]:.6g}; no Gaussian has it."
        )
    return np.maximum(eigenvalues, 0.0), vectors


def factor(name: str, matrix: ArrayLike, q: int) -> np.ndarray:
    """Cholesky factor L of a symmetric positive definite matrix, with errors that name it."""
    matrix = np.asarray(matrix, dtype=float)
    if matrix.shape != (q, q):
        raise ValueError(f"{name} has shape {matrix.shape} for vectors of length {q}; give a ({q}, {q}) matrix.")
    if np.max(np.abs(matrix - matrix.T), initial=0.0) > 1e-12 * np.max(np.abs(matrix), initial=0.0):
        raise ValueError(f"{name} is not symmetric; symmetrise it where it is made.")
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        lowest = np.linalg.eigvalsh(matrix)[0]
        raise ValueError(
            f"{name} is not positive definite (lambda_min = {lowest:.3g}), so it defines no norm; drop dependent "
            "basis functions."
        ) from None
