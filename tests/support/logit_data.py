"""Small data sets for the tests of label-private logistic regression."""

from __future__ import annotations

import numpy as np

from partywise.core.randomness import stream
from partywise.models.links import LOGIT


def logistic(n: int, k: int, name: str = "data", signal: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    """Features (n, k) in [0, 1], column 0 ones, a rare indicator last; labels of a logistic model."""
    rng = stream(7, "logit", name, n, k)
    X = rng.random((n, k))
    X[:, 0] = 1.0
    if k > 2:
        X[:, -1] = X[:, -1] < 0.1
    theta = signal * rng.standard_normal(k)
    theta[0] = -(X[:, 1:] @ theta[1:]).mean()
    return X, (rng.random(n) < LOGIT.mean(X @ theta)).astype(float)


def objective_by_hand(X: np.ndarray, v: np.ndarray, ridge: np.ndarray, theta: np.ndarray) -> float:
    """F written out with numpy's own stable log(1 + e^z)."""
    return float(np.mean(np.logaddexp(0.0, X @ theta)) - v @ theta + 0.5 * np.sum(ridge * theta**2))


def rounding_of(X: np.ndarray) -> float:
    """How far an entry of a dot-product moves at most because every row was rounded: half a step, 2^-20 of a row."""
    return 2.0**-21 * float(np.sqrt(np.einsum("ij,ij->i", X, X).max()))
