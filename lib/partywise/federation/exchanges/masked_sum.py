"""Exchange: the sum of what several parties have, opened at one place, under masks that cancel.

Every two senders agree on a secret seed by Diffie-Hellman on Curve25519 (X25519, RFC 7748), from which one adds what
the other subtracts: a single message is uniform, their sum is exact. There is no dealer, and no seed crosses: whoever
sees all public keys finds no seed of others. Semi-honest senders, of whom all but two may collude with the receiver; of
a single sender the sum is what it has, and with one honest sender alone so is what is left. Public keys are as
authentic as the links that they cross.

Message                            from, to                        payload
public key, once (32 bytes)        every sender, every other one   Public
value under its masks (n,)         every sender, receiver          Clear, charged to all owners, 8 n bytes

In experiments secret keys come from addressed streams; with `SecureStreams` they come from the operating system, and
seeds are expanded by SHAKE-256 (`dealing.expand_seed`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np

from ...privacy.accounted_values import Clear, Public
from ...privacy.mechanisms.random import SecureRandom, words_of
from ...randomness import Rng
from ..parties import Party
from ..run import PerPlace, Place, Run, per_place
from .dealing import Seed, expand_seed, fold_of
from .psi import sodium
from .sharing import decode_words, encode_words

KEY_BYTES = 32
PURPOSE = "an agreement on secret seeds"
TAG = b"partywise, seed of two parties by X25519\0"
BECAUSE = "public key of a random secret key, which is drawn without a look at the data"


def bits_for(bound: float) -> int:
    """Bits after the point of words of 64 that hold numbers, and sums of them, up to a public bound."""
    return 61 - math.ceil(math.log2(bound + 1))


def pair_seeds(run: Run, parties: Sequence[Party]) -> PerPlace[Mapping[str, Seed]]:
    """A secret seed for every two parties, at these two only."""
    if len(parties) < 2:
        return per_place({party.name: {} for party in parties})
    secret = run.each(parties, local_secret_key, fold_of(run), run.rng_for)
    received: dict[str, list[Any]] = {party.name: [] for party in parties}
    for party in parties:
        others = [other for other in parties if other.name != party.name]
        key = run.broadcast(party, others, "public key", local_public_key, secret)
        for other in others:
            received[other.name].append((party.name, key))
    return per_place(
        {party.name: run.at(party, local_seeds, secret, received[party.name], run.rng_for) for party in parties}
    )


def masked_sum(
    run: Run,
    senders: Sequence[Party],
    receiver: Place,
    name: str,
    address: str,
    seeds: PerPlace[Mapping[str, Seed]],
    values: Any,
    bits: int,
    parts: Sequence[Clear],
) -> Any:
    """(n,) sum of the values of all senders, at the receiver.

    ``address`` is that of the masks: it must not repeat in a run. ``bits`` after the point are public, `bits_for` a
    bound of every sum of some of the values; OverflowError at a sender whose values are larger than words hold.
    ``parts`` say whose data the values were computed from.
    """
    sent = run.gather(senders, receiver, name, local_masked, seeds, values, address, bits, parts)
    if isinstance(receiver, Party):
        return run.at(receiver, local_total, sent, bits)
    return run.at(receiver, total, sent, bits)


def local_secret_key(party: Party, fold: Sequence[str | int], rng_for: Rng) -> bytes:
    """A party's secret key; in experiments another one for every fold."""
    sodium(PURPOSE)
    return words_of(rng_for("secret key", party.name, *fold))(KEY_BYTES // 8).astype("<u8").tobytes()


def local_public_key(party: Party, secret: bytes) -> Public:
    """What belongs to a secret key and does not tell it."""
    return Public(np.frombuffer(public_key(secret), dtype=np.uint8), because=BECAUSE)


def local_seeds(
    party: Party, secret: bytes, received: Sequence[tuple[str, np.ndarray]], rng_for: Rng
) -> dict[str, Seed]:
    """The seeds of a party, by the name of the other, to be expanded as its own generators are."""
    secure = isinstance(rng_for("secret key", party.name), SecureRandom)
    return {name: (shared_seed(secret, key, name), secure) for name, key in received}


def public_key(secret: bytes) -> bytes:
    """The public key of a secret key."""
    return sodium(PURPOSE).crypto_scalarmult_base(secret)


def shared_seed(secret: bytes, key: np.ndarray, owner: str) -> np.ndarray:
    """(4,) uint64 that both owners of two keys find, bound to both public keys.

    ValueError if the public key of ``owner`` is not 32 bytes, or a point of low order, which would give a seed that all
    know.
    """
    if key.dtype != np.uint8 or key.shape != (KEY_BYTES,):
        raise ValueError(f"public key of {owner!r} is {key.dtype} of shape {key.shape}: give {KEY_BYTES} bytes.")
    try:
        point = sodium(PURPOSE).crypto_scalarmult(secret, key.tobytes())
    except RuntimeError:
        raise ValueError(
            f"public key of {owner!r} is a point of low order of Curve25519: stop, whoever sent it does not follow the "
            "protocol."
        ) from None
    digest = sha256(TAG + point + b"".join(sorted((public_key(secret), key.tobytes())))).digest()
    return np.frombuffer(bytearray(digest), dtype="<u8").astype(np.uint64)


def local_masked(
    party: Party, seeds: Mapping[str, Seed], values: np.ndarray, address: str, bits: int, parts: Sequence[Clear]
) -> Clear:
    """A sender's values under all its masks: of two senders the one whose name comes first adds theirs."""
    words = encode_words(values, bits)
    for other, seed in seeds.items():
        mask = expand_seed(seed, address)(words.size).reshape(words.shape)
        words = words + mask if party.name < other else words - mask
    units = tuple(dict.fromkeys(unit for part in parts for unit in part.units))
    return Clear(words, units=units, made_of=tuple(parts))


def local_total(receiver: Party, words: Sequence[np.ndarray], bits: int) -> np.ndarray:
    """The sum, where a party gets it."""
    return total(words, bits)


def total(words: Sequence[np.ndarray], bits: int) -> np.ndarray:
    """The sum, in which all masks have cancelled."""
    return decode_words(np.asarray(np.sum(words, axis=0, dtype=np.uint64)), bits)
