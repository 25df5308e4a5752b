"""Statistical checks with stated error rates.

One ALPHA for the whole suite: a check of a true distribution fails with probability ALPHA, and each test also shows
that a named wrong distribution is rejected. Seeds are fixed, so neither error is ever seen twice.
"""

import numpy as np
from scipy.stats import chi2, norm

ALPHA = 1e-9


def accepts_sigma(sample, sigma: float) -> bool:
    """Whether independent centred Gaussian draws agree with a standard deviation (two-sided chi-square)."""
    sample = np.asarray(sample, dtype=float).ravel()
    statistic = float(np.sum((sample / sigma) ** 2))
    distribution = chi2(len(sample))
    return bool(2 * min(distribution.cdf(statistic), distribution.sf(statistic)) > ALPHA)


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


def accepts_distribution(counts, probabilities, alpha: float = ALPHA) -> bool:
    """Whether counts of independent draws agree with a finite distribution (chi-square; cells below 50 expected are
    pooled).

    The chi-square tail holds for large cells only. An outcome of probability 0 that was drawn rejects the distribution.
    """
    counts, expected = np.asarray(counts, dtype=float), np.asarray(probabilities, dtype=float)
    if np.any(counts[expected == 0] > 0):
        return False
    expected = expected / expected.sum() * counts.sum()
    small = expected < 50
    pooled = np.append(expected[~small], expected[small].sum())
    seen = np.append(counts[~small], counts[small].sum())
    if pooled[-1] < 50:
        # Too few even together: they join the least of the large cells.
        least = np.argmin(pooled[:-1])
        pooled[least] += pooled[-1]
        seen[least] += seen[-1]
        pooled, seen = pooled[:-1], seen[:-1]
    statistic = float(np.sum((seen - pooled) ** 2 / pooled))
    return bool(chi2(len(pooled) - 1).sf(statistic) > alpha)
