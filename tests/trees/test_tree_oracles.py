"""Trees against xgboost and scikit-learn on the same codes: partitions of rows, and predictions."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import xgboost
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from partywise.trees.codes import Coded, coded, dense_ranks, quantile_buckets
from partywise.trees.ensemble import grown, partitions_of
from partywise.trees.model import LEAF, Ensemble, Tree
from partywise.trees.options import PooledOptions
from tree_driver import CLASSES, SQUARES, data

OBJECTIVES = {CLASSES: ("binary:logistic", 0.5), SQUARES: ("reg:squarederror", 0.0)}
METHODS = ("exact", "hist")
# xgboost keeps gradients in single precision. These data have no node whose two best gains agree so far.
CLOSE = 1e-6
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "deep": {"max_tree_depth": 5},
    "regularised": {"max_tree_depth": 4, "lambda_": 2.0, "gamma": 0.8, "eta": 0.3},
    "regularised stumps": {"max_tree_depth": 1, "lambda_": 2.0, "gamma": 3.0, "eta": 0.3, "num_of_trees": 30},
    "no ridge": {"max_tree_depth": 3, "lambda_": 0.0, "eta": 1.0, "num_of_trees": 3},
    "no levels": {"max_tree_depth": 0},
}


def codes_of(kind: str, X: np.ndarray) -> Coded:
    """Quantile buckets, all values, or buckets of which two in three are empty."""
    found = dense_ranks(X) if kind == "all values" else quantile_buckets(X, 50)
    return coded(3 * found.codes + 1, 3 * found.sizes) if kind == "empty buckets" else found


def oracle(codes: Coded, y: np.ndarray, options: PooledOptions, criterion: Any, method: str) -> xgboost.Booster:
    objective, base = OBJECTIVES[criterion]
    settings = {
        "objective": objective,
        "base_score": base,
        "tree_method": method,
        "max_depth": options.max_tree_depth,
        "eta": options.eta,
        "lambda": options.lambda_,
        # Its gain is twice ours, so that its threshold is too.
        "gamma": 2 * options.gamma,
        "min_child_weight": 0,
        "max_bin": int(codes.sizes.max()) + 1,
        "nthread": 1,
    }
    if not options.max_tree_depth:
        # 0 stands for no limit there; a gain that no split has leaves the root.
        settings |= {"max_depth": 1, "gamma": 1e30}
    return xgboost.train(settings, xgboost.DMatrix(codes.codes.astype(float), y), options.num_of_trees)


def trees_of(booster: xgboost.Booster) -> Ensemble:
    """The oracle's trees as ours; ``x < condition`` on whole codes is ``code <= ceil(condition) - 1``."""
    return Ensemble(tuple(_tree(json.loads(text)) for text in booster.get_dump(dump_format="json")), 0.0, 1.0)


def _tree(root: dict[str, Any]) -> Tree:
    found: list[dict[str, Any]] = []

    def walk(node: dict[str, Any]) -> None:
        found.append(node)
        for child in node.get("children", ()):
            walk(child)

    walk(root)
    numbers = {node["nodeid"]: place for place, node in enumerate(found)}
    rows = [
        (int(node["split"][1:]), np.ceil(node["split_condition"]) - 1, numbers[node["yes"]], numbers[node["no"]], 0.0)
        if "split" in node
        else (LEAF, 0, LEAF, LEAF, node["leaf"])
        for node in found
    ]
    feature, cut, left, right = (np.array(column, dtype=int) for column in list(zip(*rows, strict=True))[:4])
    return Tree(feature, cut, np.full(len(rows), np.nan), left, right, np.array([row[4] for row in rows]))


def scores_of(found: Ensemble, codes: Coded) -> np.ndarray:
    return sum(found.weight * tree.value[tree.leaves_of_codes(codes.codes)] for tree in found.trees)


@pytest.mark.parametrize("kind", ["quantiles", "all values", "empty buckets"])
@pytest.mark.parametrize("label", SETTINGS)
@pytest.mark.parametrize("criterion", [CLASSES, SQUARES])
def test_boosting_is_xgboost(criterion, label, kind):
    X, y = data(600, 8, criterion, seed=2)
    options, codes = PooledOptions(**SETTINGS[label]), codes_of(kind, X)
    found = grown(codes, y, options, criterion, [(range(8), None)] * options.num_of_trees)
    ours = scores_of(found, codes)
    # The exact method prunes whole subtrees afterwards: a dull split stays for the sake of what follows.
    for method in METHODS[1:] if label == "regularised" else METHODS:
        booster = oracle(codes, y, options, criterion, method)
        theirs = booster.predict(xgboost.DMatrix(codes.codes.astype(float)), output_margin=True)
        assert partitions_of(found, codes.codes) == partitions_of(trees_of(booster), codes.codes)
        assert np.abs(ours - theirs).max() <= CLOSE * np.abs(ours).max()


@pytest.mark.parametrize("kind", ["quantiles", "all values", "empty buckets"])
@pytest.mark.parametrize("criterion", [CLASSES, SQUARES])
def test_one_tree_of_a_forest_is_that_of_scikit_learn(criterion, kind):
    """Node by node; where it draws among equal gains, which it does, the gains are equal and the walk ends."""
    X, y = data(600, 8, criterion, seed=3)
    codes, options = codes_of(kind, X), PooledOptions(algo="rf", num_of_trees=1, max_tree_depth=5)
    ours = grown(codes, y, options, criterion, [(range(8), None)]).trees[0]
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
