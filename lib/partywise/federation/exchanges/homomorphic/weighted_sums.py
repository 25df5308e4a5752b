"""Exchange: weighted sums of encrypted numbers, and sums opened by a key holder who learns nothing from them.

Who asks for a sum adds a uniform mask under encryption, so much longer than the sum that what the key holder opens
has the distribution of a uniform number, up to 2^-120 in total variation, for every sum. It returns what it
opened, and the mask is taken off where it was drawn. Closed so, a `Cipher` is closed twice: its key holder is who knows
the mask.

Of a weighted sum, what columns of open weights share is done once. A ciphertext to the power of a weight multiplies its
number. Weights are shifted to be positive and read in digits of four bits; each ciphertext gets a table of its powers
0 .. 15, which serves all columns, and squarings are shared by the rows of a column. The shift is taken off by one more
power of the product of all ciphertexts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....privacy.mechanisms.random import RandomSource
from ...cipher import Cipher
from .ciphertexts import take
from .large_numbers import gmpy2, number_of, random_bytes
from .paillier import add_plain, decrypt, rerandomise, sums, times
from .paillier_keys import PrivateKey, PublicKey

# By so many bits a mask is longer than what it hides.
MASK_BITS = 120
# Bits of a digit of a weight.
DIGIT = 4


def mask_width(bits: int, public_bits: int) -> int:
    """Bytes of a mask for integers of some bits."""
    width = -(-(bits + MASK_BITS) // 8)
    if 8 * width + 1 > public_bits:
        raise OverflowError(
            f"sums of up to {bits} bits and a mask of {MASK_BITS} more do not fit into the {public_bits} bits of a "
            "ciphertext: scale the features, or use a smaller learning_rate, fewer rounds or a longer key."
        )
    return width


def masks(count: int, width: int, rng: RandomSource) -> list[int]:
    """Uniform integers of so many bytes; real data need a `SecureRandom`."""
    return [int.from_bytes(row.tobytes(), "little") for row in random_bytes(rng, count, width)]


def add_masks(public: PublicKey, cipher: Cipher, drawn: Sequence[int], rng: RandomSource, *, holder: str) -> Cipher:
    """A cipher under masks as well, which only ``holder`` knows; nothing connects it with what it was made of."""
    closed = rerandomise(public, add_plain(public, cipher, np.array(drawn, dtype=object)), rng)
    return replace(closed, key_holder=holder)


def opened_under_masks(private: PrivateKey, cipher: Cipher, width: int) -> np.ndarray:
    """Masked integers that the key holder finds, as rows of bytes (d, width + 1), uint8."""
    flat = b"".join(value.to_bytes(width + 1, "little", signed=True) for value in decrypt(private, cipher))
    return np.frombuffer(flat, dtype=np.uint8).reshape(-1, width + 1)


def from_bytes(content: np.ndarray) -> list[int]:
    """The integers that rows of bytes hold."""
    return [int.from_bytes(row.tobytes(), "little", signed=True) for row in content]


def remove_masks(content: np.ndarray, drawn: Sequence[int]) -> list[int]:
    """The sums, at the place that drew the masks."""
    return [value - mask for value, mask in zip(from_bytes(content), drawn, strict=True)]


def weighted_sums(public: PublicKey, cipher: Cipher, weights: np.ndarray) -> Cipher:
    """Sums of the integers of a cipher by open integers: ``weights.T @ integers``."""
    m, d = weights.shape
    if public.kind != "paillier" or not m * d:
        products = times(public, take(cipher, np.tile(np.arange(m), d)), weights.T.ravel())
        return sums(public, products, np.repeat(np.arange(d), m), d)
    values = _products([number_of(row.tobytes()) for row in cipher.content], weights, public.square)
    flat = b"".join(int(value).to_bytes(public.width, "big") for value in values)
    return replace(cipher, content=np.frombuffer(flat, dtype=np.uint8).reshape(d, public.width))


def _products(values: list[int], weights: np.ndarray, square: int) -> list[int]:
    """Products of all values to the power of their weights, one for every column."""
    bits = max(abs(weight).bit_length() for weight in weights.ravel())
    places = bits // DIGIT + 1
    shift, whole = 1 << bits, gmpy2.mpz(1)
    tables = []
    for value in values:
        whole = whole * value % square
        powers = [gmpy2.mpz(1), value]
        for _ in range((1 << DIGIT) - 2):
            powers.append(powers[-1] * value % square)
        tables.append(powers)
    back = gmpy2.powmod(whole, -shift, square)
    products = []
    for column in weights.T:
        digits = [(int(weight) + shift).to_bytes(places // 2 + 1, "big").hex() for weight in column]
        total = gmpy2.mpz(1)
        for place in zip(*digits, strict=True):
            if total != 1:
                total = gmpy2.powmod(total, 1 << DIGIT, square)
            for powers, digit in zip(tables, place, strict=True):
                if digit != "0":
                    total = total * powers[int(digit, 16)] % square
        products.append(total * back % square)
    return products
