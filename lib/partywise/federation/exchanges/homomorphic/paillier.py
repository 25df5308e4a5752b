"""Exchange: sums under Paillier encryption, by a party that cannot open what it adds.

A `Cipher` of scheme "paillier" holds ciphertexts as big-endian bytes, one a row. One of scheme "sized" holds the
integers themselves, is metered as if they were closed and goes through the same functions: nothing is hidden, all else
is equal. Gradients go from the active party to the owners of columns, sums come back (Seed 003, section "Protection").
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

import numpy as np

from ....privacy.accounted_values import AccountedValue
from ....privacy.mechanisms.random import RandomSource
from ...cipher import Cipher
from .ciphertexts import cipher_of, group_sums, integers_of, require_room, values_of
from .large_numbers import gmpy2
from .paillier_keys import PrivateKey, PublicKey


def encrypt(
    key: PrivateKey | PublicKey,
    integers: object,
    rng: RandomSource,
    *,
    key_holder: str,
    made_of: Sequence[AccountedValue] = (),
) -> Cipher:
    """Close integers."""
    public = key.public if isinstance(key, PrivateKey) else key
    values = integers_of(integers)
    require_room(values, public)
    if public.kind == "sized":
        return cipher_of(public, values, key_holder, made_of)
    if isinstance(key, PrivateKey):
        return cipher_of(public, key.encrypt(values, rng), key_holder, made_of)
    n, square = public.modulus, public.square
    closed = public.masks([(1 + value * n) % square for value in values], rng)
    return cipher_of(public, closed, key_holder, made_of)


def decrypt(private: PrivateKey, cipher: Cipher) -> list[int]:
    """The signed integers of a cipher."""
    values = values_of(private.public, cipher)
    integers = values if private.public.kind == "sized" else private.decrypt(values)
    require_room(integers, private.public)
    return integers


def reveal(public: PublicKey, cipher: Cipher, keys: Sequence[PrivateKey]) -> list[int]:
    """The signed integers of a cipher, for the evaluator of a simulation, who has all keys that were made in it."""
    matching = (key for key in keys if (key.public.bits, key.public.modulus) == (public.bits, public.modulus))
    return decrypt(next(matching), cipher)


def sums(public: PublicKey, cipher: Cipher, groups: np.ndarray, count: int | Sequence[int]) -> Cipher:
    """Sums of the rows of every group, one cipher, those of the first of k groupings first.

    ``groups`` (m,) or (k, m) holds the group of every row, -1 for none. Sums are not re-randomised; that of an empty
    group shows that it is 0.
    """
    values = values_of(public, cipher)
    rows = np.atleast_2d(np.asarray(groups, dtype=np.int64))
    if rows.ndim != 2 or rows.shape[1] != len(values):
        raise ValueError(f"groups has shape {np.shape(groups)} for {len(values)} ciphertexts; give a group for each.")
    totals: list[int] = []
    for row, size in zip(rows, np.broadcast_to(count, len(rows)).tolist(), strict=True):
        if row.size and not (row.min() >= -1 and row.max() < size):
            raise ValueError(f"groups from {row.min()} to {row.max()} for count={size}: use 0 .. count - 1, or -1.")
        if public.kind == "sized":
            totals += group_sums(cipher.content, row, size)
        else:
            totals += _group_products(values, row.tolist(), size, public.square)
    return cipher_of(public, totals, cipher.key_holder, cipher.made_of)


def additions(groups: np.ndarray) -> int:
    """Number of additions that `sums` makes: one for every row that is not the first of its group."""
    rows = (row[row >= 0] for row in np.atleast_2d(groups))
    return sum(row.size - np.unique(row).size for row in rows)


def add(public: PublicKey, a: Cipher, b: Cipher) -> Cipher:
    """Sums of two ciphers, row by row."""
    if a.key_holder != b.key_holder:
        raise ValueError(f"ciphers of {a.key_holder!r} and {b.key_holder!r} have no sum: they need one key.")
    total = _each(
        public, a, operator.add, lambda ciphertext, other: ciphertext * other % public.square, values_of(public, b)
    )
    return total.with_parts(b.made_of)


def add_plain(public: PublicKey, cipher: Cipher, integers: object) -> Cipher:
    """Sums of a cipher and open integers, one a row or one for all; not re-randomised."""
    n, square = public.modulus, public.square
    values = integers_of(integers)
    require_room(values, public)
    return _each(public, cipher, operator.add, lambda ciphertext, value: ciphertext * (1 + value * n) % square, values)


def times(public: PublicKey, cipher: Cipher, integers: object) -> Cipher:
    """Multiples of a cipher by open integers, one per row or one for all; not re-randomised.

    The multiple by 0 is the constant 1, and that by 1 what it was: an observer knows the factor.
    """
    square = public.square
    return _each(
        public,
        cipher,
        operator.mul,
        lambda ciphertext, factor: gmpy2.powmod(ciphertext, factor, square),
        integers_of(integers),
    )


def pack(public: PublicKey, cipher: Cipher, per: int, shift_bits: int) -> Cipher:
    """Several integers in one: ``sum of row[i * per + j] * 2^(shift_bits * j)`` over j, for every i."""
    if per < 1 or per * shift_bits > public.plaintext_bits:
        raise OverflowError(
            f"per={per} integers of {shift_bits} bits do not fit into {public.plaintext_bits}: pack fewer of them."
        )
    values, factor = values_of(public, cipher), 1 << shift_bits
    totals = []
    for start in range(0, len(values), per):
        *lower, total = values[start : start + per]
        for value in reversed(lower):
            if public.kind == "sized":
                total = total * factor + value
            else:
                total = gmpy2.powmod(total, factor, public.square) * value % public.square
        totals.append(total)
    return cipher_of(public, totals, cipher.key_holder, cipher.made_of)


def rerandomise(public: PublicKey, cipher: Cipher, rng: RandomSource, *, full: bool = False) -> Cipher:
    """Return the integers in ciphertexts that nothing connects with those they came from.

    With ``full`` exponents not even the key holder finds a connection, with any computing power (up to 2^-128).
    """
    values = values_of(public, cipher)
    if public.kind == "sized":
        return cipher
    return cipher_of(public, public.masks(values, rng, full=full), cipher.key_holder, cipher.made_of)


def _group_products(values: Sequence[int], groups: Sequence[int], count: int, square: int) -> list[int]:
    products: list[int | None] = [None] * count
    for value, group in zip(values, groups, strict=True):
        if group >= 0:
            so_far = products[group]
            products[group] = value if so_far is None else so_far * value % square
    return [1 if total is None else total for total in products]


def _each(
    public: PublicKey,
    cipher: Cipher,
    openly: Callable[[int, int], int],
    closed: Callable[[int, int], int],
    others: list[int],
) -> Cipher:
    values = values_of(public, cipher)
    others = others * len(values) if len(others) == 1 else others
    if len(others) != len(values):
        raise ValueError(f"{len(others)} operands for {len(values)} ciphertexts; give one for each, or one for all.")
    compute = openly if public.kind == "sized" else closed
    computed = [compute(value, other) for value, other in zip(values, others, strict=True)]
    return cipher_of(public, computed, cipher.key_holder, cipher.made_of)
