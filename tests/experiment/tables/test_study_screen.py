"""The few lines of a study: how fits ended, the worst epsilon and its claim, the best certified fit."""

from __future__ import annotations

import math
from dataclasses import make_dataclass, replace
from typing import Any

import numpy as np
import pytest
import yaml

from artifact.expected import FIRST
from invented import invented_columns
from partywise.experiment.cells import STATUS
from partywise.experiment.measures import Measures, measure
from partywise.experiment.plan import Plan, plan
from partywise.experiment.plans import read_configuration
from partywise.experiment.results.columns import CubeColumns
from partywise.experiment.tables.screen import _same_but_noise, overview, screen_text
from partywise.experiment.tables.summary import Slot
from partywise.experiment.tables.summary_text import summary_text
from pipeline import ROOT

BLOCK = """
spec: {unit: label}
methods:
  open: {protocol: non_private, title: no privacy}
  good: {protocol: walr, noise: iid, ridge: fixed, title: a good one}
  bad: {protocol: walr, noise: rr, ridge: fixed, title: a bad one}
grid: {methods: [open, good, bad], replicates: 2, parties: [2], folds: 1, epsilon: [0.1, 2.0, 8.0]}
cases:
  plain: {source: generated, title: a plain case, settings: {n: 100, k: 5}}
  n: {source: generated, sweep: {n: [{n: 200}, {n: 300}]}, settings: {k: 5}}
figures: []
"""


@pytest.fixture
def made() -> tuple[Plan, CubeColumns]:
    return filled(BLOCK)


def filled(text: str) -> tuple[Plan, CubeColumns]:
    """Losses of .1 (open), .2 (good) and .3 (bad) plus .01 times the target; certified is what is claimed."""
    made, columns = invented_columns(plan("label_private", yaml.safe_load(text), 7), 2)
    base = {"open": 0.1, "good": 0.2, "bad": 0.3}
    for block in columns.places.blocks:
        target = np.broadcast_to(np.array(block.epsilons), block.shape)
        put(columns, block, "log_loss", base[block.method] + 0.01 * np.where(np.isinf(target), 0, target))
        for name in ("epsilon_claimed", "epsilon_certified", "epsilon_certified_run"):
            put(columns, block, name, target)
    return made, columns


def put(columns: CubeColumns, block, name: str, values) -> None:
    columns.number(name)[block.first : block.first + math.prod(block.shape)] = np.ravel(values)


def block_of(columns: CubeColumns, case: str, method: str):
    return next(block for block in columns.places.blocks if (block.case, block.method) == (case, method))


def lines(made: tuple[Plan, CubeColumns]) -> list[str]:
    return screen_text(*made).splitlines()


def test_fits_are_counted_by_how_they_ended(made):
    assert lines(made)[0] == "label_private: 42 fits, all of them ok"
    made[1].status[:3], made[1].status[5] = 3, 2
    assert lines(made)[0] == "label_private: 42 fits, 1 not converged, 3 diverged"
    made[1].status[6:8] = STATUS.index("not_estimable")
    assert lines(made)[0] == "label_private: 42 fits, 1 not converged, 3 diverged, 2 not estimable"
    assert FIRST.fullmatch("label_private: 42 fits, 2 not estimable")


def test_the_worst_epsilon_is_named_with_its_claim(made):
    assert lines(made)[1] == "  unit label, certified at worst: ε 8 (a good one, claims 8)"
    put(made[1], block_of(made[1], "n_300", "bad"), "epsilon_certified_run", [[0.1, 2.0, 9.5]] * 2)
    assert lines(made)[1] == "  unit label, certified at worst: ε 9.5 (a bad one, claims 8)", "of all folds together"
    put(made[1], block_of(made[1], "plain", "good"), "epsilon_certified_run", np.inf)
    told = "ε inf (a good one, claims 0.1); finite: 9.5 (a bad one, claims 8)"
    assert lines(made)[1] == f"  unit label, certified at worst: {told}"
    made[1].numbers["epsilon_claimed"][:] = np.inf
    assert lines(made)[1] == "  no fit claims an ε"


@pytest.mark.parametrize(
    ("study", "unit"), [("framework_filters", "user"), ("privacy_audit", "of each claim"), ("label_private", "label")]
)
def test_the_unit_is_that_of_the_study_but_where_claims_have_units_of_their_own(study, unit):
    block = read_configuration(ROOT / "config" / "smoke.yaml")["studies"][study]
    found = invented_columns(plan(study, block, 7), 1)
    assert overview(*found)["unit"] == unit
    assert f"  unit {unit}, certified at worst" in screen_text(*found)


def test_the_overview_has_both_epsilons_of_the_worst_fit_in_cells_of_their_own(made):
    put(made[1], block_of(made[1], "n_300", "bad"), "epsilon_certified_run", [[0.1, 2.0, 9.5]] * 2)
    fits, claimed, certified, method, unit, headline = overview(*made).values()
    assert (fits, claimed, certified) == ("42 fits, all of them ok", "8", "9.5")
    assert (method, unit) == ("a bad one", "label")
    assert headline.splitlines() == [line.strip().replace("+-", "±") for line in lines(made)[2:4]]
    put(made[1], block_of(made[1], "plain", "good"), "epsilon_certified_run", np.inf)
    assert list(overview(*made).values())[1:4] == ["0.1", "∞ (finite: 9.5)", "a good one"]
    made[1].numbers["epsilon_claimed"][:] = np.inf
    assert list(overview(*made).values())[1:4] == ["-", "-", "-"]


def test_the_best_certified_fit_stands_at_the_usual_target(made):
    """At 2, the target nearest to 1; of a sweep in its first case, whatever is found in others."""
    assert lines(made)[2:] == [
        "  a plain case: test log-loss 0.22 +- 0 at ε 2, a good one; not run without noise",
        "  n_200, 1 of 2: test log-loss 0.22 +- 0 at ε 2, a good one; not run without noise",
    ]
    put(made[1], block_of(made[1], "n_300", "bad"), "log_loss", [[0.0, 0.01, 0.0], [0.0, 0.01, 0.0]])
    assert lines(made)[3] == "  n_200, 1 of 2: test log-loss 0.22 +- 0 at ε 2, a good one; not run without noise"


def test_a_method_that_misses_its_target_is_not_the_headline(made):
    """Its error is the least, and its certified epsilon 1.7e8; where all miss theirs, the least epsilon is chosen."""
    chosen, columns = made
    good, bad = (block_of(columns, "plain", name) for name in ("good", "bad"))
    for name in ("epsilon_certified", "epsilon_certified_run"):
        put(columns, good, name, np.full(good.shape, 1.7e8))
    (line,) = [one for one in screen_text(chosen, columns).splitlines() if "a plain case" in one]
    assert "at ε 2, a bad one" in line
    for name in ("epsilon_certified", "epsilon_certified_run"):
        put(columns, bad, name, np.full(bad.shape, 30.0))
    (line,) = [one for one in screen_text(chosen, columns).splitlines() if "a plain case" in one]
    assert "at ε 30, a bad one" in line


def test_the_reference_is_the_same_protocol_without_noise(made):
    """The first screen showed .3238 certified against .3434 "unprotected", which was another model."""
    assert "unprotected" not in "".join(lines(made))
    found = lines(filled(BLOCK.replace("8.0]", "8.0, .inf]")))
    assert found[2] == "  a plain case: test log-loss 0.22 +- 0 at ε 2, a good one; 0.2 without noise"


def test_certified_fits_of_real_tables_stand_beside_their_protocol_without_noise():
    """The default runs it: an unprotected model of another kind stood there in its place."""
    block = read_configuration(ROOT / "config.yaml")["studies"]["vertical_trees"]
    shown = lines(invented_columns(plan("vertical_trees", block, 7), 2))
    for table in ("Adult", "credit cards", "abalone"):
        (line,) = (one for one in shown if one.startswith(f"  {table}: "))
        assert " at ε 1, " in line and line.endswith(" without noise"), line
        assert not line.endswith("not run without noise"), line


def test_options_that_set_the_noise_alone_make_no_other_protocol():
    block = read_configuration(ROOT / "config.yaml")
    found = plan("functional_boosting", block["studies"]["functional_boosting"], 7)
    slot = {name: Slot({"method": name}, {}, frozenset()) for name in found.methods}
    same = {
        name
        for name in found.methods
        if _same_but_noise(found, slot["predictor_none"], slot[name]) and name != "predictor_none"
    }
    assert same == {"predictor_fixed", "predictor_sqrt_j", "predictor_rho", "local"}


def test_higher_may_be_better_and_flags_are_counted(made):
    own = [
        ("log_loss", Any, measure("height", heading="height", better="higher", summary=True, headline=1)),
        ("uninformative", Any, measure("lost", heading="lost", summary=True, headline=2)),
    ]
    measures = make_dataclass("Own", own, bases=(Measures,), frozen=True, kw_only=True)
    study = replace(made[0].study, measures=measures)
    changed = replace(made[0], study=study)
    made[1].number("uninformative")[:] = 0.0
    put(made[1], block_of(made[1], "plain", "bad"), "uninformative", [[1, 0, 0], [1, 0, 0]])
    found = lines((changed, made[1]))
    assert found[2] == "  lost: 0 of 3 no privacy, 0 of 9 a good one, 1 of 9 a bad one"
    assert found[3] == "  a plain case: height 0.32 +- 0 at ε 2, a bad one; not run without noise"


def test_where_nothing_is_certified_it_says_so_and_stands_last(made):
    for method in ("good", "bad"):
        for name in ("epsilon_certified", "epsilon_certified_run"):
            put(made[1], block_of(made[1], "plain", method), name, np.inf)
    assert lines(made)[3] == "  a plain case: test log-loss 0.1 +- 0 without a guarantee, no privacy"


def test_errors_of_training_records_are_marked(made):
    made[1].number("in_sample")[:] = 1.0
    assert all(" +- 0 (in-sample) at ε 2" in line for line in lines(made)[2:])


def test_a_heading_of_the_summary_does_not_break_at_a_hyphen(made):
    text = summary_text(*made)
    assert "log-loss" in text and not [line for line in text.splitlines() if "log- " in line or line.endswith("log-")]


def test_the_summary_marks_them_too_and_says_what_that_means(made):
    assert "in-sample" not in summary_text(*made)
    put(made[1], block_of(made[1], "plain", "bad"), "in_sample", 1.0)
    put(made[1], block_of(made[1], "plain", "good"), "in_sample", 0.0)
    told, case = {}, ""
    for line in summary_text(*made).splitlines():
        if not line.startswith(" "):
            case = line.partition(":")[0]
        elif (method := line.split()[0]) in made[0].methods and (words := set(line.split()) & {"yes", "no"}):
            told[case, method] = words
    assert told == {("plain", "bad"): {"yes"}, ("plain", "good"): {"no"}}
    assert "in-sample: errors of the records that trained the fit, which flatter it" in summary_text(*made)


def test_two_measures_at_one_place_of_the_headline_are_refused(made):
    own = [(name, Any, measure(name, heading=name, headline=1)) for name in ("height", "width")]
    measures = make_dataclass("Own", own, bases=(Measures,), frozen=True, kw_only=True)
    with pytest.raises(ValueError, match="headline=1 is given to 2 measures: give each its own place"):
        replace(made[0].study, measures=measures)


def test_every_study_has_a_headline():
    config = read_configuration(ROOT / "config.yaml")
    for study, block in config["studies"].items():
        assert plan(study, block, 1).study.headline, study
