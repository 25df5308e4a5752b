"""Seeds of two parties: both find the same, others another, by the X25519 of another library; low order is refused."""

from __future__ import annotations

import sys
from hashlib import sha256
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from forked import checked, forked
from partywise.audits.contract import agree
from partywise.federation.exchanges.masked_sum import TAG, local_secret_key, pair_seeds, public_key, shared_seed
from partywise.federation.exchanges.psi import sodium
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from partywise.federation.secure_streams import SecureStreams
from partywise.randomness import Streams


def start(count, rng_for=None, fold=None):
    parties = [Party(f"clinic {k}", "client", {"X": np.zeros((3, 1))}, (k,)) for k in range(count)]
    rng_for = rng_for or Streams(3, "keys")
    return Run(parties, epsilon=np.inf, fold=fold, rng_for=rng_for, spec=SimpleNamespace(), record=True)


def seeds_of(run):
    """Words of the seeds, by both ends."""
    own = simulate(lambda run: pair_seeds(run, run.parties), run).values
    return {(name, other): seed[0].tobytes() for name, seeds in own.items() for other, seed in seeds.items()}


@pytest.mark.parametrize("rng_for", [None, SecureStreams(5)])
def test_two_parties_find_the_same_seed_and_no_pair_has_that_of_another(rng_for):
    run = start(4, rng_for)
    seeds = seeds_of(run)
    assert set(seeds) == set(permutations([party.name for party in run.parties], 2))
    assert all(seed == seeds[other, name] for (name, other), seed in seeds.items())
    assert len(set(seeds.values())) == 6
    messages = run.channel.messages
    assert [(message.name, message.kind, message.bytes) for message in messages] == [("public key", "public", 32)] * 12
    assert not set(seeds.values()) & {value.tobytes() for _, value in run.channel.view(*run.names)}


def test_keys_are_those_of_another_library_with_the_same_secret():
    run = start(2)
    secret, other = (local_secret_key(party, (), run.rng_for) for party in run.parties)
    keys = [X25519PrivateKey.from_private_bytes(one) for one in (secret, other)]
    public = [key.public_key().public_bytes_raw() for key in keys]
    assert [public_key(one) for one in (secret, other)] == public
    exchanged = keys[0].exchange(X25519PublicKey.from_public_bytes(public[1]))
    assert sodium("a test").crypto_scalarmult(secret, public[1]) == exchanged
    # The seed is a digest of the point, which nobody else knows, and of both keys, which all see.
    seed = shared_seed(secret, np.frombuffer(public[1], dtype=np.uint8), "clinic 1").tobytes()
    assert seed == sha256(TAG + exchanged + b"".join(sorted(public))).digest()
    assert seed == seeds_of(start(2))["clinic 0", "clinic 1"]


def test_experiments_repeat_their_seeds_but_not_over_folds_and_real_runs_repeat_none():
    folds = [SimpleNamespace(n_folds=2, held_out=k) for k in range(2)]
    repeated, again = (seeds_of(start(2)) for _ in range(2))
    assert repeated == again
    assert len({seeds_of(start(2, fold=fold))["clinic 0", "clinic 1"] for fold in folds} | set(again.values())) == 3
    assert seeds_of(start(2, SecureStreams(5))) != seeds_of(start(2, SecureStreams(5)))


def test_a_public_key_that_is_none_is_refused_by_the_name_of_its_owner():
    secret = bytes(range(32))
    for point in (0, 1, 2**255 - 20, 2**255 - 19):
        key = np.frombuffer(point.to_bytes(32, "little"), dtype=np.uint8)
        with pytest.raises(ValueError, match="public key of 'clinic 1' is a point of low order of Curve25519: stop"):
            shared_seed(secret, key, "clinic 1")
    with pytest.raises(ValueError, match=r"public key of 'clinic 1' is uint8 of shape \(31,\): give 32 bytes"):
        shared_seed(secret, np.zeros(31, dtype=np.uint8), "clinic 1")


def test_one_party_alone_needs_no_key_and_without_pynacl_the_remedy_is_named_before_anything_is_sent(monkeypatch):
    monkeypatch.setitem(sys.modules, "nacl", None)
    alone, run = start(1), start(2)
    assert seeds_of(alone) == {} and not alone.channel.transcript()
    with pytest.raises(ImportError, match=r"secret seeds needs the package PyNaCl: pip install partywise\[alignment\]"):
        seeds_of(run)
    assert not run.channel.transcript()


def stacked(seeds):
    return np.array([seed[0] for own in seeds.values() for seed in own.values()])


def fit(run):
    return run.assemble(stacked, pair_seeds(run, run.parties))


@pytest.mark.parametrize("how", [checked, forked])
def test_one_process_a_place_does_the_same(how):
    reference = start(3)
    expected = simulate(fit, reference)
    run = start(3)
    agree(reference, expected, run, how(fit, run), how.__name__)
