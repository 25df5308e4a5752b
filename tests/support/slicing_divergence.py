"""How private algorithm 2 of seed 001 really is: hockey-stick divergences of its noise at two neighbouring data sets.

delta(epsilon) = E_D[(1 - e^(epsilon - L))_+] with L = log p_D / p_D'. Both distributions are Gaussian with known means
and covariances, so L is exact and only the expectation is simulated. The neighbour is chosen on other draws than those
that give the number, so it is an unbiased estimate of a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fixed import fixed
from partywise.methods.inverse_regression.moments import client_moments
from partywise.methods.inverse_regression.published import vgm_covariance, vgm_floor
from partywise.methods.inverse_regression.slices import equal_frequency, public_slices
from partywise.privacy.statistics.clips import BoxClip

POOL, NEIGHBOURS, SEARCH_DRAWS, FINAL_DRAWS = 2_000, 40, 2_000, 100_000


@dataclass(frozen=True)
class Divergence:
    """delta(epsilon) with its standard error, and the same with the covariance of the first data set in both."""

    delta: float
    error: float
    fixed: float


def hockey_stick(first, second, epsilon: float, draws: int, rng: np.random.Generator) -> tuple[float, float]:
    """delta(epsilon) and its standard error for two Gaussians (mean (H, p), covariance (p, p)), rows independent."""
    (mean, covariance), (other_mean, other_covariance) = first, second
    root, other_root = np.linalg.cholesky(covariance), np.linalg.cholesky(other_covariance)
    z = rng.standard_normal((draws, *mean.shape))
    # x - m' = root z + m - m' whitened by the other root; log-densities differ by half the squared lengths.
    step = np.linalg.solve(other_root, root)
    shift = np.linalg.solve(other_root, (mean - other_mean).T).T
    lengths = np.sum((z @ step.T + shift) ** 2, axis=(1, 2)) - np.sum(z**2, axis=(1, 2))
    determinant = np.log(np.diagonal(other_root)).sum() - np.log(np.diagonal(root)).sum()
    loss = lengths / 2 + len(mean) * determinant
    excess = -np.expm1(np.minimum(epsilon - loss, 0.0))
    return float(excess.mean()), float(excess.std() / np.sqrt(draws))


def charitable_delta(X, y, n_slices, n_directions, epsilon, delta, radius, rng, *, public=True) -> Divergence:
    """Largest divergence over replacements of one record by a corner of the box, charitable reading.

    With ``public`` edges only one column or two of M move; with the quantile slices of the source all may.
    """
    n, p = X.shape
    floor = vgm_floor(n, p, radius, epsilon, delta)
    edges = np.quantile(y, np.arange(1, n_slices) / n_slices)
    slices = public_slices(fixed(edges)) if public else equal_frequency(y, n_slices)
    base = client_moments(X, y, slices, clip=BoxClip(fixed(radius))).means

    def distribution(means):
        return means.T, vgm_covariance(means, n_directions, floor)

    def neighbour():
        i, h, corner = rng.integers(n), rng.integers(n_slices), radius * rng.choice([-1.0, 1.0], p)
        if not public:
            records, responses = X.copy(), y.copy()
            records[i], responses[i] = corner, y[rng.integers(n)] + 1e-9
            return client_moments(
                records, responses, equal_frequency(responses, n_slices), clip=BoxClip(fixed(radius))
            ).means
        moved = base.copy()
        moved[:, np.searchsorted(edges, y[i])] -= np.clip(X[i], -radius, radius) / n
        moved[:, h] += corner / n
        return moved

    left, singular, right = np.linalg.svd(base, full_matrices=False)
    gaps, outside = singular[:-1] - singular[1:], np.eye(p) - left[:, :n_directions] @ left[:, :n_directions].T

    def rotation(moved):
        """Variance that the turn of the leading vectors adds outside their span, to first order."""
        turned = outside @ (moved - base) @ right[:n_directions].T / singular[:n_directions]
        return np.sum(gaps[:n_directions] * turned**2)

    pool = sorted((neighbour() for _ in range(POOL)), key=rotation)[-NEIGHBOURS:]
    pairs = [
        pair
        for moved in pool
        for pair in ((distribution(base), distribution(moved)), (distribution(moved), distribution(base)))
    ]
    scores = [hockey_stick(*pair, epsilon, SEARCH_DRAWS, rng)[0] for pair in pairs]
    best = pairs[int(np.argmax(scores))]
    value, error = hockey_stick(*best, epsilon, FINAL_DRAWS, rng)
    still, _ = hockey_stick(best[0], (best[1][0], best[0][1]), epsilon, FINAL_DRAWS, rng)
    return Divergence(value, error, still)
