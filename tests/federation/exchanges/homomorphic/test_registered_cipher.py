"""A cipher of another package: the sums of the library hold with it, and nobody publishes with it unasked."""

from __future__ import annotations

import numpy as np
import pytest

import toy_cipher
from deployment_cases import Apart
from partywise.core.errors import ConfigError
from partywise.core.randomness import stream
from partywise.deployment.rehearsal import rehearse
from partywise.federation.cipher import Cipher
from partywise.federation.exchanges.homomorphic import paillier
from partywise.federation.exchanges.homomorphic.grouped_sums import GroupedCells, grouped_sums
from partywise.federation.exchanges.homomorphic.paillier_keys import PublicKey, generate_key
from partywise.federation.exchanges.homomorphic.slots import merge_slots, split_slots
from partywise.federation.exchanges.homomorphic.weighted_sums import weighted_sums
from partywise.methods.linear.options import LinearCertifiedOptions
from partywise.methods.trees.options import ScatteringOptions
from partywise.methods.trees.protocols.label_scattering import fit
from scattering_driver import make_run, pooled

BITS = 512


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr("partywise.core.checks.entry_points", toy_cipher.entry_points)
    monkeypatch.setattr("partywise.core.checks.LEAST_KEY_SIZE", BITS)


@pytest.fixture(params=["paillier", "sized", toy_cipher.NAME])
def key(request, registered):
    return generate_key(BITS, stream(1, "key"), kind=request.param)


def closed(key, integers) -> tuple[PublicKey, Cipher]:
    """Encrypted by the holder; added up by a party that has what was sent of the key."""
    public = PublicKey.of(key.public.message(), key.public.kind)
    return public, paillier.encrypt(key, integers, stream(1, "encryption"), key_holder="active")


def test_sums_of_groups(key):
    values, groups = np.arange(-6, 6), np.array([[0, 1, 2, -1] * 3, [3, 3, 3, 0] * 3])
    public, cipher = closed(key, values)
    sums = paillier.decrypt(key, paillier.sums(public, cipher, groups, 4))
    assert sums == [int(values[row == cell].sum()) for row in groups for cell in range(4)]


def test_sums_of_columns_together_with_the_rest_of_a_node(key):
    rng, n, nodes = stream(1, "columns"), 40, 3
    values, node = rng.integers(-9, 9, n), rng.integers(-1, nodes, n)
    codes = rng.integers(0, 2, (2, n))
    number = np.where(node < 0, -1, 4 * node + 2 * codes[0] + codes[1])
    occurring, rows = np.unique(number[number >= 0], return_inverse=True)
    places = np.full(n, -1)
    places[number >= 0] = rows
    combination = occurring % 4
    columns = np.array([combination // 2, combination % 2])
    for rests in ([None, None], [0, 1]):
        group = GroupedCells(places, occurring // 4, nodes, columns, [2, 2], rests)
        public, cipher = closed(key, values)
        sums = paillier.decrypt(key, grouped_sums(public, cipher, [group]))
        assert sums == [
            int(values[(node == at) & (column == code)].sum())
            for column in codes
            for at in range(nodes)
            for code in (0, 1)
        ]


def test_sums_with_open_and_with_closed_integers(key):
    public, cipher = closed(key, [5, -7])
    assert paillier.decrypt(key, paillier.add_plain(public, cipher, [1, 2])) == [6, -5]
    assert paillier.decrypt(key, paillier.add(public, cipher, cipher)) == [10, -14]
    assert paillier.decrypt(key, paillier.rerandomise(public, cipher, stream(2, "again"))) == [5, -7]


def test_weighted_sums(key):
    rng = stream(1, "weights")
    values, weights = rng.integers(-9, 9, 12), rng.integers(-(2**16), 2**16, (12, 3)).astype(object)
    public, cipher = closed(key, values)
    assert paillier.decrypt(key, weighted_sums(public, cipher, weights)) == (weights.T @ values).tolist()


def test_sums_side_by_side(key):
    slots = [np.array([3, -4, 5]), np.array([-1, 2, -3])]
    public, cipher = closed(key, merge_slots(slots, 40))
    opened = paillier.decrypt(key, paillier.pack(public, cipher, 2, 80))
    found = split_slots(opened, 40, 4).reshape(-1, 2)[:3, ::-1]
    np.testing.assert_array_equal(found.astype(int), np.array(slots).T)


def test_what_was_sent_opens_nothing_and_has_the_width_of_its_cipher(registered):
    key = generate_key(BITS, stream(1, "key"), kind=toy_cipher.NAME)
    public, cipher = closed(key, [1, 2, 3])
    assert cipher.scheme == toy_cipher.NAME and cipher.shape == (3, BITS // 4 + toy_cipher.PADDING) and cipher.closes
    with pytest.raises(AssertionError, match="the holder of the secret opens"):
        public.other.decrypt([1])


def test_trees_are_those_of_the_pooled_integers(registered):
    run = make_run(3, d=7, cipher=toy_cipher.NAME)
    for tree, other in zip(fit(run).ensemble.trees, pooled(run).trees, strict=True):
        np.testing.assert_array_equal(tree.feature, other.feature)
        np.testing.assert_array_equal(tree.value, other.value)


def test_a_name_that_no_package_registers_is_refused(registered):
    for options in (ScatteringOptions, LinearCertifiedOptions):
        with pytest.raises(ValueError, match=r"cipher is 'rsa': it must be one of paillier, sized.* entry point of"):
            options(cipher="rsa")
        assert options(cipher=toy_cipher.NAME).cipher == toy_cipher.NAME
    with pytest.raises(ValueError, match="scheme='rsa' of a cipher is unknown"):
        Cipher(1, key_holder="active", scheme="rsa")


def test_release_mode_asks_who_has_judged_it(registered):
    case = Apart("vertical_linear")
    case.method = {"protocol": "certified", "cipher": toy_cipher.NAME, "total_round_num": 2}
    case.network |= {"mode": "release"}
    with pytest.raises(ConfigError, match=r"has cipher: toy, which this project has not judged; name who has, netw"):
        rehearse(case.deployment(), 60)
    case.network |= {"trusted": {toy_cipher.NAME: "the security team"}}
    rehearse(case.deployment(), 60)
