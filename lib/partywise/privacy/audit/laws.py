"""Exact epsilon of a pair of neighbours at the delta of a claim, where both laws are finite."""

from __future__ import annotations

import numpy as np

from ..accounting.calibration import randomized_response_probability
from ..accounting.roots import bisect


def finite_epsilon(first: np.ndarray, second: np.ndarray, delta: float) -> float:
    """Least epsilon at which two finite laws satisfy (epsilon, delta) in both directions.

    Parameters
    ----------
    first, second : ndarray of shape (m,)
        Probabilities of the same outputs.
    delta : float
        In [0, 1).

    Returns
    -------
    float
        inf where more than ``delta`` of one law lies outside the support of the other.
    """
    losses = []
    for p, q in ((first, second), (second, first)):
        seen = p > 0
        with np.errstate(divide="ignore"):
            losses.append(_least_epsilon(np.log(p[seen]) - np.log(q[seen]), p[seen], delta))
    return max(losses)


def response_epsilon(epsilon: float, k: int, moved: int, delta: float) -> float:
    """Epsilon of k-ary randomised response on ``moved`` indices that all differ between two worlds.

    The loss is epsilon times (indices found as in this world less those as in the other): a sum of independent -1, 0
    and 1, whose law is an exact convolution.
    """
    if moved == 0:
        return 0.0
    keep = float(randomized_response_probability(epsilon, k))
    other = (1 - keep) / (k - 1)
    law = np.ones(1)
    for _ in range(moved):
        law = np.convolve(law, [other, max(1 - keep - other, 0.0), keep])
    return _least_epsilon(epsilon * np.arange(-moved, moved + 1), law, delta)


def _least_epsilon(losses: np.ndarray, law: np.ndarray, delta: float) -> float:
    """Root of sum P (1 - e^(epsilon - loss))_+ = delta in epsilon >= 0, from below: a lower bound stays one."""
    if float(np.sum(law[np.isinf(losses) & (losses > 0)])) > delta:
        return float("inf")

    def excess(epsilon: float) -> float:
        return float(np.sum(law * -np.expm1(np.minimum(epsilon - losses, 0.0)))) - delta

    finite = losses[np.isfinite(losses)]
    low, high = 0.0, max(float(finite.max(initial=0.0)), 0.0)
    return low if excess(low) <= 0 else bisect(lambda epsilon: excess(epsilon) > 0, low, high)[0]
