"""The page of the study says what runs do."""

from __future__ import annotations

from glm_wire_table import ALIGNMENTS, METHODS, PAGE, block, written
from partywise.experiment.study import load


def test_the_wire_table_of_the_page_is_that_of_runs():
    text = PAGE.read_text(encoding="utf-8")
    assert written(text) == text, "run python tests/support/glm_wire_table.py to write the table anew"


def test_every_protocol_of_the_study_has_a_row():
    shown = {entry["protocol"] for entry in block()["methods"].values()}
    assert shown == set(load("vertical_glm").methods)
    assert {entry["alignment"] for entry in ALIGNMENTS.values()} == {"psi", "hmac", "sha256"}
    joint = {(e.get("solver"), e.get("link")) for e in METHODS.values() if e["protocol"] == "joint"}
    assert joint == {(None, None), ("lbfgs", None), ("lbfgs", "shared")}
