"""Objective of label-private regression: one dot-product with the labels, and a ridge.

Column 0 of X is the intercept (all ones), which the ridge penalises a hundred times less than the other columns. The
objective itself is `partywise.models.objective`.
"""

from __future__ import annotations

import numpy as np

from ...models.objective import check_diagonal, check_features, check_labels

INTERCEPT = 0
INTERCEPT_SHARE = 0.01


def dot_product(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """v = X'y / N, shape (k,): reads labels, so it is released through a mechanism or kept."""
    X = check_features(X)
    return check_labels(y, len(X)) @ X / len(X)


def ridge_vector(strength: float, k: int, intercept: bool = True) -> np.ndarray:
    """Diagonal of Lambda, shape (k,): ``strength``, and a hundredth of it for an intercept in column 0."""
    if not (np.isfinite(strength) and strength >= 0):
        raise ValueError(f"ridge={strength!r} must be finite and at least 0.")
    ridge = np.full(k, float(strength))
    if intercept:
        ridge[INTERCEPT] *= INTERCEPT_SHARE
    return ridge


def check_intercept(X: np.ndarray, intercept: bool) -> None:
    """Raise a named `ValueError` unless column 0 is constant, where it is to be the intercept."""
    first = X[:, INTERCEPT]
    if intercept and np.any(first != first[0]):
        raise ValueError(
            f"X[:, 0] runs from {float(first.min())!r} to {float(first.max())!r}: column 0 is the intercept, penalised "
            "a hundredth as much as the others; put a column of ones first, or plan with intercept=False."
        )


def check_ridge(ridge, k: int, intercept: bool = True) -> np.ndarray:
    """Return the diagonal of Lambda, shape (k,), from a scalar (see `ridge_vector`) or a vector of length k."""
    if np.ndim(ridge) == 0:
        return ridge_vector(float(ridge), k, intercept)
    return check_diagonal(ridge, k)
