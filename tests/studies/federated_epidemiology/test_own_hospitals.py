"""Own tables by configuration alone: the arrays of the files, what is missing, mistakes, the draft and the example."""

from __future__ import annotations

import copy
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partywise as pw
from own_row_mistakes import sites
from own_rows import SETTINGS, Change, OwnRows, cell, column, every, many, setting, without
from partywise.__main__ import main
from partywise.core.errors import ConfigError, DataMissing
from partywise.experiment.cells import run
from partywise.experiment.configuration.text import questions
from partywise.experiment.data import generate
from partywise.experiment.owner_outputs import estimate_rows
from partywise.experiment.plans import plans, read_configuration
from pipeline import ROOT

STUDY = "federated_epidemiology"
EXAMPLE = ROOT / "config" / "my_epidemiology.example.yaml"
C = f"studies.{STUDY}.cases.own.settings."

pytestmark = pytest.mark.usefixtures("folder")


def asking(**keys: Any) -> Change:
    """Questions with other keys; None takes one out."""
    block = copy.deepcopy(SETTINGS[STUDY]["questions"]) | keys
    return setting(questions={key: value for key, value in block.items() if value is not None})


def made(folder: Path, *changes: Change) -> tuple[OwnRows, Any]:
    own = OwnRows(STUDY, folder)
    for change in changes:
        change(own)
    return own, own.data()


def test_clients_are_the_arrays_that_their_rows_hold(folder):
    own, data = made(folder)
    header, rows = own.rows[0], np.array(own.rows[1:])
    order = np.concatenate([np.flatnonzero(rows[:, 1] == name) for name in ("north", "south")])
    for name in ("kind", "late", "person"):
        np.testing.assert_array_equal(data.columns[name], rows[order, header.index(name)])
    for name in ("age", "flow"):
        np.testing.assert_array_equal(data.columns[name], rows[order, header.index(name)].astype(float))
    assert data.sizes == (60, 60) and data.client_names == ("north", "south")
    _, apart = made(folder, sites())
    for name, values in data.columns.items():
        np.testing.assert_array_equal(values, apart.columns[name])


def test_what_is_empty_or_not_declared_is_missing_and_the_owner_reads_how_many(folder, caplog):
    changes = (
        cell(1, "kind", "w"),
        cell(2, "kind", ""),
        cell(3, "kind", "NA"),
        cell(4, "age", ""),
        cell(5, "person", ""),
    )
    with caplog.at_level("WARNING", "partywise"):
        _, data = made(folder, *changes, asking(may_be_missing=["age"]))
    assert "data.csv: 1 value of 'kind' is not among the levels and counted as missing." in caplog.text
    assert len(data) == 120 and np.isnan(data.columns["age"]).sum() == 1
    table = data.exact.table("late", "kind")
    assert table.values.reshape(2, 4).sum(axis=0)[-1] == pytest.approx(3)
    # A cause that is empty is a censoring.
    assert (data.columns["person"] == "").sum() == 1


@pytest.mark.parametrize(("rows", "records"), [(3, 120), (1, 40)])
def test_persons_with_several_rows_are_protected_as_a_whole(folder, rows, records):
    """All rows of a person for three times the cost of one, or the first row of each for the cost of one."""
    changes = asking(incidence=None), setting(user="person", rows_per_user=rows, target="cohort")
    own, data = made(folder, *changes)
    assert len(data) == records and data.sizes == (records // 2, records // 2)
    own.block["spec"]["unit"] = "user"
    [fitted] = own.fit()
    assert fitted.scalars["epsilon_certified"] == pytest.approx(1.0, rel=1e-9)
    assert fitted.scalars["n_protected"] == 40


MISTAKES: dict[str, tuple[Change, str]] = {
    "persons": (
        many(asking(incidence=None), setting(user="person", rows_per_user=3)),
        C + "target is 'population' with rows_per_user 3: rows of one person are not independent;",
    ),
    "question without its column": (
        asking(table_one=["kind", "sex"]),
        C + "questions has 'sex', which is not among the columns: list it with levels: [...] or edges",
    ),
    "mean without a range": (
        column(0, bounds=None),
        C + "questions.means has 'age', whose column lacks what it needs: give it bounds: [low, high].",
    ),
    "table of a number": (
        column(0, edges=None),
        C + "questions has 'age', whose column lacks what it needs: give it levels: [...] or edges: [...], the ends",
    ),
    "column that is not asked for": (
        asking(by=None, complete=None),
        C + "columns has 'late', which the questions do not read: ask for it, or leave it out.",
    ),
    "edges that turn": (column(0, edges=[18, 60, 40]), C + "columns[0].edges is [18.0, 60.0, 40.0]: give at least one"),
    "levels that repeat": (column(1, levels=["x", "x"]), C + "columns[1].levels is ['x', 'x']: give at least two"),
    "unknown word": (asking(stratify=["kind"]), C + "questions.stratify is unknown"),
    "complete without a table": (
        asking(complete=["flow"]),
        C + "questions.complete has 'flow', which is not a column of a table: leave it out.",
    ),
    "means of the time": (
        asking(incidence=[{"time": "age", "cause": "person", "causes": ["p01"], "horizon": 4}]),
        C + "columns has 'age', which is the questions.incidence[0].time: take it out of one of them.",
    ),
    "horizon of nothing": (
        asking(incidence=[{"time": "flow", "cause": "person", "causes": ["p01"], "horizon": 0}]),
        C + "questions.incidence[0].horizon is 0.0: it must be a positive finite number",
    ),
    "a condition that is not a level": (
        asking(where={"kind": ["w"]}),
        C[:-1] + ": where.kind is 'w': it is not among the levels x, y, z",
    ),
    "a table of too many cells": (
        column(0, edges=list(range(3000))),
        C[:-1] + ": the table late x age has 5998 cells, more than 5000: give 'age' fewer levels",
    ),
    "another target": (setting(target="hospital"), C + "target is 'hospital': it must be one of population, cohort"),
    "no questions": (without("questions"), C + "questions is missing: give a block of keys."),
    "time that is negative": (
        cell(3, "flow", "-1.5"),
        "data.csv: flow is -1.5 in row 4, which is negative: count time from the start of follow-up, and correct it.",
    ),
    "time that is missing": (cell(3, "flow", ""), "data.csv: flow is missing in 1 of 120 rows (row 4): fill it in"),
    "complete column with a gap": (cell(3, "late", ""), "data.csv: late is missing in 1 of 120 rows (row 4)"),
    "complete column with another level": (
        cell(3, "late", "2"),
        "data.csv: late is '2' in row 4: its levels are 0, 1; correct it, add the level, or take the column out of",
    ),
    "a word for a number": (cell(3, "age", "old"), "data.csv: age is 'old' in row 4, which is not a number"),
    "another unit": (every("age", "2000"), "data.csv: age is outside its bounds [18, 80] in 60 of 60 rows"),
    "client without records": (
        many(setting(parties=["north", "south", "east"]), lambda own: own.grid.update(parties=[3])),
        "data.csv: client 'east' has no records: leave the client out, or bring its rows.",
    ),
    "another number of parties": (
        lambda own: own.grid.update(parties=[3]),
        f"studies.{STUDY}.cases.own.grid.parties is 3: the case has the clients north, south; give 2.",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_sentence_with_value_and_remedy(name, folder):
    change, sentence = MISTAKES[name]
    own = OwnRows(STUDY, folder)
    change(own)
    with pytest.raises((ConfigError, DataMissing)) as raised:
        own.data()
    assert str(raised.value).startswith(sentence), str(raised.value)


def test_two_commands_draft_what_is_answered_and_run(folder, capsys):
    """Every public number is asked for; what the file has is in comments, which a part for others lacks."""
    file = str(ROOT / "config" / "example_data" / "wards.csv")
    assert main(["check-data", file, "--study", STUDY, "--into", "mine.yaml"]) == 0
    capsys.readouterr()
    draft = Path("mine.yaml")
    text = draft.read_text()
    keys = [line.strip().partition(":")[0] for line in text.splitlines() if ": ?  #" in line]
    assert keys == [
        *["levels"] * 3,
        *["bounds"] * 2,
        "levels",
        "bounds",
        "levels",
        "by",
        "cross",
        "complete",
        "may_be_missing",
    ]
    assert len(questions(text)) == len(keys)
    answers = ["[placebo, drug]", "[f, m]", "[never, past, now]", "[30, 90]", "[15, 45]", '["no", "yes"]', "[0, 8]"]
    answers += ["[relapse, death, well]", "arm", "[[arm, died]]", "[arm, sex, died]", "[bmi]"]
    for answer in answers:
        text = text.replace("?  #", f"{answer}  #", 1)
    draft.write_text(text)
    chosen = plans(read_configuration(draft))[STUDY]
    data = generate(chosen, "own_files", [0], folder)
    assert len(data[0]) == 1600 and data[0].client_names == ("north", "old town", "river")
    for label in chosen.methods:
        fitted = run(chosen, "own_files", label, [3], [0], [0], data)[0]
        assert fitted.scalars["status"] == "ok" and fitted.owner_report is not None
    assert main(["check-data", file, "--study", STUDY, "--me", "north", "--into", "part.yaml"]) == 0
    assert "smoker" not in Path("part.yaml").read_text()


def test_the_example_has_the_numbers_of_the_estimator():
    """The same records as a frame: every number and interval of the pooled tables, and every number has one."""
    config = read_configuration(EXAMPLE)
    chosen = plans(config)[STUDY]
    with chdir(ROOT):
        data = generate(chosen, "my_trial", [0], ROOT)
    exact = run(chosen, "my_trial", "pooled", [3], [0], [0], data)[0]
    noisy = run(chosen, "my_trial", "tables", [3], [0], [0], data)[1]
    assert exact.owner_report is not None and noisy.owner_report is not None
    model = pw.FederatedEpidemiology(data[0].questions, "reference").fit(data[0].columns, parties=3)
    rows = {row.name: row for row in estimate_rows(exact.owner_report.model)}
    answers = model.answers()
    assert len(answers) == 55 and {answer.name for answer in answers} <= rows.keys()
    for answer in answers:
        row = rows[answer.name]
        assert (row.estimate, row.lower, row.upper) == (answer.estimate, answer.lower, answer.upper)
    assert noisy.coords["epsilon"] == 2.0 and noisy.scalars["epsilon_certified"] == pytest.approx(2.0, rel=1e-9)
    released = [row for row in estimate_rows(noisy.owner_report.model) if row.lower is not None]
    widths = [(row.upper - row.lower) / (rows[row.name].upper - rows[row.name].lower) for row in released]
    assert len(released) == 55 and 1.2 < np.exp(np.mean(np.log(widths))) < 2.0


def test_the_page_has_the_widths_of_the_example():
    """Means over five replicates, as the summary prints them."""
    chosen = plans(read_configuration(EXAMPLE))[STUDY]
    with chdir(ROOT):
        data = generate(chosen, "my_trial", range(5), ROOT)
    cells = run(chosen, "my_trial", "tables", [3], range(5), [0], data)
    widths = [[float(one.scalars["width_ratio"]) for one in cells if one.coords["epsilon"] == e] for e in (1, 2, 4)]
    row = " | ".join(f"{np.mean(values):.2g}" for values in widths)
    page = (ROOT / "docs" / "your_own_data.md").read_text(encoding="utf-8")
    assert f"| `tables`: width of the intervals over those of pooled records | {row} |" in page
