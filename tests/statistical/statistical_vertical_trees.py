"""Losslessness on the real tables: trees on codes against xgboost, by partitions of rows and by predictions.

Not collected by the normal run (``./run long``): it downloads what is not yet in resources/ and fails, never skips,
where that cannot be done.  Parties are the groups of the source's ``dims``: columns of all but the last one as dense
ranks, those of the last one in 50 quantile buckets.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import xgboost

from partywise.datasets import fetch as resources
from partywise.datasets.loaders import abalone, adult, credit_default
from partywise.randomness import stream
from partywise.trees.codes import dense_ranks, quantile_buckets, side_by_side
from partywise.trees.ensemble import grown, partitions_of
from partywise.trees.options import PooledOptions
from tree_driver import CLASSES, SQUARES
from xgboost_trees import CLOSE, METHODS, oracle, scores_of, trees_of

pytestmark = pytest.mark.statistical

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
TABLES = {
    "adult": (adult.RESOURCE, adult.load_folded, 7, CLASSES),
    "credit_default": (credit_default.RESOURCE, credit_default.load, 11, CLASSES),
    "abalone": (abalone.RESOURCE, abalone.load, 4, SQUARES),
}
SPLITS = 3


@cache
def loaded(name):
    resource, load, _, _ = TABLES[name]
    resources.fetch(resource, RESOURCES / resource)
    return load(RESOURCES / resource)


@pytest.mark.parametrize("depth", [2, 5])
@pytest.mark.parametrize("name", TABLES)
def test_trees_on_a_real_table_are_those_of_xgboost(name, depth):
    table, (_, _, first, criterion) = loaded(name), TABLES[name]
    n, d = table.X.shape
    options = PooledOptions(max_tree_depth=depth)
    for split in range(SPLITS):
        rows = stream(7, "lossless", name, split).permutation(n)[: round(0.8 * n)]
        X, y = table.X[rows], table.y[rows]
        groups = range(first), range(first, d)
        codes = side_by_side([dense_ranks(X[:, :first]), quantile_buckets(X[:, first:], 50)], groups)
        found = grown(codes, y, options, criterion, [(range(d), None)] * 10)
        ours = scores_of(found, codes)
        for method in METHODS:
            booster = oracle(codes, y, options, criterion, method)
            theirs = booster.predict(xgboost.DMatrix(codes.codes.astype(float)), output_margin=True)
            difference = np.abs(ours - theirs).max() / np.abs(ours).max()
            print(f"{name} L={depth} split {split} {method}: largest difference {difference:.1e} of the largest margin")
            assert partitions_of(found, codes.codes) == partitions_of(trees_of(booster), codes.codes)
            assert difference <= CLOSE
