"""The shipped follow-up tables hold the records that are known of them, read as their descriptions say."""

from __future__ import annotations

import numpy as np
import pytest

from partywise.data.fetch import fetch
from partywise.experiment.register.numbers import Cubes
from partywise.experiment.register.printed_source import files, read
from partywise.experiment.register.table import read as read_claims
from partywise.experiment.register.verdict import verdict
from partywise.studies.federated_survival.cases import read_table
from partywise.studies.federated_survival.tables import RESOURCE, TABLES
from pipeline import ROOT

RESOURCES = ROOT / "resources"
# Records, events until the horizon (Therneau's survival package, whose tables these are), and covariates.
KNOWN = {
    "rotterdam": (2982, 1644, 6),
    "gbsg": (686, 285, 7),
    "colon": (929, 446, 9),
    "flchain": (7874, 2055, 5),
    "veteran": (137, 118, 0),
    "ncctg": (228, 159, 0),
}


@pytest.fixture(scope="module", autouse=True)
def fetched():
    fetch(RESOURCE, RESOURCES / RESOURCE)


@pytest.mark.parametrize("name", sorted(KNOWN))
def test_a_table_has_its_records_and_events(name):
    times, events, covariates, sizes = read_table(name, RESOURCES)
    before = events & (times <= TABLES[name].horizon)
    assert (len(times), int(before.sum()), covariates.shape[1]) == KNOWN[name]
    assert sum(sizes) == len(times)
    assert np.all(np.isfinite(covariates)) and times.min() >= 0


def test_records_of_two_studies_are_two_hospitals():
    times, _, covariates, sizes = read_table("breast_hospitals", RESOURCES)
    assert sizes == (2982, 686) and len(times) == 3668
    # Sizes are classes in one file and millimetres in the other: both give indicators.
    assert set(np.unique(covariates[:, 2:5])) == {0.0, 1.0}


def test_both_rows_of_a_person_stay_together():
    times, _, _, _ = read_table("colon_persons", RESOURCES)
    assert len(times) == 1858 and TABLES["colon_persons"].rows_per_user == 2


def test_what_the_register_says_of_veteran_is_computed_anew(monkeypatch):
    """Patients, weekly curves and cells of one: the rows that need a table."""
    monkeypatch.chdir(ROOT)
    entries = {entry.id: entry for path in files() for entry in read(path).entries}
    rows = [row for row in read_claims(ROOT / "docs" / "claims.csv") if "veteran" in row.id]
    assert len(rows) == 8
    for row in rows:
        ours = Cubes(ROOT).number(entries[row.id].reproduction)
        assert ours is not None and float(row.reproduction) == pytest.approx(ours.value, rel=1e-3, abs=1e-9), row.id
        assert verdict(entries[row.id], ours).status == row.status, row.id
