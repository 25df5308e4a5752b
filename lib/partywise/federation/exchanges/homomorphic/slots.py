"""Signed slots: several integers side by side in one, so that one ciphertext sums them all.

An integer of slots is ``sum of slot[j] * 2^(bits * j)``, every slot smaller than ``2^(bits - 1)`` in magnitude. Sums of
such integers are integers of the sums as long as the slots have room, which public bounds decide before any encryption.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# Numbers are multiples of 2^-32.
FRACTION_BITS = 32


def to_fixed_point(values: npt.ArrayLike) -> np.ndarray:
    """Numbers as integers: the nearest multiples of 2^-32, int64."""
    return np.rint(np.asarray(values, dtype=float) * 2.0**FRACTION_BITS).astype(np.int64)


def slot_bits(n: int, bound: float = 1.0) -> int:
    """Bits of a slot for sums of up to n numbers: 34 + ceil(log2 n), and those of a bound above 1."""
    return FRACTION_BITS + 2 + math.ceil(math.log2(max(n, 1))) + math.ceil(math.log2(max(bound, 1.0)))


def per_cipher(plaintext_bits: int, bits: int) -> int:
    """Number of integers of some bits that fit into one ciphertext."""
    if bits > plaintext_bits:
        raise OverflowError(
            f"integers of {bits} bits do not fit into a ciphertext of {plaintext_bits}: use a longer key or fewer rows."
        )
    return plaintext_bits // bits


def require_room(bits: int, n: int, bound: float, named: str) -> None:
    """Check, from public things and before anything is closed, that sums fit into their slots."""
    largest = n * (math.ceil(bound * 2.0**FRACTION_BITS) + 1)
    if largest >= 1 << (bits - 1):
        raise OverflowError(
            f"sums of {n} {named} of up to {bound:g} do not fit into slots of {bits} bits: declare a larger "
            "residual_bound, from public things, or use fewer rows."
        )


def merge_slots(slots: Sequence[np.ndarray], bits: int) -> np.ndarray:
    """One integer for each row of several slots, the first the highest: an object array (m,)."""
    total = np.zeros(np.size(slots[0]), dtype=object)
    for slot in slots:
        values = np.array([operator.index(value) for value in np.ravel(slot)], dtype=object)
        if any(abs(value) >> (bits - 1) for value in values):
            raise OverflowError(f"a number does not fit into a slot of {bits} bits: its declared bound is too small.")
        total = (total << bits) + values
    return total


def split_slots(integers: Sequence[int], bits: int, per: int) -> np.ndarray:
    """The slots of integers, an object array (m, per), the lowest first: inverse of sums of `merge_slots`."""
    half, whole = 1 << (bits - 1), (1 << bits) - 1
    slots = np.empty((len(integers), per), dtype=object)
    for row, rest in enumerate(integers):
        for place in range(per):
            slot = ((rest + half) & whole) - half
            slots[row, place], rest = slot, (rest - slot) >> bits
        if rest:
            raise OverflowError(f"an integer holds more than {per} slots of {bits} bits: its sums left their slots.")
    return slots
