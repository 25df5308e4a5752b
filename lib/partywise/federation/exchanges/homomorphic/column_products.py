"""Exchange: products of columns of two parties, one ciphertext a record, its columns side by side in slots.

A slot has room for a signed sum of products and a mask of 120 bits more. The other party multiplies by buckets: records
whose weight has the same digit are multiplied first, and running products give every bucket its power. Both parties end
with words modulo 2^64 that add to the sums. Keys of kind ``sized`` close nothing: the same integers come from products
in floats, which are exact, in messages of the same sizes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....privacy.mechanisms.random import RandomSource, words_of
from ...cipher import Cipher
from .ciphertexts import cipher_of, values_of
from .large_numbers import gmpy2, random_bytes
from .paillier import add_plain, decrypt, encrypt, rerandomise
from .paillier_keys import PrivateKey, PublicKey
from .slots import per_cipher, split_slots
from .weighted_sums import MASK_BITS

# Columns are whole numbers of at most so many steps.
LARGEST = 1 << 15
# A shifted weight reaches 2^16, which has a seventeenth bit.
WEIGHT_BITS = 17
# Whole numbers up to here are exact in a float, so that all partial sums are.
EXACT = 1 << 53


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


def close_columns(private: PrivateKey, columns: np.ndarray, rng: RandomSource, *, key_holder: str) -> Cipher:
    """Columns (n, p) of the key holder: n rows for every block of slots, block after block."""
    _require_columns(columns)
    public, slots = private.public, SlotSizes(len(columns), private.public.bits)
    if public.kind == "sized":
        size = len(columns) * slots.ciphertexts(columns.shape[1]) * public.width
        return Cipher(columns, key_holder, "sized", size)
    blocks = (columns[:, at : at + slots.per] for at in range(0, columns.shape[1], slots.per))
    return encrypt(private, [row for block in blocks for row in slots.merge(block)], rng, key_holder=key_holder)


def masked_products(
    public: PublicKey, closed: Cipher, p: int, columns: np.ndarray, rng: RandomSource, *, holder: str
) -> tuple[Cipher, np.ndarray]:
    """Products of p closed columns with columns (n, q) of ``holder`` under masks that it alone knows.

    Returns what goes back to the key holder, for every column of ``holder`` the ciphertexts of all blocks, and the
    words (p, q) of ``holder``: the masks with their signs changed, modulo 2^64. Ciphertexts are re-randomised with full
    exponents: the key holder knows the randomness of what it closed, so that without it the randomness of a product
    would reveal the columns, despite any noise that is added later.
    """
    _require_columns(columns)
    (n, q), slots = columns.shape, SlotSizes(len(columns), public.bits)
    blocks = slots.ciphertexts(p)
    if public.kind == "sized":
        masks = words_of(rng)(p * q).reshape(p, q)
        exact = exact_products(closed.content, columns)
        return Cipher(exact.view(np.uint64) + masks, holder, "sized", q * blocks * public.width), -masks
    values = values_of(public, closed)
    if len(values) != n * blocks:
        raise ValueError(f"a cipher of {len(values)} rows meets columns of {n} records: {blocks} blocks need as many.")
    products = (_products(values[at * n : (at + 1) * n], columns, public.square) for at in range(blocks))
    ciphertexts = [product for row in zip(*products, strict=True) for product in row]
    drawn = _masks((len(ciphertexts), slots.per), slots.mask_bits, rng)
    sums = cipher_of(public, ciphertexts, closed.key_holder)
    masked = add_plain(public, sums, np.array(slots.merge(drawn), dtype=object))
    return replace(rerandomise(public, masked, rng, full=True), key_holder=holder), -_words(drawn, p, q)


def open_products(private: PrivateKey, cipher: Cipher, n: int, p: int) -> np.ndarray:
    """The words (p, q) of the key holder: sums under masks, modulo 2^64."""
    if private.public.kind == "sized":
        return np.asarray(cipher.content)
    slots = SlotSizes(n, private.public.bits)
    slot_values = split_slots(decrypt(private, cipher), slots.bits, slots.per)
    return _words(slot_values, p, len(slot_values) // slots.ciphertexts(p))


def exact_products(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Sums (p, q) of products of whole columns (n, p) and (n, q), int64."""
    if len(left) * LARGEST**2 > EXACT:
        raise OverflowError(f"sums over {len(left)} records could exceed 2^53: split the records.")
    return (left.astype(float).T @ right.astype(float)).astype(np.int64)


def first_holds_key(first: int, second: int, per: int) -> bool:
    """Whether the earlier of two parties closes its columns: who makes fewer products of a ciphertext and a column."""
    return -(-first // per) * second <= -(-second // per) * first


def key_holders(sizes: Sequence[int], pairs: Sequence[tuple[int, int]], per: int) -> dict[int, list[int]]:
    """Map each party that closes its columns to those that multiply with them; ``sizes`` are numbers of columns."""
    multipliers = dict[int, list[int]]()
    for first, second in pairs:
        holder = first if first_holds_key(sizes[first], sizes[second], per) else second
        multipliers.setdefault(holder, []).append(first + second - holder)
    return {holder: multipliers[holder] for holder in sorted(multipliers)}


def returned_ciphertexts(sizes: Sequence[int], keys: Mapping[int, Sequence[int]], per: int) -> int:
    """Ciphertexts of masked products that go back to the key holders."""
    return sum(-(-sizes[holder] // per) * sizes[other] for holder, others in keys.items() for other in others)


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


def _words(slots: np.ndarray, p: int, q: int) -> np.ndarray:
    """Integers of slots modulo 2^64, (p, q): those that no column fills are left out."""
    return (slots.reshape(q, -1)[:, :p].T & (1 << 64) - 1).astype(np.uint64)


def _masks(shape: tuple[int, int], bits: int, rng: RandomSource) -> np.ndarray:
    """Uniform integers of exactly so many bits: one more could leave its slot."""
    rows = random_bytes(rng, shape[0] * shape[1], -(-bits // 8))
    drawn = [int.from_bytes(row.tobytes(), "little") & ((1 << bits) - 1) for row in rows]
    return np.array(drawn, dtype=object).reshape(shape)


def _products(values: Sequence[int], columns: np.ndarray, square: int) -> list[int]:
    """Products of all values to the power of their weights, one for every column."""
    n = len(values)
    window = 8 if n >= 500 else 6 if n >= 100 else 4
    whole = gmpy2.mpz(1)
    for value in values:
        whole = whole * value % square
    back = gmpy2.powmod(whole, -LARGEST, square)
    products = []
    for column in columns.T + LARGEST:
        total = gmpy2.mpz(1)
        for place in reversed(range(0, WEIGHT_BITS, window)):
            total = gmpy2.powmod(total, 1 << window, square)
            digits = (column >> place & (1 << window) - 1).tolist()
            total = total * _bucket_product(values, digits, 1 << window, square) % square
        products.append(total * back % square)
    return products


def _bucket_product(values: Sequence[int], digits: Sequence[int], count: int, square: int) -> int:
    """The product of all values to the power of their digits."""
    buckets: list[int | None] = [None] * count
    for value, digit in zip(values, digits, strict=True):
        if digit:
            bucket = buckets[digit]
            buckets[digit] = value if bucket is None else bucket * value % square
    running = total = gmpy2.mpz(1)
    for bucket in reversed(buckets[1:]):
        if bucket is not None:
            running = running * bucket % square
        total = total * running % square
    return total
