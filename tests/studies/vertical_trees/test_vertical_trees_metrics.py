"""Quality of trees against scikit-learn, paths of losses, selection on test rows, undefined values."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit
from sklearn import metrics as oracle

from partywise.data.column_facts import ColumnFacts
from partywise.methods.trees.model import Ensemble, Tree, TreeEstimate
from partywise.methods.trees.options import TablesOptions, TreePooledOptions
from partywise.studies.vertical_trees.data import TreeData
from partywise.studies.vertical_trees.metrics import example_fits, metrics, quality

CLASSES, NUMBERS = "CrossEntropyLoss", "RegressionMSELoss"


def spec_of(**options):
    return SimpleNamespace(options=TreePooledOptions(**options))


def stump(threshold, left, right, feature=0):
    columns = {"feature": [feature, -1, -1], "cut": [0, 0, 0], "threshold": [threshold, 0, 0]}
    return Tree(
        **{name: np.array(values) for name, values in columns.items()},
        left=np.array([1, 0, 0]),
        right=np.array([2, 0, 0]),
        value=np.array([0.0, left, right]),
    )


def data_of(X, y, n_train, criterion=CLASSES):
    train = np.arange(len(y)) < n_train
    column_facts = tuple(ColumnFacts(None, None, "nothing") for _ in range(X.shape[1]))
    names = np.array([f"x{j}" for j in range(X.shape[1])])
    return TreeData(y, X, train, np.arange(len(y)), names, column_facts, criterion)


def drawn(n=200):
    rng = np.random.default_rng(7)
    X = np.round(rng.normal(size=(n, 2)), 1)
    return X, (rng.random(n) < expit(2 * X[:, 0])).astype(float)


TREES = (stump(0.0, -1.0, 1.0), stump(0.5, -0.5, 2.0), stump(0.0, 3.0, -4.0, feature=1), stump(-0.5, -2.0, 0.5))


def test_quality_of_classes_is_that_of_scikit_learn_with_ties():
    X, y = drawn()
    scores = Ensemble(TREES, 0.0, 0.5).scores(X)
    assert len(set(scores)) < 20
    found = quality(scores, y, TreePooledOptions(), CLASSES).as_dict()
    assert found["log_loss"] == pytest.approx(oracle.log_loss(y, expit(scores)), rel=1e-12)
    assert found["auc"] == pytest.approx(oracle.roc_auc_score(y, scores), rel=1e-12)
    assert found["accuracy"] == oracle.accuracy_score(y, scores > 0)
    assert found["published_loss"] == pytest.approx(np.mean(-y * np.log(expit(scores))), rel=1e-12)
    assert found["mse"] is None


def test_a_forest_scores_probabilities_and_certain_mistakes_stay_finite():
    y = np.array([0.0, 1.0, 1.0, 0.0])
    found = quality(np.array([0.25, 0.75, 0.0, 0.5]), y, TreePooledOptions(algo="rf"), CLASSES).as_dict()
    assert found["accuracy"] == 0.75 and found["auc"] == pytest.approx(0.5)
    assert found["log_loss"] == pytest.approx(oracle.log_loss(y, [0.25, 0.75, 0.0, 0.5]))


def test_numbers_have_a_squared_error_and_no_classes():
    found = quality(np.array([1.0, 2.0]), np.array([0.0, 4.0]), TreePooledOptions(), NUMBERS).as_dict()
    assert found == {"mse": 2.5, "log_loss": None, "auc": None, "accuracy": None, "published_loss": None}


def test_what_is_undefined_is_none():
    X, y = drawn()
    estimate = TreeEstimate(Ensemble(TREES, 0.0, 0.5), 0.0)
    found = metrics(estimate, data_of(X, y, len(y)), np.ones(len(y), bool), spec_of()).as_dict()
    assert all(found[name] is None for name in ("log_loss", "auc", "accuracy", "mse", "best_trees"))
    assert found["n_protected"] == len(y) and found["n_trees"] == 4
    assert quality(np.array([0.1, 0.2]), np.ones(2), TreePooledOptions(), CLASSES).auc is None


@pytest.mark.parametrize("published", [False, True])
def test_selection_on_test_rows_keeps_the_least_loss_and_says_so(published):
    X, y = drawn()
    data, spec = data_of(X, y, 100), spec_of(eval_freq=1, select_by="test_loss", as_published=published)
    found = metrics(TreeEstimate(Ensemble(TREES, 0.0, 0.5), 0.0), data, data.train, spec).as_dict()
    p = [expit(Ensemble(TREES[:t], 0.0, 0.5).scores(X[100:])) for t in (1, 2, 3, 4)]
    whole = [oracle.log_loss(y[100:], one) for one in p]
    losses = [-np.mean(y[100:] * np.log(one)) for one in p] if published else whole
    best = int(np.argmin(losses))
    assert found["best_trees"] == best + 1 == found["n_trees"] and found["selected_on_test"]
    assert found["log_loss"] == pytest.approx(whole[best])


def test_a_method_from_elsewhere_is_a_forest_if_its_trees_are_averaged():
    X, y = drawn()
    data, spec = data_of(X, y, 100), SimpleNamespace(options=SimpleNamespace())
    forest = Ensemble((stump(0.0, 0.2, 0.9), stump(0.5, 0.4, 0.8)), 0.0, 0.5, averaged=True)
    found = metrics(TreeEstimate(forest, 0.0), data, data.train, spec).as_dict()
    assert found["log_loss"] == pytest.approx(oracle.log_loss(y[100:], forest.scores(X[100:])))


def test_rows_that_parties_scored_are_judged_beside_the_evaluator():
    X, y = drawn()
    data, ensemble = data_of(X, y, 100), Ensemble(TREES, 0.0, 0.5)
    moved = ensemble.scores(X[100:130]) + np.where(np.arange(30) == 4, 1e-3, 0.0)
    found = metrics(TreeEstimate(ensemble, 0.0, moved), data, data.train, spec_of()).as_dict()
    assert found["scored_rows"] == 30 and found["score_difference"] == pytest.approx(1e-3)
    assert found["scored_log_loss"] == pytest.approx(oracle.log_loss(y[100:130], expit(moved)))


def test_scores_that_are_not_finite_are_a_status():
    X, y = drawn()
    data = data_of(X, y, 100)
    found = metrics(
        TreeEstimate(Ensemble((stump(0.0, np.inf, 1.0),), 0.0, 0.5), 0.0), data, data.train, spec_of()
    ).as_dict()
    assert found["diverged"] and "log_loss" not in found


def test_the_example_fit_has_losses_of_training_and_test_rows_and_what_the_fit_shows():
    X, y = drawn()
    data = data_of(X, y, 100)
    estimate = TreeEstimate(Ensemble(TREES, 0.0, 0.5), 0.0, arrays={"table_column": (("table",), np.zeros(3))})
    shown = example_fits(estimate, data, data.train, spec_of()).arrays()
    assert shown["path_trees"][1].tolist() == [0, 3, 4] and shown["table_column"][1].shape == (3,)
    scores = estimate.ensemble.scores(X)
    assert shown["path_train_loss"][1][-1] == pytest.approx(oracle.log_loss(y[:100], expit(scores[:100])))
    assert shown["path_test_loss"][1][-1] == pytest.approx(oracle.log_loss(y[100:], expit(scores[100:])))


def test_trees_against_the_mean_response_and_the_share_of_clipped_residuals():
    X, y = drawn()
    data, train = data_of(X, y, 120), np.arange(200) < 120
    good, bad = (
        TreeEstimate(Ensemble((tree,), 0.0, 1.0), 1.0) for tree in (stump(0.0, -2.0, 2.0), stump(0.0, 2.0, -2.0))
    )
    found = [metrics(fit, data, train, spec_of()).as_dict() for fit in (good, bad)]
    assert [one["worse_than_mean"] for one in found] == [False, True]
    base = oracle.log_loss(y[~train], np.full(80, y[train].mean()))
    assert found[0]["log_loss"] < base < found[1]["log_loss"]
    assert found[0]["residual_clip_share"] is None, "gradients of classes are at most 1"
    nothing = TreeEstimate(Ensemble((stump(0.0, 0.0, 0.0),), 0.0, 1.0), 1.0, numbers={"residual_clip_share": 0.25})
    spec = SimpleNamespace(options=TablesOptions(residual_bound=2.5))
    read = metrics(nothing, data_of(X, 3.0 * y, 120, NUMBERS), train, spec).as_dict()
    assert read["residual_clip_share"] == 0.25 and read["worse_than_mean"], "the statistic counts, the metric reads"
    assert metrics(good, data_of(X, y, 200), np.ones(200, dtype=bool), spec_of()).as_dict()["worse_than_mean"] is None
