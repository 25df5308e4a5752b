"""The page on intervals has every releasing method of the default configuration, with what was measured of it."""

from __future__ import annotations

import pytest

import _intervals
from partywise.models.intervals import REASONS
from pipeline import ROOT
from shipped import shipped_plans

PAGE = ROOT / "docs" / "intervals.md"


@pytest.fixture(scope="module")
def rows() -> list[dict[str, str]]:
    return _intervals.rows_of(_intervals.MEASURED)


def test_the_tables_of_the_page_are_those_of_the_measurements(rows):
    page = PAGE.read_text(encoding="utf-8")
    assert {block[2] for block in _intervals.BLOCK.finditer(page)} == set(_intervals.MADE)
    assert _intervals.filled(page, rows) == page, "run: python docs/_intervals.py"
    other = [row | {"half_width": "1" if row["half_width"] else "", "reason": "trees"} for row in rows]
    assert _intervals.filled(page, other) != page


def test_every_releasing_method_was_measured_or_has_a_listed_reason(rows):
    wanted = {
        (study, label)
        for study, planned in shipped_plans().items()
        for label, method in planned.methods.items()
        if method.draws_noise
    }
    assert {(row["study"], row["method"]) for row in rows} == wanted and len(rows) == len(wanted)
    for row in rows:
        assert (row["reason"] in REASONS) != bool(row["least"]), row
        assert not row["least"] or (float(row["half_width"]) > 0 and int(row["with_intervals"]) <= int(row["draws"]))
