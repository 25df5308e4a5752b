"""The penalised objective of a binary response, its derivatives and the checks of what goes into it.

    F(theta) = (1/N) sum_i b(theta' x_i) - v' theta + theta' Lambda theta / 2,  b(z) = log(1 + exp(z)) for the logit

Labels enter through v = (1/N) sum_i y_i x_i alone, which may be noisy ("dot-product" in document 002). Lambda is
diagonal. Without Lambda, F has no minimiser where a plane separates the labels, and often has none at a noisy v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .links import LOGIT, Link

# Rows of X that are weighted at a time: the copy stays in cache instead of doubling the memory of X.
BLOCK = 2048


@dataclass(frozen=True, eq=False)
class Point:
    """The objective at one theta: its value, the margins z = X theta and the probabilities p, each of shape (N,)."""

    theta: np.ndarray
    value: float
    margins: np.ndarray
    probabilities: np.ndarray


@dataclass(frozen=True, eq=False)
class Objective:
    """F for one dot-product: finite features X (N, k), v (k,) on the scale of a mean, noisy or not.

    ``ridge`` (k,) is the diagonal of Lambda, non-negative; b is the antiderivative of ``link``.
    """

    X: np.ndarray
    v: np.ndarray
    ridge: np.ndarray
    link: Link = LOGIT

    def __post_init__(self) -> None:
        X = check_features(self.X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "v", check_vector("v", self.v, X.shape[1]))
        object.__setattr__(self, "ridge", check_diagonal(self.ridge, X.shape[1]))

    def at(self, theta: np.ndarray, margins: np.ndarray | None = None) -> Point:
        """The point theta; ``margins`` saves the product X theta where it is known."""
        z = self.X @ theta if margins is None else margins
        total, means = self.link.total(z)
        value = total / len(z) + float(theta @ (0.5 * self.ridge * theta - self.v))
        return Point(theta, value, z, means)

    def gradient(self, point: Point) -> np.ndarray:
        """Gradient (1/N) X'p - v + Lambda theta, shape (k,)."""
        return point.probabilities @ self.X / len(self.X) - self.v + self.ridge * point.theta

    def hessian(self, point: Point) -> np.ndarray:
        """Hessian (1/N) X' diag(mean'(z)) X + Lambda, shape (k, k); p (1-p) is the slope of the logit."""
        weights = self.link.slope(point.margins) / len(self.X)
        total = weighted_gram(self.X, weights)
        total.flat[:: len(total) + 1] += self.ridge
        return total

    def recession(self, point: Point) -> float:
        """Slope of the unpenalised F far out along theta, (1/N) sum max(0, z_i) - v'theta: negative = unbounded."""
        return float(np.maximum(point.margins, 0.0).sum() / len(self.X) - self.v @ point.theta)


def weighted_gram(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """X' diag(weights) X for non-negative weights, shape (k, k), exactly symmetric, block of rows by block."""
    root = np.sqrt(weights)
    total = np.zeros((X.shape[1], X.shape[1]))
    buffer = np.empty((min(BLOCK, len(X)), X.shape[1]))
    for start in range(0, len(X), BLOCK):
        rows = X[start : start + BLOCK]
        part = np.multiply(rows, root[start : start + BLOCK, None], out=buffer[: len(rows)])
        total += part.T @ part
    return total


def check_features(X: ArrayLike, *, unit_box: bool = False) -> np.ndarray:
    """Return X as a contiguous float array of shape (N, k), or raise a `ValueError` that names what is wrong.

    ``unit_box`` asks for entries in [0, 1], which the bound sqrt(k)/N assumes; nothing is ever clipped silently.
    """
    X = np.ascontiguousarray(X, dtype=float)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X has shape {X.shape}: give one example a row, shape (N, k), N and k at least 1.")
    if not np.isfinite(X.sum()) and not np.all(np.isfinite(X)):
        row, column = np.argwhere(~np.isfinite(X))[0]
        raise ValueError(f"X[{row}, {column}]={float(X[row, column])!r} is not finite: drop or impute it.")
    if unit_box and (X.min() < 0 or X.max() > 1):
        row, column = np.argwhere((X < 0) | (X > 1))[0]
        raise ValueError(
            f"X[{row}, {column}]={float(X[row, column])!r} lies outside [0, 1]: the bound sqrt(k)/N assumes features "
            "in [0, 1]; scale them by public ranges, or use bound='max_norm'."
        )
    return X


def check_labels(y: ArrayLike, n: int) -> np.ndarray:
    """Return y as a float array of shape (n,) with entries 0 and 1, or raise a named `ValueError`."""
    y = np.asarray(y, dtype=float)
    if y.shape != (n,):
        raise ValueError(f"y has shape {y.shape} for N={n} examples: give one label an example.")
    if np.any(bad := (y != 0) & (y != 1)):
        first = int(np.argmax(bad))
        raise ValueError(f"y[{first}]={float(y[first])!r} is not a label: labels are 0 or 1.")
    return y


def check_vector(name: str, value: ArrayLike, k: int) -> np.ndarray:
    """Return a finite vector of length k, or raise a named `ValueError`."""
    value = np.asarray(value, dtype=float)
    if value.shape != (k,):
        raise ValueError(f"{name} has shape {value.shape} for k={k} features: give shape ({k},).")
    if not np.all(np.isfinite(value)):
        raise ValueError(f"{name}={value!r} has entries that are not finite.")
    return value


def check_diagonal(ridge: ArrayLike, k: int) -> np.ndarray:
    """Return the diagonal of Lambda, shape (k,), or raise a named `ValueError`."""
    ridge = check_vector("ridge", ridge, k)
    if np.any(ridge < 0):
        raise ValueError(
            f"ridge[{int(np.argmin(ridge))}]={float(ridge.min())!r} is negative: Lambda must be positive semi-definite."
        )
    return ridge
