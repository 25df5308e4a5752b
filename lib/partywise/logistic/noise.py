"""Size and shape of the noise on a dot-product, from public features and the privacy parameters."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import solve_triangular

from ..privacy.accounting.calibration import classic_gaussian_sigma, gdp_mu

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
# The shape's ridge r, as shares of the mean diagonal of X'X/N: it bounds how much a rare row can cost.
SHAPE_RIDGES = (1e-3, 1e-2, 1e-1)
# Both roundings of calibration (mu down, epsilon up) stay inside this relative margin.
MARGIN = 1e-12
# From this epsilon on a label is kept for certain as far as floats go; soon after, the square of sinh overflows.
KEPT = 700.0


def gaussian_deviation(epsilon: float, delta: float, sensitivity: float, sigma: str) -> float:
    """Standard deviation of independent noise by the analytic or the classic formula."""
    if math.isinf(epsilon):
        return 0.0
    if sigma == "classic":
        return float(classic_gaussian_sigma(epsilon, delta, sensitivity, allow_uncertified=True))
    return sensitivity / certified_mu(epsilon, delta)


def certified_mu(epsilon: float, delta: float) -> float:
    """Greatest mu whose epsilon, rounded up, is still at most the target."""
    return float(gdp_mu(epsilon, delta)) * (1 - MARGIN)


def max_norm(X: np.ndarray) -> float:
    """max_i ||x_i||, by which N times the dot-product moves at most when one label flips."""
    return float(np.sqrt(np.einsum("ij,ij->i", X, X).max()))


def gaussian_shapes(X: np.ndarray, gram: np.ndarray, mu: float) -> list[tuple[float, np.ndarray]]:
    """The candidates (a, Sigma), each scaled so that max_i x_i' Sigma^-1 x_i = N^2 mu^2."""
    values, vectors = np.linalg.eigh(gram)
    mean = float(np.trace(gram)) / len(gram)
    if mean == 0:
        return [(0.0, np.zeros_like(gram))]
    squares = np.square(X @ vectors)
    kinds = [(power, share) for power in POWERS for share in (SHAPE_RIDGES if power > 0 else SHAPE_RIDGES[:1])]
    spectra = np.array([(np.maximum(values, 0.0) + share * mean) ** power for power, share in kinds])
    spectra *= (squares @ (1 / spectra).T).max(axis=0)[:, None] / (len(X) * mu) ** 2
    shapes = []
    for (power, _), spectrum in zip(kinds, spectra, strict=True):
        shape = (vectors * spectrum) @ vectors.T if power > 0 else spectrum[0] * np.eye(len(gram))
        shapes.append((power, (shape + shape.T) / 2))
    return shapes


def rr_covariance(gram: np.ndarray, n: int, epsilon: float) -> np.ndarray:
    """Covariance e^eps / (e^eps - 1)^2 X'X / N^2 of the dot-product of debiased randomised labels."""
    return gram / (n * 4 * math.sinh(min(epsilon, KEPT) / 2) ** 2)


def reach(X: np.ndarray, covariance: np.ndarray) -> float:
    """max_i sqrt(x_i' Sigma^-1 x_i) / N: the mu of Gaussian noise N(0, Sigma) on the dot-product."""
    lower = np.linalg.cholesky(covariance)
    return max_norm(solve_triangular(lower, X.T, lower=True, check_finite=False).T) / len(X)
