"""Own tables whose response has more than two classes: files to predictions, and what is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.metrics import log_loss, roc_auc_score

from deployment_cases import Apart
from own_data_sets import write_csv
from partywise.core.errors import ConfigError, DataMissing
from partywise.core.randomness import stream
from partywise.deployment.outcomes.joint_results import join_results
from partywise.deployment.outcomes.run_files import last_run
from partywise.deployment.session.outcome import commitment_to, outcomes
from partywise.experiment.cells import execution, run
from partywise.experiment.configuration.build import build
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.federation.run import simulate
from partywise.studies.vertical_trees.figures.tables import tables_by_epsilon
from partywise.studies.vertical_trees.metrics import metrics
from partywise.studies.vertical_trees.own_settings import TreeTableSettings
from small_cube import computed

LEVELS = ["poor", "fair", "good"]
N = 240
METHODS = {
    "pooled": {"protocol": "pooled"},
    "tables": {"protocol": "tables", "cipher": "sized", "least_hessian": 1.0},
    "local": {"protocol": "local_tables", "least_hessian": 1.0},
}


pytestmark = pytest.mark.usefixtures("folder")


def write(**replaced: str) -> None:
    """Files of a shop and of a bank, which has the grades; ``replaced`` is the grade of the fourth row."""
    rng = stream(4, "own", "classes")
    a, b = rng.normal(size=(2, N))
    grades = np.searchsorted([-0.6, 0.6], a + b + 0.3 * rng.normal(size=N))
    entries = [LEVELS[grade] for grade in grades]
    entries[3] = replaced.get("grade", entries[3])
    ids = [f"r{i:03d}" for i in range(N)]
    write_csv(Path("one.csv"), ("id", "a"), list(zip(ids, np.round(a, 3), strict=True)))
    write_csv(Path("two.csv"), ("id", "b", "grade"), list(zip(ids, np.round(b, 3), entries, strict=True)))


def described(**more: Any) -> dict[str, Any]:
    edges = [-1.5, -1, -0.5, 0, 0.5, 1, 1.5]
    tables = [
        {"party": "shop", "file": "one.csv", "columns": [{"name": "a", "edges": edges, "bounds": [-4, 4]}]},
        {"party": "bank", "file": "two.csv", "columns": [{"name": "b"}]},
    ]
    return {"id": "id", "response": "grade", "response_party": "bank", "classes": LEVELS, "tables": tables} | more


def made(methods: dict[str, Any] = METHODS, **more: Any) -> Any:
    grid = {"methods": list(methods), "replicates": 1, "parties": [2], "folds": 1, "epsilon": [4.0]}
    case = {"source": "table", "settings": described(**more), "grid": grid}
    return plan("vertical_trees", {"methods": methods, "cases": {"own": case}, "figures": []}, 7)


@pytest.mark.parametrize("method", METHODS)
def test_cells_have_the_losses_of_scikit_learn_and_predictions_a_column_for_each_class(method, folder):
    write()
    planned = made()
    data = generate(planned, "own", [0], folder)
    (cell,) = run(planned, "own", method, 2, [0], [0], data)
    report, test = cell.owner_report, cell.owner_report.held_out
    p = np.column_stack([report.columns[f"probability of {level}"] for level in LEVELS])[test]
    truth = report.columns["observed"][test]
    np.testing.assert_array_equal(report.columns["predicted"][test], p.argmax(axis=1))
    assert cell.scalars["log_loss"] == pytest.approx(log_loss(truth, p), rel=1e-9)
    assert cell.scalars["accuracy"] == np.mean(p.argmax(axis=1) == truth) > 0.6
    assert cell.scalars["auc"] == pytest.approx(roc_auc_score(truth, p, multi_class="ovr"), rel=1e-12)
    assert cell.scalars["n_trees"] == 10 and not cell.scalars["worse_than_mean"]
    if method != "pooled":
        assert cell.scalars["epsilon_certified"] == pytest.approx(4.0, rel=1e-7)
    named = report.model["classes"]
    assert [one["name"] for one in named] == LEVELS
    assert [len(one["trees"]) for one in named] == [10] * 3
    assert [len(one["tables"]) for one in named] == [0 if method == "pooled" else 1] * 3


def test_a_constant_is_the_share_of_each_class_and_a_lone_class_has_no_area(folder):
    write()
    planned = made({"pooled": {"protocol": "pooled", "max_tree_depth": 0}})
    data = generate(planned, "own", [0], folder)[0]
    execution_ = execution(planned, "own", "pooled", 2, 0, 4.0, data)
    estimate = simulate(planned.methods["pooled"].protocol.fit, execution_)
    train = execution_.fold.train
    found = metrics(estimate, data, train, execution_.spec)
    shares = np.bincount(data.y[train].astype(int)) / train.sum()
    expected = -np.log(shares[data.y[~train].astype(int)]).mean()
    # Ten shortened steps from equal probabilities are near the shares, never below their loss on the training rows.
    assert found.log_loss == pytest.approx(expected, abs=0.02)
    only = train | (data.y == 0)
    assert metrics(estimate, data, only, execution_.spec).auc is None


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"classes": ["poor", "fair"]}, r"classes is \['poor', 'fair'\]: give at least three and none twice; of two"),
        ({"classes": ["poor", "fair", "poor"]}, "give at least three and none twice"),
        ({"positive": "poor"}, r"classes and positive are .* and 'poor': leave one of them out"),
        ({"loss": "RegressionMSELoss"}, r"classes and loss are .* and 'RegressionMSELoss': leave one"),
    ],
)
def test_settings_that_contradict_themselves_are_named(more, words):
    with pytest.raises(ConfigError, match=words):
        build(TreeTableSettings, described(**more), "settings")


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (
            {"protocol": "label_scattering", "n_bins": 5},
            "with method m: labels have 3 classes: protocol 'label_scatter",
        ),
        ({"protocol": "pooled", "algo": "rf"}, "labels have 3 classes: forests and the source's program know two"),
        ({"protocol": "tables", "algo": "gbdt"}, "its noise is calibrated for hessians of the classes; use algo 'xgb'"),
        ({"protocol": "local_tables", "inference": "plain"}, "inference 'plain' sums one score a record; use"),
    ],
)
def test_what_knows_two_classes_says_so_before_any_job(method, words):
    with pytest.raises(ConfigError, match=words):
        made({"m": method})


def test_an_entry_that_is_no_class_is_named_with_its_row(folder):
    write(grade="godo")
    with pytest.raises(DataMissing, match=r"two\.csv: grade is 'godo' in row 5: .*good"):
        generate(made(), "own", [0], folder)


def test_parties_apart_as_processes_are_the_simulation(tmp_path, monkeypatch, started):
    """Every party has its own file alone: what crosses, what is paid and what each holds."""
    case = Apart("vertical_trees")
    header, rows = case.files["bank"]["bank.csv"]
    graded = [[id_, b, LEVELS[min(2, int(late) + (float(b) > 0))]] for id_, b, late in rows]
    case.files["bank"]["bank.csv"] = header, graded
    case.settings["classes"] = LEVELS
    case.method = {"protocol": "tables", "num_of_trees": 2}
    told = started(case).all()
    assert {name: one.code for name, one in told.items()} == dict.fromkeys(case.names, 0), told
    monkeypatch.chdir(tmp_path / "whole")
    one = case.deployment()
    data = generate(one.plan, "own", [0], "resources")[0]
    whole = execution(one.plan, "own", "m", 2, one.network.fold, one.epsilon, data)
    held = outcomes(one.plan.methods["m"].protocol.fit, whole)
    found = join_results([last_run(tmp_path / "out" / name) for name in case.names])
    assert found.channel.transcript() == whole.channel.transcript() and whole.channel.messages
    assert found.channel.ledger.digest == whole.channel.ledger.digest
    assert found.records.keys() == held.keys()
    for name, record in found.records.items():
        salt = json.loads((last_run(tmp_path / "out" / name) / "outcome.json").read_text())["salt"]
        assert record.outcome == commitment_to(held[name].digest, salt)


def test_the_figure_has_a_panel_for_each_class(folder):
    write()
    methods = {"sums": METHODS["tables"] | {"title": "tables"}}
    grid = {"methods": ["sums"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0, 4.0]}
    case = {"source": "table", "settings": described(), "grid": grid}
    block = {"spec": {"delta": 1e-5, "unit": "features"}, "methods": methods, "cases": {"own": case}}
    figure = tables_by_epsilon(computed("vertical_trees", block, 3, folder))
    shown = {ax.get_xlabel() for ax in figure.axes}
    figure.savefig(folder / "figure.png")
    plt.close(figure)
    assert {f"a, class {level}" for level in LEVELS} <= shown
