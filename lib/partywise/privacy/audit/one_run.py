"""Audit from a single run with many canaries, each of them in or out by its own fair coin.

Steinke, Nasr and Jagielski (2023), "Privacy auditing with one (1) training run", arXiv:2305.08846: the number of right
guesses of an (epsilon, delta)-DP mechanism is hardly larger than a Binomial(guesses, e^epsilon / (1 + e^epsilon)).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtrc, expit, gammaln

from ..accounting.roots import bisect

# No number of canaries refutes more; at a confidence of nearly 0 everything is refuted.
MOST = 1e6


@dataclass(frozen=True)
class OneRunAudit:
    """A lower bound on epsilon, valid with probability ``confidence``.

    eps_lower : at least 0, a bound on epsilon at the stated delta for every mechanism
    n : number of canaries m
    guesses : canaries guessed (the others: abstained)
    correct : right guesses
    at_sample_limit : whether all guesses were right, so that more canaries would give a larger bound
    """

    eps_lower: float
    kind: str
    confidence: float
    n: int
    guesses: int
    correct: int
    at_sample_limit: bool


def audit_one_run(
    scores: ArrayLike,
    bits: ArrayLike,
    delta: float,
    *,
    confidence: float = 0.95,
    guesses: int | Sequence[int] | None = None,
    threshold: float | None = None,
) -> OneRunAudit:
    """Bound epsilon from below by guessing which canaries one run of the mechanism has seen.

    Parameters
    ----------
    scores : ndarray of shape (m,)
        One score per canary, computed from the output of the mechanism alone; larger means "was in".
    bits : ndarray of shape (m,)
        1 where the canary was in, 0 where it was out: independent fair coins, drawn before the run.
    delta : float
        In [0, 1), of the epsilon that is bounded (add-remove of one canary, or exchange for its alternative).
    confidence : float
        In (0, 1).
    guesses : int or sequence of int, optional
        Number r of canaries guessed, those with scores farthest from the threshold. All of them by default. Of a
        sequence, fixed before the run, the best is reported and each is tested at its share of the error (Bonferroni).
    threshold : float, optional
        Scores above it are guessed "in". By default the cut that splits the scores into two groups with the largest
        variance between them; it is found without ``bits``, so that guessing stays post-processing.

    Returns
    -------
    OneRunAudit

    Raises
    ------
    ValueError
        If the arrays are not of one length of at least 2, scores are not finite, a bit is not 0 or 1, or a number is
        out of range.
    """
    score, bit = _check(scores, bits, delta, confidence)
    m = len(score)
    counts = _counts(guesses, m)
    cut = _two_groups(score) if threshold is None else float(threshold)
    right = (score > cut) == (bit == 1)
    order = np.argsort(-np.abs(score - cut), kind="stable")
    hits = np.cumsum(right[order])
    error = (1 - confidence) / len(counts)
    bounds = [(_invert(int(hits[r - 1]), r, m, delta, error), r) for r in counts]
    bound, best = max(bounds)
    correct = int(hits[best - 1])
    return OneRunAudit(bound, "one_run", confidence, m, best, correct, correct == best)


def one_run_tail(correct: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """Probability of at least so many right guesses under (epsilon, delta)-DP, bounded from above.

    Corollary 5.4 of the source (version 1; code in its Appendix D): with beta(v) = P[Binomial(r, q) >= v] and
    q = e^epsilon / (1 + e^epsilon), the bound is beta(v) + 2 m delta max over i = 1..v of (beta(v - i) - beta(v)) / i.
    Where 2 m delta > 1 the terms i < 2 m delta are enlarged by (2 m delta / i - 1) beta(v), which keeps the bound
    increasing in epsilon; elsewhere the bound is the published one.
    """
    if correct == 0:
        return 1.0
    beta = float(bdtrc(correct - 1, guesses, expit(epsilon)))
    if delta == 0:
        return beta
    successes = np.arange(correct - 1, -1, -1)
    log_right, log_wrong = -np.log1p(np.exp(-epsilon)), -epsilon - np.log1p(np.exp(-epsilon))
    log_ways = gammaln(guesses + 1) - gammaln(successes + 1) - gammaln(guesses - successes + 1)
    more = np.cumsum(np.exp(log_ways + successes * log_right + (guesses - successes) * log_wrong))
    shares = 2 * canaries * delta / np.arange(1, correct + 1)
    return min(float(np.max(np.maximum(1 - shares, 0) * beta + shares * (beta + more))), 1.0)


def _invert(correct: int, guesses: int, canaries: int, delta: float, error: float) -> float:
    """The largest epsilon that the count refutes, rounded down; the bound increases in epsilon."""
    if one_run_tail(correct, guesses, canaries, 0.0, delta) > error:
        return 0.0

    def refutes(epsilon: float) -> bool:
        return one_run_tail(correct, guesses, canaries, epsilon, delta) <= error

    low, high = 0.0, 1.0
    while high < MOST and refutes(high):
        low, high = high, 2 * high
    return bisect(refutes, low, high, gap=1e-9)[0]


def _two_groups(scores: np.ndarray) -> float:
    """The cut of sorted scores with the largest variance between the groups (Otsu 1979), half-way across its gap."""
    # At a power of two, where neither sums nor squares overflow or vanish.
    _, exponent = np.frexp(np.max(np.abs(scores)))
    ordered = np.ldexp(np.sort(scores), -exponent)
    m = len(ordered)
    below = np.arange(1, m)
    centred = np.cumsum(ordered - ordered.mean())[:-1]
    split = int(np.argmax(centred**2 / (below * (m - below))))
    return float(np.ldexp(ordered[split] / 2 + ordered[split + 1] / 2, exponent))


def _counts(guesses: int | Sequence[int] | None, m: int) -> list[int]:
    counts = [m] if guesses is None else [int(r) for r in np.atleast_1d(guesses)]
    if not counts or any(not 1 <= r <= m for r in counts):
        raise ValueError(f"guesses={guesses!r} must lie in 1..{m}, the number of canaries.")
    return counts


def _check(scores: ArrayLike, bits: ArrayLike, delta: float, confidence: float) -> tuple[np.ndarray, np.ndarray]:
    score, bit = np.asarray(scores, dtype=float), np.asarray(bits)
    if score.ndim != 1 or score.shape != bit.shape or len(score) < 2:
        raise ValueError(f"scores of shape {score.shape}, bits of shape {bit.shape}: give two equal vectors, m >= 2.")
    if not np.all(np.isfinite(score)):
        raise ValueError("scores are not all finite; an attack must score every canary with a number.")
    if not np.all((bit == 0) | (bit == 1)):
        raise ValueError("bits must be 1 (the canary was in) or 0 (it was out); turn other codes into these.")
    if not 0 <= delta < 1 or not 0 < confidence < 1 or math.isnan(delta):
        raise ValueError(f"delta={delta!r} must lie in [0, 1) and confidence={confidence!r} in (0, 1).")
    return score, bit
