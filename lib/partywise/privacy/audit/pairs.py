"""Empirical lower bounds on what a mechanism leaks: attack it, and certify the attack's success.

An audit gets scores drawn in two neighbouring worlds D and D'. Some draws choose the event "score above t" or "score
below t", the others certify it, so the choice costs nothing. TPR and FPR are the probabilities of the event in the
two worlds, bounded by Clopper and Pearson (1934): each at half of the error for epsilon, jointly for mu. Finite
mechanisms need no draws (``audit_exact``), and one run with many canaries does where draws are dear
(``audit_one_run``).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtr, ndtri

from ..accounting.roots import bisect

# Thresholds tried: even ranks for the middle of the scores, ranks that double for both tails.
EVEN_RANKS = 60
# One draw in so many chooses the event. Rare events (counts) must be seen to be chosen; the event of the mu audit lies
# in the middle of the scores, where few draws find it and the rest are better spent on certifying.
CHOOSE_COUNTS, CHOOSE_MU = 2, 20
# The choice uses bounds of this error, or of the error asked for if that is less: among many events some look good by
# luck, and a stern choice prefers those with more draws. It costs no confidence, as the choice proves nothing.
CHOOSE_ERROR = 1e-6
# Standard errors of a correlation between the worlds above which their draws are not independent: 1e-15 by chance.
TOGETHER = 8.0
# Steps that enclose the joint confidence region of the two rates; more would raise mu_lower by less than 0.1 %.
ARC_STEPS = 256


@dataclass(frozen=True)
class AuditResult:
    """Lower bounds, each valid by itself with probability ``confidence``.

    mu_lower : Phi^-1(TPR_lo) - Phi^-1(FPR_hi), at least 0: a bound on mu for Gaussian mechanisms, a description
        otherwise
    eps_lower : log((TPR_lo - delta) / FPR_hi), at least 0: a bound on epsilon at ``delta`` for every mechanism
    kind : ``"gaussian"`` where both are certificates, ``"counts"`` where ``eps_lower`` alone is
    n : draws a world that certify ``eps_lower``, half of them
    at_sample_limit : whether the event never happened under the other world, so that more draws would give a larger
        bound
    """

    mu_lower: float
    eps_lower: float
    kind: str
    confidence: float
    n: int
    at_sample_limit: bool


def clopper_pearson(successes: ArrayLike, n: int, error: float) -> tuple[np.ndarray, np.ndarray]:
    """One-sided lower and upper confidence bounds of a probability, each wrong with probability ``error``."""
    k = np.asarray(successes, dtype=float)
    lower = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1), n - np.maximum(k, 1) + 1, error))
    upper = np.where(k == n, 1.0, betaincinv(np.minimum(k, n - 1) + 1, n - np.minimum(k, n - 1), 1 - error))
    return lower, upper


def audit_pair(
    scores: ArrayLike, scores_neighbour: ArrayLike, delta: float, *, gaussian: bool = False, confidence: float = 0.999
) -> AuditResult:
    """Bound mu and epsilon from below by the best threshold attack on a pair of neighbours.

    Parameters
    ----------
    scores, scores_neighbour : ndarray of shape (m,)
        Independent draws of one statistic of the output under D and under D'; the most powerful statistic of a
        Gaussian pair is the log-likelihood ratio. Even positions choose the event, odd ones certify it (every twentieth
        and the others, for mu). The two worlds have noise of their own: common random numbers, and scores that were
        sorted, void ``confidence`` and are refused where they show.
    delta : float
        In [0, 1), of the epsilon that is bounded.
    gaussian : bool
        Whether the mechanism is known to be Gaussian, so that ``mu_lower`` is a certificate as well as ``eps_lower``,
        which is one for every mechanism.
    confidence : float
        In (0, 1).

    Returns
    -------
    AuditResult

    Raises
    ------
    ValueError
        If the arrays are not of one length of at least 20, are not finite, go together position by position, or a
        number is out of range.
    """
    first, second = (np.asarray(s, dtype=float) for s in (scores, scores_neighbour))
    if first.ndim != 1 or first.shape != second.shape or len(first) < 20:
        raise ValueError(f"scores of shapes {first.shape} and {second.shape}: give two vectors of equal length >= 20.")
    if not np.all(np.isfinite(first)) or not np.all(np.isfinite(second)):
        raise ValueError("scores are not all finite; an attack must score every output with a number.")
    if not 0 <= delta < 1 or not 0 < confidence < 1:
        raise ValueError(f"delta={delta!r} must lie in [0, 1) and confidence={confidence!r} in (0, 1).")
    _refuse_common_numbers(first, second)
    error = (1 - confidence) / 2
    choosing = min(error, CHOOSE_ERROR)
    counts = _choose(first, second, CHOOSE_COUNTS, choosing, _ratio_at(delta))
    eps = max(float(_bound(*counts, error, _ratio_at(delta))), 0.0)
    mu = max(_joint_mu(*_choose(first, second, CHOOSE_MU, choosing, _separation), 1 - confidence), 0.0)
    return AuditResult(mu, eps, "gaussian" if gaussian else "counts", confidence, len(first) // 2, counts[1] == 0)


def _refuse_common_numbers(first: np.ndarray, second: np.ndarray) -> None:
    """Raise `ValueError` if the scores of the two worlds are correlated, either way (Fisher's z of their ranks)."""
    if any(len(np.unique(scores)) < len(scores) / 2 for scores in (first, second)):
        # A correlation of few different scores can be large by chance.
        return
    together = float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])
    if math.atanh(min(abs(together), 1 - 1e-15)) * math.sqrt(len(first) - 3) > TOGETHER:
        raise ValueError(
            f"scores and scores_neighbour have a rank correlation of {together:.3f}: draw the two worlds with noise of "
            "their own, in the order in which it came; common random numbers and sorted scores void the confidence."
        )


def _ranks(scores: np.ndarray) -> np.ndarray:
    """Ranks, equal scores with the mean of theirs: by position, clipped scores of two worlds would go together."""
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def _choose(
    first: np.ndarray,
    second: np.ndarray,
    every: int,
    error: float,
    bound: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> tuple[int, int, int]:
    """Choose world order, side and threshold on some draws by the bound itself; count the event among the others."""
    choose = (np.sort(first[::every]), np.sort(second[::every]))
    others = np.arange(len(first)) % every != 0
    certify = (first[others], second[others])
    thresholds = _thresholds(*choose)
    best, chosen = -np.inf, (1.0, 0, thresholds[0])
    for side in (1.0, -1.0):
        for world in (0, 1):
            true, false = (_beyond_sorted(choose[w], side, thresholds) for w in (world, 1 - world))
            values = _bound(true, false, len(choose[0]), error, bound)
            if np.max(values) > best:
                best, chosen = np.max(values), (side, world, thresholds[np.argmax(values)])
    side, world, threshold = chosen
    hit, missed = (np.count_nonzero(side * certify[w] > side * threshold) for w in (world, 1 - world))
    return int(hit), int(missed), len(certify[0])


def _joint_mu(hit: int, missed: int, n: int, error: float) -> float:
    """Least Phi^-1(TPR) - Phi^-1(FPR) over the pairs of rates that the two counts do not refute together.

    With one-sided p-values of the two independent counts as normal quantiles z1, z2, a pair is refuted where
    max(z1, 0)^2 + max(z2, 0)^2 > c^2, which has probability Phi(-c) + exp(-c^2 / 2) / 4 = error at most. The two bounds
    are thus never at their worst together, which costs a quarter less than half of the error for each. The quarter
    circle is enclosed by steps: in each, TPR is taken from its one end and FPR from the other.
    """
    _, radius = bisect(lambda c: ndtr(-c) + np.exp(-c * c / 2) / 4 > error, 0.0, 40.0, rounds=60)
    angles = np.linspace(0, np.pi / 2, ARC_STEPS + 1)
    true, _ = clopper_pearson(hit, n, ndtr(-radius * np.cos(angles[:-1])))
    _, false = clopper_pearson(missed, n, ndtr(-radius * np.sin(angles[1:])))
    return float(np.min(_separation(true, false)))


def _separation(true: np.ndarray, false: np.ndarray) -> np.ndarray:
    return ndtri(true) - ndtri(false)


def _ratio_at(delta: float) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda true, false: np.log(np.maximum(true - delta, np.finfo(float).tiny)) - np.log(false)


def _thresholds(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Midpoints between selected scores, so that worlds that do not overlap are cut in the middle of the gap."""
    pooled = np.sort(np.concatenate([first, second]))
    last = len(pooled) - 1
    tails = 2 ** np.arange(last.bit_length())
    ranks = np.concatenate([np.linspace(0, last, EVEN_RANKS).astype(int), tails, last - tails])
    edges = np.unique(np.concatenate([pooled[ranks], first[[0, -1]], second[[0, -1]]]))
    return edges[:-1] / 2 + edges[1:] / 2 if len(edges) > 1 else edges


def _beyond_sorted(ordered: np.ndarray, side: float, thresholds: np.ndarray) -> np.ndarray:
    """Number of sorted scores strictly above (side 1) or below (side -1) each threshold."""
    if side > 0:
        return len(ordered) - np.searchsorted(ordered, thresholds, side="right")
    return np.searchsorted(ordered, thresholds, side="left")


def _bound(
    true: ArrayLike, false: ArrayLike, n: int, error: float, bound: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> np.ndarray:
    lower, _ = clopper_pearson(true, n, error)
    _, upper = clopper_pearson(false, n, error)
    with np.errstate(invalid="ignore"):
        values = bound(lower, upper)
    return np.where(np.isnan(values), -np.inf, values)
