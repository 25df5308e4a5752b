"""Ciphertexts on their way, as bytes or as integers carried openly, and functions that move them about unread.

Integers in the place of ciphertexts give the same sums, for experiments of a size that keys forbid: row i of a content
array is one integer in two's complement, little-endian, all rows as long as the longest needs.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ....privacy.accounted_values import AccountedValue
from ...cipher import Cipher
from .large_numbers import number_of
from .paillier_keys import PublicKey

# Bits of a limb of an integer that is carried openly.
LIMB = 16


def cipher_of(
    public: PublicKey, values: Sequence[int], key_holder: str, made_of: Sequence[AccountedValue] = ()
) -> Cipher:
    """Ciphertexts as they are sent."""
    width = public.width
    if public.kind == "sized":
        return Cipher(to_content(values), key_holder, "sized", len(values) * width, made_of)
    flat = b"".join(value.to_bytes(width, "big") for value in values)
    return Cipher(np.frombuffer(flat, dtype=np.uint8).reshape(-1, width), key_holder, public.kind, None, made_of)


def values_of(public: PublicKey, cipher: Cipher) -> list[int]:
    """Ciphertexts as numbers; ValueError if they are not closed under this key."""
    # What closes nothing has the width of its integers where these are what crosses.
    widths = (public.width, cipher.content.shape[1] if public.kind == "sized" else public.width)
    if cipher.scheme != public.kind or (cipher.shape[0] and cipher.shape[1] not in widths):
        raise ValueError(
            f"a cipher of scheme {cipher.scheme!r} and shape {cipher.shape} is not closed under this key, of kind "
            f"{public.kind!r} and width {public.width}."
        )
    if public.kind == "sized":
        return from_content(cipher.content)
    data, width = cipher.content.tobytes(), public.width
    return [number_of(data[at : at + width]) for at in range(0, len(data), width)]


def take(cipher: Cipher, rows: npt.ArrayLike) -> Cipher:
    """Some of the integers of a cipher, by number or mask; a row may be taken twice."""
    content = cipher.content[np.atleast_1d(np.asarray(rows))] if np.size(rows) else cipher.content[:0]
    return replace(cipher, content=content, size=None if cipher.size is None else len(content) * cipher.shape[1])


def concatenate(public: PublicKey, ciphers: Sequence[Cipher]) -> Cipher:
    """The integers of several ciphers of one key, one cipher after another."""
    values = [value for cipher in ciphers for value in values_of(public, cipher)]
    return cipher_of(public, values, ciphers[0].key_holder, [part for cipher in ciphers for part in cipher.made_of])


def ciphertext_bytes(cipher: Cipher) -> np.ndarray:
    """(m, width) uint8, ciphertexts as all places on their way see them: what attacks read."""
    if cipher.scheme != "paillier":
        raise ValueError(f"a cipher of scheme {cipher.scheme!r} is a substitute, whose bytes differ from ciphertexts.")
    return cipher.content


def integers_of(numbers: object) -> list[int]:
    """Python integers of numbers of any shape, flat; TypeError for what is none."""
    flat = np.asarray(numbers, dtype=object).ravel()
    try:
        return [operator.index(value) for value in flat]
    except TypeError as error:
        raise TypeError(
            f"integers holds what is not an integer ({error}): scale and round before encryption."
        ) from None


def require_room(values: Sequence[int], public: PublicKey) -> None:
    """OverflowError if a key of this length cannot hold the integers."""
    longest = max((value.bit_length() for value in values), default=0)
    if longest > public.plaintext_bits:
        raise OverflowError(
            f"an integer of {longest} bits does not fit into {public.plaintext_bits}: use a longer key or fewer slots."
        )


def to_content(integers: Sequence[int]) -> np.ndarray:
    """(m, k) uint8 of integers."""
    limbs = max((value.bit_length() for value in integers), default=0) // LIMB + 1
    size = limbs * LIMB // 8
    flat = b"".join(value.to_bytes(size, "little", signed=True) for value in integers)
    return np.frombuffer(flat, dtype=np.uint8).reshape(len(integers), size)


def from_content(content: np.ndarray) -> list[int]:
    """Inverse of `to_content`."""
    size, data = content.shape[1], content.tobytes()
    return [int.from_bytes(data[at : at + size], "little", signed=True) for at in range(0, len(data), size)]


def group_sums(content: np.ndarray, groups: np.ndarray, count: int) -> list[int]:
    """Sums of the rows of every group, limb by limb: exact up to 2^37 rows."""
    limbs = np.ascontiguousarray(content).view("<u2").astype(float)
    limbs[:, -1] -= (limbs[:, -1] >= 1 << (LIMB - 1)) * float(1 << LIMB)
    grouped = groups >= 0
    total = np.zeros(count, dtype=object)
    for place in range(limbs.shape[1]):
        sums = np.bincount(groups[grouped], weights=limbs[grouped, place], minlength=count)
        total += sums.astype(np.int64).astype(object) << LIMB * place
    return total.tolist()
