"""A cipher as another package would register it: textbook Paillier with long random factors, in padded ciphertexts."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from types import SimpleNamespace
from typing import Any

from partywise.core.checks import CIPHERS
from partywise.federation.exchanges.homomorphic.large_numbers import number_of, primes, random_bytes

NAME, PADDING = "toy", 8


class ToyCipher:
    """Sums under encryption; an instance without a secret encrypts and adds, and opens nothing."""

    def __init__(self, modulus: int, secret: int = 0) -> None:
        self.modulus, self.square, self.secret = modulus, modulus**2, secret

    @classmethod
    def generate(cls, bits: int, rng: Any) -> ToyCipher:
        p, q = map(int, primes(bits, rng))
        return cls(p * q, lcm(p - 1, q - 1))

    @classmethod
    def of_public(cls, content: bytes) -> ToyCipher:
        return cls(int.from_bytes(content, "big"))

    @property
    def public(self) -> bytes:
        return self.modulus.to_bytes(-(-self.modulus.bit_length() // 8), "big")

    @property
    def width(self) -> int:
        return 2 * len(self.public) + PADDING

    def encrypt(self, integers: Sequence[int], rng: Any) -> list[int]:
        if rng is None:
            return [(1 + int(value) * self.modulus) % self.square for value in integers]
        rows = random_bytes(rng, len(integers), len(self.public))
        factors = [pow(int(number_of(row.tobytes())) | 1, self.modulus, self.square) for row in rows]
        return [(1 + int(m) * self.modulus) * r % self.square for m, r in zip(integers, factors, strict=True)]

    def add(self, a: int, b: int) -> int:
        return int(a * b % self.square)

    def times(self, ciphertext: int, factor: int) -> int:
        return pow(int(ciphertext), int(factor), self.square)

    def pack(self, ciphertexts: Sequence[int], shift_bits: int) -> int:
        total = 1
        for ciphertext in reversed(ciphertexts):
            total = self.add(self.times(total, 1 << shift_bits), ciphertext)
        return total

    def decrypt(self, ciphertexts: Sequence[int]) -> list[int]:
        assert self.secret, "the holder of the secret opens, nobody else"
        n, inverse = self.modulus, pow(self.secret, -1, self.modulus)
        values = ((pow(int(c), self.secret, self.square) - 1) // n * inverse % n for c in ciphertexts)
        return [value if 2 * value < n else value - n for value in values]


def entry_points(group: str, name: str) -> list[Any]:
    """What an installed package with this cipher would add."""
    return [SimpleNamespace(load=lambda: ToyCipher)] if (group, name) == (CIPHERS, NAME) else []
