"""Exchange: the sum of what several parties have, opened at one place, under masks that cancel.

Every two senders share a secret seed, from which one adds what the other subtracts: a single message is uniform, their
sum is exact. There is no dealer. Semi-honest senders, of whom all but two may collude with the receiver; of a single
sender the sum is what it has, and with one honest sender alone so is what is left.

Message                            from, to                        payload
seed, once (32 bytes)              every sender, later ones        Public
value under its masks (n,)         every sender, receiver          Clear, charged to all owners, 8 n bytes
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...privacy.accounted import Clear, Public
from ...privacy.mechanisms.random import SecureRandom, words_of
from ..parties import Party
from ..run import Own, Place, Run
from .dealing import Seed, expanded
from .sharing import decoded, encoded

__all__ = ["bits_for", "masked_sum", "pair_seeds"]

BECAUSE = "random numbers, drawn without a look at the data"


def bits_for(bound: float) -> int:
    """Bits after the point of words of 64 that hold numbers, and sums of them, up to a public bound."""
    return 61 - math.ceil(math.log2(bound + 1))


def pair_seeds(run: Run, senders: Sequence[Party]) -> Own:
    """A seed for every two senders, at both: every sender has them by the name of the other."""
    own = {party.name: run.at(party, local_drawn_seeds, senders, run.rng_for) for party in senders}
    received: dict[str, list[Any]] = {party.name: [] for party in senders}
    for place, party in enumerate(senders):
        for other in senders[place + 1 :]:
            sent = run.send(party, other, "seed of a pair", local_seed, own[party.name], other.name)
            received[other.name].append((party.name, sent))
    return Own({party.name: run.at(party, local_seeds, own[party.name], received[party.name]) for party in senders})


def masked_sum(
    run: Run,
    senders: Sequence[Party],
    receiver: Place,
    name: str,
    address: str,
    seeds: Own,
    values: Any,
    bits: int,
    parts: Sequence[Clear],
) -> Any:
    """(n,) sum of the values of all senders, at the receiver.

    Parameters
    ----------
    run : Run
    senders : sequence of Party
    receiver : Party or str
    name : str
        Of the messages.
    address : str
        Of the masks: it must not repeat in a run.
    seeds : Own
        Of `pair_seeds`.
    values : Own
        (n,) at every sender.
    bits : int
        After the point: public, `bits_for` a bound of every sum of some of the values.
    parts : sequence of Clear
        Whose data the values were computed from.

    Raises
    ------
    OverflowError
        At a sender whose values are larger than words hold.
    """
    sent = run.gather(senders, receiver, name, local_masked, seeds, values, address, bits, parts)
    return run.at(receiver, local_total if isinstance(receiver, Party) else total, sent, bits)


def local_drawn_seeds(party: Party, senders: Sequence[Party], rng_for: Callable) -> dict[str, Seed]:
    """The seeds that a sender draws, for those after it."""
    names = [sender.name for sender in senders]
    drawn = {}
    for other in names[names.index(party.name) + 1 :]:
        rng = rng_for("seed of a pair", party.name, other)
        drawn[other] = words_of(rng)(4), isinstance(rng, SecureRandom)
    return drawn


def local_seed(party: Party, drawn: Mapping[str, Seed], other: str) -> Public:
    """The seed of one pair."""
    words, secure = drawn[other]
    return Public((words, secure), because=BECAUSE)


def local_seeds(party: Party, drawn: Mapping[str, Seed], received: Sequence[tuple[str, Seed]]) -> dict[str, Any]:
    """All seeds of a sender, with the sign that it adds their numbers with."""
    return {name: (seed, 1) for name, seed in drawn.items()} | {name: (seed, -1) for name, seed in received}


def local_masked(
    party: Party, seeds: Mapping[str, Any], values: np.ndarray, address: str, bits: int, parts: Sequence[Clear]
) -> Clear:
    """A sender's values under all its masks."""
    words = encoded(values, bits)
    for seed, sign in seeds.values():
        mask = expanded(seed, address)(words.size).reshape(words.shape)
        words = words + mask if sign > 0 else words - mask
    units = tuple(dict.fromkeys(unit for part in parts for unit in part.units))
    return Clear(words, units=units, made_of=tuple(parts))


def local_total(receiver: Party, words: Sequence[np.ndarray], bits: int) -> np.ndarray:
    """The sum, where a party gets it."""
    return total(words, bits)


def total(words: Sequence[np.ndarray], bits: int) -> np.ndarray:
    """The sum, in which all masks have cancelled."""
    return decoded(np.asarray(np.sum(words, axis=0, dtype=np.uint64)), bits)
