"""Distance of two subspaces, and metrics of a screening step."""

from __future__ import annotations

import numpy as np


def orthonormal(name: str, basis) -> np.ndarray:
    """Orthonormal basis of the columns (QR); ValueError unless they are finite and linearly independent."""
    array = np.asarray(basis, dtype=float)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or not 1 <= array.shape[1] <= array.shape[0]:
        raise ValueError(f"{name} has shape {array.shape}; give a basis of shape (p, d) with 1 <= d <= p.")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} has entries that are not finite; report the failed estimate instead of scoring it.")
    # Columns of very different lengths are no reason to call a basis deficient.
    norms = np.linalg.norm(array, axis=0)
    q, r = np.linalg.qr(array / np.where(norms > 0, norms, 1.0))
    if np.min(np.abs(np.diagonal(r))) < 1e-12:
        raise ValueError(f"{name} has linearly dependent columns; it spans fewer than {array.shape[1]} directions.")
    return q


def pair(first, second) -> tuple[np.ndarray, np.ndarray]:
    a, b = orthonormal("B1", first), orthonormal("B2", second)
    if len(a) != len(b):
        raise ValueError(f"B1 has {len(a)} rows and B2 has {len(b)}; both bases must live in the same space.")
    return a, b


def projection_loss(B1, B2) -> float:
    """Frobenius distance ||P_B1 - P_B2|| of the projections on two subspaces (document 001, section 5.1).

    Only the spans of the bases (p, d1) and (p, d2) count. With orthonormal ones the square is ||(I - P_2) Q_1||^2 +
    ||(I - P_1) Q_2||^2, which keeps its digits where d1 + d2 - 2 ||Q_1'Q_2||^2 cancels.
    """
    a, b = pair(B1, B2)
    inner = a.T @ b
    return float(np.hypot(np.linalg.norm(a - b @ inner.T), np.linalg.norm(b - a @ inner)))


def angle(B1, B2) -> float:
    """Largest principal angle between two subspaces of one dimension, in degrees (0 to 90); d = 1: arccos|cos|."""
    a, b = pair(B1, B2)
    if a.shape != b.shape:
        raise ValueError(f"B1 spans {a.shape[1]} directions and B2 {b.shape[1]}; the angle needs equal numbers.")
    inner = a.T @ b
    sine = np.linalg.norm(a - b @ inner.T, 2)
    cosine = np.linalg.svd(inner, compute_uv=False)[-1]
    return float(np.degrees(np.arctan2(sine, cosine)))


def screening_metrics(selected, support) -> dict[str, float]:
    """Size, share of the true support kept and number of false positives of a set of column indices."""
    chosen, true = set(map(int, selected)), set(map(int, support))
    if not true:
        raise ValueError("support is empty: there is nothing to keep.")
    return {
        "selected_columns": float(len(chosen)),
        "support_kept": len(chosen & true) / len(true),
        "false_positives": float(len(chosen - true)),
    }


def coordinates(X: np.ndarray, codes: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """Coordinates (N, d) of records in a subspace: uncorrelated, of variance 1, the best separated first.

    Only the span of ``basis`` counts, and each coordinate grows with the number of the slice. This is the evaluator's
    view on records that stay where they are; nothing of it is released.
    """
    Z = np.asarray(X, dtype=float) @ np.linalg.qr(basis)[0]
    Z = Z - Z.mean(axis=0)
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    positive = values > 1e-12 * values[-1]
    white = Z @ (vectors[:, positive] / np.sqrt(values[positive]))
    means, shares = slice_means(white, codes)
    directions = np.linalg.eigh((means.T * shares) @ means)[1][:, ::-1]
    turned = white @ directions
    signs = np.sign(turned.T @ (codes - codes.mean()))
    padded = np.zeros_like(Z)
    padded[:, : turned.shape[1]] = turned * np.where(signs == 0, 1.0, signs)
    return padded


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
