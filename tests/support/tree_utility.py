"""Held-out quality of methods of vertical trees on the real tables: the pipeline's own cells, paired by replicate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from partywise.data import fetch as resources
from partywise.experiment.cells import run
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan, plan
from pipeline import ROOT

# Replicates: a split and a noise each.
REPLICATES = {"adult": 8, "adult_split": 8, "credit_default": 8, "abalone": 20, "generated": 8}
ROOT_SEED = 2024
ORDERS: dict[str, Any] = {"protocol": "feature_gathering", "protect": "dp", "edges": "quantile", "ties": "position"}
# What is certified for a record is not a published program, and keeps ties.
KEPT = ORDERS | {"ties": "kept"}
OP: dict[str, Any] = {"protocol": "feature_gathering", "protect": "op_boost"}
OP_PUBLISHED = OP | {"budget": "feature", "extremes": "sample", "ties": "position"}
METHODS: dict[str, dict[str, Any]] = {
    "active alone": {"protocol": "active_only"},
    "pooled": {"protocol": "pooled"},
    "pooled, 60 trees": {"protocol": "pooled", "num_of_trees": 60, "max_tree_depth": 3, "eta": 0.3, "lambda_": 1.0},
    "dp 50, none": ORDERS | {"n_bins": 50, "randomise": False},
    "dp 100, a feature": ORDERS | {"n_bins": 100, "budget": "feature"},
    "dp 50, a feature": ORDERS | {"n_bins": 50, "budget": "feature"},
    "op global, a feature": OP_PUBLISHED,
    "op adjusting, a feature": OP_PUBLISHED | {"variant": "adjusting"},
    "dp 50, a record": KEPT | {"n_bins": 50, "budget": "record"},
    "op global, a record": OP | {"budget": "record"},
    "local_tables": {"protocol": "local_tables"},
    "tables": {"protocol": "tables", "cipher": "sized"},
}


@dataclass(frozen=True)
class Case:
    """A table dealt to parties: its name, settings beside the defaults, number of parties."""

    dataset: str
    settings: tuple[tuple[str, Any], ...] = ()
    parties: int = 2


ADULT, CREDIT = Case("adult"), Case("credit_default")
ABALONE = Case("abalone", (("active", "first"),))
SMALL = Case("adult_split", (("rows", 2000),))
FOUR = Case("credit_default", (("dims", (5, 8, 11, 23)),), 4)
WEIGHTS = Case("abalone")


@cache
def scores(case: Case, method: str, epsilon: float = 1.0) -> dict[str, np.ndarray]:
    """Numbers of a method by name, one for each replicate of the case; ``loss`` is log-loss or mean squared error."""
    options = dict(METHODS[method])
    if case.dataset == "abalone" and options["protocol"] == "tables":
        options["residual_bound"] = 5.0
    made, data = _planned(case, options, epsilon), _data(case)
    cells = run(made, case.dataset, "measured", [case.parties], data, [0], data)
    found = [cell.scalars for cell in cells]
    rows = [{"loss": one["log_loss"] if one["mse"] is None else one["mse"]} | one for one in found]
    names = ("loss", "auc", "epsilon_certified", "epsilon_label")
    return {name: np.array([row[name] for row in rows], dtype=float) for name in names}


@cache
def _data(case: Case) -> dict[int, Any]:
    """Replicates of a case."""
    if case.dataset != "generated":
        resources.fetch(case.dataset, ROOT / "resources" / case.dataset)
    made = _planned(case, METHODS["pooled"], 1.0)
    return generate(made, case.dataset, range(REPLICATES[case.dataset]), ROOT / "resources")


def _planned(case: Case, options: dict[str, Any], epsilon: float) -> Plan:
    count = REPLICATES[case.dataset]
    grid = {"methods": ["measured"], "replicates": count, "parties": [case.parties], "folds": 1, "epsilon": [epsilon]}
    settings = {name: list(value) if isinstance(value, tuple) else value for name, value in case.settings}
    source = "generated" if case.dataset == "generated" else "dataset"
    own = {"dataset": case.dataset} if source == "dataset" else {}
    cases = {case.dataset: {"source": source, "settings": own | settings, "grid": grid}}
    return plan("vertical_trees", {"methods": {"measured": options}, "cases": cases, "figures": []}, ROOT_SEED)


def mean(values: np.ndarray) -> tuple[float, float]:
    """Mean over replicates and its standard error."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))
