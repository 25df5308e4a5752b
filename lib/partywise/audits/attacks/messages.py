"""Disclosure by single messages at sight: labels by the signs of gradients, rows by a multiple of them.

The source of vertical trees sends gradients of all rows to the owners of columns (seed 003, "Label-scattering
tree-based models"); of linear models the messages of a step are multiples of a record, which disclose it up to one
factor. The functions below are attacks by the receiver.
"""

from __future__ import annotations

import numpy as np

# Cosines nearer to 1 or -1 are those of one direction, to rounding of the values that crossed.
TOLERANCE = 1e-9


def labels_from_signs(gradients: np.ndarray) -> np.ndarray:
    """Labels (n,) bool of rows by their gradients p - y of the log loss (n,): negative where the label is 1."""
    return np.asarray(gradients) < 0


def directions_seen(seen: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Whether each row (m, d) is a multiple of a seen vector (s, d); zeros and records of one feature are not."""
    if rows.shape[1] < 2 or not len(seen):
        return np.zeros(len(rows), dtype=bool)
    cosines = np.abs(_directions(rows) @ _directions(seen).T)
    return cosines.max(axis=1) >= 1 - TOLERANCE


def _directions(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length 1; zeros stay."""
    # Masks are longer than what a square holds.
    scaled = vectors / np.maximum(np.abs(vectors).max(axis=1, keepdims=True), np.finfo(float).tiny)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.divide(scaled, lengths, out=np.zeros_like(scaled), where=lengths > 0)
