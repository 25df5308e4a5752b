"""The tables beside a cube: tidy rows, the dictionary, what crossed, and the summary."""

from __future__ import annotations

import csv
from dataclasses import replace
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest

import toy
from gathered import gather, make_blocks, table
from partywise.core.verdicts import STATUSES
from partywise.experiment.differences.difference import difference
from partywise.experiment.jobs import JobCost, Timings
from partywise.experiment.plan import Plan
from partywise.experiment.results.attributes import meanings
from partywise.experiment.results.compare import compare_cubes
from partywise.experiment.results.cube import DIMS, open_cube
from partywise.experiment.tables.summary import averages
from partywise.privacy.accountants import accountants
from printed_rows import printed_rows


@pytest.fixture(scope="module")
def plan() -> Plan:
    return toy.toy_plan()


@pytest.fixture(scope="module")
def blocks(plan, tmp_path_factory) -> list[Path]:
    return make_blocks(plan, tmp_path_factory.mktemp("blocks"))


@pytest.fixture(scope="module")
def gathered(plan, blocks, tmp_path_factory) -> Path:
    return gather(plan, blocks, tmp_path_factory.mktemp("gathered"))


def test_tidy_is_the_cube_cell_by_cell_to_the_last_bit(gathered):
    """Every number read back from its text is the cube's double, every word the cube's word, and no fit is left out."""
    cube, rows = open_cube(gathered / "cube.nc"), table(gathered / "tidy.csv")
    scalars = [str(name) for name in cube.data_vars if set(cube[name].dims) == set(DIMS)]
    keys = ["case", "method", "replicate", "parties", "fold", "epsilon"]
    others = sorted(set(scalars) - {"status"})
    assert list(rows[0]) == [*keys, "case_title", "method_title", "method_protocol", "status", *others]
    words = {name for name in scalars if cube[name].attrs.get("flag_meanings", "false true") != "false true"}
    told = {name: meanings(cube[name]) if name in words else cube[name] for name in scalars}
    places, seen = [], set[type]()
    for row in rows:
        labels = [kind(row[key]) for kind, key in zip((str, str, int, int, int, float), keys, strict=True)]
        place = tuple(cube[dim].values.tolist().index(label) for dim, label in zip(DIMS, labels, strict=True))
        places.append(place)
        assert row["case_title"] == str(cube["case_title"].values[place[0]])
        assert row["method_protocol"] == str(cube["method_protocol"].values[place[1]])
        for name in scalars:
            value = told[name].values[place]
            seen.add(type(value))
            if isinstance(value, str):
                assert row[name] == value
            elif np.isnan(value):
                assert row[name] == "", name
            else:
                assert float(row[name]).hex() == float(value).hex(), (name, row[name])
    assert places == [tuple(place) for place in np.argwhere(cube["status"].values > 0).tolist()]
    assert {row["certified"] for row in rows} == {"0", "1"} and {row["large"] for row in rows} == {"", str(2**40)}
    assert str in seen and np.float64 in seen and "inf" in {row["epsilon"] for row in rows}


def test_tidy_does_not_depend_on_how_many_fits_become_text_at_a_time(plan, blocks, gathered, tmp_path, monkeypatch):
    for most in (1, 3):
        monkeypatch.setattr("partywise.experiment.tables.dictionary.MOST_FITS", most)
        again = gather(plan, blocks, tmp_path / str(most))
        assert (again / "tidy.csv").read_bytes() == (gathered / "tidy.csv").read_bytes()


def test_the_dictionary_has_every_column_of_every_table_and_no_other(gathered, tmp_path):
    Timings({("one", "clear"): JobCost(1, 1.0, 1.0)}).write(tmp_path / "timings.csv")
    rows, found = table(gathered / "dictionary.csv"), dict[str, list[str]]()
    assert list(rows[0]) == ["table", "column", "meaning", "unit"] and all(all(row.values()) for row in rows)
    for row in rows:
        found.setdefault(row["table"], []).append(row["column"])
    for name in ("tidy.csv", "summary.csv", "ledger.csv", "ledger_totals.csv"):
        assert found.pop(name) == list(table(gathered / name)[0]), name
    with (gathered / "predictions.csv").open(encoding="utf-8", newline="") as handle:
        assert found.pop("predictions.csv") == next(csv.reader(handle))
    assert found.pop("timings.csv") == list(table(tmp_path / "timings.csv")[0])
    head = next(line for line in (gathered / "wire.md").read_text().splitlines() if line.startswith("|"))
    assert found.pop("wire.md") == [cell.strip() for cell in head.strip("|").split("|")]
    assert not found
    assert rows[0]["meaning"] in (gathered / "tables.html").read_text()
    cube = open_cube(gathered / "cube.nc")
    told = {row["column"]: (row["meaning"], row["unit"]) for row in rows if row["table"] == "tidy.csv"}
    scalars = [name for name in cube.data_vars if set(cube[name].dims) == set(DIMS) and name != "status"]
    assert len(scalars) > 20
    assert all(told[name] == (cube[name].attrs["long_name"], cube[name].attrs["units"]) for name in scalars)


def test_wire_table_shows_every_method(gathered):
    text = (gathered / "wire.md").read_text()
    assert "## one, clear" in text and "## one, noisy" in text and "## two, noisy" in text
    assert "| 1 x | owner | active | sum | clear | features |  | 8 |" in text
    assert "| owner | active | sum | release | gaussian, mu 1 | 1 | 8 |" in text
    assert "Total by number of parties: 1: 1 messages, 8 bytes; 2: 1 messages, 8 bytes." in text


def test_averages_are_over_replicates_of_means_over_folds(gathered):
    cube = open_cube(gathered / "cube.nc")
    mean, error, count = averages(cube["error"].values[0, 1])
    at = (0, 1)
    values = cube["error"].values[0, 1, :, 0, :, 1]
    per_replicate = values[:2].mean(1)
    assert count[at] == 2
    assert mean[at] == pytest.approx(per_replicate.mean(), rel=1e-12)
    assert error[at] == pytest.approx(per_replicate.std(ddof=1) / np.sqrt(2), rel=1e-12)
    cube["error"].values[0, 1, 1, 0, :, 1] = nan
    mean, error, count = averages(cube["error"].values[0, 1])
    assert count[at] == 1 and np.isnan(error[at])
    assert mean[at] == pytest.approx(per_replicate[0])


def test_summary_tables(gathered):
    rows = table(gathered / "summary.csv")
    assert list(rows[0]) == [
        "study",
        "case",
        "method",
        "parties",
        "epsilon",
        "variable",
        "units",
        "mean",
        "se",
        "replicates",
        "folds",
        "heading",
        "better",
    ]
    names = {row["variable"] for row in rows}
    assert {"error", "near", "epsilon_certified"} <= names
    assert not names & {"status", "trust_model", "ledger_sha256", "nothing", "shown"}
    certified = [r for r in rows if r["variable"] == "epsilon_certified" and r["method"] == "clear"]
    assert {row["mean"] for row in certified} == {"inf"} and {row["se"] for row in certified} == {""}
    text = (gathered / "summary.txt").read_text()
    assert text.startswith("A toy (toy)\n") and "one: 2 replicates x 2 folds\n" in text
    shown = printed_rows(text)
    columns = 6 + sum(bool(kind.heading) for kind in accountants().values())
    assert len(shown) == 2 + 6 + 1 and set(map(len, shown.values())) == {columns}
    assert {row["folds"] for row in rows if row["case"] == "one"} == {"2"}
    assert {(row["heading"], row["better"]) for row in certified} == {("certified epsilon", "lower")}
    assert "epsilon at delta = 1e-05 for the unit features; inf: nothing can be certified." in text


def test_diverged_fits_are_counted_in_the_summary(tmp_path):
    one = {"methods": ("clear",), "replicates": 1, "parties": (1,), "folds": 2, "epsilon": (inf,)}
    diverging = toy.toy_plan(toy.varied(metrics=toy.lazy("metrics_diverged"), example_fits=None), one=one)
    folder = gather(diverging, make_blocks(diverging, tmp_path), tmp_path / "out")
    cube = open_cube(folder / "cube.nc")
    assert set(np.unique(meanings(cube["status"]))) == {"diverged"}
    first = "case one, method clear, replicate 0, parties 1, fold 0, epsilon inf"
    said = f"fits that are not ok: 2 diverged, the first is {first}: see status in the cube."
    assert said in " ".join((folder / "summary.txt").read_text().split())


def test_a_cube_and_its_tables_have_every_verdict_of_an_estimate(tmp_path, monkeypatch):
    """Flags of earlier cubes keep their numbers, which ``diff`` and ``compare`` read by their meanings."""
    words, fit = iter(STATUSES), toy.fit_clear
    monkeypatch.setattr(toy, "fit_clear", lambda run: replace(fit(run), status=next(words)))
    one = {"methods": ("clear",), "replicates": len(STATUSES), "parties": (1,), "folds": 1, "epsilon": (inf,)}
    plan = toy.toy_plan(one=one)
    folder = gather(plan, make_blocks(plan, tmp_path), tmp_path / "out")
    cube = open_cube(folder / "cube.nc")
    flags = cube["status"].attrs
    assert flags["flag_meanings"].split()[:4] == ["not_in_design", "ok", "not_converged", "diverged"]
    assert flags["flag_meanings"].split()[1:] == list(STATUSES) and list(flags["flag_values"]) == [
        *range(len(STATUSES) + 1)
    ]
    assert meanings(cube["status"]).values.ravel().tolist() == list(STATUSES)
    assert [row["status"] for row in table(folder / "tidy.csv")] == list(STATUSES)
    told = " ".join((folder / "summary.txt").read_text().split())
    assert f"not ok: {', '.join(f'1 {word}'.replace('_', ' ') for word in STATUSES[1:])}, the first is" in told
    old = cube.copy(deep=True)
    old["status"] = cube["status"].where(cube["status"] < 4, 3).astype(np.int8)
    old["status"].attrs = flags | {"flag_values": np.arange(4, dtype=np.int8)}
    old["status"].attrs["flag_meanings"] = "not_in_design ok not_converged diverged"
    count, cells = compare_cubes(old, cube).changes["status"]
    assert count == len(STATUSES) - 3 and cells[0].endswith("'diverged' -> 'not_finite'")
    told = [(entry.first, entry.second, entry.fits) for entry in difference("toy", old, cube).of("status")]
    assert told == [("diverged", word, 1) for word in STATUSES[3:]]
