"""Exchange: sums under Paillier encryption, by a party that cannot open what it adds.

A `Cipher` of scheme "paillier" holds ciphertexts as big-endian bytes, one a row. One of scheme "sized" holds the
integers themselves, is metered as if they were closed and goes through the same functions: nothing is hidden, all else
is equal. Gradients go from the active party to the owners of columns, sums come back (Seed 003, section "Protection").
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...privacy.mechanisms.random import RandomSource
from ..channel import Cipher
from . import sized
from .large_numbers import gmpy2, number_of
from .paillier_keys import PrivateKey, PublicKey, generate_key

__all__ = [
    "PrivateKey",
    "PublicKey",
    "add",
    "add_plain",
    "additions",
    "carried",
    "decrypt",
    "encrypt",
    "generate_key",
    "joined",
    "packed",
    "rerandomised",
    "revealed",
    "sums",
    "take",
    "times",
]


def encrypt(key: PrivateKey | PublicKey, integers: Any, rng: RandomSource, *, key_holder: str) -> Cipher:
    """Close integers.

    Parameters
    ----------
    key : PrivateKey or PublicKey
        With the private key it takes a third of the time, for the same bytes.
    integers : array_like of int
        Python or NumPy integers, of any sign and shape, an object array where they are long.
    rng : numpy.random.Generator or SecureRandom
        Of the random exponents: the same generator gives the same bytes, so data that are to stay closed need a
        `SecureRandom`.
    key_holder : str
        Who has the private key.

    Returns
    -------
    Cipher
        Content (m, c) uint8, in the order of the flattened integers.

    Raises
    ------
    OverflowError
        If an integer has more than ``plaintext_bits`` bits.
    TypeError
        If something is no integer.
    """
    public = key.public if isinstance(key, PrivateKey) else key
    values = _integers(integers)
    _require_room(values, public)
    if public.kind == "sized":
        return _cipher(public, values, key_holder)
    if isinstance(key, PrivateKey):
        return _cipher(public, key.closed(values, rng), key_holder)
    n, square = public.modulus, public.square
    return _cipher(public, public.masks([(1 + value * n) % square for value in values], rng), key_holder)


def decrypt(private: PrivateKey, cipher: Cipher) -> list[int]:
    """The signed integers of a cipher.

    Parameters
    ----------
    private : PrivateKey
    cipher : Cipher
        Closed under its public key.

    Raises
    ------
    ValueError
        If the cipher is of another scheme or width.
    OverflowError
        If an integer is out of the range that a key of this length can hold.
    """
    values = _values(private.public, cipher)
    found = values if private.public.kind == "sized" else private.opened(values)
    _require_room(found, private.public)
    return found


def revealed(public: PublicKey, cipher: Cipher, keys: Sequence[PrivateKey]) -> list[int]:
    """The signed integers of a cipher, for whoever checks a simulation and has all keys that were made in it."""
    matching = (key for key in keys if (key.public.bits, key.public.modulus) == (public.bits, public.modulus))
    return decrypt(next(matching), cipher)


def carried(cipher: Cipher) -> np.ndarray:
    """(m, width) uint8, ciphertexts as everybody on their way sees them: what attacks read."""
    if cipher.scheme != "paillier":
        raise ValueError(f"a cipher of scheme {cipher.scheme!r} is a stand-in, whose bytes say nothing of ciphertexts.")
    return cipher.content


def sums(public: PublicKey, cipher: Cipher, groups: np.ndarray, count: int | Sequence[int]) -> Cipher:
    """Sums of the rows of every group.

    Parameters
    ----------
    public : PublicKey
    cipher : Cipher
        m integers.
    groups : ndarray of int, shape (m,) or (k, m)
        Group of every row, -1 for none; k times, once for each way to group them.
    count : int or sequence of int
        Number of groups, of each way to group them where they differ.

    Returns
    -------
    Cipher
        One sum a group, those of the first grouping first. They are not re-randomised; that of an empty group shows
        that it is 0.

    Raises
    ------
    ValueError
        If a group is out of range, or there is not one for every row.
    """
    values = _values(public, cipher)
    rows = np.atleast_2d(np.asarray(groups, dtype=np.int64))
    if rows.ndim != 2 or rows.shape[1] != len(values):
        raise ValueError(f"groups has shape {np.shape(groups)} for {len(values)} ciphertexts; give a group for each.")
    found: list[Any] = []
    for row, size in zip(rows, np.broadcast_to(count, len(rows)).tolist(), strict=True):
        if row.size and not (row.min() >= -1 and row.max() < size):
            raise ValueError(f"groups from {row.min()} to {row.max()} for count={size}: use 0 .. count - 1, or -1.")
        if public.kind == "sized":
            found += sized.group_sums(cipher.content, row, size)
        else:
            found += _group_products(values, row.tolist(), size, public.square)
    return _cipher(public, found, cipher.key_holder)


def additions(groups: np.ndarray) -> int:
    """Number of additions that `sums` makes: one for every row that is not the first of its group."""
    rows = (row[row >= 0] for row in np.atleast_2d(groups))
    return sum(row.size - np.unique(row).size for row in rows)


def take(cipher: Cipher, rows: Any) -> Cipher:
    """Some of the integers of a cipher, by number or mask; a row may be taken twice."""
    content = cipher.content[np.atleast_1d(np.asarray(rows))] if np.size(rows) else cipher.content[:0]
    return replace(cipher, content=content, size=None if cipher.size is None else len(content) * cipher.shape[1])


def joined(public: PublicKey, ciphers: Sequence[Cipher]) -> Cipher:
    """The integers of several ciphers of one key, one cipher after another."""
    return _cipher(public, [value for one in ciphers for value in _values(public, one)], ciphers[0].key_holder)


def add(public: PublicKey, a: Cipher, b: Cipher) -> Cipher:
    """Sums of two ciphers, row by row."""
    if a.key_holder != b.key_holder:
        raise ValueError(f"ciphers of {a.key_holder!r} and {b.key_holder!r} have no sum: they need one key.")
    return _each(public, a, operator.add, lambda one, other: one * other % public.square, _values(public, b))


def add_plain(public: PublicKey, cipher: Cipher, integers: Any) -> Cipher:
    """Sums of a cipher and open integers, one a row or one for all; not re-randomised."""
    n, square = public.modulus, public.square
    values = _integers(integers)
    _require_room(values, public)
    return _each(public, cipher, operator.add, lambda one, value: one * (1 + value * n) % square, values)


def times(public: PublicKey, cipher: Cipher, integers: Any) -> Cipher:
    """Multiples of a cipher by open integers, one a row or one for all; not re-randomised.

    The multiple by 0 is the constant 1, and that by 1 what it was: whoever sees it knows the factor.
    """
    square = public.square
    return _each(
        public, cipher, operator.mul, lambda one, factor: gmpy2.powmod(one, factor, square), _integers(integers)
    )


def packed(public: PublicKey, cipher: Cipher, per: int, shift_bits: int) -> Cipher:
    """Several integers in one: ``sum of row[i * per + j] * 2^(shift_bits * j)`` over j, for every i.

    Raises
    ------
    OverflowError
        If so many do not fit.
    """
    if per < 1 or per * shift_bits > public.plaintext_bits:
        raise OverflowError(
            f"per={per} integers of {shift_bits} bits do not fit into {public.plaintext_bits}: pack fewer of them."
        )
    values, factor = _values(public, cipher), 1 << shift_bits
    found = []
    for start in range(0, len(values), per):
        *lower, total = values[start : start + per]
        for value in reversed(lower):
            if public.kind == "sized":
                total = total * factor + value
            else:
                total = gmpy2.powmod(total, factor, public.square) * value % public.square
        found.append(total)
    return _cipher(public, found, cipher.key_holder)


def rerandomised(public: PublicKey, cipher: Cipher, rng: RandomSource) -> Cipher:
    """The same integers in ciphertexts that nothing connects with those they came from."""
    values = _values(public, cipher)
    if public.kind == "sized":
        return cipher
    return _cipher(public, public.masks(values, rng), cipher.key_holder)


def _group_products(values: Sequence[Any], groups: Sequence[int], count: int, square: Any) -> list[Any]:
    found: list[Any] = [None] * count
    for value, group in zip(values, groups, strict=True):
        if group >= 0:
            so_far = found[group]
            found[group] = value if so_far is None else so_far * value % square
    return [1 if total is None else total for total in found]


def _each(
    public: PublicKey,
    cipher: Cipher,
    openly: Callable[[Any, Any], Any],
    closed: Callable[[Any, Any], Any],
    others: list[Any],
) -> Cipher:
    values = _values(public, cipher)
    others = others * len(values) if len(others) == 1 else others
    if len(others) != len(values):
        raise ValueError(f"{len(others)} operands for {len(values)} ciphertexts; give one for each, or one for all.")
    compute = openly if public.kind == "sized" else closed
    found = [compute(value, other) for value, other in zip(values, others, strict=True)]
    return _cipher(public, found, cipher.key_holder)


def _integers(given: Any) -> list[int]:
    flat = np.asarray(given, dtype=object).ravel()
    try:
        return [operator.index(value) for value in flat]
    except TypeError as error:
        raise TypeError(f"integers holds what is no integer ({error}): scale and round before encryption.") from None


def _require_room(values: Sequence[int], public: PublicKey) -> None:
    longest = max((value.bit_length() for value in values), default=0)
    if longest > public.plaintext_bits:
        raise OverflowError(
            f"an integer of {longest} bits does not fit into {public.plaintext_bits}: use a longer key or fewer lanes."
        )


def _values(public: PublicKey, cipher: Cipher) -> list[Any]:
    if cipher.scheme != public.kind or (cipher.shape[0] and cipher.shape[1] != public.width):
        raise ValueError(
            f"a cipher of scheme {cipher.scheme!r} and shape {cipher.shape} is not closed under this key, of kind "
            f"{public.kind!r} and width {public.width}."
        )
    if public.kind == "sized":
        return sized.opened(cipher.content)
    data, width = cipher.content.tobytes(), public.width
    return [number_of(data[at : at + width]) for at in range(0, len(data), width)]


def _cipher(public: PublicKey, values: Sequence[Any], key_holder: str) -> Cipher:
    width = public.width
    if public.kind == "sized":
        return Cipher(sized.closed(values), key_holder, "sized", len(values) * width)
    flat = b"".join(value.to_bytes(width, "big") for value in values)
    return Cipher(np.frombuffer(flat, dtype=np.uint8).reshape(len(values), width), key_holder, "paillier")
