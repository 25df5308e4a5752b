"""Keys of Paillier's scheme with short exponents over a fixed base (Damgard, Jurik and Nielsen, 2010).

A ciphertext of m is ``(1 + m n) s^r mod n^2``: s is the n-th power of minus a random square, and r is random and short,
so that one table of powers of s serves every encryption. The key holder computes modulo p^2 and q^2.

The exchange of a key: one place draws it, all parties that compute on what it closes get the public half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

# Any: the class of a cipher of another package.
from typing import Any, Protocol

import numpy as np

from ....core.checks import registered_cipher
from ....core.errors import CertificationError
from ....core.randomness import Rng
from ....privacy.accounted_values import Public
from ....privacy.mechanisms.random import RandomSource, sampler_of
from ....privacy.mechanisms.release import OBSERVER
from ...places import Place, name_of
from ...run import Run
from .large_numbers import FixedBase, gmpy2, number_of, primes, random_bytes, require_gmpy2

# ``paillier``, ``sized``, or the name of a cipher that another package registers.
Kind = str
# Bits of a random exponent by the longest modulus they serve: four times its strength (NIST SP 800-57, table 2).
EXPONENTS = ((2048, 448), (3072, 512), (7680, 768), (16384, 1088))
# Exponents of full length have so many bits more than the modulus, and the order of the base is at most half of it: a
# power is uniform up to 2^-128 in total variation.
SURPLUS = 128


@dataclass(frozen=True, eq=False)
class PublicKey:
    """Public key, with which everyone may compute.

    bits : of the modulus; exponent_bits : of random exponents
    modulus, base : n and s; 0 for keys of kind ``sized``, which close nothing
    name, other : of a cipher that another package registers: its entry point and its instance
    """

    bits: int
    exponent_bits: int
    modulus: int = 0
    base: int = 0
    name: Kind = ""
    other: Any = None

    @property
    def kind(self) -> Kind:
        """``paillier``, ``sized`` where integers are carried openly, or the name of another cipher."""
        return self.name or ("paillier" if self.modulus else "sized")

    @property
    def width(self) -> int:
        """Bytes of a ciphertext."""
        return self.bits // 4 if self.other is None else int(self.other.width)

    @property
    def plaintext_bits(self) -> int:
        """Integers of a smaller magnitude than two to this power can be closed."""
        return self.bits - 2

    def message(self) -> tuple[np.ndarray, np.ndarray, int]:
        """The key as it is sent: modulus, base (big-endian bytes), bits of an exponent; zeros of a sized key.

        Of another cipher the bytes that its class makes a public key of, and those of the bits.
        """
        if self.other is not None:
            return np.frombuffer(self.other.public, dtype=np.uint8), np.zeros(self.bits // 8, dtype=np.uint8), 0
        parts = ((self.modulus, self.bits // 8), (self.base, self.width))
        arrays = [np.frombuffer(int(value).to_bytes(size, "big"), dtype=np.uint8) for value, size in parts]
        return arrays[0], arrays[1], self.exponent_bits

    @classmethod
    def of(cls, message: tuple[np.ndarray, np.ndarray, int], kind: Kind = "paillier") -> PublicKey:
        """The key that a message holds; CertificationError for one whose ciphertexts would close nothing.

        A base that its holder made bad on purpose is not seen: key holders keep to the program.
        """
        modulus, base, exponent_bits = message
        if (other := _other(kind)) is not None:
            return cls(8 * len(base), 0, name=kind, other=other.of_public(modulus.tobytes()))
        if not modulus.any():
            return cls(8 * len(modulus), int(exponent_bits))
        n, s = number_of(modulus.tobytes()), number_of(base.tobytes())
        if not n & 1 or n.bit_length() != 8 * len(modulus) or not 1 < s < n * n or gmpy2.gcd(s, n) != 1:
            raise CertificationError(
                f"a public key of Paillier claims {8 * len(modulus)} bits, and its modulus is even or shorter, or "
                "its base 0, 1, too large or not coprime to it: what is closed with it would be open; end the run."
            )
        return cls(8 * len(modulus), int(exponent_bits), n, s)

    @cached_property
    def square(self) -> int:
        """Modulus of ciphertexts."""
        return self.modulus**2

    @cached_property
    def powers(self) -> FixedBase:
        """Powers of the base."""
        return FixedBase(self.base, self.square)

    def encrypt(self, integers: Sequence[int], rng: RandomSource) -> list[int]:
        """Ciphertexts of integers."""
        if self.other is not None:
            return list(self.other.encrypt(integers, rng))
        n, square = self.modulus, self.square
        return self.masks([(1 + value * n) % square for value in integers], rng)

    def add(self, a: int, b: int) -> int:
        """Ciphertext of the sum."""
        return a * b % self.square if self.other is None else self.other.add(a, b)

    def add_plain(self, ciphertext: int, value: int) -> int:
        """Ciphertext of the sum with an open integer, not re-randomised."""
        if self.other is not None:
            return int(self.other.add(ciphertext, self.other.encrypt([value], None)[0]))
        return ciphertext * (1 + value * self.modulus) % self.square

    def times(self, ciphertext: int, factor: int) -> int:
        """Ciphertext of the multiple by an open integer; by 0 it is constant."""
        if self.other is not None:
            return int(self.other.times(ciphertext, factor))
        return gmpy2.powmod(ciphertext, factor, self.square)

    def pack(self, ciphertexts: Sequence[int], shift_bits: int) -> int:
        """Ciphertext of integers side by side, the first the lowest."""
        if self.other is not None:
            return int(self.other.pack(ciphertexts, shift_bits))
        *lower, total = ciphertexts
        for value in reversed(lower):
            total = gmpy2.powmod(total, 1 << shift_bits, self.square) * value % self.square
        return total

    def zero(self, ciphertexts: Sequence[int]) -> int:
        """Constant ciphertext of 0, for a sum of none of these."""
        return 1 if self.other is None or not ciphertexts else self.times(ciphertexts[0], 0)

    def masks(self, start: Sequence[int], rng: RandomSource, *, full: bool = False) -> list[int]:
        """Every number times the base to a random exponent of its own, of full length if it is set.

        Ciphertexts of another cipher get a fresh one of 0 added.
        """
        if self.other is not None:
            return list(map(self.add, start, self.encrypt([0] * len(start), rng)))
        bits = self.bits + SURPLUS if full else self.exponent_bits
        return self.powers.times(start, random_bytes(rng, len(start), bits // 8))


@dataclass(frozen=True, eq=False)
class PrivateKey:
    """Private key, which the key holder alone has; ``p`` and ``q`` are the factors, 0 for keys of kind ``sized``."""

    public: PublicKey
    p: int = 0
    q: int = 0

    def encrypt(self, integers: Sequence[int], rng: RandomSource) -> list[int]:
        """Ciphertexts of integers: those of the public key, computed modulo p^2 and q^2."""
        if self.public.other is not None:
            return self.public.encrypt(integers, rng)
        digits = random_bytes(rng, len(integers), self.public.exponent_bits // 8)
        mod_p, mod_q = (half.encrypt(integers, digits) for half in self._halves)
        (first, second), inverse = (half.square for half in self._halves), self._inverse
        return [a + first * ((b - a) * inverse % second) for a, b in zip(mod_p, mod_q, strict=True)]

    def decrypt(self, ciphertexts: Sequence[int]) -> list[int]:
        """Signed integers of ciphertexts."""
        if self.public.other is not None:
            return list(map(int, self.public.other.decrypt(ciphertexts)))
        mod_p, mod_q = (half.decrypt(ciphertexts) for half in self._halves)
        (p, q), n, inverse = (self.p, self.q), self.public.modulus, gmpy2.invert(self.p, self.q)
        values = (a + p * ((b - a) * inverse % q) for a, b in zip(mod_p, mod_q, strict=True))
        return [int(value if 2 * value < n else value - n) for value in values]

    @cached_property
    def _halves(self) -> tuple[_Half, _Half]:
        return _Half(self.p, self.q, self.public.base), _Half(self.q, self.p, self.public.base)

    @cached_property
    def _inverse(self) -> int:
        return gmpy2.invert(self._halves[0].square, self._halves[1].square)


class _Half:
    """Arithmetic modulo the square of one factor."""

    def __init__(self, prime: int, other: int, base: int) -> None:
        self.prime, self.square = prime, prime**2
        self._modulus = prime * other % self.square
        self._inverse = gmpy2.invert(-other % prime, prime)
        self._powers = FixedBase(base % self.square, self.square)

    def encrypt(self, integers: Sequence[int], digits: np.ndarray) -> list[int]:
        start = [(1 + value * self._modulus) % self.square for value in integers]
        return self._powers.times(start, self._short(digits))

    def decrypt(self, ciphertexts: Sequence[int]) -> list[int]:
        p, square, exponent = self.prime, self.square, self.prime - 1
        powers = (gmpy2.powmod(value % square, exponent, square) for value in ciphertexts)
        return [(power - 1) // p * self._inverse % p for power in powers]

    def _short(self, digits: np.ndarray) -> np.ndarray:
        """Exponents modulo the order of n-th powers, where that makes them shorter."""
        width = (self.prime.bit_length() + 7) // 8
        if digits.shape[1] <= width:
            return digits
        order = self.prime - 1
        rows = (int.from_bytes(row.tobytes(), "little") % order for row in digits)
        flat = b"".join(int(row).to_bytes(width, "little") for row in rows)
        return np.frombuffer(flat, dtype=np.uint8).reshape(len(digits), width)


def generate_key(bits: int, rng: RandomSource, *, kind: Kind, full_exponents: bool = False) -> PrivateKey:
    """Draw a key.

    Both primes are 3 modulo 4, and p - 1 and q - 1 share the factor 2 alone, so that minus a random square generates
    the numbers whose Jacobi symbol is 1. Source: I. Damgard, M. Jurik, J. B. Nielsen, "A generalization of Paillier's
    public-key system with applications to electronic voting", Int. J. Inf. Secur. 9 (2010), section 4.2.
    """
    if not isinstance(bits, int | np.integer) or bits < 128 or bits % 16 or bits > EXPONENTS[-1][0]:
        raise ValueError(f"bits={bits!r} of a key must be a multiple of 16 from 128 to {EXPONENTS[-1][0]}.")
    bits, other = int(bits), _other(kind)
    if other is not None:
        return _report_key(PrivateKey(PublicKey(bits, 0, name=kind, other=other.generate(bits, rng))))
    if kind not in ("paillier", "sized"):
        raise ValueError(f"kind={kind!r} of a key is unknown; use 'paillier' or 'sized'.")
    short = next(exponent for most, exponent in EXPONENTS if bits <= most)
    exponent_bits = bits + SURPLUS if full_exponents else short
    if kind == "sized":
        sampler_of(rng)
        return _report_key(PrivateKey(PublicKey(bits, exponent_bits)))
    require_gmpy2()
    p, q = primes(bits, rng)
    n = p * q
    x = number_of(random_bytes(rng, 1, bits // 8 + 8).tobytes()) % n
    base = gmpy2.powmod(-x * x % n, n, n**2)
    return _report_key(PrivateKey(PublicKey(bits, exponent_bits, n, base), p, q))


def _other(kind: Kind) -> Any:
    """The class of a cipher that another package registers; None for ours."""
    return None if kind in ("paillier", "sized") else registered_cipher(kind)


def _report_key(key: PrivateKey) -> PrivateKey:
    """Return the key, which a check of a simulation keeps: the noise in what it opens is measured."""
    observer = OBSERVER.get()
    if observer is not None:
        observer.add_key(key)
    return key


class KeyOptions(Protocol):
    """Options of a key: bits of the modulus, and whether random exponents are as long."""

    @property
    def key_size(self) -> int: ...

    @property
    def full_exponents(self) -> bool: ...


def drawn_key(address: Sequence[str | int], kind: Kind, options: KeyOptions, rng_for: Rng) -> PrivateKey:
    """The key of one address; it stays where it is drawn."""
    return generate_key(options.key_size, rng_for(*address), kind=kind, full_exponents=options.full_exponents)


def public_half(private: PrivateKey, because: str) -> Public:
    """Payload with the public key, with which everyone may compute."""
    return Public(private.public.message(), because=because)


def shared_key(
    run: Run,
    holder: Place,
    others: Sequence[Place],
    options: KeyOptions,
    *,
    kind: Kind,
    address: Sequence[str | int],
    because: str,
) -> tuple[PrivateKey, PublicKey]:
    """A key at its holder, and its public half at others."""
    # By name: a key is drawn, and read, without the data of a party.
    place, receivers = name_of(holder), [name_of(other) for other in others]
    private = run.at(place, drawn_key, address, kind, options, run.rng_for)
    message = run.broadcast(place, receivers, "public key", public_half, private, because)
    return private, run.each(receivers, PublicKey.of, message, kind)
