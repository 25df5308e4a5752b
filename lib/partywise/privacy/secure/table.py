"""Integer Gaussian noise from a table of cumulative probabilities: the stated distribution exactly, not to within
rounding.

A draw is a number U, uniform on [0, 1), revealed bit by bit from its top. A table in fixed point brackets every
cumulative probability; as soon as the known bits of U put it on one side of every bracket, the outcome is certain,
for any other bits. 16 bits and one look-up decide most draws, 64 bits and a search almost all others, and
about one in 10^15 needs 128 bits. Should these lie inside a bracket (about one draw in 10^34), the table is computed
again with twice the bits. Nothing is truncated, so that no approximation error needs a delta.

How long a draw takes depends on its outcome: the sampler is not constant-time, and is not meant for a place where
an attacker can measure its time. A draw also looks up memory at an address that depends on its outcome.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate

import numpy as np

DISTRIBUTIONS = ("rounded", "discrete")
# In grid units. Below, the table says little; above, it no longer fits the caches and takes seconds to build.
SIGMA_RANGE = (0.5, 2.0**14)
# Bits beyond the stated ones in which weights are computed. Errors of one product grow along the tails: they stay
# below 2^120 units of the last bit for every sigma in range and up to 1024 bits, and reach 2^52 when measured.
GUARD_BITS = 192
TABLE_BITS = 128
GUIDE_BITS = 16
OPEN = np.iinfo(np.int32).min
# Words drawn at a time: what fits in a second-level cache.
CHUNK = 1 << 16

Words = Callable[[int], np.ndarray]
Bounds = Callable[[int], Sequence[int]]


@dataclass(frozen=True, eq=False)
class _Table:
    """High words of the brackets (``sure``: from here on passed; ``maybe``: before it not passed) and the guide."""

    reach: int
    sure: np.ndarray
    maybe: np.ndarray
    guide: np.ndarray


def draw_integers(words: Words, sigma: float, distribution: str, size: int | tuple[int, ...]) -> np.ndarray:
    """Draw independent integers from a Gaussian distribution, int64.

    ``words(n)`` returns n independent uniform 64-bit words: one a draw, rarely more. ``"rounded"``: P(j) = Phi((j +
    1/2) / sigma) - Phi((j - 1/2) / sigma). ``"discrete"``: P(j) proportional to exp(-j^2 / (2 sigma^2)) (Canonne,
    Kamath, Steinke 2020). Sigma is in grid units, within `SIGMA_RANGE`, and taken as the exact rational number that the
    float is. A draw is a monotone function of its word: the same words at two sigmas give nearly one draw rescaled.
    """
    table = _table(require_sigma(sigma, distribution), distribution)
    stated = partial(cumulative_bounds, float(sigma), distribution)
    drawn = np.empty(size, dtype=np.int64)
    flat = drawn.reshape(-1)
    for start in range(0, flat.size, CHUNK):
        piece = flat[start : start + CHUNK]
        high = words(piece.size)
        piece[:] = table.guide[(high >> np.uint64(64 - GUIDE_BITS)).view(np.int64)]
        still_open = (piece == OPEN).nonzero()[0]
        rest = high[still_open]
        count = table.sure.searchsorted(rest, side="right")
        piece[still_open] = count - (table.reach + 1)
        for i in still_open[table.maybe[count] <= rest]:
            count, bits = _resolve(words, int(high[i]), lambda bits: stated(bits)[1])
            # More bits reach further.
            piece[i] = count - (stated(bits)[0] + 1)
    return drawn


def draw_outcomes(words: Words, high: np.ndarray, bounds: Bounds) -> np.ndarray:
    """Draw independent outcomes 0..m-1 of a finite distribution, int64, exactly; the first word of every draw is given.

    ``bounds(bits)`` has the `brackets` of its m cumulative probabilities.
    """
    sure, maybe = _high_words(bounds(TABLE_BITS))
    drawn = sure.searchsorted(high, side="right")
    for i in (maybe[drawn] <= high).nonzero()[0]:
        drawn[i], _ = _resolve(words, int(high[i]), bounds)
    return drawn


def brackets(weights: Sequence[int], bits: int) -> list[int]:
    """Whole parts of 2^bits times the cumulative shares of weights; the last one, 1, is bracketed from below."""
    sums = list(accumulate(weights))
    return [*((partial << bits) // sums[-1] for partial in sums[:-1]), (1 << bits) - 1]


def _resolve(words: Words, high: int, bounds: Bounds) -> tuple[int, int]:
    """Number of probabilities passed by a draw that its first 64 bits do not decide, and the bits that decide it."""
    u, bits, wanted = high, 64, TABLE_BITS
    while True:
        for word in words((wanted - bits) // 64):
            u = (u << 64) | int(word)
        bits = wanted
        # U lies in [u, u + 1) and the k-th probability strictly within (bounds[k] - 1, bounds[k] + 2), in 2^-bits.
        limits = bounds(bits)
        count = bisect_right(limits, u - 2)
        if count == bisect_right(limits, u + 1):
            return count, bits
        wanted = 2 * bits


def require_sigma(sigma: float, distribution: str) -> float:
    """Return a deviation in grid units; `ValueError` if it is out of `SIGMA_RANGE` or the distribution unknown."""
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"distribution={distribution!r} of integer noise is unknown; use one of {DISTRIBUTIONS}.")
    low, high = SIGMA_RANGE
    if not low <= sigma <= high:
        raise ValueError(
            f"sigma={float(sigma)!r} grid units lies outside [{low:g}, {high:g}]; choose a grid near sigma / 2^10 "
            "(a power of two), and for long vectors a statistic that lies on the grid, such as fixed_point_sum."
        )
    return float(sigma)


@lru_cache(maxsize=32)
def _table(sigma: float, distribution: str) -> _Table:
    reach, bounds = cumulative_bounds(sigma, distribution, TABLE_BITS)
    sure, maybe = _high_words(bounds)
    first = np.arange(1 << GUIDE_BITS, dtype=np.uint64) << np.uint64(64 - GUIDE_BITS)
    last = first + np.uint64((1 << (64 - GUIDE_BITS)) - 1)
    count = np.searchsorted(sure, first, side="right")
    decided = count == np.searchsorted(maybe, last, side="right")
    guide = np.where(decided, count - reach - 1, OPEN).astype(np.int32)
    return _Table(reach, sure, maybe, guide)


def _high_words(bounds: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """High words from which each bracket is passed, and before which it is not; the last is never passed."""
    low = TABLE_BITS - 64
    passed = (-((-bound - 2) >> low) for bound in bounds)
    sure = np.array([word for word in passed if word < 1 << 64], dtype=np.uint64)
    return sure, np.array([max(bound - 1, 0) >> low for bound in bounds], dtype=np.uint64)


@lru_cache(maxsize=64)
def cumulative_bounds(sigma: float, distribution: str, bits: int) -> tuple[int, list[int]]:
    """Reach and brackets of the cumulative probabilities of a distribution (`draw_integers`); the list is shared
    between calls.

    Beyond reach lies less than 2^-(bits + 8) on either side. For k = -reach - 1 .. reach a bound is the whole part of
    2^bits P(noise <= k), computed: the true value lies in (bound - 1, bound + 2). Weights are products w_k = exp(-k^2 /
    (2 sigma^2)) s_k with s_k = 1 for the discrete distribution and s_k = the integral of exp(-k s / sigma^2 - s^2 / (2
    sigma^2)) over |s| <= 1/2 for the rounded one; only integers are used. Cutting the tails moves a probability by less
    than 2^-6 units, arithmetic by less than 2^-60, the whole part by one.
    """
    numerator, denominator = sigma.as_integer_ratio()
    # 1 / sigma^2 as an exact ratio.
    top, bottom = denominator * denominator, numerator * numerator
    reach = math.ceil(sigma * math.sqrt(2 * (bits + 8) * math.log(2))) + 1
    precision = bits + GUARD_BITS
    weights = _bells(top, bottom, reach, precision)
    if distribution == "rounded":
        factors = _cell_factors(top, bottom, reach, precision)
        weights = [(w * s) >> precision for w, s in zip(weights, factors, strict=True)]
    return reach, [0, *brackets([*weights[:0:-1], *weights], bits)]


def _bells(top: int, bottom: int, reach: int, precision: int) -> list[int]:
    """exp(-k^2 v / 2) for k = 0..reach, v = top / bottom, by two products a step."""
    ratio = exp_minus(top, 2 * bottom, precision)
    step = (ratio * ratio) >> precision
    bells = [1 << precision]
    for _ in range(reach):
        bells.append((bells[-1] * ratio) >> precision)
        ratio = (ratio * step) >> precision
    return bells


def exp_minus(top: int, bottom: int, precision: int) -> int:
    """exp(-top / bottom) in fixed point: alternating series of a small argument, squared up again."""
    halvings = (256 * top // bottom).bit_length()
    x = (top << precision) // (bottom << halvings)
    total, term, i = 0, 1 << precision, 0
    while term:
        total += term if i % 2 == 0 else -term
        i += 1
        term = ((term * x) >> precision) // i
    for _ in range(halvings):
        total = (total * total) >> precision
    return total


def _cell_factors(top: int, bottom: int, reach: int, precision: int) -> list[int]:
    """The integrals s_k, k = 0..reach: a power series in k^2 with positive coefficients, by Horner's rule.

    s_k = sum_m (k v / 2)^(2m) / (2m)! N_m, N_m = sum_i (-v / 8)^i / (i! (2m + 2i + 1)), v = top / bottom. Powers are
    taken of k / 2^s <= 1, so that no error grows.
    """
    shift = reach.bit_length()
    coefficients, power, m = [], 1 << precision, 0
    while power:
        inner, term, i = 0, power, 0
        while term:
            inner += (term if i % 2 == 0 else -term) // (2 * m + 2 * i + 1)
            i += 1
            term = term * top // (8 * bottom * i)
        coefficients.append(inner)
        m += 1
        power = (power * top * top << (2 * shift)) // (4 * bottom * bottom * (2 * m - 1) * (2 * m))
    factors = []
    for k in range(reach + 1):
        square, total = k * k, 0
        for coefficient in reversed(coefficients):
            total = ((total * square) >> (2 * shift)) + coefficient
        factors.append(total)
    return factors
