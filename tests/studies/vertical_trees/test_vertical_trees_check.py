"""What a configuration of vertical trees contradicts by itself is told in one sentence, before any job."""

from __future__ import annotations

import numpy as np
import pytest

from partywise.core.errors import CertificationError, ConfigError
from partywise.experiment.cells import run
from partywise.experiment.data import generate
from partywise.experiment.plan import plan

GATHERING = {"protocol": "feature_gathering"}
GRID = {"methods": ["pooled"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]}


def planned(settings=None, grid=None, method=None, dataset=None):
    source, own = ("generated", {}) if dataset is None else ("dataset", {"dataset": dataset})
    methods = {"tried": {"protocol": "pooled"} | (method or {})}
    case = {"source": source, "settings": own | (settings or {}), "grid": GRID | {"methods": ["tried"]} | (grid or {})}
    return plan("vertical_trees", {"methods": methods, "cases": {"made": case}, "figures": []}, 7)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"settings": {"dims": [7, 13]}}, r"settings\.dims is \[7, 13\]: its last end must be 14, the number of col"),
        ({"settings": {"dims": [7, 7, 14]}}, r"dims is \[7, 7, 14\]: the ends of the parties' columns must be increas"),
        ({"settings": {"dims": []}}, r"dims is \[\]: its last end must be 14"),
        (
            {"settings": {"dims": [7, 14]}, "grid": {"parties": [3]}},
            r"dims is \[7, 14\]: that makes 2 parties where grid\.parties is \[3\]; give one end for each party",
        ),
        ({"grid": {"parties": [15]}}, "grid.parties is 15: there must be 2 to 14 for 14 columns"),
        ({"grid": {"parties": [1]}}, "grid.parties is 1: there must be 2 to 14"),
        ({"settings": {"test_share": 1.0}}, r"test_share is 1\.0: it must lie in \[0, 1\)"),
        ({"settings": {"active": "middle"}}, "active is 'middle': it must be one of last, first"),
        ({"settings": {"loss": "MSE"}}, "loss is 'MSE': it must be one of CrossEntropyLoss"),
        ({"settings": {"dim": [7, 14]}}, r"settings\.dim is unknown: did you mean dims"),
        (
            {"settings": {"test_share": 0.5}, "grid": {"folds": 3}},
            "test_share is 0.5: it is read with 1 fold, several folds test every row; leave it out",
        ),
        ({"settings": {"rows": 50}, "grid": {"folds": 3}}, "rows is 50: it is read with"),
        ({"settings": {"n": 100, "rows": 101}}, "rows is 101: there are 100 rows"),
        (
            {"settings": {"test_share": 0}, "method": {"select_by": "test_loss"}},
            "select_by is 'test_loss', and test_share 0 leaves no test rows",
        ),
        ({"method": {"protocol": "poold"}}, "protocol is 'poold': did you mean pooled"),
    ],
)
def test_contradictions_are_named(words, says):
    with pytest.raises(ConfigError, match=says):
        planned(**words)


@pytest.mark.parametrize(
    "words",
    [
        {"settings": {"dims": [3, 14]}, "grid": {"parties": [2, 3]}},
        {"grid": {"parties": [14]}},
        {"settings": {"test_share": 0}},
        {"grid": {"folds": 5}},
        # Codes that cross noised are as large whatever the residuals are.
        {"settings": {"loss": "RegressionMSELoss"}, "method": {"protocol": "local_tables"}},
        {"settings": {"test_share": 0.5, "rows": 500}},
        {"settings": {"loss": "RegressionMSELoss", "active": "first"}},
    ],
)
def test_what_works_is_taken(words):
    assert planned(**words).n_cells >= 1


def test_what_passive_columns_do_not_declare_is_told_where_a_method_needs_it():
    """capital-gain, column 10 of Adult, has a range and no edges; amounts of credit cards have neither."""
    gathering = {"protocol": "feature_gathering", "protect": "dp"}
    for method, source, count, says in (
        (gathering, "adult", 7, "column 10 .* has no declared edges, which edges 'public' needs"),
        (
            gathering | {"n_bins": 10},
            "credit_default",
            3,
            "column 11 .* has no declared bounds, which n_bins 10",
        ),
        (
            gathering | {"protect": "op_boost"},
            "credit_default",
            3,
            "column 11 .* has no declared bounds, which extremes",
        ),
        ({"protocol": "tables"}, "adult", 7, "column 10 .* has no declared edges, which the tables are made of"),
        ({"protocol": "local_tables"}, "adult", 7, "column 10 .* has no declared edges, which the tables are made of"),
    ):
        with pytest.raises(CertificationError, match=says) as caught:
            planned(grid={"parties": [count]}, method=method, dataset=source)
        assert isinstance(caught.value, ConfigError) and "studies.vertical_trees.cases.made" in str(caught.value)
        assert planned(grid={"parties": [2]}, method=method, dataset=source).n_cells == 1
    scattering = {"protocol": "label_scattering", "edges": "public", "n_bins": None}
    with pytest.raises(ConfigError, match=r"column 10 .* has no declared edges") as caught:
        planned(grid={"parties": [7]}, method=scattering, dataset="adult")
    assert not isinstance(caught.value, CertificationError)
    assert planned(grid={"parties": [7]}, method=gathering | {"n_bins": 10}, dataset="adult").n_cells == 1


def test_regression_needs_a_public_bound_where_tables_or_slots_rest_on_it():
    with pytest.raises(CertificationError, match="residual_bound is None, and residuals of regression have no bound"):
        planned(method={"protocol": "tables"}, dataset="abalone")
    with pytest.raises(ConfigError, match="residual_bound is None, and the slots of 'sized' need one"):
        planned(method={"protocol": "label_scattering", "cipher": "sized"}, dataset="abalone")
    for method in (
        {"protocol": "tables", "residual_bound": 5.0},
        {"protocol": "local_tables"},
        {"protocol": "label_scattering", "cipher": "identity"},
        {"protocol": "feature_gathering", "protect": "dp"},
    ):
        assert planned(method=method, dataset="abalone").n_cells == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            {"dataset": "abalone", "settings": {"loss": "CrossEntropyLoss"}},
            "loss is 'CrossEntropyLoss': the lab",
        ),
        ({"dataset": "adult_split", "grid": {"folds": 5}}, "grid.folds is 5: these data have their own test rows"),
        (
            {"dataset": "adult_split", "settings": {"test_share": 0.5}},
            "test_share is 0.5: dataset .adult_split. has its own test rows; leave it out",
        ),
        ({"dataset": "abalone", "settings": {"dims": [4, 9]}}, r"dims is \[4, 9\]: its last end must be 8"),
        (
            {"method": {"protocol": "local_tables", "algo": "rf"}},
            "algo is 'rf': tables are boosted; use 'xgb' or 'gbdt'",
        ),
        (
            {"method": {"protocol": "local_tables", "as_published": True}},
            "as_published is true: this method is none of",
        ),
        ({"method": {"protocol": "label_scattering", "key_size": 1024}}, "key_size is 1024: it must be at least 2048"),
        (
            {"method": {"protocol": "feature_gathering", "epsilon_prt": 1.0}},
            "epsilon_prt is 1.0: it is read with variant",
        ),
        ({"method": {"protocol": "pooled", "protect": "dp"}}, "protect is unknown"),
        (
            {"settings": {"test_share": 0}, "method": {"protocol": "feature_gathering", "inference": "ss"}},
            "inference is 'ss', and test_share 0 leaves no rows to score",
        ),
        ({"method": GATHERING | {"protect": "dp", "n_bins": 1}}, r"n_bins is 1: it must lie in \[2, 10000\]"),
        (
            {"method": GATHERING | {"protect": "op_boost", "lower_bound": 5, "upper_bound": 5}},
            "lower_bound and upper_bound are 5 and 5: they must be increasing",
        ),
        (
            {"method": GATHERING | {"protect": "op_boost", "variant": "adjusting", "partition_num": 7}},
            "partition_num is 7: it must divide the 100 integers",
        ),
        ({"method": GATHERING | {"protect": "laplace"}}, "protect is 'laplace': it must be one of none, dp, op_boost"),
        ({"method": GATHERING | {"edges": "quantile"}}, "edges is 'quantile': it is read with protect 'dp' only"),
        ({"grid": {"epsilon": [0.0]}}, r"epsilon\[0\] is 0.0: it must be greater than 0"),
    ],
)
def test_what_contradicts_the_data_or_the_protocol_is_named(words, says):
    with pytest.raises(ConfigError, match=says):
        planned(**words)


@pytest.mark.parametrize("protocol", ["tables", "own_trees:PROTOCOL"])
def test_a_number_of_trees_that_was_chosen_by_held_out_values_is_infinite(protocol):
    cells = {}
    for select_by in ("none", "test_loss"):
        method = {"protocol": protocol, "num_of_trees": 3} | ({"cipher": "sized"} if protocol == "tables" else {})
        made = planned({"n": 200, "d": 4}, method=method | {"select_by": select_by})
        (cells[select_by],) = run(made, "made", "tried", 2, [0], [0], generate(made, "made", [0], "resources"))
    one, other = cells["none"].scalars, cells["test_loss"].scalars
    assert (one["selected_on_test"], other["selected_on_test"]) == (False, True)
    assert np.isfinite(one["epsilon_certified"]) and one["epsilon_label"] == 0
    assert (other["epsilon_certified"], other["epsilon_label"]) == (np.inf, np.inf)
    # What was certified is still told, as a part.
    assert other["epsilon_certified_part"] == one["epsilon_certified"]
    assert {row.owner for row in cells["test_loss"].ledger if row.mechanism == "none"} == {"active", "passive 1"}
