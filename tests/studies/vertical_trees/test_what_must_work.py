"""Unusual data and options through every protocol: constant columns, few records, empty bins, no and many splits."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

from partywise.experiment.cells import Cell, run
from partywise.experiment.data import generate
from partywise.experiment.plan import plan

METHODS: dict[str, dict[str, Any]] = {
    "pooled": {"protocol": "pooled"},
    "alone": {"protocol": "active_only"},
    "ranks": {"protocol": "feature_gathering"},
    "shuffled": {"protocol": "feature_gathering", "protect": "dp", "randomise": False},
    "response": {"protocol": "feature_gathering", "protect": "dp"},
    "integers": {"protocol": "feature_gathering", "protect": "op_boost"},
    "gradients": {"protocol": "label_scattering", "cipher": "sized"},
    "noised": {"protocol": "tables", "cipher": "sized"},
    "codes": {"protocol": "local_tables"},
}
LOSSLESS = ("ranks", "gradients")
CERTIFIED = ("response", "integers", "noised", "codes")
FORESTS = tuple(name for name in METHODS if name not in ("noised", "codes"))


def cell(
    label: str, settings: dict[str, Any] | None = None, parties: int = 2, change: Any = None, **options: Any
) -> Cell:
    """One fit of a method on 60 records of six columns, by default."""
    methods = {label: {"num_of_trees": 3} | METHODS[label] | options}
    grid = {"methods": [label], "replicates": 1, "parties": [parties], "folds": 1, "epsilon": [2.0]}
    case = {"source": "generated", "settings": {"n": 60, "d": 6} | (settings or {}), "grid": grid}
    made = plan("vertical_trees", {"methods": methods, "cases": {"made": case}, "figures": []}, 7)
    data = generate(made, "made", [0], "resources")
    if change is not None:
        X = data[0].X.copy()
        change(X)
        data = {0: replace(data[0], X=X)}
    return run(made, "made", label, parties, [0], [0], data)[0]


def check(label: str, found: Cell) -> dict[str, Any]:
    """A fit ended well; without noise it is the pooled one, and what is certified is the target."""
    scalars = dict(found.scalars)
    assert scalars["status"] == "ok" and scalars["n_trees"] == 3
    if label in LOSSLESS:
        assert scalars["max_prediction_difference"] <= 1e-12 and scalars["rows_rerouted"] == 0
    if label in CERTIFIED:
        assert 0 < scalars["epsilon_certified"] <= 2.0 * (1 + 1e-9) and scalars["epsilon_label"] == 0
    else:
        # Trees without splits need no gradients: scattering sends its key, and nothing of anybody.
        silent = label == "alone" or (label == "gradients" and found.wire and len(found.wire) == 1)
        assert scalars["epsilon_certified"] == (0.0 if silent else inf)
    return scalars


def constant(X: np.ndarray) -> None:
    X[:, [1, 4]] = 0.5


def two_values(X: np.ndarray) -> None:
    """All bins but two are empty, in a column of every party."""
    X[:, [0, 5]] = np.where(X[:, [0, 5]] > 0.5, 0.85, 0.15)


@pytest.mark.parametrize("change", [constant, two_values])
@pytest.mark.parametrize("label", METHODS)
def test_constant_columns_and_empty_bins(label, change):
    check(label, cell(label, change=change))


@pytest.mark.parametrize("label", METHODS)
def test_fewer_records_than_bins(label):
    check(label, cell(label, {"n": 24}))


@pytest.mark.parametrize("levels", [0, 20])
@pytest.mark.parametrize("label", METHODS)
def test_no_split_and_twenty_levels(label, levels):
    found = check(label, cell(label, max_tree_depth=levels))
    if levels == 0 and label not in ("noised", "codes"):
        assert found["auc"] == 0.5


@pytest.mark.parametrize("label", METHODS)
def test_every_passive_party_has_one_column(label):
    """K = d + 1 for d columns at passive parties."""
    fit = cell(label, parties=6)
    check(label, fit)
    senders = {row["sender"] for row in fit.wire} if fit.wire else set()
    assert len([name for name in senders if name.startswith("passive")]) == (0 if label == "alone" else 5)


@pytest.mark.parametrize("label", METHODS)
def test_half_of_the_columns_are_drawn_for_a_tree(label):
    check(label, cell(label, feature_subsample_ratio=0.5))


@pytest.mark.parametrize("label", METHODS)
def test_no_record_is_held_out(label):
    found = check(label, cell(label, {"test_share": 0}))
    assert found["log_loss"] is None and found["auc"] is None and found["n_protected"] == 60


@pytest.mark.parametrize("label", METHODS)
def test_several_folds_test_every_record_once(label):
    """61 records in three folds, none of which trains as many as one fold would."""
    methods = {label: {"num_of_trees": 3} | METHODS[label]}
    grid = {"methods": [label], "replicates": 1, "parties": [2], "folds": 3, "epsilon": [2.0]}
    case = {"source": "generated", "settings": {"n": 61, "d": 6}, "grid": grid}
    made = plan("vertical_trees", {"methods": methods, "cases": {"made": case}, "figures": []}, 7)
    cells = run(made, "made", label, 2, [0], [0, 1, 2], generate(made, "made", [0], "resources"))
    assert sorted(check(label, one)["n_protected"] for one in cells) == [40, 41, 41]


@pytest.mark.parametrize("label", METHODS)
def test_regression(label):
    bound = {"residual_bound": 10.0} if label in ("gradients", "noised") else {}
    found = check(label, cell(label, {"loss": "RegressionMSELoss"}, **bound))
    assert found["mse"] > 0 and found["log_loss"] is None


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("label", FORESTS)
def test_forests_and_counts_for_hessians(label, published):
    forest = check(label, cell(label, algo="rf", batch_size=40, as_published=published))
    counts = check(label, cell(label, algo="gbdt", as_published=published))
    assert 0 <= forest["auc"] <= 1 and forest["log_loss"] != counts["log_loss"]


@pytest.mark.parametrize("label", ["noised", "codes"])
def test_counts_for_hessians_in_tables(label):
    check(label, cell(label, algo="gbdt"))


@pytest.mark.parametrize("inference", ["none", "plain", "he", "ss"])
@pytest.mark.parametrize("label", ["noised", "codes", "response"])
def test_what_scoring_together_costs_is_kept_apart_from_training(label, inference):
    sized = {"inference_cipher": "sized"} if inference == "he" else {}
    found = cell(label, inference=inference, **sized).scalars
    assert found["epsilon_certified_part"] == pytest.approx(2.0, rel=1e-4)
    if inference == "none":
        assert found["epsilon_label"] == 0 and found["epsilon_certified"] == found["epsilon_certified_part"]
        assert "scored_rows" not in found
    else:
        assert found["epsilon_label"] == found["epsilon_certified"] == inf
        assert found["scored_rows"] == 12 and found["score_difference"] <= 1e-8
        assert found["scored_log_loss"] == pytest.approx(found["log_loss"], abs=1e-8)
