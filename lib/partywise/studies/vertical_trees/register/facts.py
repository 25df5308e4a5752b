"""Facts about the data sets and formulas of the source, and fits that its family prints errors of."""

from __future__ import annotations

from functools import cache
from math import inf
from pathlib import Path
from typing import Literal

import numpy as np

from ....core.randomness import stream
from ....data.fetch import fetch_folder
from ....data.loaders import abalone, adult
from ....experiment.cells import run
from ....experiment.data import generate
from ....experiment.plan import plan
from ....methods.trees.codes import quantile_bins
from ....methods.trees.ensemble import grow_trees
from ....methods.trees.gathering.ranks import rank_codes
from ....methods.trees.model import TreeColumn
from ....methods.trees.options import GatheringOptions, TreePooledOptions
from ....models.criteria import NUMBERS
from ....privacy.mechanisms.randomized_response import RandomizedResponse

# Settings of the family's page: 50 trees of rate 0.1 and depth 6 on 255 bins, with FedTree's default lambda.
FAMILY = TreePooledOptions(num_of_trees=50, eta=0.1, max_tree_depth=6, lambda_=1.0)
FAMILY_BINS, TEST_SHARE = 255, 0.2


def features(dataset: Literal["adult", "abalone"]) -> float:
    """Columns of a data set without its response."""
    load = {"adult": adult.load, "abalone": abalone.load}[dataset]
    return float(load(fetch_folder(dataset)).X.shape[1])


def abalone_rows() -> float:
    """Shells."""
    return float(len(abalone.load(fetch_folder(abalone.RESOURCE)).y))


def stay_probability(buckets: int, epsilon: float) -> float:
    """Probability that the randomised response releases the index of a record itself."""
    return float(RandomizedResponse(epsilon, buckets).matrix()[0, 0])


def bucket_share(buckets: int, n: int = 1000) -> float:
    """Codes of a column of n records with so many bins over those without, as the source's program cuts them."""
    column = stream(1, "printed", "bucket_share").random(n)

    def codes(n_bins: int | None) -> int:
        options = GatheringOptions(
            protect="op_boost", ties="position", extremes="sample", budget="feature", n_bins=n_bins
        )
        return len(rank_codes(column, TreeColumn("x"), "owner", options).thresholds) + 1

    return codes(buckets) / codes(None)


def open_indicators(inference: str) -> float:
    """Bits of left indicators of held-out rows that cross in the clear, in a small fit with this way of inference."""
    grid = {"replicates": 1, "parties": [2], "folds": 1, "epsilon": [inf]}
    case = {"source": "generated", "settings": {"n": 60, "d": 4}, "grid": grid | {"methods": ["small"]}}
    method = {"protocol": "feature_gathering", "inference": inference, "num_of_trees": 2}
    small = plan("vertical_trees", {"methods": {"small": method}, "cases": {"small": case}}, 1)
    (cell,) = run(small, "small", "small", 2, [0], [0], generate(small, "small", [0], Path("resources")))
    rows = (row for row in cell.wire if row["kind"] == "clear" and "indicators" in row["name"])
    return float(sum(8 * row["bytes"] for row in rows))


@cache
def abalone_error(rows: Literal["train", "test"]) -> float:
    """Root mean squared error of the family's trees on Abalone: of all rows that train, or of a fifth held out."""
    table = abalone.load(fetch_folder(abalone.RESOURCE))
    n = len(table.y)
    held_out = np.zeros(n, dtype=bool)
    if rows == "test":
        held_out[stream(1, "printed", "abalone_error").permutation(n)[: int(TEST_SHARE * n)]] = True
    codes = quantile_bins(table.X[~held_out], FAMILY_BINS)
    draws = [(range(table.X.shape[1]), None)] * FAMILY.num_of_trees
    ensemble = grow_trees(codes, table.y[~held_out], FAMILY, NUMBERS, draws)
    judged = held_out if rows == "test" else ~held_out
    return float(np.sqrt(np.mean((ensemble.scores(table.X[judged]) - table.y[judged]) ** 2)))
