"""Sums under masks that cancel: exact to the words' step, uniform to who lacks a key, refused where they overflow."""

from __future__ import annotations

import math
from hashlib import sha256
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest

from forked import in_all_ways
from partywise.core.randomness import Streams
from partywise.federation.exchanges.masks.masked_sum import bits_for, masked_sum
from partywise.federation.exchanges.masks.pair_keys import ROW_BYTES, agree_on_keys, expand_key
from partywise.federation.exchanges.sharing import decode_words, encode_words
from partywise.federation.parties import Party
from partywise.federation.places import by_place
from partywise.federation.run import Run, simulate
from partywise.federation.secure_streams import SecureStreams
from partywise.privacy.accounted_values import Clear

N = 400
FEATURES = Clear(None, units=("features",), owner="passive 0")


def start(senders, *, size=1.0, rng_for=None):
    """A run with some senders of random numbers and a receiver with none."""
    rng = np.random.default_rng(senders)
    parties = [Party("active", "active", {"X": np.zeros((N, 1))}, (0,))]
    for k in range(senders):
        block = {"X": size * rng.uniform(-1, 1, (N, 1))}
        parties.append(Party(f"passive {k}", "passive", block, (k + 1,)))
    return Run(
        parties,
        epsilon=np.inf,
        fold=None,
        rng_for=rng_for or Streams(3, "masked sum"),
        spec=SimpleNamespace(),
        record=True,
    )


def local_values(party):
    return party.block["X"][:, 0]


def program(run):
    """Two sums of the same values."""
    active, *senders = run.parties
    parts = [Clear(None, units=("features",), owner=party.name) for party in senders]
    keys, bits = agree_on_keys(run, senders, active), bits_for(len(senders))
    values = run.each(senders, local_values)
    return [masked_sum(run, keys, "value", f"sum {k}", values, bits, parts) for k in range(2)]


def stacked(*sums):
    return np.array(sums)


def fit(run):
    return run.assemble(stacked, *program(run))


@pytest.mark.parametrize("bound", [1e-3, 0.99, 1.0, 3.0, 7.9, 8.0, 1e6])
def test_words_hold_sums_up_to_the_bound_and_waste_three_bits_at_most(bound):
    bits = bits_for(bound)
    for value in (bound, -bound):
        assert decode_words(encode_words(np.array([value]), bits), bits)[0] == pytest.approx(value, abs=2.0**-bits)
    assert 2.0**60 < (bound + 1) * 2.0**bits <= 2.0**61


@pytest.mark.parametrize("rng_for", [None, SecureStreams(5)])
@pytest.mark.parametrize("senders", [1, 2, 4])
def test_the_receiver_gets_the_sum(senders, rng_for):
    run = start(senders, rng_for=rng_for)
    expected = [math.fsum(values) for values in zip(*(local_values(party) for party in run.parties[1:]), strict=True)]
    for found in simulate(program, run):
        # Each value is rounded to a step, and the sum to a double.
        np.testing.assert_allclose(found, expected, rtol=2.0**-52, atol=senders * 2.0 ** -bits_for(senders))
    assert [message.name for message in run.channel.messages].count("public key") == (senders if senders > 1 else 0)
    assert {message.bytes for message in run.channel.messages if message.name == "value"} == {8 * N}


def test_a_message_alone_is_uniform_and_no_mask_serves_twice():
    run = start(3)
    simulate(program, run)
    words = [value for message, value in run.channel.view("active") if message.name == "value"]
    for one in words:
        # 400 uniform words: the mean of their leading bit has standard error .025.
        assert abs(np.mean(one >> np.uint64(63)) - 0.5) < 0.125 and len(np.unique(one)) == N
    first, second = words[:3], words[3:]
    # The same values under other masks: the difference of two messages of one sender says nothing either.
    for one, other in zip(first, second, strict=True):
        assert len(np.unique(one - other)) == N
    # One sender's value appears only with the messages of all.
    value = (run.parties[1].block["X"][:, 0] * 2.0 ** bits_for(3)).round().astype(np.int64).view(np.uint64)
    assert np.array_equal(sum(first) - sum(second), np.zeros(N, dtype=np.uint64))
    assert not np.any(first[0] == value) and not np.any(first[0] + first[1] == value)


def unmasked(run, bits, keys_of_third, candidates):
    """What receiver and third sender find of the first one's values, trying each candidate for the key they lack."""
    seen = run.channel.view("active")
    words = next(value for message, value in seen if message.sender == "passive 0" and message.name == "value")
    words = words - expand_key(keys_of_third["passive 0"], "sum 0", (N,))
    opened = [decode_words(words - expand_key(guess, "sum 0", (N,)), bits) for guess in candidates]
    own = local_values(run.parties[1])
    return any(np.allclose(one, own, atol=2.0 ** (2 - bits), rtol=0) for one in opened)


def free_values(run, *seen_by):
    """Every 32 bytes that crosses free of charge, or that reached one of some places and is not a masked value."""
    found = []
    for message, value in run.channel.view(*run.names):
        if message.kind == "public" or (message.receiver in seen_by and message.name != "value"):
            found += [row.tobytes()[:32] for row in value.reshape(-1, ROW_BYTES)]
    return found


@pytest.mark.parametrize("rng_for", [None, SecureStreams(5)])
def test_what_crosses_free_of_charge_opens_no_mask(rng_for):
    """Receiver and a third sender together, with all that is public: two public keys are not their key."""
    run, own = start(3, rng_for=rng_for), {}

    def with_keys(run):
        active, *senders = run.parties
        keys, bits = agree_on_keys(run, senders, active), bits_for(3)
        own.update(by_place(keys.keys))
        masked_sum(run, keys, "value", "sum 0", run.each(senders, local_values), bits, [FEATURES])

    simulate(with_keys, run)
    candidates = list(dict.fromkeys(free_values(run, "active", "passive 2")))
    assert len(candidates) == (3 if run.secure else 1)
    pairs = [sha256(b"".join(pair)).digest() for pair in permutations(candidates, 2)]
    assert not unmasked(run, bits_for(3), own["passive 2"], [*candidates, *pairs])
    # With the key itself, which crossed in the open once, they do find them.
    assert unmasked(run, bits_for(3), own["passive 2"], [own["passive 0"]["passive 1"]])


def test_every_owner_is_charged_and_words_that_are_too_small_are_named():
    run = start(2)
    simulate(program, run)
    assert run.channel.ledger.total("active", "features", 1e-5).epsilon_certified == np.inf
    assert {row.owner for row in run.channel.ledger.rows} == {"passive 0", "passive 1"}
    with pytest.raises(OverflowError, match="do not fit words"):
        simulate(program, start(2, size=100.0))
    # A single sender's sum is what it has.
    alone = start(1)
    found = simulate(program, alone)[0]
    np.testing.assert_allclose(found, alone.parties[1].block["X"][:, 0], atol=1e-15)


def test_one_process_a_place_does_the_same():
    in_all_ways(fit, lambda: start(3))
