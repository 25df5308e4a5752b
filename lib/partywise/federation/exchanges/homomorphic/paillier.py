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
    return cipher_of(public, key.encrypt(values, rng), key_holder, made_of)


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
            totals += group_totals(public, values, row.tolist(), size)
    return cipher_of(public, totals, cipher.key_holder, cipher.made_of)


def additions(groups: np.ndarray) -> int:
    """Number of additions that `sums` makes: one for every row that is not the first of its group."""
    rows = (row[row >= 0] for row in np.atleast_2d(groups))
    return sum(row.size - np.unique(row).size for row in rows)


def add(public: PublicKey, a: Cipher, b: Cipher) -> Cipher:
    """Sums of two ciphers, row by row."""
    if a.key_holder != b.key_holder:
        raise ValueError(f"ciphers of {a.key_holder!r} and {b.key_holder!r} have no sum: they need one key.")
    total = _each(public, a, operator.add, public.add, values_of(public, b))
    return total.with_parts(b.made_of)


def add_plain(public: PublicKey, cipher: Cipher, integers: object) -> Cipher:
    """Sums of a cipher and open integers, one a row or one for all; not re-randomised."""
    values = integers_of(integers)
    require_room(values, public)
    return _each(public, cipher, operator.add, public.add_plain, values)


def times(public: PublicKey, cipher: Cipher, integers: object) -> Cipher:
    """Multiples of a cipher by open integers, one per row or one for all; not re-randomised.

    The multiple by 0 is the constant 1, and that by 1 what it was: an observer knows the factor.
    """
    return _each(public, cipher, operator.mul, public.times, integers_of(integers))


def pack(public: PublicKey, cipher: Cipher, per: int, shift_bits: int) -> Cipher:
    """Several integers in one: ``sum of row[i * per + j] * 2^(shift_bits * j)`` over j, for every i."""
    if per < 1 or per * shift_bits > public.plaintext_bits:
        raise OverflowError(
            f"per={per} integers of {shift_bits} bits do not fit into {public.plaintext_bits}: pack fewer of them."
        )
    values = values_of(public, cipher)
    runs = (values[start : start + per] for start in range(0, len(values), per))
    if public.kind == "sized":
        totals = [sum(value << shift_bits * place for place, value in enumerate(run)) for run in runs]
    else:
        totals = [public.pack(run, shift_bits) for run in runs]
    return cipher_of(public, totals, cipher.key_holder, cipher.made_of)


def rerandomise(public: PublicKey, cipher: Cipher, rng: RandomSource, *, full: bool = False) -> Cipher:
    """Return the integers in ciphertexts that nothing connects with those they came from.

    With ``full`` exponents not even the key holder finds a connection, with any computing power (up to 2^-128).
    """
    values = values_of(public, cipher)
    if public.kind == "sized":
        return cipher
    return cipher_of(public, public.masks(values, rng, full=full), cipher.key_holder, cipher.made_of)


def group_totals(public: PublicKey, values: Sequence[int], groups: Sequence[int], count: int) -> list[int]:
    """Sum of the ciphertexts of every group, constant for an empty one; rows of group -1 count in none."""
    totals, add = list[int | None]([None] * count), public.add
    for value, group in zip(values, groups, strict=True):
        if group >= 0:
            so_far = totals[group]
            totals[group] = value if so_far is None else add(so_far, value)
    return [public.zero(values) if total is None else total for total in totals]


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
