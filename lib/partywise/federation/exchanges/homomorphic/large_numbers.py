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

# Bits of a digit, and how many powers pay for the table of such digits.
DIGITS = ((11, 8192), (8, 128), (4, 0))
# Bytes that a table of the longest digits may have.
LARGEST_TABLE = 2**27


class FixedBase:
    """Powers of one number: a table holds those of every digit at every place of an exponent."""

    def __init__(self, base: int, modulus: int) -> None:
        self._base, self._modulus = base, modulus
        self._tables: dict[int, list[list[int]]] = {bits: [] for bits, _ in DIGITS}

    def times(self, start: Sequence[int], exponents: np.ndarray) -> list[int]:
        """Every number times its power; exponents (m, k) uint8, little-endian."""
        modulus, width = self._modulus, exponents.shape[1]
        bits = next(bits for bits, least in DIGITS if self._pays(bits, least, len(start), width))
        digits = _digits(exponents, bits)
        tables = self._table(bits, digits.shape[1])
        products = []
        for value, row in zip(start, digits, strict=True):
            for powers, digit in zip(tables, row.tolist(), strict=True):
                value = value * powers[digit] % modulus
            products.append(value)
        return products

    def _pays(self, bits: int, least: int, count: int, width: int) -> bool:
        """Whether a table of such digits is there already, or serves enough powers and is not too large."""
        size = (8 * width // bits + 1) * (1 << bits) * (self._modulus.bit_length() // 8)
        return bool(self._tables[bits]) or (count >= least and (size <= LARGEST_TABLE or bits <= 8))

    def _table(self, bits: int, places: int) -> list[list[int]]:
        table, modulus = self._tables[bits], self._modulus
        while len(table) < places:
            base = table[-1][-1] * table[-1][1] % modulus if table else self._base
            powers = [gmpy2.mpz(1)]
            for _ in range((1 << bits) - 1):
                powers.append(powers[-1] * base % modulus)
            table.append(powers)
        return table[:places]


def _digits(exponents: np.ndarray, bits: int) -> np.ndarray:
    """(m, places) digits of exponents (m, k) uint8, both little-endian."""
    rows, width = exponents.shape
    places = -(-8 * width // bits)
    spread = np.zeros((rows, places * bits), dtype=np.uint8)
    spread[:, : 8 * width] = np.unpackbits(exponents, axis=1, bitorder="little")
    words = np.zeros((rows, places, 16), dtype=np.uint8)
    words[:, :, :bits] = spread.reshape(rows, places, bits)
    return np.packbits(words, axis=2, bitorder="little").view("<u2")[:, :, 0]


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
