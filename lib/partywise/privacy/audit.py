"""Empirical lower bounds on what a mechanism leaks: attack it, and certify the attack's success.

An audit gets scores drawn in two neighbouring worlds D and D'. Some draws choose the event "score above t" or "score
below t", the others certify it, so the choice costs nothing. TPR and FPR are the probabilities of the event in the
two worlds; each is bounded by Clopper and Pearson (1934) at half of the error.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri

__all__ = ["AuditResult", "audit_pair", "clopper_pearson"]

# Thresholds tried: even ranks for the middle of the scores, ranks that double for both tails.
EVEN_RANKS = 60
# One draw in so many chooses the event. Rare events (counts) must be seen to be chosen; the event of the mu audit lies
# in the middle of the scores, where few draws find it and the rest are better spent on certifying.
CHOOSE_COUNTS, CHOOSE_MU = 2, 10


@dataclass(frozen=True)
class AuditResult:
    """Lower bounds, each valid by itself with probability ``confidence``.

    Parameters
    ----------
    mu_lower : float
        Phi^-1(TPR_lo) - Phi^-1(FPR_hi), at least 0: a bound on mu for Gaussian mechanisms, a description otherwise.
    eps_lower : float
        log((TPR_lo - delta) / FPR_hi), at least 0: a bound on epsilon at ``delta`` for every mechanism.
    kind : {"gaussian", "counts"}
        Which of the two are certificates: both, or ``eps_lower`` alone.
    confidence : float
    n : int
        Draws a world that certify ``eps_lower``: half of them.
    at_sample_limit : bool
        Whether the event never happened under the other world: more draws would give a larger bound.
    """

    mu_lower: float
    eps_lower: float
    kind: str
    confidence: float
    n: int
    at_sample_limit: bool


def clopper_pearson(successes, n: int, error: float):
    """One-sided lower and upper confidence bounds of a probability, each wrong with probability ``error``.

    Parameters
    ----------
    successes : int or ndarray
        Number of successes, 0..n.
    n : int
        Number of trials.
    error : float
        In (0, 1).

    Returns
    -------
    lower, upper : ndarray
        Quantiles of Beta(k, n - k + 1) and Beta(k + 1, n - k); 0 and 1 at the ends.
    """
    k = np.asarray(successes, dtype=float)
    lower = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1), n - np.maximum(k, 1) + 1, error))
    upper = np.where(k == n, 1.0, betaincinv(np.minimum(k, n - 1) + 1, n - np.minimum(k, n - 1), 1 - error))
    return lower, upper


def audit_pair(
    scores, scores_neighbour, delta: float, *, gaussian: bool = True, confidence: float = 0.999
) -> AuditResult:
    """Bound mu and epsilon from below by the best threshold attack on a pair of neighbours.

    Parameters
    ----------
    scores, scores_neighbour : ndarray of shape (m,)
        Independent draws of one statistic of the output under D and under D'; the most powerful statistic of a
        Gaussian pair is the log-likelihood ratio. Even positions choose the event, odd ones certify it.
    delta : float
        In [0, 1), of the epsilon that is bounded.
    gaussian : bool
        Whether the mechanism is Gaussian, so that ``mu_lower`` is a certificate.
    confidence : float
        In (0, 1).

    Returns
    -------
    AuditResult

    Raises
    ------
    ValueError
        If the arrays are not of one length of at least 20, are not finite, or a number is out of range.
    """
    first, second = (np.asarray(s, dtype=float) for s in (scores, scores_neighbour))
    if first.ndim != 1 or first.shape != second.shape or len(first) < 20:
        raise ValueError(f"scores of shapes {first.shape} and {second.shape}: give two vectors of equal length >= 20.")
    if not np.all(np.isfinite(first)) or not np.all(np.isfinite(second)):
        raise ValueError("scores are not all finite; an attack must score every output with a number.")
    if not 0 <= delta < 1 or not 0 < confidence < 1:
        raise ValueError(f"delta={delta!r} must lie in [0, 1) and confidence={confidence!r} in (0, 1).")
    error = (1 - confidence) / 2
    mu, _ = _certified(first, second, CHOOSE_MU, error, lambda low, high: ndtri(low) - ndtri(high))
    eps, limit = _certified(first, second, CHOOSE_COUNTS, error, lambda low, high: _log_ratio(low - delta, high))
    return AuditResult(mu, eps, "gaussian" if gaussian else "counts", confidence, len(first) // 2, limit)


def _certified(first, second, every: int, error: float, bound) -> tuple[float, bool]:
    """Choose world order, side and threshold on some draws by the bound itself; certify them on the others."""
    choose = (np.sort(first[::every]), np.sort(second[::every]))
    others = np.arange(len(first)) % every != 0
    certify = (first[others], second[others])
    n_choose, n_certify = len(choose[0]), len(certify[0])
    thresholds = _thresholds(*choose)
    best, chosen = -np.inf, (1.0, 0, thresholds[0])
    for side in (1.0, -1.0):
        for world in (0, 1):
            true, false = (_beyond_sorted(choose[w], side, thresholds) for w in (world, 1 - world))
            values = _bound(true, false, n_choose, error, bound)
            if np.max(values) > best:
                best, chosen = np.max(values), (side, world, thresholds[np.argmax(values)])
    side, world, threshold = chosen
    hit, missed = (np.count_nonzero(side * certify[w] > side * threshold) for w in (world, 1 - world))
    return max(float(_bound(hit, missed, n_certify, error, bound)), 0.0), bool(missed == 0)


def _thresholds(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Midpoints between selected scores, so that worlds that do not overlap are cut in the middle of the gap."""
    pooled = np.sort(np.concatenate([first, second]))
    last = len(pooled) - 1
    tails = 2 ** np.arange(last.bit_length())
    ranks = np.concatenate([np.linspace(0, last, EVEN_RANKS).astype(int), tails, last - tails])
    edges = np.unique(np.concatenate([pooled[ranks], first[[0, -1]], second[[0, -1]]]))
    return (edges[:-1] + edges[1:]) / 2 if len(edges) > 1 else edges


def _beyond_sorted(ordered: np.ndarray, side: float, thresholds: np.ndarray) -> np.ndarray:
    """Number of sorted scores strictly above (side 1) or below (side -1) each threshold."""
    if side > 0:
        return len(ordered) - np.searchsorted(ordered, thresholds, side="right")
    return np.searchsorted(ordered, thresholds, side="left")


def _bound(true, false, n: int, error: float, bound):
    lower, _ = clopper_pearson(true, n, error)
    _, upper = clopper_pearson(false, n, error)
    with np.errstate(invalid="ignore"):
        values = bound(lower, upper)
    return np.where(np.isnan(values), -np.inf, values)


def _log_ratio(numerator, denominator):
    return np.log(np.maximum(numerator, np.finfo(float).tiny)) - np.log(denominator)
