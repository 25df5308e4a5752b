"""The register that is committed: complete, consistent with its page and the README, and computed."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest

from partywise.experiment.cells import recompute
from partywise.experiment.register.numbers import Cubes
from partywise.experiment.register.printed_source import files, read
from partywise.experiment.register.register import number_of, number_text
from partywise.experiment.register.table import RegisterRow, counts
from partywise.experiment.register.table import read as read_table
from partywise.experiment.register.text import chance, closeness, page, sentence
from partywise.experiment.register.verb import MARKED, fit_notes, notable, notes
from partywise.experiment.register.verdict import RULE, STATUSES, verdict
from partywise.studies.sliced_inverse_regression.metrics import printed_table
from pipeline import ROOT
from shipped import shipped_plans

ROWS = read_table(ROOT / "docs" / "claims.csv")
PRINTED = [read(path) for path in files()]
PAGE = page(ROWS, notable(PRINTED), notes(PRINTED), fit_notes(PRINTED))
# What reads a table that is fetched.
NEEDS_TABLES = re.compile("flights|veteran|^tableone|^statsmodels-arthritis|^berkeley|^nhefs|^mgus2")
ENTRIES = {entry.id: entry for file in PRINTED for entry in file.entries}


def test_every_entry_is_in_it_once_and_has_a_status():
    assert len(ROWS) >= 700 and {row.source for row in ROWS} == {file.document for file in PRINTED}
    assert Counter(row.id for row in ROWS) == Counter(list(ENTRIES))
    assert {row.status for row in ROWS} <= set(STATUSES)
    assert sum(counts(ROWS).values()) == len(ROWS)


def test_what_is_printed_stands_in_it_as_printed():
    for row in ROWS:
        entry = ENTRIES[row.id]
        assert (row.printed, row.spread, row.place, row.kind) == (entry.printed, entry.spread, entry.place, entry.kind)


def test_whatever_is_not_reproduced_says_why():
    for row in ROWS:
        assert bool(row.because) == (row.status in ("differs", "not reproducible")), row.id
        assert row.status != "refuted" or row.kind.startswith(("epsilon", "claimed", "hidden")), row.id


def test_numbers_have_what_made_them():
    for row in ROWS:
        if row.configuration:
            assert (ROOT / row.configuration).is_file() and row.command == f"./run --configfile {row.configuration}"
            assert row.case and row.method and row.variable and row.cpu_minutes, row.id
        if row.kind == "value" and row.id.startswith(("001-table", "001-bracket")):
            assert int(row.replicates) >= 30 and float(row.se) > 0, row.id


def test_all_cells_of_the_four_tables_are_there():
    cells = [row for row in ROWS if row.id.startswith("001-table") and row.spread]
    assert len(cells) == len(printed_table()) == 560
    means = Counter(float(row.printed) for row in cells)
    assert means == Counter(cell.mean for cell in printed_table().values())


def test_the_pages_and_the_readme_are_what_the_file_says():
    appendix = (ROOT / "docs" / "artifact_appendix.md").read_text(encoding="utf-8")
    assert RULE in appendix and chance(ROWS) in appendix
    assert all(f"| {row.because.partition(' (there ')[0]}." in PAGE for row in ROWS if row.because)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    marked = MARKED.search(readme)
    assert marked is not None and sentence(ROWS, fit_notes(PRINTED)) in marked[0]
    clause = "The constants of FSIR, which its paper does not print, were fitted to its Tables 1 and 2"
    told = re.search(
        rf"Of the reproduced ones, (\d+) are numbers within 5% of the printed one, (\d+) are so only after "
        rf"allowing for its rounding, and (\d+) are printed as 0\. {clause}\.",
        marked[0],
    )
    assert told is not None
    close, rounded, zero = map(int, told.groups())
    near = [row for row in ROWS if row.within_5_percent == "yes" and row.status == "reproduced"]
    printed = [(Fraction(row.printed), Fraction(row.reproduction)) for row in near]
    assert close == sum(a != 0 and 20 * abs(b - a) <= abs(a) for a, b in printed)
    assert zero == sum(a == 0 for a, _ in printed) and close + rounded + zero == len(near)
    assert len(notable(PRINTED)) >= 30


def test_what_is_close_is_counted_apart_from_what_rounding_makes_close():
    row = next(row for row in ROWS if row.within_5_percent == "yes" and row.status == "reproduced")
    cases = [("1.00", "1.05"), ("-2.0", "-1.91"), ("0.1", "0.13"), ("0.0", "0.04")]
    rows = [replace(row, printed=printed, reproduction=ours) for printed, ours in cases]
    rows += [replace(row, status="differs"), replace(row, within_5_percent="no")]
    assert closeness(rows) == (2, 1, 1)


def test_comparisons_that_chance_decides_are_counted():
    near = [row for row in ROWS if row.kind in ("at_most", "at_least", "between") and row.z and abs(float(row.z)) < 1]
    held = sum(row.status == "reproduced" for row in near)
    assert 0 < held < len(near)
    told = f"{len(near)} bounds and comparisons lie within one standard error of their bound"
    assert told in chance(ROWS) and f"for the {held} that count" in chance(ROWS)


def restated(row: RegisterRow) -> str:
    """The status by the rule from the numbers in the file, for kinds whose numbers are all in it."""
    entry = ENTRIES[row.id]
    computed = entry.reproduction is not None and entry.reproduction.function
    ours = number_of(entry, Cubes(ROOT), ROWS) if computed else None
    return verdict(entry, ours).status


FUNCTIONS = [row for row in ROWS if row.variable.count(":") == 1]
# A grid of fits of one function: here every sixth point, in `./run test --long` all.
FITTED = "fedeca-accuracy-"


def computed() -> Iterator[Any]:
    """Rows of functions that read no fetched table."""
    fits = [row.id for row in FUNCTIONS if row.id.startswith(FITTED)]
    assert len(fits) > 12
    for row in FUNCTIONS:
        if not NEEDS_TABLES.search(row.id):
            left_out = row.id in fits and fits.index(row.id) % 6
            yield pytest.param(row, marks=pytest.mark.statistical if left_out else ())


@pytest.mark.parametrize("row", list(computed()), ids=lambda row: row.id)
def test_what_functions_compute_is_computed_anew(row, monkeypatch):
    monkeypatch.chdir(ROOT)
    ours = number_of(ENTRIES[row.id], Cubes(ROOT), ROWS)
    assert float(row.reproduction) == pytest.approx(ours.value, rel=1e-3, abs=1e-9) and restated(row) == row.status


CHEAP = (
    ("001-table1-I-500-FSIR-VGM-K1", 50),
    pytest.param("001-table2-V-500-FSIR-IID-K1", 50, marks=pytest.mark.statistical),
    pytest.param("003-strength-epsilon-1.0", 30, marks=pytest.mark.statistical),
)


def silent(compute: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """What is computed at a delta of more than 1/n is warned of, each time."""

    def quiet(*given: float) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "epsilon_claimed is at a total delta")
            return compute(*given)

    return quiet


@pytest.mark.parametrize(("name", "replicates"), CHEAP)
def test_a_sample_of_cells_is_computed_anew(name, replicates):
    row, entry = next(row for row in ROWS if row.id == name), ENTRIES[name]
    made = shipped_plans(ROOT / row.configuration)[row.study]
    place = {"case": row.case, "method": row.method, "parties": int(row.parties), "fold": 0}

    @silent
    def values(epsilon: float) -> np.ndarray:
        cells = [recompute(made, {**place, "replicate": r, "epsilon": epsilon}, "resources") for r in range(replicates)]
        return np.array([float(cell.scalars[row.variable]) for cell in cells])

    found = values(float(row.epsilon))
    if entry.reproduction.minus:
        found = found - values(entry.reproduction.minus["epsilon"])
    assert int(row.replicates) == replicates and row.reproduction == number_text(found.mean())
    assert row.se == number_text(found.std(ddof=1) / sqrt(replicates), 3)


def test_a_number_that_moved_is_seen():
    """The tests above can fail: another printed number, another status."""
    row = next(row for row in ROWS if row.id == "002-sensitivity-5")
    moved = replace(ENTRIES[row.id], printed="6")
    assert verdict(moved, Cubes(ROOT).number(moved.reproduction)).status == "differs" != row.status
