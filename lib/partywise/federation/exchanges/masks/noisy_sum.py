"""Exchange: the sum of the statistics of several parties, opened once with noise of which each adds a share.

No party knows all of the noise: with K senders and t colluders every share has 1 / (K - t) of the variance that its mu
asks for (`partywise.privacy.mechanisms.noise_shares`). Words cross under masks of pairs (`pair_keys`), so that the
receiver sees their sum and nothing else: any words but those of all are uniform. It holds no data and no noise.

Message           from, to                     payload, bytes
keys, once        sender, receiver and back    `pair_keys`
words, by name    sender, receiver             Cipher, scheme "masked", key: none; 8 each, or 16

What the sum costs is in the ledger, paid by every sender, before a word leaves: whether or not it is opened then. A
party that is missing ends the run, since some words alone cannot be opened; a new run has new keys, new noise and
a new payment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Any: arguments at a receiver, which is a party or none.
from typing import Any

import numpy as np

from ....core.randomness import Rng
from ....privacy.ledger.event import Event
from ....privacy.mechanisms.noise_shares import NoiseShares
from ....privacy.mechanisms.release import Release, digest_of
from ....privacy.statistics.whole import Whole
from ...cipher import Cipher
from ...parties import Party
from ...places import PerPlace
from ...run import Run
from ..sharing import NOBODY
from .pair_keys import PairKeys, add_masks, sum_words

SCHEME = "masked"


def noisy_sum(
    run: Run,
    keys: PairKeys,
    name: str,
    statistics: PerPlace[Whole],
    total: Whole,
    mu: float,
    *,
    colluders: int,
    largest: int,
    audience: tuple[str, ...] = ("*",),
) -> Release:
    """The `Release` of a sum, at the receiver of the keys.

    ``statistics`` are those of the senders; ``total`` is their sum as all parties know it: bounds, steps and shape.
    ``mu`` holds against so many ``colluders`` (at most all but one) and the receiver; ``largest`` bounds every entry of
    the sum, in steps. ``name`` serves once in a run.
    """
    order = keys.order
    shares = NoiseShares(total, mu, order, min(colluders, len(order) - 1))
    sampler, digest = "secure" if run.secure else "simulation", digest_of([run.identity.run, keys.use_name(name)])
    event, bits = shares.event(name, audience, sampler, digest), shares.word_bits(largest)
    run.charge(keys.senders, event)
    run.reserve(event)
    arguments = statistics, shares, event, bits, order, keys.keys, run.rng_for
    words = run.gather(keys.senders, keys.receiver, name, local_words, *arguments)
    return run.at(keys.receiver, opened_sum, words, shares, event)


def local_words(
    party: Party,
    statistic: Whole,
    shares: NoiseShares,
    event: Event,
    bits: int,
    order: Sequence[str],
    keys: Mapping[str, bytes],
    rng_for: Rng,
) -> Cipher:
    """A sender's integers with its share of the noise, under its masks."""
    drawn = shares.draw(statistic, event, rng_for("share of the noise", event.release_id, party.name))
    words = add_masks(encode_integers(drawn.ravel(), bits), party.name, order, keys, event.release_id)
    return Cipher(words, key_holder=NOBODY, scheme=SCHEME)


def opened_sum(*arguments: Any) -> Release:
    """The release of the sum of all words, in which the masks have cancelled; a party is the first argument."""
    words, shares, event = arguments[-3:]
    total = words[0].content
    for cipher in words[1:]:
        total = sum_words(total, cipher.content)
    release: Release = shares.release(decode_integers(total).reshape(shares.total.integers.shape), event)
    return release


def encode_integers(integers: np.ndarray, bits: int) -> np.ndarray:
    """Integers (d,) as words modulo 2^64, (d,), or 2^128, (d, 2), the lower half first."""
    if bits == 64 and integers.dtype != object:
        return integers.astype(np.int64).view(np.uint64)
    size = bits // 8
    content = b"".join((int(k) % (1 << bits)).to_bytes(size, "little") for k in integers)
    words = np.frombuffer(content, dtype="<u8").astype(np.uint64)
    return words if bits == 64 else words.reshape(-1, 2)


def decode_integers(words: np.ndarray) -> np.ndarray:
    """Inverse of `encode_integers`: int64, or Python integers."""
    if words.ndim == 1:
        return words.view(np.int64)
    integers = np.empty(len(words), dtype=object)
    integers[:] = [int.from_bytes(word.astype("<u8").tobytes(), "little", signed=True) for word in words]
    return integers
