"""Trees against xgboost and scikit-learn on the same codes: partitions of rows, and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xgboost
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from partywise.methods.trees.codes import CodedColumns, dense_ranks, from_codes, quantile_bins
from partywise.methods.trees.ensemble import grow_trees
from partywise.methods.trees.model import LEAF
from partywise.methods.trees.options import TreePooledOptions
from tree_driver import CLASSES, SQUARES, data
from tree_partitions import partitions_of
from xgboost_trees import CLOSE, METHODS, oracle, scores_of, trees_of

SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "deep": {"max_tree_depth": 5},
    "regularised": {"max_tree_depth": 4, "lambda_": 2.0, "gamma": 0.8, "eta": 0.3},
    "regularised stumps": {"max_tree_depth": 1, "lambda_": 2.0, "gamma": 3.0, "eta": 0.3, "num_of_trees": 30},
    "no ridge": {"max_tree_depth": 3, "lambda_": 0.0, "eta": 1.0, "num_of_trees": 3},
    "no levels": {"max_tree_depth": 0},
}


def codes_of(kind: str, X: np.ndarray) -> CodedColumns:
    """Quantile bins, all values, or bins of which two in three are empty."""
    found = dense_ranks(X) if kind == "all values" else quantile_bins(X, 50)
    return from_codes(3 * found.codes + 1, 3 * found.sizes) if kind == "empty bins" else found


@pytest.mark.parametrize("kind", ["quantiles", "all values", "empty bins"])
@pytest.mark.parametrize("label", SETTINGS)
@pytest.mark.parametrize("criterion", [CLASSES, SQUARES])
def test_boosting_is_xgboost(criterion, label, kind):
    X, y = data(600, 8, criterion, seed=2)
    options, codes = TreePooledOptions(**SETTINGS[label]), codes_of(kind, X)
    found = grow_trees(codes, y, options, criterion, [(range(8), None)] * options.num_of_trees)
    ours = scores_of(found, codes)
    # The exact method prunes whole subtrees afterwards: a dull split stays for the sake of what follows.
    for method in METHODS[1:] if label == "regularised" else METHODS:
        booster = oracle(codes, y, options, criterion, method)
        theirs = booster.predict(xgboost.DMatrix(codes.codes.astype(float)), output_margin=True)
        assert partitions_of(found, codes.codes) == partitions_of(trees_of(booster), codes.codes)
        assert np.abs(ours - theirs).max() <= CLOSE * np.abs(ours).max()


@pytest.mark.parametrize("kind", ["quantiles", "all values", "empty bins"])
@pytest.mark.parametrize("criterion", [CLASSES, SQUARES])
def test_one_tree_of_a_forest_is_that_of_scikit_learn(criterion, kind):
    """Node by node; where it draws among equal gains, which it does, the gains are equal and the walk ends."""
    X, y = data(600, 8, criterion, seed=3)
    codes, options = codes_of(kind, X), TreePooledOptions(algo="rf", num_of_trees=1, max_tree_depth=5)
    ours = grow_trees(codes, y, options, criterion, [(range(8), None)]).trees[0]
    kinds = {CLASSES: DecisionTreeClassifier, SQUARES: DecisionTreeRegressor}
    theirs = kinds[criterion](max_depth=5, random_state=0).fit(codes.codes, y).tree_
    waiting, equal = [(0, 0, np.arange(len(y)))], 0
    while waiting:
        a, b, rows = waiting.pop()
        whole, gains, sides = y[rows].sum() ** 2 / len(rows), [], []
        for feature, limit in ((ours.feature[a], ours.cut[a]), (theirs.feature[b], theirs.threshold[b])):
            left = codes.codes[rows, feature] <= limit if feature >= 0 else np.ones(len(rows), dtype=bool)
            parts = [y[rows][side] for side in (left, ~left) if side.any()]
            gains.append(sum(part.sum() ** 2 / len(part) for part in parts) - whole)
            sides.append(left)
        assert gains[0] == pytest.approx(gains[1], abs=1e-9 * whole)
        if ours.feature[a] == LEAF:
            assert ours.value[a] == pytest.approx(y[rows].mean(), rel=1e-10)
        elif np.array_equal(*sides):
            equal += 1
            waiting.append((ours.left[a], theirs.children_left[b], rows[sides[0]]))
            waiting.append((ours.right[a], theirs.children_right[b], rows[~sides[0]]))
    assert equal >= 15
