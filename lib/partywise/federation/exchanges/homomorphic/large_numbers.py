"""Numbers of thousands of bits: powers of a fixed base, primes, random bytes; the only way to gmpy2.

Its numbers have the type of the integers that they stand for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....privacy.mechanisms.random import RandomSource, SecureRandom, sampler_of

try:
    import gmpy2 as gmpy2
except ImportError:
    gmpy2 = None

# Fewer powers than this do not pay for a table of bytes; half bytes serve them.
FEW = 128


class FixedBase:
    """Powers of one number: a table holds those of every digit at every place of an exponent."""

    def __init__(self, base: int, modulus: int) -> None:
        self._base, self._modulus = base, modulus
        self._tables: dict[int, list[list[int]]] = {4: [], 8: []}

    def times(self, start: Sequence[int], exponents: np.ndarray) -> list[int]:
        """Every number times its power; exponents (m, k) uint8, little-endian."""
        modulus = self._modulus
        wide = len(start) >= FEW or bool(self._tables[8])
        halves = len(start), 2 * exponents.shape[1]
        digits = exponents if wide else np.stack([exponents & 15, exponents >> 4], axis=-1).reshape(halves)
        tables = self._table(8 if wide else 4, digits.shape[1])
        products = []
        for value, row in zip(start, digits, strict=True):
            for powers, digit in zip(tables, row.tobytes(), strict=True):
                value = value * powers[digit] % modulus
            products.append(value)
        return products

    def _table(self, bits: int, places: int) -> list[list[int]]:
        table, modulus = self._tables[bits], self._modulus
        while len(table) < places:
            base = table[-1][-1] * table[-1][1] % modulus if table else self._base
            powers = [gmpy2.mpz(1)]
            for _ in range((1 << bits) - 1):
                powers.append(powers[-1] * base % modulus)
            table.append(powers)
        return table[:places]


def number_of(data: bytes) -> int:
    """The number that big-endian bytes hold, for modular arithmetic."""
    require_gmpy2()
    return gmpy2.mpz.from_bytes(data, "big")


def random_bytes(rng: RandomSource, rows: int, width: int) -> np.ndarray:
    """Uniform bytes (rows, width), the rows one after another."""
    count = -(-rows * width // 8)
    if isinstance(rng, SecureRandom):
        words = rng.uint64(count)
    else:
        sampler_of(rng)
        words = rng.integers(0, 1 << 64, count, dtype=np.uint64)
    return words.astype("<u8").view(np.uint8)[: rows * width].reshape(rows, width)


def primes(bits: int, rng: RandomSource) -> tuple[int, int]:
    """Two primes of half the length whose product has the whole."""
    while True:
        p, q = _prime(bits // 2, rng), _prime(bits // 2, rng)
        if p != q and gmpy2.gcd(p - 1, q - 1) == 2:
            return p, q


def _prime(bits: int, rng: RandomSource) -> int:
    """A prime that is 3 modulo 4 and begins with two ones."""
    value = number_of(random_bytes(rng, 1, bits // 8).tobytes()) | (3 << (bits - 2))
    while True:
        value = gmpy2.next_prime(value)
        if value % 4 == 3:
            return value


def require_gmpy2() -> None:
    if gmpy2 is None:
        raise ImportError("Paillier encryption needs the package gmpy2: pip install 'partywise[encryption]'.")
