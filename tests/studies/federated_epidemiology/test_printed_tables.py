"""Printed tables of others: what the register says is computed anew, and agrees to the digits that are printed."""

from __future__ import annotations

import re
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from partywise.data.fetch import fetch
from partywise.experiment.register.numbers import Cubes
from partywise.experiment.register.printed_source import STUDIES, read
from partywise.experiment.register.register import rows
from partywise.experiment.register.table import read as read_table
from partywise.experiment.register.verdict import half_unit
from partywise.studies.federated_epidemiology.cases import read_cohort
from partywise.studies.federated_epidemiology.tables import RESOURCE, TABLES
from pipeline import ROOT

DOCUMENTS = ("berkeley", "mgus2", "nhefs_table", "statsmodels_tables", "tableone")
SOURCES = [read(STUDIES / "federated_epidemiology" / "register" / f"{name}.toml") for name in DOCUMENTS]
ENTRIES = [entry for source in SOURCES for entry in source.entries if entry.kind == "value"]
# What the product computes otherwise than the source: quartiles from bands, other laws, another variance.
OTHERWISE = {
    "tableone-.*-(median|(lower|upper)-quartile)-.": 0.04,
    "tableone-.*-smd": 0.02,
    "tableone-(age|sex)-p": 0.3,
    "tableone-.*-p": 0.04,
    "nhefs-difference-(lower|upper)": 0.05,
}


@pytest.fixture(scope="module", autouse=True)
def fetched():
    fetch(RESOURCE, ROOT / "resources" / RESOURCE)


@pytest.fixture(autouse=True)
def at_root(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("source", SOURCES, ids=DOCUMENTS)
def test_the_register_is_computed_anew(source):
    committed = [row for row in read_table(ROOT / "docs" / "claims.csv") if row.source == source.document]
    assert rows([source], Cubes(ROOT)) == committed


def column_of(entry) -> str:
    """Column of a mean or a standard deviation."""
    return entry.words["name"].partition(" |")[0].rpartition(" of ")[2]


def resolution(entry) -> float:
    """What rounding of a value to 1/4,096 of its range can change of a mean."""
    ranges = {c.name: c.bounds or (0.0, 3.0) for table in TABLES.values() for c in table.columns}
    low, high = ranges[column_of(entry)]
    return (high - low) / 4096


def records(entry) -> int:
    """Number of records behind a standard deviation."""
    name, group = column_of(entry), entry.words["name"].partition("treatment = ")[2]
    columns = read_cohort("pbc", Path("resources"), all_rows=True)
    known = columns[name] != "" if columns[name].dtype.kind == "U" else np.isfinite(columns[name])
    return int(np.sum(known & (columns["treatment"] == group))) if group else int(np.sum(known))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_numbers_agree_to_their_printed_digits(entry):
    number = Cubes(ROOT).number(entry.reproduction)
    printed, distance = float(entry.printed), half_unit(entry.printed) + 1e-9
    tolerance = next((share for name, share in OTHERWISE.items() if re.fullmatch(name, entry.id)), None)
    value = number.value
    if tolerance is not None:
        distance += tolerance * abs(printed)
    elif entry.quantity == "standard deviation":
        n = records(entry)
        value, distance = value * sqrt(n / (n - 1)), distance + resolution(entry)
    elif entry.quantity in ("mean", "difference of means"):
        distance += resolution(entry) / 10
    assert abs(value - printed) <= distance, (value, printed)


def test_the_page_counts_what_holds_and_what_agrees_to_all_digits():
    numbers = [(entry, Cubes(ROOT).number(entry.reproduction).value) for entry in ENTRIES]
    exact = sum(abs(value - float(entry.printed)) <= half_unit(entry.printed) + 1e-9 for entry, value in numbers)
    page = (ROOT / "docs" / "federated_epidemiology.md").read_text(encoding="utf-8")
    assert f"Of {len(ENTRIES)} numbers that the product has, {exact} agree to all printed digits." in page
    committed = [row for row in read_table(ROOT / "docs" / "claims.csv") if row.source in DOCUMENTS]
    for name in DOCUMENTS:
        statuses = [row.status for row in committed if row.source == name]
        held = statuses.count("reproduced")
        said = "all **hold**" if held == len(statuses) else f"{held} **hold**"
        assert re.search(rf"\| {len(statuses)} numbers \| {re.escape(said)}", page), name


def test_a_number_that_moved_would_be_seen():
    entry = next(entry for entry in ENTRIES if entry.id == "berkeley-common-odds-estimate")
    assert abs(Cubes(ROOT).number(entry.reproduction).value - 0.9046969) > half_unit(entry.printed)
