"""Scoring together: scores as the evaluator's, in every mode; what crosses, and what it costs."""

from __future__ import annotations

import numpy as np
import pytest

from forked import in_all_ways
from inference_driver import case, trained
from partywise.federation.exchanges.homomorphic.paillier_keys import SURPLUS
from partywise.federation.exchanges.sharing import DEALER
from partywise.federation.run import simulate
from partywise.methods.trees.leaves import laid_out, skeleton
from partywise.methods.trees.model import Ensemble
from partywise.methods.trees.protocols import encrypted_inference

KINDS = ("plain", "ss", "he", "he sized")
KEY_BITS = 512
# Largest difference to the evaluator's scores, for T trees and tables.
LIMIT = {"plain": lambda T: 0.0, "he": lambda T: 1e-9, "ss": lambda T: T * 2.0**-33 + 1e-15}
CASES = {
    "two parties": {},
    "four, the active one first": {"parties": 4, "active": 0, "depth": 3},
    "three, in the middle": {"parties": 3, "active": 1, "trees": 5},
    "as many as columns": {"parties": 5, "depth": 4},
    "tables": {"parties": 3, "trees": 2, "tables": 6},
    "tables only": {"parties": 2, "trees": 0, "tables": 3},
    "leaves only": {"depth": 0},
    "a passive party without a split": {"parties": 3, "on": [2, 3, 4]},
    "splits of the active party only": {"on": [3, 4]},
    "one passive split": {"trees": 1, "depth": 1, "on": [0]},
    "twenty levels": {"trees": 1, "depth": 20},
    "more rows than are routed together": {"n_test": 1100, "trees": 1, "depth": 1, "tables": 1, "on": [0, 4]},
    "nothing held out": {"n_test": 0},
    "some of the held-out rows": {"inference_rows": 4},
    "more than there are": {"inference_rows": 400},
    "one party": {"parties": 1},
}


@pytest.fixture(autouse=True)
def short_keys(monkeypatch):
    """Ciphers of the tests break, and are computed in no time."""
    monkeypatch.setattr("partywise.core.checks.LEAST_KEY_SIZE", KEY_BITS)


def deployment(kind, *counts, **settings):
    """A case of one kind of scoring."""
    if kind.startswith("he"):
        settings |= {"key_size": KEY_BITS, "inference_cipher": "sized" if "sized" in kind else "paillier"}
    return case(*counts, inference=kind.split()[0], **settings)


def close(kind, scores, ensemble, rows) -> None:
    expected = ensemble.scores(rows)
    assert scores.shape == expected.shape
    parts = len(ensemble.trees) + len(ensemble.tables)
    assert np.abs(scores - expected).max(initial=0) <= LIMIT[kind.split()[0]](parts)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_the_evaluators(kind, name):
    for seed in range(2):
        run, ensemble, rows = deployment(kind, seed=seed, **CASES[name])
        scores = simulate(trained(ensemble), run)
        close(kind, scores, ensemble, rows)


def test_none_sends_nothing():
    run, ensemble, _ = case(inference="none")
    assert simulate(trained(ensemble), run) is None
    assert not run.channel.messages


@pytest.mark.parametrize("name", ["two parties", "four, the active one first", "tables", "leaves only"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_modes_send_the_same_and_score_the_same(kind, name):
    _, ensemble, _ = deployment(kind, seed=2, **CASES[name])
    in_all_ways(trained(ensemble), lambda: deployment(kind, seed=2, **CASES[name])[0])


def test_plain_sends_a_bit_a_row_and_split():
    run, ensemble, _ = case(inference="plain", parties=3, n_test=20, seed=1)
    simulate(trained(ensemble), run)
    told, answered = (
        [m for m in run.channel.messages if m.name == name] for name in ("deployed splits", "left indicators")
    )
    assert len(told) == len(answered) == 2
    owned = {
        party.name: np.isin(np.concatenate([t.feature for t in ensemble.trees]), party.columns).sum()
        for party in run.parties
    }
    crossing = [t for t in ensemble.trees if np.isin(t.feature, [0, 1, 2, 3]).any()]
    assert len(crossing) == len(ensemble.trees)
    assert [m.bytes for m in told] == [12 * owned[m.receiver] for m in told]
    assert [m.bytes for m in answered] == [3 * owned[m.sender] for m in answered]
    # The answers depend on the splits, and these on the labels.
    assert {m.argument for m in told + answered} == {"features+label"}


@pytest.mark.parametrize(("parties", "depth"), [(2, 1), (2, 2), (3, 2), (4, 3)])
def test_shares_take_the_bytes_of_the_formula(parties, depth):
    T, n = 3, 7
    run, ensemble, _ = case(parties, inference="ss", trees=T, depth=depth, full=True, n_test=n, on=[0])
    simulate(trained(ensemble), run)
    assert all(np.isin(0, tree.feature) for tree in ensemble.trees)
    expected = 16 * n * T * (3 * 2**depth - 4) * (parties - 1)
    for party in run.parties:
        online = [m for m in run.channel.messages if m.sender == party.name and m.name.startswith("differences")]
        assert sum(m.bytes for m in online) == expected
        assert {m.kind for m in online} == {"cipher"} and {m.argument for m in online} == {"key: no single party"}


def test_the_dealer_hears_how_many_triples_and_nothing_else():
    run, ensemble, _ = case(inference="ss", parties=3, trees=2, depth=3, full=True, on=[0, 4], seed=1, record=True)
    simulate(trained(ensemble), run)
    ((message, sizes),) = run.channel.view(DEALER)
    # Splits of two full trees level by level, and their leaves.
    assert message.name == "products" and sizes.tolist() == [0, 2, 6, 14, 16]
    for kind in ("plain", "he"):
        other, same, _ = deployment(kind, parties=3, depth=3, record=True)
        simulate(trained(same), other)
        assert not other.channel.view(DEALER)


@pytest.mark.parametrize("kind", KINDS)
def test_deployment_is_infinite_for_features_and_labels(kind):
    run, ensemble, _ = deployment(kind, parties=3)
    simulate(trained(ensemble), run)
    for unit in ("features", "label"):
        total = run.channel.ledger.worst_total(run.names, unit, 1e-5)
        assert total.epsilon_certified == np.inf and total.epsilon_certified_part == 0.0


def test_weights_that_do_not_fit_the_words_are_refused_before_they_are_shared():
    run, ensemble, _ = case(inference="ss")
    large = Ensemble(ensemble.trees, 0.0, 1e10)
    with pytest.raises(OverflowError, match="do not fit words"):
        simulate(trained(large), run)
    assert "weights in shares" not in {m.name for m in run.channel.messages}


def leaves_of(ensemble) -> int:
    """Leaves of the trees that split a column of a passive party, of which the last column is the active party's."""
    return sum(int((tree.feature < 0).sum()) for tree in ensemble.trees if np.isin(tree.feature, range(3)).any())


@pytest.mark.parametrize("parties", [2, 3, 4])
def test_a_hop_holds_a_ciphertext_for_every_row_and_leaf_and_the_answer_slots(parties):
    run, ensemble, _ = deployment("he", parties, n_test=11, full=True, trees=2, on=[0, 4])
    simulate(trained(ensemble), run)
    hops = [m for m in run.channel.messages if m.name == "leaf weights"]
    (answer,) = (m for m in run.channel.messages if m.name == "scores in slots")
    c = KEY_BITS // 4
    assert [m.bytes for m in hops] == [11 * leaves_of(ensemble) * c] * (parties - 1)
    assert leaves_of(ensemble) == 2 * 4
    assert {(m.kind, m.argument) for m in hops} == {("cipher", "key: active")}
    # Five slots of 96 bits in 510. A score is made of the weights of leaves too, and so of the labels of their holder.
    assert (answer.bytes, answer.kind, answer.argument) == (3 * c, "clear", "features+label")
    charged = {row.owner for row in run.channel.ledger.rows if row.audience == ("active",) and row.mechanism == "none"}
    assert charged == {party.name for party in run.parties} - {"active"}


def test_sized_ciphers_give_the_same_scores_transcript_and_ledger():
    real, sized = (deployment(kind, 3, trees=4, tables=2, seed=6) for kind in ("he", "he sized"))
    scores = [simulate(trained(ensemble), run) for run, ensemble, _ in (real, sized)]
    assert scores[0].tobytes() == scores[1].tobytes()
    assert real[0].channel.transcript() == sized[0].channel.transcript()
    assert real[0].channel.ledger.digest == sized[0].channel.ledger.digest


def test_a_key_of_2048_bits_gives_the_scores(monkeypatch):
    monkeypatch.setattr("partywise.core.checks.LEAST_KEY_SIZE", 2048)
    run, ensemble, rows = case(3, inference="he", n_test=4, trees=2, depth=1, full=True, on=[0, 2, 4])
    close("he", simulate(trained(ensemble), run), ensemble, rows)
    assert {m.shape[1] for m in run.channel.messages if m.name in ("leaf weights", "scores in slots")} == {512}


def test_exponents_of_full_length_change_the_ciphertexts_and_no_score():
    runs = [deployment("he", trees=2, full=True, on=[0, 4], full_exponents=long, record=True) for long in (False, True)]
    scores = [simulate(trained(ensemble), run) for run, ensemble, _ in runs]
    assert scores[0].tobytes() == scores[1].tobytes()
    keys = [next(value for m, value in run.channel.view("passive 1") if m.name == "public key") for run, _, _ in runs]
    assert [exponent_bits for _, _, exponent_bits in keys] == [448, KEY_BITS + SURPLUS]


def hops_of(monkeypatch, rerandomising: bool):
    """What passive 2 gets of passive 1, and what passive 1 rules out of it."""
    if not rerandomising:
        monkeypatch.setattr(encrypted_inference, "rerandomise", lambda public, cipher, rng: cipher)
    run, ensemble, rows = deployment("he", 3, n_test=8, full=True, trees=3, seed=3, record=True)
    simulate(trained(ensemble), run)
    layout = laid_out(ensemble, range(5), run.spec.public.columns)
    form = skeleton(layout.inner, layout.bins)
    own = layout.of(run.parties[0].columns)
    left = layout.threshold[own[:, 0], None] >= rows[:, own[:, 1]].T
    sent = {m.receiver: value for m, value in run.channel.view("passive 1", "passive 2") if m.name == "leaf weights"}
    return sent["passive 1"], sent["passive 2"], ~form.open_leaves(own[:, 0], left).T.ravel()


def test_as_published_the_next_party_reads_what_the_one_before_rules_out(monkeypatch):
    before, after, ruled_out = hops_of(monkeypatch, rerandomising=False)
    assert 0 < ruled_out.mean() < 1
    assert np.array_equal(encrypted_inference.ruled_out(after), ruled_out)
    assert np.array_equal((after.content == before.content).all(axis=1), ~ruled_out)


def test_rerandomised_entries_show_nothing_of_what_they_were(monkeypatch):
    before, after, _ = hops_of(monkeypatch, rerandomising=True)
    assert not encrypted_inference.ruled_out(after).any()
    rows = [{row.tobytes() for row in cipher.content} for cipher in (before, after)]
    assert len(rows[0]) == len(rows[1]) == len(after.content) and not rows[0] & rows[1]


def test_the_answer_is_no_product_of_what_the_active_party_sent(monkeypatch):
    """Who encrypted every entry could else try which of them were summed."""
    answers = {}
    for rerandomising in (True, False):
        if not rerandomising:
            monkeypatch.setattr(encrypted_inference, "rerandomise", lambda public, cipher, rng: cipher)
        run, ensemble, _ = deployment("he", n_test=1, trees=1, depth=1, on=[0], full=True, record=True)
        simulate(trained(ensemble), run)
        sent, answer = (
            next(value.content for m, value in run.channel.view(*run.names) if m.name == name)
            for name in ("leaf weights", "scores in slots")
        )
        answers[rerandomising] = answer[0].tobytes() in {row.tobytes() for row in sent}
    assert answers == {True: False, False: True}


def test_weights_that_leave_a_slot_are_refused_before_anything_is_closed(monkeypatch):
    monkeypatch.setattr(encrypted_inference, "encrypt", None)
    run, ensemble, _ = deployment("he")
    with pytest.raises(OverflowError, match="scores of the model do not fit into slots of 96 bits: scale"):
        simulate(trained(Ensemble(ensemble.trees, 0.0, 1e16)), run)
