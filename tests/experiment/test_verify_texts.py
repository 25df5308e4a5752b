"""Cells computed anew: a text that is empty is the same as the one that a cube stores for it, another one is not."""

from __future__ import annotations

from dataclasses import replace

from partywise.experiment.cells import recompute
from partywise.experiment.results.verify import compare, plan_of
from small_cube import computed

BLOCK = {
    "spec": {"delta": 1e-5, "unit": "row"},
    "methods": {"blocks": {"protocol": "bcd"}},
    "grid": {"replicates": 2, "parties": [2], "folds": 1, "epsilon": [1.0]},
    "cases": {
        "easy": {"source": "generated", "settings": {"n": 200, "p": 4}, "grid": {"methods": ["blocks"]}},
        "hard": {
            "source": "generated",
            "settings": {"n": 200, "p": 4, "family": "inverse_gaussian", "mean": 30.0},
            "grid": {"methods": ["blocks"]},
        },
    },
}


def test_an_empty_reason_is_verified_and_a_wrong_one_is_seen(tmp_path):
    cube = computed("vertical_glm", BLOCK, 1, tmp_path)
    made = plan_of(cube)
    reasons = {}
    for case in ("easy", "hard"):
        where = {"case": case, "method": "blocks", "replicate": 0, "parties": 2, "fold": 0, "epsilon": float("inf")}
        cell = recompute(made, where, tmp_path)
        reasons[case] = cell.scalars["reason"]
        assert compare(cube, cell) == []
        wrong = replace(cell, scalars={**cell.scalars, "reason": "something else"})
        assert [(one.variable, one.recomputed_value) for one in compare(cube, wrong)] == [("reason", "something else")]
    assert reasons == {"easy": "", "hard": "a formula of the source overflowed"}
