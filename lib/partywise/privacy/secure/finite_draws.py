"""Draws from finite distributions with all the digits that the distributions have.

A generator's uniform number has 53 bits, so that nothing rarer than 2^-53 is ever drawn from it, and a probability of
1e-13 only to a thousandth: a mechanism drawn in this way is not the one that is certified. Here 53 bits decide nearly
every draw, as they always did; where they leave the outcome open, further bits are drawn until they decide. Extra bits
are taken from the generator after all others.
"""

import math
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate

import numpy as np

from .table import GUARD_BITS, Words, brackets, draw_outcomes, exp_minus

BITS = 53
CELLS = 2.0**BITS
# Digits of a probability in units of the last bit drawn, beyond the bits: errors stay far below one unit.
GUARD_DIGITS = 20
# Relative error of a weight, and of each addition where they are added.
WEIGHT, ADDITION = 2.0**-49, float(np.nextafter(np.longdouble(1), np.longdouble(2)) - np.longdouble(1))
# Below this a uniform number has too few bits for its logarithm: it is scaled up and drawn on.
FEW_BITS = 26


def rare(numbers: np.random.Generator, uniform: np.ndarray, mantissa: float, exponent: int) -> np.ndarray:
    """Whether uniform numbers lie in the top ``mantissa 2^exponent`` of [0, 1), a probability however small."""
    level = math.ldexp(mantissa, exponent + BITS)
    whole = math.floor(level)
    cell = (1 - uniform) * CELLS
    hit = cell <= whole
    rest = (mantissa, exponent + BITS) if whole == 0 else math.frexp(level - whole)
    still_open = np.nonzero(cell == whole + 1)
    if rest[0] > 0 and still_open[0].size:
        hit[still_open] = rare(numbers, numbers.random(still_open[0].size), *rest)
    return hit


def draw_index(
    numbers: np.random.Generator, uniform: np.ndarray, weights: np.ndarray, logs: Callable[[], np.ndarray]
) -> np.ndarray:
    """Indices with probability proportional to exp(logs), by inverse distribution function; numbers as in `rare`.

    ``weights`` (m,) are exp(logs) on any scale and may vanish where exp(logs) does not; ``logs`` is called where they
    do not decide, -inf for 0.
    """
    total = np.cumsum(weights)
    index = np.searchsorted(total[:-1], uniform * total[-1], side="right")
    exact = np.cumsum(weights, dtype=np.longdouble)
    slack = (WEIGHT + 2 * len(weights) * ADDITION) * exact[-1]
    low = np.searchsorted(exact[:-1], uniform * exact[-1] - slack, side="right")
    high = np.searchsorted(exact[:-1], (uniform + 1 / CELLS) * exact[-1] + slack, side="right")
    for i in np.flatnonzero(low != high):
        index[i] = _resolve(numbers, float(uniform[i]), logs())
    return index


def _resolve(numbers: np.random.Generator, uniform: float, logs: np.ndarray) -> int:
    """The outcome of a draw whose first 53 bits do not decide it: reveal further bits until they do."""
    # Imported here: next to no fit gets here.
    import decimal

    u, bits = int(uniform * CELLS), BITS
    top = decimal.Decimal(float(np.max(logs)))
    while True:
        u, bits = (u << BITS) | int(numbers.random() * CELLS), bits + BITS
        with decimal.localcontext() as context:
            context.prec = math.ceil(bits * math.log10(2)) + GUARD_DIGITS + len(str(len(logs)))
            context.Emin, context.Emax = decimal.MIN_EMIN, decimal.MAX_EMAX
            context.clear_traps()
            sums = list(accumulate((decimal.Decimal(float(log)) - top).exp() for log in logs))
            bounds = [partial / sums[-1] * 2**bits for partial in sums[:-1]]
        # U lies in [u, u + 1), and every bound within a unit of what was computed.
        outcome = bisect_right(bounds, decimal.Decimal(u - 1))
        if outcome == bisect_right(bounds, decimal.Decimal(u + 2)):
            return outcome


def largest(numbers: np.random.Generator, scores: np.ndarray, scale: float, winners: int) -> np.ndarray:
    """Indices of the largest scores (m,) after Gumbel noise, best first.

    One Gumbel draw a score; once in about 10^15 draws, where two scores are as close as the noise has digits, one
    uniform number a score more.
    """
    noise = numbers.gumbel(size=len(scores))
    noisy = scores + scale * noise
    order = np.argsort(-noisy, kind="stable")
    if scale > 0 and not _decides(scores, scale, noise, noisy, order, winners):
        order = np.argsort(-((scores - scores.max()) + scale * _refine(numbers, noise)), kind="stable")
    return order[:winners]


def largest_by_words(words: Words, scores: np.ndarray, scale: float, winners: int) -> np.ndarray:
    """Indices as of `largest`, of that law exactly, from uniform words of 64 bits: one exponential mechanism a winner.

    ``scale`` 0 takes the largest scores, the earlier of equal ones first. Scores count as the rational numbers that
    they are.
    """
    order = np.argsort(-scores, kind="stable")
    if scale == 0:
        return order[:winners]
    left = order.tolist()
    exact, unit = {j: Fraction(float(scores[j])) for j in left}, Fraction(scale)
    return np.array([left.pop(_pick(words, [exact[j] for j in left], unit)) for _ in range(winners)])


def _pick(words: Words, scores: list[Fraction], scale: Fraction) -> int:
    """Position of one winner of decreasing scores."""
    gaps = [((scores[0] - score) / scale).as_integer_ratio() for score in scores]

    def bounds(bits: int) -> list[int]:
        return brackets([exp_minus(*gap, bits + GUARD_BITS) for gap in gaps], bits)

    return int(draw_outcomes(words, words(1), bounds)[0])


def _decides(
    scores: np.ndarray, scale: float, noise: np.ndarray, noisy: np.ndarray, order: np.ndarray, winners: int
) -> bool:
    """Whether the digits of the noise, and of the sums, put each winner above all that follow."""
    with np.errstate(divide="ignore"):
        below, above = _cells(noise)
        rounding = 4 * np.spacing(np.abs(scores) + np.abs(noisy))
        low = (scores + scale * _gumbel(below + 1, above - 2) - rounding)[order]
        high = (scores + scale * _gumbel(below - 2, above + 1) + rounding)[order]
    following = np.maximum.accumulate(high[::-1])[::-1]
    return bool(np.all(low[:-1][:winners] > following[1:][:winners]))


def _cells(noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 - U and U, in units of 2^-53, of the uniform numbers U behind Gumbel noise -log(-log U)."""
    loss = np.exp(-noise)
    return -np.expm1(-loss) * CELLS, np.exp(-loss) * CELLS


def _gumbel(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """Gumbel noise from 1 - U and U in units of 2^-53, each taken where it is the smaller."""
    small = below < above
    loss = np.empty_like(below)
    loss[small] = -np.log1p(-np.maximum(below[small], 0.0) / CELLS)
    loss[~small] = -np.log(np.maximum(above[~small], 0.0) / CELLS)
    return -np.log(loss)


def _refine(numbers: np.random.Generator, noise: np.ndarray) -> np.ndarray:
    """The noise drawn within the cell of 2^-53 that its uniform number lies in: a Gumbel distribution without ends."""
    below, above = (np.maximum(np.rint(cells), 1.0) for cells in _cells(noise))
    share = _log_uniform(numbers, len(noise))
    # Within the first cell the logarithm of 1 - U is all there is: -log U = 1 - U there.
    fine = _gumbel(below - 1 + np.exp(share), above - np.exp(share))
    return np.where(below == 1, BITS * math.log(2) - share, fine)


def _log_uniform(numbers: np.random.Generator, size: int) -> np.ndarray:
    """Logarithms of uniform numbers: what is below 2^-26 is 2^-26 times another uniform number."""
    uniform = 1 - numbers.random(size)
    logs = np.log(uniform)
    small = uniform < 2.0**-FEW_BITS
    if np.any(small):
        logs[small] = -FEW_BITS * math.log(2) + _log_uniform(numbers, int(small.sum()))
    return logs
