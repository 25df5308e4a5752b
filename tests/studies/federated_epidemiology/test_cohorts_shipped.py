"""The shipped cohorts hold the records that are known of them, with levels and ranges as their descriptions say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from epidemiology_driver import BERKELEY_CELLS, CITIES
from partywise.core.errors import DataMissing
from partywise.data.fetch import fetch
from partywise.methods.epidemiology.contributions import undeclared_values
from partywise.methods.epidemiology.layout import columns_of
from partywise.studies.federated_epidemiology import cases
from partywise.studies.federated_epidemiology.cases import read_cohort
from partywise.studies.federated_epidemiology.tables import RESOURCE, TABLES, shipped_questions
from pipeline import ROOT

RESOURCES = ROOT / "resources"


@pytest.fixture(scope="module", autouse=True)
def fetched():
    fetch(RESOURCE, RESOURCES / RESOURCE)


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_table_has_its_records_in_its_levels_and_ranges(name):
    table, columns = TABLES[name], read_cohort(name, RESOURCES)
    assert {len(values) for values in columns.values()} == {table.rows}
    layout = table.questions.layout()
    assert not undeclared_values(layout, columns_of(columns, layout))
    for column in table.columns:
        values = columns[column.name]
        if column.levels:
            assert set(values) - {""} == set(column.levels)
        else:
            low, high = column.bounds
            assert low <= np.nanmin(values) and np.nanmax(values) <= high
        assert not column.whole or np.all(values == np.rint(values))
        assert column.because


@pytest.mark.parametrize(("name", "cells"), [("berkeley", BERKELEY_CELLS), ("cities", CITIES)])
def test_cells_are_records(name, cells):
    table = TABLES[name]
    counts = table.questions.layout().tables[0]
    columns = read_cohort(name, RESOURCES)
    codes = [variable.codes(columns) for variable in counts.variables]
    np.testing.assert_array_equal(np.bincount(np.ravel_multi_index(codes, counts.shape)), cells.ravel())


def test_the_first_event_decides_and_an_empty_entry_has_its_meaning():
    causes = dict(zip(*np.unique(read_cohort("mgus2", RESOURCES)["cause"], return_counts=True), strict=True))
    assert causes == {"censored": 409, "malignancy": 115, "death": 860}
    arthritis = read_cohort("arthritis", RESOURCES)
    none = arthritis["treatment"][arthritis["improvement"] == "none"]
    assert [np.sum(none == arm) for arm in ("placebo", "treated")] == [29, 13]


def test_all_rows_have_those_without_a_treatment():
    assert np.sum(read_cohort("pbc", RESOURCES, all_rows=True)["treatment"] == "") == 418 - 312


@pytest.mark.parametrize(
    "change", [{"rows": 400}, {"columns": tuple(replace(c, missing=3) for c in TABLES["pbc"].columns)}]
)
def test_a_table_that_has_changed_is_refused(monkeypatch, change):
    monkeypatch.setitem(cases.TABLES, "pbc", replace(TABLES["pbc"], **change))
    with pytest.raises(DataMissing, match=r"pbc has 312 records where 400|is empty 0 times, not 3"):
        read_cohort.__wrapped__("pbc", RESOURCES)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"table_one": ["gender"]}, "'gender', which is not a column"),
        ({"means": ["sex"]}, "'sex', which has no bounds"),
        ({"table_one": ["sex"], "where": {"ward": ["a"]}}, "'ward', which is not a column"),
    ],
)
def test_a_name_without_levels_or_range_is_named(block, words):
    with pytest.raises(ValueError, match=words):
        shipped_questions(TABLES["pbc"].columns, block)
