"""Designs of question sets before data: planned half-widths are those of fits of made-up records."""

from __future__ import annotations

import json

import pytest
import yaml

from partywise.core.errors import ConfigError
from partywise.experiment.design.check import refutes
from partywise.experiment.design.plan import plan_of
from pipeline import ROOT

FILE = ROOT / "config" / "design" / "cohort.yaml"
BLOCK = yaml.safe_load(FILE.read_text(encoding="utf-8"))["design"]["treatment_and_death"]


def edited(**edits):
    block = json.loads(json.dumps(BLOCK))
    for key, value in edits.items():
        block["model"][key] = value
    return block


def test_fits_of_made_up_records_have_the_planned_half_widths():
    """All 23 numbers; the risk difference is that of the declared table although the released one has strata."""
    block = {key: value for key, value in BLOCK.items() if key != "half_width"}
    plan = plan_of({**block, "epsilon": 4.0}, "design.cohort")
    values = {row["target"]: row["value"] for row in plan.table}
    assert values["risk difference"] == pytest.approx(0.16 - 0.2)
    rows = plan.check(30)
    assert len(rows) == 23 and [row["target"] for row in rows if refutes(row)] == []


def test_the_epsilon_of_a_half_width_reaches_it():
    plan = plan_of(BLOCK, "design.cohort")
    assert 0.5 < plan.epsilon < 1.2
    assert plan.half_widths["risk difference"] <= 0.04
    assert "one release of noisy counts of 2 tables" in plan.paragraph().lower()


MISTAKES = [
    ({"because": " "}, "because is missing: state where"),
    ({"questions": {**BLOCK["model"]["questions"], "where": {"sex": ["f"]}}}, "questions.where is given"),
    ({"expectations": {"dose": 0.2}}, "expected has 'dose'"),
    ({"columns": BLOCK["model"]["columns"][1:]}, "questions has 'arm'"),
]


@pytest.mark.parametrize(("edits", "sentence"), MISTAKES, ids=[sentence for _, sentence in MISTAKES])
def test_a_mistake_ends_in_a_sentence(edits, sentence):
    with pytest.raises(ConfigError, match=sentence):
        plan_of(edited(**edits), "design.cohort")


def test_a_target_that_is_not_a_number_of_the_questions_is_named():
    with pytest.raises(ConfigError, match="'hazard ratio' is not a number of these questions: give one of sex = m"):
        plan_of({**BLOCK, "half_width": {"hazard ratio": 0.1}}, "design.cohort")
