"""Integers carried openly in the place of ciphertexts: the same sums, for experiments of a size that keys forbid.

Row i of a content array is one integer in two's complement, little-endian, all rows as long as the longest needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LIMB = 16


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
