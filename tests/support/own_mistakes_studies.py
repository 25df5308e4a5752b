"""Mistakes that only one study of split columns can see, in the form of `own_mistakes_columns`."""

from __future__ import annotations

from own_columns import STUDIES, Columns
from own_mistakes_columns import Mistake, bank, cell, column, every, grid, setting, shop


def protocol(**options: object) -> object:
    return lambda own: own.method.update(options)


def free(own: Columns) -> None:
    own.method = {"protocol": "joint"}


def unaligned(own: Columns) -> None:
    own.settings["records"] = "unaligned"


def marked_label(own: Columns) -> None:
    own.settings["response_bounds"] = [0, 1]
    cell(3, 3, "-9999", "bank")(own)


MARKED = (
    "bank.csv: late is -9999 in row 4, which often stands for a missing value, beyond its response_bounds [0, 1] by"
)


ONLY: dict[str, list[Mistake]] = {study: [] for study in STUDIES}
ONLY["vertical_trees"] = [
    (
        "no edges",
        lambda own: own.first["columns"][0].pop("edges"),
        "column 0 (from 0) of a passive party has no declared",
    ),
    ("edges out of order", column(0, edges=[1.0, 0.0]), "edges is [1.0, 0.0]: give at least one, in increasing order"),
    ("a name of a protocol", shop(party="dealer"), "tables has the party 'dealer': that name belongs to a protocol"),
    ("too deep", protocol(max_tree_depth=60), "max_tree_depth is 60"),
    ("too many trees", protocol(num_of_trees=10**9), "num_of_trees is 1000000000"),
    ("too many bins", protocol(n_bins=10**9), "n_bins is 1000000000"),
    ("test share", setting(test_share=1.5), "test_share is 1.5: it must lie in [0, 1)"),
]
ONLY["vertical_linear"] = [
    ("no bounds", lambda own: own.first["columns"][0].pop("bounds"), "column 'a' has no bounds: a linear model scales"),
    ("edges", column(0, edges=[0.0]), "edges of column 'a' are read by trees only; leave them out"),
    (
        "bounds of a class",
        setting(response_bounds=[0, 1]),
        "response_bounds is (0.0, 1.0): give the public range of the response",
    ),
    (
        "regression without bounds",
        setting(loss="RegressionMSELoss"),
        "response_bounds is None: give the public range",
    ),
    (
        "a mark beyond the bounds of the label",
        lambda own: [setting(loss="RegressionMSELoss")(own), protocol(model="linear")(own), marked_label(own)],
        MARKED,
    ),
    ("rounds without end", protocol(total_round_num=10**12), "total_round_num"),
    ("name of the key holder", shop(party="server"), "tables has the party 'server': that name belongs to a protocol"),
]
ONLY["vertical_glm"] = [
    ("unknown family", setting(family="normal"), "family is 'normal': it must be one of"),
    ("a logistic family", setting(family="logistic"), "inverse_gaussian, cox (here that is binomial)"),
    ("misspelt family", setting(family="binomal"), "inverse_gaussian, cox (did you mean binomial?)"),
    (
        "negative count",
        lambda own: [free(own), setting(family="poisson")(own), cell(3, 3, "-1", "bank")(own)],
        "bank.csv: late has the value -1: family 'poisson' takes",
    ),
    (
        "a mark beyond the bounds of the label",
        lambda own: [free(own), setting(family="gaussian")(own), marked_label(own)],
        MARKED,
    ),
    ("weights of another party", shop(weights="a"), "weights is 'a': only the party with the response has some"),
    (
        "negative weight",
        lambda own: [free(own), bank(weights="person")(own), every(1, "-1", "bank")(own)],
        "a weight is at least 0",
    ),
    ("private without bounds", lambda own: own.first["columns"][0].pop("bounds"), "column 'a' has no bounds; declare "),
    ("folds of unaligned records", unaligned, "records that arrive unaligned are one fold"),
    ("edges", column(0, edges=[0.0]), "edges of column 'a' are read by trees only; leave them out"),
    (
        "start beyond",
        lambda own: [unaligned(own), grid(folds=1)(own), setting(min_records=50)(own)],
        "40 records are in",
    ),
]
