"""Exchange: products of columns of two parties, one ciphertext a record, its columns side by side in slots.

A slot has room for a signed sum of products and a mask of 120 bits more. The other party multiplies by buckets: records
whose weight has the same digit are multiplied first, and running products give every bucket its power.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....privacy.mechanisms.random import RandomSource
from ...cipher import Cipher
from .ciphertexts import cipher_of, values_of
from .large_numbers import gmpy2, random_bytes
from .masking import MASK_BITS
from .paillier import add_plain, decrypt, encrypt, rerandomise
from .paillier_keys import PrivateKey, PublicKey
from .slots import per_cipher, split_slots

# Columns are whole numbers of at most so many steps.
LARGEST = 1 << 15
# A shifted weight reaches 2^16, which has a seventeenth bit.
WEIGHT_BITS = 17


@dataclass(frozen=True)
class SlotSizes:
    """Public sizes of slots: n records, keys of some bits."""

    n: int
    key_bits: int

    @property
    def mask_bits(self) -> int:
        """Exact length of a mask: sums have 31 + ceil(log2 n) bits with their sign."""
        return 31 + (self.n - 1).bit_length() + MASK_BITS

    @property
    def bits(self) -> int:
        """Bits of a slot."""
        return self.mask_bits + 2

    @property
    def per(self) -> int:
        """Columns of a ciphertext."""
        return per_cipher(self.key_bits - 2, self.bits)

    def ciphertexts(self, columns: int) -> int:
        """Ciphertexts of a record."""
        return math.ceil(columns / self.per)

    def merge(self, slots: np.ndarray) -> list[int]:
        """One integer of every row of slots, the first the lowest."""
        return list(
            slots.astype(object) @ np.array([1 << self.bits * at for at in range(slots.shape[1])], dtype=object)
        )


def close_columns(
    private: PrivateKey, columns: np.ndarray, rng: RandomSource, *, key_holder: str
) -> tuple[Cipher, ...]:
    """Columns (n, p) of the key holder: for every block of slots a cipher of n rows."""
    _require_columns(columns)
    slots = SlotSizes(len(columns), private.public.bits)
    blocks = (columns[:, at : at + slots.per] for at in range(0, columns.shape[1], slots.per))
    return tuple(encrypt(private, slots.merge(block), rng, key_holder=key_holder) for block in blocks)


def masked_products(
    public: PublicKey, closed: Sequence[Cipher], columns: np.ndarray, rng: RandomSource, *, holder: str
) -> tuple[Cipher, np.ndarray]:
    """Products with columns (n, q) of ``holder`` under masks that it alone knows.

    Returns ciphertexts, for every column those of all blocks, and the masks of their slots, an object array
    (q blocks, slots). Ciphertexts are re-randomised with full exponents: the key holder knows the randomness of what it
    closed, so that without it the randomness of a product would tell the columns, whatever noise is added later.
    """
    _require_columns(columns)
    slots = SlotSizes(len(columns), public.bits)
    blocks = [values_of(public, cipher) for cipher in closed]
    if any(len(block) != slots.n for block in blocks):
        raise ValueError(f"ciphers of {[len(block) for block in blocks]} rows meet columns of {slots.n} records.")
    if public.kind == "sized":
        found = [
            sum(int(y) * x for y, x in zip(column, block, strict=True)) for column in columns.T for block in blocks
        ]
    else:
        found = [
            product
            for products in zip(*(_products(block, columns, public.square) for block in blocks), strict=True)
            for product in products
        ]
    drawn = _masks((len(found), slots.per), slots.mask_bits, rng)
    sums = cipher_of(public, found, closed[0].key_holder)
    masked = add_plain(public, sums, np.array(slots.merge(drawn), dtype=object))
    return replace(rerandomise(public, masked, rng, full=True), key_holder=holder), drawn


def open_slots(private: PrivateKey, cipher: Cipher, n: int) -> np.ndarray:
    """What the key holder finds: slots under masks, an object array (rows, slots)."""
    slots = SlotSizes(n, private.public.bits)
    return split_slots(decrypt(private, cipher), slots.bits, slots.per)


def first_holds_key(first: int, second: int, per: int) -> bool:
    """Whether the earlier of two parties closes its columns: who makes fewer products of a ciphertext and a column."""
    return -(-first // per) * second <= -(-second // per) * first


def noisy_words(integers: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Words modulo 2^64 of integers of any length with noise: what a party sends to the opener, uint64."""
    words = [(int(value) + int(one)) % (1 << 64) for value, one in zip(integers.ravel(), noise.ravel(), strict=True)]
    return np.array(words, dtype=np.uint64).reshape(integers.shape)


def sum_words(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Signed sums of the words of two parties, int64, where `require_word_room` holds."""
    return (first + second).view(np.int64)


def require_word_room(n: int, deviation: float) -> None:
    """OverflowError if sums over n records with the noise of both parties, each of some steps, could leave a word."""
    if not n * LARGEST**2 + 128 * deviation < 1 << 62:
        raise OverflowError(
            f"sums over {n} records with noise of {deviation:g} steps do not fit into words of 64 bits: use larger mu."
        )


def _require_columns(columns: np.ndarray) -> None:
    if columns.dtype != np.int64 or columns.ndim != 2 or not columns.size:
        raise ValueError(f"columns of type {columns.dtype} and shape {columns.shape} are not whole: give (n, p) int64.")
    if columns.max() > LARGEST or columns.min() < -LARGEST:
        raise OverflowError(f"a column leaves -{LARGEST} .. {LARGEST}: clip records before they are closed.")


def _masks(shape: tuple[int, int], bits: int, rng: RandomSource) -> np.ndarray:
    """Uniform integers of exactly so many bits: one more could leave its slot."""
    rows = random_bytes(rng, shape[0] * shape[1], -(-bits // 8))
    drawn = [int.from_bytes(row.tobytes(), "little") & ((1 << bits) - 1) for row in rows]
    return np.array(drawn, dtype=object).reshape(shape)


def _products(values: Sequence[Any], columns: np.ndarray, square: Any) -> list[Any]:
    """For every column the product of all values to the power of their weights."""
    n = len(values)
    window = 8 if n >= 500 else 6 if n >= 100 else 4
    whole = gmpy2.mpz(1)
    for value in values:
        whole = whole * value % square
    back = gmpy2.powmod(whole, -LARGEST, square)
    found = []
    for column in columns.T + LARGEST:
        total = gmpy2.mpz(1)
        for place in reversed(range(0, WEIGHT_BITS, window)):
            total = gmpy2.powmod(total, 1 << window, square)
            digits = (column >> place & (1 << window) - 1).tolist()
            total = total * _bucket_product(values, digits, 1 << window, square) % square
        found.append(total * back % square)
    return found


def _bucket_product(values: Sequence[Any], digits: Sequence[int], count: int, square: Any) -> Any:
    """The product of all values to the power of their digits."""
    buckets: list[Any] = [None] * count
    for value, digit in zip(values, digits, strict=True):
        if digit:
            held = buckets[digit]
            buckets[digit] = value if held is None else held * value % square
    running = total = gmpy2.mpz(1)
    for held in reversed(buckets[1:]):
        if held is not None:
            running = running * held % square
        total = total * running % square
    return total
