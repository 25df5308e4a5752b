"""Exchange: sums of encrypted numbers, opened by a key holder who learns nothing from them.

Who asks for a sum adds a uniform mask under encryption, so much longer than the sum that what the key holder opens
has the distribution of a uniform number, up to 2^-120 in total variation, for every sum. It returns what it
opened, and the mask is taken off where it was drawn. Closed so, a `Cipher` is closed twice: its key holder is who knows
the mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....privacy.mechanisms.random import RandomSource
from ...cipher import Cipher
from .large_numbers import random_bytes
from .paillier import add_plain, decrypt, rerandomise
from .paillier_keys import PrivateKey, PublicKey

# By so many bits a mask is longer than what it hides.
MASK_BITS = 120


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
