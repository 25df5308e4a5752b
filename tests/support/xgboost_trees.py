"""xgboost on codes as an oracle, and its trees as ours."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xgboost

from partywise.methods.trees.codes import CodedColumns
from partywise.methods.trees.model import LEAF, Ensemble, Tree
from partywise.methods.trees.options import TreePooledOptions
from tree_driver import CLASSES, SQUARES

OBJECTIVES = {CLASSES: "binary:logistic", SQUARES: "reg:squarederror"}
METHODS = ("exact", "hist")
# xgboost keeps gradients in single precision: what agrees so far is one to it. No data here have a node whose two best
# gains agree so far.
CLOSE = 1e-6


def oracle(
    codes: CodedColumns, y: np.ndarray, options: TreePooledOptions, criterion: Any, method: str
) -> xgboost.Booster:
    """Its boosting at equal options; ``exact`` prunes by gamma afterwards, ``hist`` as we do while it grows."""
    settings = {
        "objective": OBJECTIVES[criterion],
        "base_score": 0.5 if criterion == CLASSES and options.base_score is None else float(y.mean()),
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


def scores_of(found: Ensemble, codes: CodedColumns) -> np.ndarray:
    """(n,) scores of the rows that the codes are of."""
    return found.base + sum(found.weight * tree.value[tree.leaves_of_codes(codes.codes)] for tree in found.trees)
