"""Integers modulo a product of primes, as their residues: additive shares in them are exact, and so are their products.

A number is a multiple of 2^-bits, its multiple an integer modulo M = p_1 ... p_m, and M the product of the m largest
primes below 2^20. Every operation works on m residues at once, int32 arrays (m, *shape) that lie around 0: a product of
two residues stays below 2^38, a sum of 8,192 of them below 2^51, so that double precision holds it exactly and matrix
products are those of the linear algebra library. Nothing is ever truncated: the bits after the point add up over
products, and m follows from bounds that are known before anything is sent (`ring_for`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

# As many uniform words of 64 bits as it is asked for.
Words = Callable[[int], np.ndarray]
LARGEST = 2**20
# Rows whose products are summed before they are reduced.
CHUNK = 8192
# A ring of more primes than any sum of this package needs says that its bounds are wrong.
MOST = 48


@cache
def primes_below(count: int) -> tuple[int, ...]:
    """The largest primes below 2^20, from the largest."""
    odd = range(3, math.isqrt(LARGEST) + 1, 2)
    candidates = (q for q in range(LARGEST - 1, LARGEST // 2, -2) if all(q % d for d in odd))
    return tuple(itertools.islice(candidates, count))


@dataclass(frozen=True)
class Ring:
    """The integers modulo the product of the ``m`` largest primes below 2^20, each as residues, int32 (m, *shape)."""

    m: int

    @cached_property
    def primes(self) -> tuple[int, ...]:
        """The primes, from the largest."""
        return primes_below(self.m)

    @cached_property
    def modulus(self) -> int:
        """Their product M."""
        return math.prod(self.primes)

    def first(self, residues: np.ndarray) -> np.ndarray:
        """Residues in a larger ring as those in this one."""
        return residues[: self.m]

    def reduce(self, values: np.ndarray) -> np.ndarray:
        """Residues of integers below 2^48 in size in double precision, (m, *shape), or (1, *shape) for all primes."""
        return self.rest(values).astype(np.int32)

    def rest(self, values: np.ndarray) -> np.ndarray:
        """Residues as of `reduce`, in double precision.

        A quotient below 2^28 is known to 2^-24, and no integer lies as near to half a prime.
        """
        p = self._along(values.ndim)
        rest = values * (1 / p)
        np.rint(rest, out=rest)
        rest *= p
        np.subtract(values, rest, out=rest)
        return rest

    def encode(self, values: np.ndarray | float, bits: int) -> np.ndarray:
        """Numbers of shape (*shape,) to the nearest multiple of 2^-bits, as residues (m, *shape)."""
        steps = np.rint(np.ldexp(np.asarray(values, dtype=float), bits))
        largest = float(np.max(np.abs(steps), initial=0.0))
        if not largest < self.modulus / 2:
            raise OverflowError(
                f"values up to {math.ldexp(largest, -bits):.6g} with bits={bits} after the point do not fit "
                f"{self.m} primes: give ring_for their bound."
            )
        if largest < 2.0**51:
            return self.reduce(steps[None] if largest < 2.0**40 else self._nearer(steps[None]))
        high = np.trunc(steps * 2.0**-40)
        residues, weight = self.reduce((steps - high * 2.0**40)[None]), 1
        while np.any(high):
            steps, weight = high, weight << 40
            high = np.trunc(steps * 2.0**-40)
            residues = self.sum([residues, self.times(self.reduce((steps - high * 2.0**40)[None]), weight)])
        return residues

    def of_integers(self, values: np.ndarray) -> np.ndarray:
        """Residues (m, *shape) of integers of any size, such as an array of objects."""
        rest, residues, weight = np.array(values, dtype=object), None, 1
        while True:
            # Python's shifts keep the sign above and a part around 0 below.
            above = (rest + (1 << 39)) >> 40
            part = self.reduce((rest - (above << 40)).astype(float)[None])
            residues = part if residues is None else self.sum([residues, self.times(part, weight)])
            if not np.any(above):
                return residues
            rest, weight = above, weight << 40

    def integers(self, residues: np.ndarray) -> np.ndarray:
        """The integers between -M/2 and M/2 that have these residues, an array of Python's."""
        total = np.zeros(residues.shape[1:], dtype=object)
        for digit, p in zip(reversed(self._digits(residues)), reversed(self.primes), strict=True):
            total = total * p + digit.astype(np.int64).astype(object)
        return np.asarray(total, dtype=object)

    def decode(self, residues: np.ndarray, bits: int) -> np.ndarray:
        """(*shape,) the numbers that have these residues, to double precision, by Chinese remainders."""
        total = np.zeros(residues.shape[1:])
        for digit, p in zip(reversed(self._digits(residues)), reversed(self.primes), strict=True):
            total = total * p + digit
        return np.ldexp(total, -bits)

    def random(self, shape: tuple[int, ...], words: Words) -> np.ndarray:
        """Uniform residues (m, *shape), exactly: words beyond the last multiple of a prime are drawn anew."""
        p = self._along(1 + len(shape)).astype(np.uint64)
        drawn = words(self.m * math.prod(shape)).reshape(self.m, *shape)
        last = (np.uint64(2**64 - 1) // p) * p
        while drawn.size and np.any(rejected := drawn >= last):
            drawn[rejected] = words(int(rejected.sum()))
        drawn %= p
        return drawn.astype(np.int32) - (p // np.uint64(2)).astype(np.int32)

    def split(self, residues: np.ndarray, count: int, words: Words) -> tuple[np.ndarray, ...]:
        """Shares of residues: all but the first are uniform, the first is what is missing."""
        others = [self.random(residues.shape[1:], words) for _ in range(count - 1)]
        return (self.difference(residues, others), *others)

    def sum(self, terms: Sequence[np.ndarray]) -> np.ndarray:
        """Sum of residues of the same shape."""
        total = np.add(terms[0], terms[1], dtype=float) if len(terms) > 1 else terms[0].astype(float)
        for term in terms[2:]:
            total += term
        return self.reduce(total)

    def difference(self, residues: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray:
        """Residues less those of others."""
        rest = residues.astype(float)
        for other in others:
            rest -= other
        return self.reduce(rest)

    def times(self, residues: np.ndarray, factor: int) -> np.ndarray:
        """Residues of an integer multiple."""
        factors = np.array([factor % p for p in self.primes], dtype=float).reshape(
            (self.m,) + (1,) * (residues.ndim - 1)
        )
        return self.product(residues, self.reduce(factors))

    def product(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Products entry by entry, shapes as numpy broadcasts them."""
        return self.reduce(np.multiply(first, second, dtype=float))

    def cross(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """(m, a, b) first' second of matrices with rows of records, residues (m, n, a) and (m, n, b)."""
        total = np.zeros((self.m, first.shape[2], second.shape[2]), dtype=np.int32)
        for start in range(0, first.shape[1], CHUNK):
            rows = slice(start, start + CHUNK)
            sums = np.empty(total.shape)
            # One prime after the other, in the same memory: fresh pages would cost more than the products.
            left = np.empty((first[0, rows].shape), dtype=float)
            right = left if second is first else np.empty((second[0, rows].shape), dtype=float)
            for i in range(self.m):
                left[...] = first[i, rows]
                right[...] = second[i, rows]
                np.matmul(left.T, right, out=sums[i])
            total = self.sum([total, self._nearer(sums)])
        return total

    def _nearer(self, values: np.ndarray) -> np.ndarray:
        """Integers below 2^52 less multiples of each prime: a quotient of 2^32 may round to the wrong side."""
        p = self._along(values.ndim)
        rest = np.rint(values * (1 / p))
        rest *= p
        return np.subtract(values, rest, out=rest)

    def _along(self, ndim: int) -> np.ndarray:
        return np.array(self.primes, dtype=float).reshape((-1,) + (1,) * (ndim - 1))

    @cached_property
    def _radix(self) -> tuple[np.ndarray, ...]:
        """Residues (1, p_1, p_1 p_2, ...) of every prime: what the digits before its own count."""
        digit_weights = []
        for place, p in enumerate(self.primes):
            weights = [1]
            for q in self.primes[:place]:
                weights.append(weights[-1] * q % p)
            digit_weights.append(np.array(weights, dtype=float))
        return tuple(digit_weights)

    def _digits(self, residues: np.ndarray) -> list[np.ndarray]:
        """Digits around 0 of mixed radix p_1, p_1 p_2, ...: (*shape,) in double precision, the lowest first."""
        digits = np.zeros((self.m, residues[0].size))
        for place, (p, weights) in enumerate(zip(self.primes, self._radix, strict=True)):
            known = _modulo(digits[:place] * weights[:place, None], p).sum(axis=0)
            rest = _modulo(residues[place].ravel() - known, p)
            digits[place] = _modulo(rest * pow(int(weights[place]), -1, p), p)
        return list(digits.reshape(residues.shape))


def _modulo(values: np.ndarray, p: int) -> np.ndarray:
    """Residues around 0 of products of two residues."""
    return values - np.rint(values / p) * p


def ring_for(bound: float, bits: int) -> Ring:
    """The smallest ring in which every number up to a bound can be read back."""
    if not 0 <= bound < math.inf:
        raise OverflowError(f"bound={bound!r} of what is opened must be finite: bound columns, weights and predictors.")
    needed = 2 * math.ceil(bound) << max(bits, 0)
    for m in range(1, MOST + 1):
        if Ring(m).modulus > needed:
            return Ring(m)
    raise OverflowError(
        f"bound={bound:.3g} with bits={bits} after the point needs more than {MOST} primes below 2^20: scale the "
        "columns, or keep fewer bits."
    )
