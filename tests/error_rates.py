"""Statistical checks with stated error rates.

One ALPHA for the whole suite: a check of a true law fails with probability ALPHA, and each test also shows that a
named wrong law is rejected. Seeds are fixed, so neither error is ever seen twice.
"""

import numpy as np
from scipy.stats import chi2, norm

ALPHA = 1e-9


def accepts_sigma(sample, sigma: float) -> bool:
    """Whether independent centred Gaussian draws agree with a standard deviation (two-sided chi-square)."""
    sample = np.asarray(sample, dtype=float).ravel()
    statistic = float(np.sum((sample / sigma) ** 2))
    law = chi2(len(sample))
    return bool(2 * min(law.cdf(statistic), law.sf(statistic)) > ALPHA)


def accepts_mean(sample, mean: float, sigma: float) -> bool:
    """Whether the average of independent draws with a known standard deviation agrees with a mean."""
    sample = np.asarray(sample, dtype=float).ravel()
    z = (sample.mean() - mean) / sigma * np.sqrt(len(sample))
    return bool(2 * norm.sf(abs(z)) > ALPHA)


def accepts_covariance(sample, covariance) -> bool:
    """Whether centred Gaussian rows agree with a covariance: whitened, then all variances and all products."""
    sample = np.asarray(sample, dtype=float)
    n, q = sample.shape
    white = np.linalg.solve(np.linalg.cholesky(covariance), sample.T).T
    products = white.T @ white
    upper = np.triu_indices(q, 1)
    threshold = norm.isf(ALPHA / (q * (q + 1)))
    off = np.abs(products[upper]) / np.sqrt(n)
    diagonal = np.abs(np.diag(products) - n) / np.sqrt(2 * n)
    return bool(accepts_sigma(white, 1.0) and max(off.max(initial=0.0), diagonal.max()) < threshold)
