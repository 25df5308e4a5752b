"""Coordinate descent for a quadratic with an absolute penalty: the step of the lasso, of moments and of Newton."""

from __future__ import annotations

import numpy as np

# Sweeps at most; relative change of the largest coordinate, in units of its curvature, that ends them.
SWEEPS, TOLERANCE = 10_000, 1e-12


def descend(
    matrix: np.ndarray, cross: np.ndarray, lasso: np.ndarray, ridge: np.ndarray, start: np.ndarray
) -> np.ndarray:
    """Minimiser b (q,) of b'Sb / 2 - q'b + lasso'|b| + ridge'b^2 / 2, from a start (q,).

    matrix, cross : S (q, q), positive semi-definite, and q (q,); lasso, ridge : (q,) at least 0, 0 where none is
    """
    curvature = np.diag(matrix) + ridge
    root = np.sqrt(curvature)
    b = np.where(curvature > 0, start, 0.0)
    gradient = cross - matrix @ b
    for _ in range(SWEEPS):
        change = 0.0
        for j in np.flatnonzero(curvature > 0):
            rest = gradient[j] + matrix[j, j] * b[j]
            new = np.sign(rest) * max(abs(rest) - lasso[j], 0.0) / curvature[j]
            if new != b[j]:
                gradient -= (new - b[j]) * matrix[:, j]
                change, b[j] = max(change, abs(new - b[j]) * root[j]), new
        if change <= TOLERANCE * float(np.max(np.abs(b) * root, initial=0.0)):
            break
    return b
