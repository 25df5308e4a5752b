"""Keys of two parties: both find the same, others another; forged and foreign public keys end the run before a word."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey

from forked import in_all_ways
from partywise.core.errors import PartyError
from partywise.core.randomness import Streams
from partywise.deployment.wire.authority import make
from partywise.deployment.wire.credential import Credential
from partywise.federation.exchanges.masks import pair_keys
from partywise.federation.exchanges.masks.pair_keys import (
    ROW_BYTES,
    SIGNED,
    add_masks,
    agree_on_keys,
    expand_key,
    local_agreed_keys,
    local_public_key,
    negative_words,
    sum_words,
)
from partywise.federation.identity import Identity, join_parts
from partywise.federation.parties import Party
from partywise.federation.places import by_place
from partywise.federation.run import Run, simulate
from partywise.federation.secure_streams import SecureStreams

NAMES = ("north", "river", "hill")


def start(count, rng_for=None, fold=None, record=True):
    parties = [Party(f"clinic {k}", "client", {"X": np.zeros((3, 1))}, (k,)) for k in range(count)]
    rng_for, more = rng_for or Streams(3, "keys"), {"spec": SimpleNamespace(), "record": record, "extra": ("server",)}
    return Run(parties, epsilon=np.inf, fold=fold, rng_for=rng_for, **more)


def keys_of(run):
    """The keys, by both ends."""
    own = by_place(simulate(lambda run: agree_on_keys(run, run.parties, "server"), run).keys)
    return {(name, other): key for name, keys in own.items() for other, key in keys.items()}


@pytest.mark.parametrize("rng_for", [None, SecureStreams(5)])
def test_two_parties_find_the_same_key_and_no_pair_has_that_of_another(rng_for):
    run = start(4, rng_for)
    keys = keys_of(run)
    assert set(keys) == set(permutations([party.name for party in run.parties], 2))
    assert all(key == keys[other, name] for (name, other), key in keys.items())
    assert len(set(keys.values())) == 6
    sizes = [(message.name, message.kind, message.bytes) for message in run.channel.messages]
    assert sizes == [("public key", "public", ROW_BYTES)] * 4 + [("public keys", "public", 4 * ROW_BYTES)] * 4
    crossed = b"".join(value.tobytes() for _, value in run.channel.view(*run.names))
    assert not any(key in crossed for key in keys.values())


def test_experiments_repeat_their_keys_but_not_over_folds_and_real_runs_repeat_none():
    folds = [SimpleNamespace(n_folds=2, held_out=k) for k in range(2)]
    repeated, again = (keys_of(start(2)) for _ in range(2))
    assert repeated == again
    assert len({keys_of(start(2, fold=fold))["clinic 0", "clinic 1"] for fold in folds} | set(again.values())) == 3
    assert keys_of(start(2, SecureStreams(5))) != keys_of(start(2, SecureStreams(5)))


def test_where_nobody_sees_contents_nothing_is_agreed_and_the_messages_have_the_same_sizes(monkeypatch):
    seen = start(3)
    keys_of(seen)
    expected = [message.bytes for message in seen.channel.messages]
    monkeypatch.setattr(pair_keys, "_x25519", None)
    for rng_for in (None, SecureStreams(5)):
        run = start(3, rng_for, record=False)
        assert keys_of(run) == {} and [m.bytes for m in run.channel.messages] == expected


def test_one_party_alone_needs_no_key_and_without_the_package_the_remedy_is_named_before_anything_is_sent(monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric.x25519", None)
    alone, run = start(1, SecureStreams(5)), start(2, SecureStreams(5))
    assert keys_of(alone) == {} and not alone.channel.transcript()
    with pytest.raises(ImportError, match=r"needs the package cryptography: pip install 'partywise\[network\]'"):
        keys_of(run)
    assert not run.channel.transcript()


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """Parties with certificates of one authority: their identities, secret keys and rows."""
    folder = tmp_path_factory.mktemp("certificates")
    make(folder, NAMES)
    owned = {name: Credential(folder, name) for name in NAMES}
    prints = {name: Credential.fingerprint(one.certificate) for name, one in owned.items()}
    own = {name: Identity("run 1", "configuration", prints, credential) for name, credential in owned.items()}
    secrets = {name: bytes([k + 1]) * 32 for k, name in enumerate(NAMES)}
    rows = [row(own[name], secrets[name], name) for name in NAMES]
    return SimpleNamespace(own=own, secrets=secrets, rows=np.stack(rows), folder=folder)


def row(identity, secret, name):
    return local_public_key(Party(name, "client", {}), secret, identity).value


def agreed(signed, rows, name="north", identity=None):
    given = signed.secrets[name], np.asarray(rows), identity or signed.own[name]
    return local_agreed_keys(Party(name, "client", {}), NAMES, *given)


def test_signed_keys_are_taken_and_are_the_documented_digest_of_what_another_library_exchanges(signed):
    keys = {name: agreed(signed, signed.rows, name) for name in NAMES}
    assert all(keys[one][other] == keys[other][one] for one, other in permutations(NAMES, 2))
    own, other = (X25519PrivateKey.from_private_bytes(signed.secrets[name]) for name in NAMES[:2])
    public = [key.public_key().public_bytes_raw() for key in (own, other)]
    point = own.exchange(X25519PublicKey.from_public_bytes(public[1]))
    parts = ["partywise pair key 1", "run 1", "configuration", *NAMES[:2], *public, point]
    assert keys["north"]["river"] == pair_keys.hashlib.shake_256(join_parts(*parts)).digest(32)


def changed(signed, **how):
    """The rows with that of river made another way."""
    made = {"identity": signed.own["river"], "secret": signed.secrets["river"], "name": "river"} | how
    return [signed.rows[0], row(*made.values()), signed.rows[2]]


def test_a_public_key_of_anybody_else_ends_the_run(signed, tmp_path):
    own, forged = signed.own["river"], signed.rows.copy()
    # The place in the middle puts in a key of its own, under the signature of its owner.
    forged[1, :32] = row(Identity(), bytes(range(32)), "river")[:32]
    cases = {"another signature": [forged, changed(signed, identity=replace(own, run="run 0"))]}
    cases["another signature"].append(changed(signed, identity=replace(own, configuration="other")))
    cases["certificate of another party"] = [changed(signed, identity=signed.own["hill"])]
    cases["no certificate"] = [changed(signed, identity=Identity())]
    # Whoever holds the key of the authority makes a certificate of that name.
    make(tmp_path, NAMES)
    stranger = replace(own, credential=Credential(tmp_path, "river"))
    cases["not of the authority"] = [changed(signed, identity=stranger)]
    for words, every in cases.items():
        for rows in every:
            with pytest.raises(PartyError, match=rf"public key of 'river' .*{words}"):
                agreed(signed, rows)
    with pytest.raises(PartyError, match="public key of 'river' came back as another one"):
        agreed(signed, forged, "river")
    pinned = replace(signed.own["north"], fingerprints=signed.own["north"].fingerprints | {"river": "0" * 64})
    with pytest.raises(PartyError, match=r"another certificate than network\.certificates names"):
        agreed(signed, signed.rows, identity=pinned)
    # One purpose never verifies as another.
    told = own.sign("partywise statement 1", "river", b"value")
    assert own.problem(SIGNED, "river", b"value", *told) and not own.problem(
        "partywise statement 1", "river", b"value", *told
    )


def test_a_key_that_gives_a_point_that_all_know_ends_the_run():
    every = np.zeros((3, ROW_BYTES), dtype=np.uint8)
    for point in (0, 1, 2**255 - 20, 2**255 - 19):
        every[0] = row(Identity(), bytes(range(32)), "north")
        every[1, :32] = np.frombuffer(point.to_bytes(32, "little"), dtype=np.uint8)
        with pytest.raises(PartyError, match="public key of 'river' is a point of low order of Curve25519"):
            local_agreed_keys(Party("north", "client", {}), NAMES, bytes(range(32)), every, Identity())
    with pytest.raises(PartyError, match=r"public key of 'north' is uint8 of shape \(31,\): it has 2048 bytes"):
        local_agreed_keys(Party("north", "client", {}), NAMES, bytes(32), np.zeros((3, 31), np.uint8), Identity())


@pytest.mark.parametrize("shape", [(7,), (7, 2)])
def test_masks_are_of_their_name_and_size_and_cancel_in_the_sum_of_all(shape):
    keys = {frozenset(pair): bytes([k]) * 32 for k, pair in enumerate(permutations(NAMES, 2))}
    total, zero = np.zeros(shape, dtype=np.uint64), np.zeros(shape, dtype=np.uint64)
    for name in NAMES:
        own = {other: keys[frozenset((name, other))] for other in NAMES if other != name}
        words = add_masks(zero, name, NAMES, own, "sum")
        assert len(np.unique(words)) == words.size
        total = sum_words(total, words)
    assert not total.any()
    one = expand_key(bytes(32), "sum", shape)
    assert not sum_words(one, negative_words(one)).any()
    for name, other in (("sum 2", shape), ("sum", (8, *shape[1:])), ("sum", (14,) if len(shape) > 1 else (7, 2))):
        assert not np.any(np.isin(one, expand_key(bytes(32), name, other)))


def stacked(keys):
    return np.array([np.frombuffer(key, dtype=np.uint8) for own in keys.values() for key in own.values()])


def fit(run):
    made = agree_on_keys(run, run.parties, "server")
    with pytest.raises(ValueError, match="was masked before"):
        made.use_name(made.use_name("sum"))
    return run.assemble(stacked, made.keys)


def test_one_process_a_place_does_the_same():
    in_all_ways(fit, lambda: start(3))
