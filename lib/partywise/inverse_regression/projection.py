"""Real records projected on an estimated subspace, in coordinates that methods share."""

from __future__ import annotations

import numpy as np

__all__ = ["coordinates", "separation"]


def coordinates(X: np.ndarray, codes: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """(N, d) coordinates of records in a subspace: uncorrelated, of variance 1, the best separated first.

    Only the span of ``basis`` counts.  Signs: each coordinate grows with the number of the slice.  This is the
    evaluator's view on records that stay where they are; nothing of it is released.
    """
    Z = np.asarray(X, dtype=float) @ np.linalg.qr(basis)[0]
    Z = Z - Z.mean(axis=0)
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    kept = values > 1e-12 * values[-1]
    white = Z @ (vectors[:, kept] / np.sqrt(values[kept]))
    means, shares = slice_means(white, codes)
    directions = np.linalg.eigh((means.T * shares) @ means)[1][:, ::-1]
    turned = white @ directions
    signs = np.sign(turned.T @ (codes - codes.mean()))
    found = np.zeros_like(Z)
    found[:, : turned.shape[1]] = turned * np.where(signs == 0, 1.0, signs)
    return found


def separation(X: np.ndarray, codes: np.ndarray, basis: np.ndarray) -> float:
    """Share of the variance of the projected records that lies between slices, mean over directions; in [0, 1]."""
    means, shares = slice_means(coordinates(X, codes, basis), codes)
    return float(np.mean(shares @ means**2))


def slice_means(Z: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means (H, d) of the slices that hold records, and their shares (H,)."""
    counts = np.bincount(codes)
    sums = np.stack([np.bincount(codes, weights=column) for column in Z.T], axis=1)
    filled = counts > 0
    return sums[filled] / counts[filled, None], counts[filled] / len(codes)
