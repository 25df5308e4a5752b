"""Exchange: a secret key for every two of several parties, agreed through one place, and masks that cancel.

Keys are agreed by Diffie-Hellman on Curve25519 (X25519, RFC 7748): the public keys reveal no key of a pair.
Where parties have certificates, each signs its public key for this very run, and takes no key that is not signed by
its owner: the place in the middle cannot put in one of its own. Of two parties the earlier one adds the mask that the
other subtracts, so that the masks of all cancel and any words but those of all are uniform. Semi-honest senders.

Message                                       from, to                    payload, bytes
public key, with signature and certificate    every sender, receiver      Public, 2048
public keys                                   receiver, every sender      Public, 2048 each

In experiments the key of a pair comes from an addressed stream that both know, and stands for one that was agreed.
Where no place can see the contents of messages, masks are left away: they cancel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# Any: arguments at a receiver, which is a party or none.
from typing import TYPE_CHECKING, Any

import numpy as np

from ....core.errors import PartyError
from ....core.randomness import Rng
from ....privacy.accounted_values import Public
from ....privacy.mechanisms.random import words_of
from ...identity import Identity, join_parts
from ...parties import Party
from ...places import PerPlace, Place, per_place
from ...run import Run
from ..dealing import fold_of

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

# Bytes of a public key, and of what is sent: the key, then signature and certificate, each after its length in two.
KEY_BYTES, ROW_BYTES = 32, 2048
SIGNED = "partywise key 1"
BECAUSE = "public key of a random secret key, which is drawn without a look at the data"


@dataclass
class PairKeys:
    """State of an agreement, as the program knows it: public, the same in the process of every place.

    senders : in the order by which one of two adds a mask; receiver : through whom they agree, who gets their sums
    keys : at each sender, by the names of the others; none where no place can see the contents of messages
    names : what was masked with them already: a second mask of one name would show the difference of two values
    """

    senders: tuple[Party, ...]
    receiver: Place
    keys: PerPlace[Mapping[str, bytes]]
    names: set[str] = field(default_factory=set)

    def use_name(self, name: str) -> str:
        """The name, used from now on."""
        if name in self.names:
            raise ValueError(f"name={name!r} was masked before in this run: a mask serves once, give another name.")
        self.names.add(name)
        return name

    @property
    def order(self) -> tuple[str, ...]:
        """Names of the senders."""
        return tuple(party.name for party in self.senders)


def agree_on_keys(run: Run, senders: Sequence[Party], receiver: Place) -> PairKeys:
    """Keys of every two senders, fresh in every run; of one sender alone there is none, and nothing crosses."""
    agreement = PairKeys(tuple(senders), receiver, per_place({party.name: {} for party in senders}))
    if len(senders) < 2:
        return agreement
    agreed = run.secure and run.carries_contents
    secret = run.each(senders, local_secret_key, agreed, run.rng_for)
    sent = run.gather(senders, receiver, "public key", local_public_key, secret, run.identity)
    every = run.broadcast(receiver, senders, "public keys", collected_keys, sent)
    if agreed:
        agreement.keys = run.each(senders, local_agreed_keys, agreement.order, secret, every, run.identity)
    elif run.carries_contents:
        agreement.keys = run.each(senders, local_drawn_keys, agreement.order, fold_of(run), run.rng_for)
    return agreement


def local_secret_key(party: Party, agreed: bool, rng_for: Rng) -> bytes:
    """A party's secret key; nothing where keys are not agreed on."""
    return words_of(rng_for("secret key", party.name))(KEY_BYTES // 8).tobytes() if agreed else b""


def local_public_key(party: Party, secret: bytes, identity: Identity) -> Public:
    """Public key of a secret key, signed by its owner: (2048,) bytes."""
    row, key = bytearray(ROW_BYTES), bytes(KEY_BYTES)
    if secret:
        private, _ = _x25519()
        key = private.from_private_bytes(secret).public_key().public_bytes_raw()
    signed = identity.sign(SIGNED, party.name, key) if secret else (b"", b"")
    content = key + b"".join(len(part).to_bytes(2, "big") + part for part in signed)
    if len(content) > ROW_BYTES:
        raise PartyError(
            f"the certificate of {party.name!r} has {len(signed[1])} bytes, too many next to its key: take one of a "
            "P-256 or Ed25519 key, without a long chain."
        )
    row[: len(content)] = content
    return Public(np.frombuffer(row, dtype=np.uint8), because=BECAUSE)


def collected_keys(*given: Any) -> Public:
    """All keys as the place in the middle got them, (K, 2048) bytes; a party that does this is the first argument."""
    return Public(np.stack(given[-1]), because=BECAUSE)


def local_drawn_keys(party: Party, order: Sequence[str], fold: Sequence[str | int], rng_for: Rng) -> dict[str, bytes]:
    """The keys of a party in an experiment, by the name of the other; other ones for every fold."""
    place, keys = order.index(party.name), dict[str, bytes]()
    for k, name in enumerate(order):
        if k != place:
            pair = (party.name, name) if place < k else (name, party.name)
            keys[name] = words_of(rng_for("pair key", *pair, *fold))(KEY_BYTES // 8).tobytes()
    return keys


def local_agreed_keys(
    party: Party, order: Sequence[str], secret: bytes, every: np.ndarray, identity: Identity
) -> dict[str, bytes]:
    """The keys of a party, by the name of the other; PartyError for a public key that is not what its owner sent."""
    private, public = _x25519()
    private_key, keys = private.from_private_bytes(secret), dict[str, bytes]()
    place, sent_keys = order.index(party.name), [_read_row(row, name) for row, name in zip(every, order, strict=True)]
    if sent_keys[place][0] != private_key.public_key().public_bytes_raw():
        raise PartyError(f"the public key of {party.name!r} came back as another one: it was changed on the way.")
    for k, (name, (key, signature, certificate)) in enumerate(zip(order, sent_keys, strict=True)):
        if k == place:
            continue
        if problem := identity.problem(SIGNED, name, key, signature, certificate):
            raise PartyError(f"the public key of {name!r} {problem}: {party.name!r} sends nothing under it.")
        try:
            point = private_key.exchange(public.from_public_bytes(key))
        except ValueError:
            raise PartyError(
                f"the public key of {name!r} is a point of low order of Curve25519: its sender does not follow the "
                "protocol."
            ) from None
        pair = (place, k) if place < k else (k, place)
        names, keyed = [order[j] for j in pair], [sent_keys[j][0] for j in pair]
        key_material = join_parts("partywise pair key 1", identity.run, identity.configuration, *names, *keyed, point)
        keys[name] = hashlib.shake_256(key_material).digest(KEY_BYTES)
    return keys


def add_masks(words: np.ndarray, party: str, order: Sequence[str], keys: Mapping[str, bytes], name: str) -> np.ndarray:
    """Words of a party under all its masks: (d,) of 64 bits, or (d, 2), halves of 128."""
    place = order.index(party)
    for k, other in enumerate(order):
        if other in keys:
            mask = expand_key(keys[other], name, words.shape)
            words = sum_words(words, mask if place < k else negative_words(mask))
    return words


def expand_key(key: bytes, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The mask that a key gives for a name: uniform words; how many and how wide they are is a part of it."""
    bits = 64 * (shape[1] if len(shape) > 1 else 1)
    state = hashlib.shake_256(join_parts("partywise mask 1", key, name, bits, shape[0]))
    return np.frombuffer(state.digest(bits // 8 * shape[0]), dtype="<u8").astype(np.uint64).reshape(shape)


def sum_words(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Sum modulo 2^64, or, of words in two halves, the lower one first, modulo 2^128."""
    total = left + right
    if total.ndim > 1:
        total[:, 1] += total[:, 0] < left[:, 0]
    return total


def negative_words(words: np.ndarray) -> np.ndarray:
    """Negative of words: the sum of both is 0."""
    unit = np.zeros_like(words)
    unit[..., 0] = 1
    return sum_words(~words, unit) if words.ndim > 1 else ~words + np.uint64(1)


def _read_row(row: np.ndarray, name: str) -> tuple[bytes, bytes, bytes]:
    """Key, signature and certificate of what was sent; PartyError for other bytes."""
    if row.dtype != np.uint8 or row.shape != (ROW_BYTES,):
        raise PartyError(f"the public key of {name!r} is {row.dtype} of shape {row.shape}: it has {ROW_BYTES} bytes.")
    content, parts, at = row.tobytes(), list[bytes](), KEY_BYTES
    for _ in range(2):
        end = at + 2 + int.from_bytes(content[at : at + 2], "big")
        parts.append(content[at + 2 : end])
        at = end
    return content[:KEY_BYTES], parts[0], parts[1]


def _x25519() -> tuple[type[X25519PrivateKey], type[X25519PublicKey]]:
    """Private and public keys of the package that agrees on secrets."""
    try:
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    except ImportError as error:
        raise ImportError(
            "an agreement on secret keys needs the package cryptography: pip install 'partywise[network]'."
        ) from error
    return X25519PrivateKey, X25519PublicKey
