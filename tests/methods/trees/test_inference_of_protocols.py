"""Every federated protocol of the study scores its held-out rows together, as its evaluator does, in every kind."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

from forked import in_all_ways
from gathering_driver import DELTA, execution, table
from partywise.federation.exchanges.sharing import DEALER
from partywise.federation.run import Run, simulate
from partywise.methods.trees.options import DeployedOptions
from partywise.studies.vertical_trees.study import STUDY

KEY_BITS, HELD_OUT = 512, 12
FEDERATED = [name for name, protocol in STUDY.methods.items() if issubclass(protocol.options, DeployedOptions)]
KINDS = ("plain", "he", "ss")
GROUPS = {2: [(0, 1, 2), (3, 4, 5)], 3: [(0, 1), (2, 3), (4, 5)]}
SMALL: dict[str, Any] = {"num_of_trees": 3, "own_n_bins": 6}
SIZED = {"cipher": "sized"}
REGRESSION = {"criterion": "RegressionMSELoss", "residual_bound": 3.0}
# Forms of each protocol beside its defaults; of those whose training encrypts, integers stand for ciphertexts.
FORMS: dict[str, list[dict[str, Any]]] = {
    "feature_gathering": [
        {},
        {"algo": "gbdt", "max_tree_depth": 4},
        {"algo": "rf", "feature_subsample_ratio": 0.5},
        {"protect": "dp"},
        {"protect": "dp", "edges": "quantile", "ties": "position", "n_bins": 8, "budget": "feature"},
        {"protect": "op_boost"},
        {"protect": "op_boost", "n_bins": 6, "variant": "adjusting", "redraw": "tree"},
        {"max_tree_depth": 0},
        {"criterion": "RegressionMSELoss"},
    ],
    "label_scattering": [SIZED | {"n_bins": 6}, SIZED | {"n_bins": 6, "algo": "rf"}, {"cipher": "identity"}],
    "tables": [SIZED, SIZED | {"algo": "gbdt"}, SIZED | REGRESSION],
    "local_tables": [{}, REGRESSION],
}
CELLS = [(name, form) for name in FEDERATED for form in FORMS.get(name, [{}])]


@pytest.fixture(autouse=True)
def short_keys(monkeypatch):
    """Ciphers of the tests break, and are computed in no time."""
    monkeypatch.setattr("partywise.core.checks.LEAST_KEY_SIZE", KEY_BITS)


def execution_of(
    name: str, form: dict[str, Any], inference: str, parties: int = 2, active: int = -1
) -> tuple[Run, Any]:
    protocol = STUDY.methods[name]
    key = {"key_size": KEY_BITS} if inference == "he" or form.get("cipher") == "sized" else {}
    chosen = SMALL | form | key
    X, y = table(90, 6, criterion=chosen.pop("criterion", "CrossEntropyLoss"))
    options = protocol.options(**chosen, inference=inference)
    return execution(
        options, X, y, GROUPS[parties], epsilon=50.0, held_out=HELD_OUT, active=active, extra=protocol.extra
    ), X[:HELD_OUT]


@pytest.mark.parametrize("inference", KINDS)
@pytest.mark.parametrize(("name", "form"), CELLS)
def test_scores_are_the_evaluators(name, form, inference):
    for parties, active in ((2, -1), (3, 1)):
        run, rows = execution_of(name, form, inference, parties, active)
        estimate = simulate(STUDY.methods[name].fit, run)
        limit = {"plain": 0.0, "he": 1e-9, "ss": 8 * 2.0**-33}[inference]
        expected = estimate.ensemble.scores(rows)
        assert estimate.scores.shape == (HELD_OUT,)
        assert np.abs(estimate.scores - expected).max() <= limit
        if form.get("max_tree_depth") != 0:
            assert np.ptp(expected) > 0
            # Splits of passive parties are told: there was something to score together.
            assert sum(m.bytes for m in run.channel.messages if m.name == "deployed splits") > 0


@pytest.mark.parametrize(("name", "form"), CELLS)
def test_deployment_leaves_the_training_as_it_was_and_costs_infinity(name, form):
    alone, _ = execution_of(name, form, "none")
    estimate = simulate(STUDY.methods[name].fit, alone)
    assert estimate.scores is None
    training = alone.channel.ledger.worst_total(alone.names, "features", DELTA)
    labels = alone.channel.ledger.worst_total(alone.names, "label", DELTA).epsilon_certified
    assert labels == (inf if name == "label_scattering" else 0)
    for inference in KINDS:
        run, _ = execution_of(name, form, inference)
        found = simulate(STUDY.methods[name].fit, run)
        sent = run.channel.transcript()
        assert sent[: len(alone.channel.messages)] == alone.channel.transcript()
        assert found.ensemble.scores(np.zeros((1, 6))) == estimate.ensemble.scores(np.zeros((1, 6)))
        for unit in ("features", "label"):
            total = run.channel.ledger.worst_total(run.names, unit, DELTA)
            assert total.epsilon_certified == inf
        total = run.channel.ledger.worst_total(run.names, "features", DELTA)
        assert total.epsilon_certified_part == training.epsilon_certified_part
        if training.epsilon_certified < inf:
            assert total.epsilon_certified_part == training.epsilon_certified > 0


@pytest.mark.parametrize("inference", KINDS)
@pytest.mark.parametrize("name", FEDERATED)
def test_all_modes_agree(name, inference):
    form = FORMS.get(name, [{}])[0]
    in_all_ways(STUDY.methods[name].fit, lambda: execution_of(name, form, inference, 3)[0])


def test_the_dealer_is_on_the_channel_of_every_federated_protocol():
    assert FEDERATED and all(STUDY.methods[name].extra == (DEALER,) for name in FEDERATED)
