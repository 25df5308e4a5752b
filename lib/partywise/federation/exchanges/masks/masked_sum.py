"""Exchange: the sum of what several parties have, opened at one place, under masks that cancel.

Every two senders agree on a secret key (`pair_keys`), from which one adds what the other subtracts: a single message is
uniform, their sum is exact. No dealer is needed, and no key crosses. Semi-honest senders, of whom all but two may
collude with the receiver; of a single sender the sum is what it has, and with one honest sender alone so is what is
left.

Message                            from, to                     payload
keys, once                         sender, receiver and back    `pair_keys`
value under its masks (n,)         every sender, receiver       Clear, charged to all owners, 8 n bytes
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

# Any: arguments at a receiver, which is a party or none.
from typing import Any

import numpy as np

from ....privacy.accounted_values import Clear
from ...parties import Party
from ...places import PerPlace
from ...run import Run
from ..sharing import decode_words, encode_words
from .pair_keys import PairKeys, add_masks


def bits_for(bound: float) -> int:
    """Bits after the point of words of 64 that hold numbers, and sums of them, up to a public bound."""
    return 61 - math.ceil(math.log2(bound + 1))


def masked_sum(
    run: Run, keys: PairKeys, name: str, address: str, values: PerPlace[np.ndarray], bits: int, parts: Sequence[Clear]
) -> np.ndarray:
    """(n,) sum of the values of all senders, at the receiver of the keys.

    ``address`` is that of the masks: it must not repeat in a run. ``bits`` after the point are public, `bits_for` a
    bound of every sum of some of the values; OverflowError at a sender whose values are larger than words hold.
    ``parts`` name whose data the values were computed from.
    """
    arguments = values, bits, keys.order, keys.keys, keys.use_name(address), parts
    sent = run.gather(keys.senders, keys.receiver, name, local_masked, *arguments)
    return run.at(keys.receiver, opened_total, sent, bits)


def local_masked(
    party: Party,
    values: np.ndarray,
    bits: int,
    order: Sequence[str],
    keys: Mapping[str, bytes],
    address: str,
    parts: Sequence[Clear],
) -> Clear:
    """A sender's values under all its masks."""
    words = add_masks(encode_words(values, bits), party.name, order, keys, address)
    units = tuple(dict.fromkeys(unit for part in parts for unit in part.units))
    return Clear(words, units=units, made_of=tuple(parts))


def opened_total(*given: Any) -> np.ndarray:
    """The sum, in which all masks have cancelled; a party that gets it is the first argument."""
    words, bits = given[-2:]
    return decode_words(np.asarray(np.sum(words, axis=0, dtype=np.uint64)), bits)
