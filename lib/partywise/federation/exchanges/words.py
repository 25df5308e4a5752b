"""Words of 64 bits as a ring of shares: what `residues` does, for sums and products that 64 bits hold.

A product of two factors with b bits after the point has 2 b of them, so that sums of products are right to about 1e-9
where residues reach 1e-13, in a quarter of the time (`tests/benchmarks/secure_products.py`). Polynomials of shared
vectors need more digits than there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .residues import Ring, Words


@dataclass(frozen=True)
class WordRing(Ring):
    """The integers modulo 2^64; each is one word, uint64 (1, *shape)."""

    m: int = 1

    @property
    def primes(self) -> tuple[int, ...]:
        """Refused: the modulus is not a product of primes."""
        raise TypeError("words of 64 bits have no primes: give a ring of residues (`ring_for`) for polynomials.")

    @property
    def modulus(self) -> int:
        """2^64."""
        return 2**64

    def encode(self, values: np.ndarray | float, bits: int) -> np.ndarray:
        """Encode numbers as words; they lie within -2^(63 - bits) .. 2^(63 - bits)."""
        steps = np.rint(np.asarray(values, dtype=float) * 2.0**bits)
        if not (np.abs(steps) < 2.0**63).all():
            raise OverflowError(f"values do not fit words with bits={bits} after the point: scale them down.")
        return steps.astype(np.int64).view(np.uint64)[None]

    def of_integers(self, values: np.ndarray) -> np.ndarray:
        """Words (1, *shape) of integers of any size."""
        flat = [int(value) % 2**64 for value in np.ravel(values)]
        return np.array(flat, dtype=np.uint64).reshape(1, *np.shape(values))

    def integers(self, residues: np.ndarray) -> np.ndarray:
        """The integers between -2^63 and 2^63 that have these words."""
        return np.asarray(residues[0].view(np.int64).astype(object), dtype=object)

    def decode(self, residues: np.ndarray, bits: int) -> np.ndarray:
        """(*shape,) the numbers that have these words."""
        return residues[0].view(np.int64) / 2.0**bits

    def random(self, shape: tuple[int, ...], words: Words) -> np.ndarray:
        """Uniform words (1, *shape)."""
        return words(int(np.prod(shape, dtype=int))).reshape(1, *shape)

    def sum(self, terms: Sequence[np.ndarray]) -> np.ndarray:
        """Sum of words of the same shape."""
        return np.asarray(np.sum(terms, axis=0, dtype=np.uint64))

    def difference(self, residues: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray:
        """Words less those of others."""
        return residues - self.sum(others) if others else residues

    def times(self, residues: np.ndarray, factor: int) -> np.ndarray:
        """Words of an integer multiple."""
        return np.multiply(residues, np.uint64(factor % 2**64), dtype=np.uint64)

    def product(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Products entry by entry, shapes as numpy broadcasts them."""
        return np.multiply(first, second, dtype=np.uint64)

    def cross(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """(1, a, b) first' second of matrices with rows of records."""
        return np.matmul(first.transpose(0, 2, 1), second)


WORDS = WordRing()
