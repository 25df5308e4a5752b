"""Labels from gradients, in the clear and under Paillier, and order bits from the indicators of splits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from partywise.audits.attacks.messages import labels_from_signs
from partywise.core.randomness import stream
from partywise.methods.trees.protocols.label_scattering import fit
from scattering_driver import make_run

N = 1200


@pytest.fixture(autouse=True)
def short_keys(monkeypatch):
    monkeypatch.setattr("partywise.core.checks.LEAST_KEY_SIZE", 512)


def seen(name: str, place: str, **options):
    """Values of the messages of one name in a view of a run, and the run."""
    run = make_run(n=N, num_of_trees=2, record=True, **options)
    fit(run)
    return [value for message, value in run.channel.view(place) if message.name == name], run


def labels_of(run) -> np.ndarray:
    return run.parties[-1].block["y"][run.fold.train] > 0


def labels_from_bytes(rows: np.ndarray, labels: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Labels (n,) of all rows by the one bit of their messages (n, k) bytes that tells known labels best.

    The more frequent known label for all, unless some bit tells more rows than the best of as many coins would.
    """
    bits = np.unpackbits(rows, axis=1)
    labels, known = np.asarray(labels, dtype=bool), np.asarray(known, dtype=bool)
    right = (bits[known] == labels[known, None]).mean(axis=0)
    best = int(np.argmax(np.abs(right - 0.5)))
    share = labels[known].mean()
    # The largest of so many means of coins exceeds one half by no more, up to a few per cent of the time.
    luck = 0.5 + math.sqrt(math.log(2 * bits.shape[1]) / (2 * known.sum())) + 1 / math.sqrt(known.sum())
    if max(right[best], 1 - right[best]) <= max(luck, share, 1 - share):
        return np.full(len(labels), share >= 0.5)
    return bits[:, best].astype(bool) == (right[best] >= 0.5)


def test_signs_of_gradients_in_the_clear_are_the_labels():
    trees, run = seen("gradients", "passive 1", cipher="identity", key_size=2048)
    assert len(trees) == 2
    for numbers in trees:
        np.testing.assert_array_equal(labels_from_signs(numbers[:, 0]), labels_of(run))


def test_known_labels_tell_the_bit_of_numbers_and_none_of_ciphertexts():
    """One attack with half of the labels known: it has all others in the clear, the majority's share under Paillier."""
    known = stream(2, "known").random(N) < 0.5
    (numbers, *_), run = seen("gradients", "passive 1", cipher="identity", key_size=2048)
    y = labels_of(run)
    rows = np.ascontiguousarray(numbers[:, :1].astype(">i8")).view(np.uint8)
    assert (labels_from_bytes(rows, y, known) == y)[~known].all()
    ciphers, _ = seen("gradients", "passive 1", cipher="paillier")
    majority = max(y[~known].mean(), 1 - y[~known].mean())
    for cipher in ciphers:
        right = (labels_from_bytes(cipher.content, y, known) == y)[~known].mean()
        assert abs(right - majority) <= 3 * np.sqrt(majority * (1 - majority) / (~known).sum())
        # Single bits do no better than chance either, the best of them than the best of as many coins.
        bits = np.unpackbits(cipher.content, axis=1).astype(bool)
        shares = (bits == y[:, None]).mean(axis=0)
        assert np.abs(shares - 0.5).max() < np.sqrt(np.log(2 * bits.shape[1] / 1e-9) / (2 * N))


@pytest.mark.parametrize("algo", ["xgb", "rf"])
def test_what_a_run_reports_of_its_labels(algo):
    """All of them where encryption is one in name, of a forest those that were drawn; else no more than coins give."""
    shown = make_run(n=N, num_of_trees=1, algo=algo, cipher="identity", key_size=2048)
    closed = make_run(n=N, num_of_trees=1, algo=algo, cipher="paillier")
    recovered = fit(shown).numbers["labels_recovered"]
    assert recovered == 1.0 if algo == "xgb" else 0.75 < recovered < 0.9
    assert abs(fit(closed).numbers["labels_recovered"] - 0.5) < 4 * 0.5 / np.sqrt(N)


def test_a_leaking_bit_is_found():
    rng = stream(3, "leak")
    y, rows = rng.random(N) < 0.6, rng.integers(0, 256, (N, 64), dtype=np.uint8)
    leaking = rows.copy()
    leaking[:, 40] = (leaking[:, 40] & 0b11110111) | (np.where(rng.random(N) < 0.9, ~y, y) << 3)
    known = np.arange(N) < 500
    found = labels_from_bytes(leaking, y, known)
    assert (found == y)[~known].mean() > 0.85
    assert labels_from_bytes(rows, y, known).all()
    np.testing.assert_array_equal(labels_from_signs(rng.uniform(0.01, 0.99, N) - y), y)


@pytest.mark.parametrize("hide", [False, True], ids=["shown", "hidden"])
def test_indicators_are_the_order_bits_of_all_training_rows(hide):
    run = make_run(n=N, num_of_trees=2, record=True, hide_instances=hide, cipher="sized")
    ensemble = fit(run).ensemble
    view = [(message.name, value) for message, value in run.channel.view("active")]
    packed = [value for name, value in view if name == "left indicators"]
    indicators = np.unpackbits(np.concatenate(packed), axis=1, count=N).astype(bool)
    X, owner = np.full((N, 5), np.nan), run.parties[0]
    X[:, owner.columns] = owner.block["X"][run.fold.train]
    cuts = [(f, t) for tree in ensemble.trees for f, t in zip(tree.feature, tree.threshold, strict=True)
            if f in owner.columns]  # fmt: skip
    assert len(cuts) == len(indicators) > 0
    for (feature, threshold), bits in zip(cuts, indicators, strict=True):
        # Of every row, whether it is in the node or not.
        np.testing.assert_array_equal(bits, X[:, feature] <= threshold)
        assert 0 < bits.sum() < N
