"""Correlation and components from rotated blocks, as published: formula for formula, with their wrong matrix.

Source: seed 004, "Block Singular Value Decomposition".  X_k = U_k D_k V_k' of the standardised block of party k,
M = [U_1 D_1 | ... | U_K D_K] = U~ D~ V~', R~ = V~ D~^2 V~' / (n - 1).

M = X B with B = blockdiag(V_1, ..., V_K), so that R~ = B'RB: eigenvalues and explained variances are those of R, while
R~ is the correlation of nothing (inside a party it is diagonal) and V~ = B'V are the loadings of rotated columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.arrays import orient


class RotationStack(NamedTuple):
    """Decomposition of the stacked scores of all parties, as in the source.

    matrix : (p, p) R~, which the source calls the correlation matrix
    eigenvalues : (p,) D~^2 / (n - 1), from the largest; loadings : (p, p) V~; scores : (n, p) U~ D~
    """

    matrix: np.ndarray
    eigenvalues: np.ndarray
    loadings: np.ndarray
    scores: np.ndarray


def scores_of_block(X: np.ndarray) -> np.ndarray:
    """Return what a party sends: U_k D_k of its block, shape (n, k), of rank n at most (steps 1 and 2)."""
    block = np.asarray(X, dtype=float)
    left, values, _ = np.linalg.svd(block, full_matrices=False)
    sent = np.zeros(block.shape)
    sent[:, : len(values)] = left * values
    return sent


def stack_rotations(M: np.ndarray) -> RotationStack:
    """The global result of stacked scores M (n, p) (steps 3 and 4)."""
    n, p = M.shape
    _, values, right = np.linalg.svd(M, full_matrices=n < p)
    squares = np.zeros(p)
    squares[: len(values)] = values**2 / (n - 1)
    loadings = orient(right.T)
    return RotationStack((loadings * squares) @ loadings.T, squares, loadings, M @ loadings)
