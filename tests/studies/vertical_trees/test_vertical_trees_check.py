"""What a configuration of vertical trees contradicts by itself is told in one sentence, before any job."""

from __future__ import annotations

import pytest

from partywise.errors import ConfigError
from partywise.experiment.plan import plan

METHODS = {"pooled": {"protocol": "pooled"}}
GRID = {"methods": ["pooled"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]}


def planned(settings=None, grid=None, method=None, source="generated"):
    methods = {"tried": {"protocol": "pooled"} | (method or {})}
    case = {"source": source, "settings": settings or {}, "grid": GRID | {"methods": ["tried"]} | (grid or {})}
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
        ({"grid": {"parties": [15]}}, "grid.parties is 15: there must be 2 to 14, as every party holds a column"),
        ({"grid": {"parties": [1]}}, "grid.parties is 1: there must be 2 to 14"),
        ({"settings": {"test_share": 1.0}}, r"test_share is 1\.0: it must lie in \[0, 1\)"),
        ({"settings": {"active": "middle"}}, "active is 'middle': it must be one of last, first"),
        ({"settings": {"criterion": "MSE"}}, "criterion is 'MSE': it must be one of CrossEntropyLoss"),
        ({"settings": {"dim": [7, 14]}}, r"settings\.dim is unknown: did you mean dims"),
        (
            {"settings": {"test_share": 0.5}, "grid": {"folds": 3}},
            "test_share is 0.5: it is read with 1 fold, several folds test every row; leave it out",
        ),
        ({"settings": {"data_size_for_debug": 50}, "grid": {"folds": 3}}, "data_size_for_debug is 50: it is read with"),
        ({"settings": {"n": 100, "data_size_for_debug": 90}}, "data_size_for_debug is 90: fewer of the 100 rows train"),
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
        {"settings": {"criterion": "RegressionMSELoss"}, "method": {"protocol": "local_tables"}},
        {"settings": {"test_share": 0.5, "data_size_for_debug": 500}},
        {"settings": {"criterion": "RegressionMSELoss", "active": "first"}},
    ],
)
def test_what_works_is_taken(words):
    assert planned(**words).n_cells >= 1
