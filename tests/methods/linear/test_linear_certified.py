"""Sums under encryption: equal to pooled steps, the same with both ciphers, closed to the server and to neighbours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import toy_cipher
from linear_driver import BOUND, fitted, rows, start
from partywise.audits.attacks.messages import directions_seen
from partywise.audits.contract import same
from partywise.core.errors import CertificationError
from partywise.core.randomness import Streams
from partywise.federation.exchanges.homomorphic import weighted_sums as exchange
from partywise.federation.exchanges.homomorphic.large_numbers import number_of
from partywise.federation.exchanges.homomorphic.paillier import decrypt
from partywise.federation.exchanges.homomorphic.paillier_keys import drawn_key
from partywise.federation.run import simulate
from partywise.methods.linear.model import LinearFacts
from partywise.methods.linear.options import LinearCertifiedOptions, LinearPooledOptions
from partywise.methods.linear.protocols import certified, pooled
from partywise.privacy.accounted_values import Public

X, LABELS, NUMBERS = rows(90, 4)
SIZED = LinearCertifiedOptions(cipher="sized", batch_size=20, total_round_num=9)
SPLITS = {
    "two": ([[0, 1], [2, 3]], -1),
    "first holds": ([[2], [0, 1, 3]], 0),
    "three": ([[3], [1, 0], [2]], -1),
    "labels alone": ([[0], [1], [2], [3], []], -1),
    "middle holds": ([[0], [], [1, 2, 3]], 1),
}


def key_of(run):
    """The server's key, drawn anew."""
    return drawn_key(("key", "server"), run.spec.options.cipher, run.spec.options, run.rng_for)


@pytest.fixture
def short_keys(monkeypatch):
    monkeypatch.setattr("partywise.core.checks.LEAST_KEY_SIZE", 512)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("model", ["logistic", "linear"])
def test_federation_equals_pooled_steps_on_the_same_batches(split, model, intercept):
    groups, holder = SPLITS[split]
    y = LABELS if model == "logistic" else NUMBERS
    options = replace(SIZED, model=model, intercept=intercept, ridge=0.1)
    found, _ = fitted(certified.fit, X, y, groups, options, holder=holder)
    shared = {"batch_size": 20, "total_round_num": 9, "model": model, "intercept": intercept, "ridge": 0.1}
    expected, _ = fitted(pooled.fit, X, y, groups, LinearPooledOptions(**shared), holder=holder)
    assert np.abs(found.coefficients - expected.coefficients).max() < 1e-9
    assert np.abs(found.path.coefficients - expected.path.coefficients).max() < 1e-9
    assert same(found.path.rounds, expected.path.rounds) and same(found.batches, expected.batches)
    assert np.abs(found.coefficients[1:]).min() > 1e-3
    assert (found.coefficients[0] != 0) == intercept


@pytest.mark.parametrize(("model", "y", "alpha"), [("linear", NUMBERS, 0.3), ("logistic", 2 * (2 * LABELS - 1), 1.2)])
def test_full_batches_end_at_ridge_regression(model, y, alpha):
    """The logistic steps at that of twice the labels -1 and 1, by Taylor's formula."""
    options = LinearCertifiedOptions(cipher="sized", model=model, batch_size=None, total_round_num=500, ridge=0.3)
    options = replace(options, learning_rate=0.11 if model == "linear" else 0.4, eval_freq=100)
    found, _ = fitted(certified.fit, X, NUMBERS if model == "linear" else LABELS, [[0, 1], [2, 3]], options)
    oracle = Ridge(alpha=90 * alpha).fit(X, y)
    np.testing.assert_allclose(found.coefficients, [oracle.intercept_, *oracle.coef_], rtol=0, atol=1e-8)


@pytest.mark.parametrize(("key_size", "steps"), [(512, 5), (2048, 1)])
def test_real_ciphers_give_the_same_results_and_bytes(short_keys, key_size, steps):
    options = replace(SIZED, total_round_num=steps, key_size=key_size, batch_size=12)
    expected, sized = fitted(certified.fit, X, LABELS, [[0], [1, 2], [3]], options)
    found, real = fitted(certified.fit, X, LABELS, [[0], [1, 2], [3]], replace(options, cipher="paillier"))
    assert same(found, expected)
    assert real.channel.transcript() == sized.channel.transcript()
    assert real.channel.ledger.digest == sized.channel.ledger.digest


def test_a_cipher_of_another_package_gives_the_same_coefficients(short_keys, monkeypatch):
    monkeypatch.setattr("partywise.core.checks.entry_points", toy_cipher.entry_points)
    options = replace(SIZED, total_round_num=3, key_size=512, batch_size=12)
    expected, _ = fitted(certified.fit, X, LABELS, [[0], [1, 2], [3]], options)
    found, run = fitted(certified.fit, X, LABELS, [[0], [1, 2], [3]], replace(options, cipher=toy_cipher.NAME))
    assert same(found, expected)
    assert {m.kind for m in run.channel.messages if "residual" in m.name} == {"cipher"}


def test_exponents_of_full_length_change_no_number(short_keys):
    options = replace(SIZED, cipher="paillier", total_round_num=2, key_size=512)
    short, _ = fitted(certified.fit, X, LABELS, [[0, 1], [2, 3]], options)
    full, _ = fitted(certified.fit, X, LABELS, [[0, 1], [2, 3]], replace(options, full_exponents=True))
    assert same(full, short)


def test_counts_and_bytes_are_those_of_the_messages():
    for groups in ([[0, 1], [2, 3]], [[0], [1], [2, 3]]):
        found, run = fitted(certified.fit, X, LABELS, groups, SIZED)
        batch = [20, 20, 20, 20, 10] * 2
        taken, others = sum(batch[:9]), len(groups) - 1
        sums = 9 * (4 + 1)
        closed = [m for m in run.channel.messages if m.kind == "cipher"]
        assert sum(m.bytes for m in closed) == 512 * found.numbers["ciphertexts"]
        assert found.numbers["ciphertexts"] == sum(m.shape[0] for m in closed) == 2 * others * taken + sums
        assert found.numbers["encryptions"] == taken and found.numbers["multiplications"] == 5 * taken
        assert found.numbers["rerandomisations"] == others * taken + sums and found.numbers["decryptions"] == sums


def test_the_key_holder_sees_ciphers_alone_and_its_view_costs_nothing():
    _, run = fitted(certified.fit, X, LABELS, [[0, 1], [2, 3]], SIZED)
    seen = run.channel.view("server")
    assert {message.name for message, _ in seen} == {"masked gradient"}
    assert all(message.kind == "cipher" and value.key_holder == message.sender for message, value in seen)
    ledger = run.channel.ledger
    for unit in ("row", "label", "features"):
        assert ledger.total("server", unit, 1e-5).epsilon_certified == 0
    # The others learn sums without noise: of features everybody, of labels everybody but their holder.
    for party in ("active", "passive 1"):
        assert ledger.total(party, "features", 1e-5).epsilon_certified == np.inf
    assert ledger.total("passive 1", "label", 1e-5).epsilon_certified == np.inf
    assert ledger.total("active", "label", 1e-5).epsilon_certified == 0


def opened(run) -> np.ndarray:
    """What the server decrypts in the first round, in the order of columns; the active party's intercept left out."""
    key = key_of(run)
    view = [(message, value) for message, value in run.channel.view("server")][: len(run.parties)]
    found = [decrypt(key, value)[-len(party.columns) :] for party, (_, value) in zip(run.parties, view, strict=True)]
    return np.concatenate(found).astype(float)[None]


def test_no_direction_is_in_what_the_server_opens(monkeypatch, short_keys):
    """With batches of one row its gradient has the direction of the row: masks hide it, and nothing else would."""
    options = replace(SIZED, cipher="paillier", key_size=512, batch_size=1, total_round_num=1)
    found, run = fitted(certified.fit, X, LABELS, [[0, 1], [2, 3]], options)
    drawn = X[found.batches[0]]
    assert same(opened(run), found.key_holder_view)
    assert not directions_seen(found.key_holder_view, drawn).any()
    monkeypatch.setattr(certified, "masks", lambda count, width, rng: [0] * count)
    bare, run = fitted(certified.fit, X, LABELS, [[0, 1], [2, 3]], options)
    assert directions_seen(bare.key_holder_view, drawn).all() and directions_seen(opened(run), drawn).all()
    assert same(bare.coefficients, found.coefficients)


def test_masks_are_uniform_and_longer_than_the_sums_by_120_bits():
    width = exchange.mask_width(95, 2046)
    assert 8 * width >= 95 + 120 > 8 * (width - 1)
    drawn = np.array(exchange.masks(2000, width, Streams(3)("masks")), dtype=object)
    top = np.array([int(value >> (8 * width - 8)) for value in drawn])
    # 256 equally likely highest bytes: chi-square with 255 degrees of freedom, mean 255 and deviation 22.6.
    counts = np.bincount(top, minlength=256)
    assert abs(((counts - 2000 / 256) ** 2 / (2000 / 256)).sum() - 255) < 6.2 * 22.6


def quotients(run) -> tuple[list[int], int]:
    """What the active party finds when it divides the residual that it gets back by what it sent, less one."""
    key = key_of(run)
    contents = {
        message.name: value.content
        for message, value in run.channel.view("active", "passive 1")
        if message.name in ("partial residual", "residual")
    }
    square = key.public.square
    pairs = zip(contents["partial residual"], contents["residual"], strict=True)
    numbers = [[number_of(row.tobytes()) for row in pair] for pair in pairs]
    return [int(back * pow(sent, -1, square) % square) - 1 for sent, back in numbers], int(key.public.modulus)


def test_the_active_party_cannot_take_off_what_the_passive_one_added(monkeypatch, short_keys):
    """A sum that was not closed anew shows the part that was added."""
    options = replace(SIZED, cipher="paillier", key_size=512, total_round_num=1, batch_size=4)
    _, run = fitted(certified.fit, X, LABELS, [[0, 1], [2, 3]], options)
    found, modulus = quotients(run)
    assert all(value % modulus for value in found)
    monkeypatch.setattr(certified, "rerandomise", lambda public, cipher, rng: cipher)
    _, run = fitted(certified.fit, X, LABELS, [[0, 1], [2, 3]], options)
    found, modulus = quotients(run)
    assert not any(value % modulus for value in found)


def test_bounds_that_are_too_small_are_named_before_anything_is_closed(monkeypatch, short_keys):
    def closed(*_, **__):
        raise AssertionError("something was encrypted")

    monkeypatch.setattr(certified, "encrypt", closed)
    public = LinearFacts(tuple("abcd"), Public(np.array([2.0, 2.0, 1.0, 2.0]), because="declared"))
    with pytest.raises(ValueError, match="column 'c' has a value beyond its declared bound 1: declare a larger"):
        fitted(certified.fit, X, LABELS, [[0, 1], [2, 3]], SIZED, public=public)
    facts = replace(public, bounds=Public(np.full(4, BOUND), because="declared"), label_bound=Public(1.0, because="x"))
    with pytest.raises(ValueError, match="column 'y' has a value beyond its declared bound 1"):
        fitted(certified.fit, X, NUMBERS, [[0, 1], [2, 3]], replace(SIZED, model="linear"), public=facts)
    long = replace(SIZED, learning_rate=1e100, total_round_num=1, key_size=512)
    with pytest.raises(OverflowError, match="do not fit into the 510 bits"):
        fitted(certified.fit, X, LABELS, [[0, 1], [2, 3]], long)
    with pytest.raises(OverflowError, match=r"learning_rate=50\.0 lets coefficients grow 212 times a round"):
        fitted(certified.fit, X, LABELS, [[0, 1], [2, 3]], replace(SIZED, learning_rate=50.0, total_round_num=500))


def test_without_declared_bounds_nothing_is_encrypted():
    names = tuple("abcd")
    with pytest.raises(CertificationError, match="bounds is None"):
        fitted(certified.fit, X, LABELS, [[0, 1], [2, 3]], SIZED, public=LinearFacts(names))
    some = LinearFacts(names, Public(np.full(4, BOUND), because="declared"))
    with pytest.raises(CertificationError, match="label_bound is None"):
        fitted(certified.fit, X, NUMBERS, [[0, 1], [2, 3]], replace(SIZED, model="linear"), public=some)
    fitted(certified.fit, X, LABELS, [[0, 1], [2, 3]], SIZED, public=some)


def test_one_party_is_refused():
    with pytest.raises(ValueError, match="parties has 1 active and 0 passive ones"):
        simulate(certified.fit, start(X, LABELS, [[0, 1, 2, 3]], SIZED))
