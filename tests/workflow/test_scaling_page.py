"""The page on how cost grows says what was measured, and what was measured keeps what the page promises."""

from __future__ import annotations

import importlib.util
import re
from types import ModuleType

import pytest

from pipeline import ROOT

PAGE = ROOT / "docs" / "scaling.md"


@pytest.fixture(scope="module")
def scaling() -> ModuleType:
    """The module that makes the tables and the figure of the page."""
    spec = importlib.util.spec_from_file_location("_scaling", ROOT / "docs" / "_scaling.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_of_the_page_are_those_of_the_measurements(scaling):
    page, rows = PAGE.read_text(encoding="utf-8"), scaling.rows_of()
    assert {block[2] for block in scaling.BLOCK.finditer(page)} == set(scaling.MADE)
    assert scaling.filled(page, rows) == page, "run: python docs/_scaling.py"
    other = [{**row, "cpu_seconds": str(2 * float(row["cpu_seconds"]))} for row in rows]
    assert scaling.filled(page, other) != page


def test_the_figure_was_drawn_from_the_measurements(scaling):
    drawn = scaling.FIGURE.read_text(encoding="utf-8")
    assert scaling.digest() in drawn, "run: python docs/_scaling.py"
    assert "images/scaling.svg" in PAGE.read_text(encoding="utf-8")


def test_every_curve_and_study_was_measured_and_the_promises_hold(scaling):
    rows = scaling.rows_of()
    text = (ROOT / "tests" / "benchmarks" / "scaling.py").read_text(encoding="utf-8")
    for _, _, begin in scaling.PANELS:
        assert scaling.curves(rows, begin) and f'"{begin.split("/")[0]}' in text
    from partywise.experiment.study import available

    studies = set(available()) - {"privacy_audit"}
    for axis in ("records", "columns"):
        assert {what for _, what in scaling.curves(rows, f"{axis}/")} == studies
    ((_, clients),) = scaling.curves(rows, "parties").items()
    assert [int(row["size"]) for row in clients] == [100, 316, 1000, 3162, 10_000]
    assert float(clients[-1]["peak_mb"]) <= 400 and float(scaling.power(clients)) <= 1.1
    totals = [row for row in rows if row["curve"].startswith("ledger/") and int(row["size"]) == 10**6]
    spent = {(row["curve"], row["what"]): float(row["cpu_seconds"]) for row in totals}
    for curve in ("ledger/4", "ledger/10000"):
        assert spent[curve, "total of one view"] <= 10 and spent[curve, "worst of all default views"] <= 10
    assert max(int(row["size"]) for row in rows if row["curve"] == "cells/planning") == 10**6
    assert {int(row["size"]) for row in rows if row["curve"].startswith("messages/")} >= {10**6}


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0"), (0.0123456, "0.0123"), (1.5, "1.50"), (254, "254"), (2545.6, "2,550"), (1234567.0, "1,230,000")],
)
def test_numbers_have_three_digits(scaling, value, said):
    assert scaling.number(value) == said
    assert not re.search(r"e[+-]", scaling.number(value))


def test_the_exponent_is_that_of_a_tenfold_size(scaling):
    rows = [{"size": str(10**k), "cpu_seconds": str(100.0**k)} for k in range(1, 5)]
    assert scaling.power(rows) == "2.00"
    assert scaling.power(rows[:1]) == ""
