"""Numbers that the source's argument gives and no fit of the study reports."""

from __future__ import annotations

import numpy as np

from ....core.randomness import stream


def squared_sensitivity(k: int, n: int = 50) -> float:
    """N^2 times the squared change of the dot-product when the label of a row of ones flips."""
    X, y = np.zeros((n, k)), np.zeros(n)
    X[0] = 1.0
    flipped = y.copy()
    flipped[0] = 1.0
    return float(np.square(X.T @ flipped / n - X.T @ y / n).sum() * n**2)


def gradient_error(n: int = 60, k: int = 4) -> float:
    """Largest difference of the printed gradient to central differences of the printed loss."""
    rng = stream(1, "printed", "gradient")
    X, y = rng.uniform(size=(n, k)), rng.integers(0, 2, n).astype(float)
    theta = rng.standard_normal(k)

    def loss(at: np.ndarray) -> float:
        p = 1 / (1 + np.exp(-X @ at))
        return float(-(y * np.log(p) + (1 - y) * np.log(1 - p)).mean())

    printed = X.T @ (1 / (1 + np.exp(-X @ theta))) / n - X.T @ y / n
    steps = 1e-5 * np.eye(k)
    return float(np.abs(printed - [(loss(theta + h) - loss(theta - h)) / 2e-5 for h in steps]).max())
