"""Scoring together: scores as the evaluator's, in every mode; what crosses, and what it costs."""

from __future__ import annotations

import numpy as np
import pytest

from forked import checked, forked
from inference_driver import case, trained
from partywise.federation.exchanges.sharing import DEALER
from partywise.federation.run import simulate

KINDS = ("plain", "ss")
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
    "nothing held out": {"n_test": 0},
    "some of the held-out rows": {"inference_rows": 4},
    "more than there are": {"inference_rows": 400},
    "one party": {"parties": 1},
}


def close(kind, scores, ensemble, rows) -> None:
    expected = ensemble.scores(rows)
    assert scores.shape == expected.shape
    parts = len(ensemble.trees) + len(ensemble.tables)
    assert np.abs(scores - expected).max(initial=0) <= LIMIT[kind](parts)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_the_evaluators(kind, name):
    for seed in range(3):
        run, ensemble, rows = case(inference=kind, seed=seed, **CASES[name])
        scores = simulate(trained(ensemble), run)
        close(kind, scores, ensemble, rows)


def test_none_sends_nothing():
    run, ensemble, _ = case(inference="none")
    assert simulate(trained(ensemble), run) is None
    assert not run.channel.messages


@pytest.mark.parametrize("name", ["two parties", "four, the active one first", "tables", "leaves only"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_modes_send_the_same_and_score_the_same(kind, name):
    runs = [case(inference=kind, seed=2, **CASES[name]) for _ in range(3)]
    program = trained(runs[0][1])
    scores = [mode(program, run) for mode, (run, _, _) in zip((simulate, checked, forked), runs, strict=True)]
    plain, *others = (run.channel for run, _, _ in runs)
    for other, found in zip(others, scores[1:], strict=True):
        assert other.transcript() == plain.transcript()
        assert other.ledger.digest == plain.ledger.digest
        assert found.tobytes() == scores[0].tobytes()


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
    assert {m.argument for m in told} == {"features+label"} and {m.argument for m in answered} == {"features"}


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
    run, ensemble, _ = case(inference="ss", parties=3, depth=3, record=True)
    simulate(trained(ensemble), run)
    assert [m.name for m, _ in run.channel.view(DEALER)] == ["form of trees and tables"]
    other, same, _ = case(inference="plain", parties=3, depth=3, record=True)
    simulate(trained(same), other)
    assert not other.channel.view(DEALER)


@pytest.mark.parametrize("kind", KINDS)
def test_deployment_is_infinite_for_features_and_labels(kind):
    run, ensemble, _ = case(inference=kind, parties=3)
    simulate(trained(ensemble), run)
    for unit in ("features", "label"):
        total = run.channel.ledger.worst_total(run.names, unit, 1e-5)
        assert total.epsilon_certified == np.inf and total.epsilon_certified_part == 0.0


def test_weights_that_do_not_fit_the_words_are_refused_before_they_are_shared():
    run, ensemble, _ = case(inference="ss")
    large = type(ensemble)(ensemble.trees, 0.0, 1e10)
    with pytest.raises(OverflowError, match="do not fit words"):
        simulate(trained(large), run)
    assert "weights in shares" not in {m.name for m in run.channel.messages}
