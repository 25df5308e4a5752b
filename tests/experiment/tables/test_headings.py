"""The printed summary: public names, arrows, replicates, width, and one certified epsilon."""

from __future__ import annotations

from dataclasses import make_dataclass, replace
from typing import Any

import pytest

import toy
from partywise.experiment.measures import Heading, Measures, measure
from partywise.experiment.results.columns import CubeColumns
from partywise.experiment.study import available, load
from partywise.experiment.tables.run_totals import CELL, RUN, RunTotals
from partywise.experiment.tables.summary import EQUIVALENTS, HEADINGS, shown_variables
from partywise.experiment.tables.summary_text import LABEL, WIDTH, summary_text
from printed_rows import printed_rows


@pytest.mark.parametrize("name", available())
def test_every_variable_of_a_summary_says_which_values_are_better(name):
    """And has a name of its own for readers, short enough for a column, unlike any other of the summary."""
    study = load(name)
    own = {*study.summary} | (set() if study.certified == CELL else {study.certified})
    assert own == set(study.headings)
    words = [heading.words for heading in study.headings.values()]
    others = [h.words for variable, h in HEADINGS.items() if variable in shown_variables(design_of(study))]
    assert len({*words, *others}) == len([*words, *others])
    assert all("_" not in word and max(map(len, word.split())) <= 12 for word in words)


def design_of(study):
    """A plan that stands for its study alone."""
    return replace(toy.toy_plan(), study=study)


@pytest.mark.parametrize("name", available())
def test_a_summary_has_one_certified_epsilon_for_a_fit(name):
    shown = shown_variables(design_of(load(name)))
    assert len(set(shown)) == len(shown)
    certified = {variable for variable in shown if variable == CELL or variable.startswith("certified")}
    assert certified == {load(name).certified}
    if certified != {CELL}:
        assert not {*EQUIVALENTS, RUN} & set(shown), "they are for the unit of the study, not for that of the claim"


def test_the_audit_tells_epsilon_at_the_unit_of_the_claim():
    assert load("privacy_audit").certified == "certified_for_claim"


def test_a_summary_without_a_heading_is_refused():
    with pytest.raises(ValueError, match="heading is '': what is in a summary needs one, give it to 'a loss'"):
        measure("a loss", summary=True)


def test_a_direction_that_is_none_is_refused():
    with pytest.raises(ValueError, match="better is 'smaller'"):
        Heading("loss", "smaller")


def filled(labels: tuple[str, ...], n_variables: int) -> str:
    """The summary of a study with so many variables, under these labels of cases and methods."""
    names = [f"v{i}" for i in range(n_variables)]
    better = ("lower", "higher", "neither")
    own = [
        (name, Any, measure(f"variable {name}", heading=f"reading {name}", better=better[i % 3], summary=True))
        for i, name in enumerate(names)
    ]
    study = toy.varied(measures=make_dataclass("Filled", own, bases=(Measures,), frozen=True, kw_only=True))
    grid = {"methods": ("noisy",), "replicates": 3, "parties": (1, 2), "folds": 2, "epsilon": (1.0,)}
    plan = toy.toy_plan(study, **dict.fromkeys(labels, grid))
    columns = CubeColumns(plan)
    columns.status[:] = 1
    for i, name in enumerate([*names, *(v for v in shown_variables(plan) if v not in names)]):
        columns.number(name)[:] = -1.2345e-100 * (i + 1)
        columns.kinds[name] = {"float"}
    RunTotals(plan, columns).close()
    return summary_text(plan, columns)


@pytest.mark.parametrize("n_variables", [1, 7, 30])
def test_no_line_is_wider_than_a_screen_and_no_column_is_lost(n_variables):
    text = filled(("a", "case_" + "x" * 80), n_variables)
    assert max(map(len, text.splitlines())) <= WIDTH == 120
    rows = printed_rows(text)
    assert len(rows) == 4 and {len(values) for values in rows.values()} == {n_variables + 7}
    assert "a: 3 replicates x 2 folds" in text
    assert all(len(case) <= LABEL for case, *_ in rows)


def test_arrows_stand_over_what_is_judged_and_over_nothing_else():
    lines = filled(("a",), 3).splitlines()
    head = "\n".join(lines[: next(i for i, line in enumerate(lines) if line.startswith("---"))])
    assert "v0 ↓" in head and "v1 ↑" in head and "v2" in head and "v2 ↓" not in head and "v2 ↑" not in head
    assert "↓ lower is better, ↑ higher is better" in "\n".join(lines)
