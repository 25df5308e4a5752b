"""Findings of a study: how fits ended, the weakest guarantee and its claim, certified fits next to noise-free ones."""

from __future__ import annotations

import math
from dataclasses import make_dataclass, replace
from typing import Any

import numpy as np
import pytest
import yaml

from invented import invented_columns
from partywise.core.errors import ConfigError
from partywise.core.verdicts import STATUSES
from partywise.experiment.cells import STATUS
from partywise.experiment.measures import Measures, measure
from partywise.experiment.plan import Plan, plan
from partywise.experiment.plans import read_configuration
from partywise.experiment.results.columns import CubeColumns
from partywise.experiment.tables.findings import Findings, PrivateResult, WorstGuarantee
from partywise.experiment.tables.screen import VERDICTS, _same_but_noise, findings
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


def results(made: tuple[Plan, CubeColumns]) -> dict[str, PrivateResult]:
    """Results by title."""
    return {result.title: result for result in findings(*made).results}


def test_findings_survive_their_file(made):
    made[1].status[:3] = 3
    text = findings(*made, ["2 records are left out"])
    assert Findings.of(text.text()) == text and text.warnings[-1] == "2 records are left out"


def test_fits_are_counted_by_how_they_ended(made):
    assert (findings(*made).fits, findings(*made).verdicts) == (42, ())
    made[1].status[:3], made[1].status[5] = 3, 2
    assert findings(*made).verdicts == (
        "1 fit did not converge (a good one)",
        "3 fits diverged (no privacy, a good one)",
    )
    assert set(VERDICTS) == set(STATUSES) - {"ok"}, "each verdict has its words"


def test_a_sentence_on_verdicts_names_three_methods_and_counts_the_others(made):
    made[1].status[:] = STATUS.index("not_estimable")
    (sentence,) = findings(*made).verdicts
    assert sentence == "42 fits could not be estimated (no privacy, a good one, a bad one)"


def test_the_weakest_guarantee_is_named_with_its_claim(made):
    assert findings(*made).worst == WorstGuarantee("8", "8", "a good one")
    put(made[1], block_of(made[1], "n_300", "bad"), "epsilon_certified_run", [[0.1, 2.0, 9.5]] * 2)
    assert findings(*made).worst == WorstGuarantee("9.5", "8", "a bad one"), "of all folds together"
    put(made[1], block_of(made[1], "plain", "good"), "epsilon_certified_run", np.inf)
    infinite = findings(*made).worst
    assert infinite == WorstGuarantee("inf", "0.1", "a good one") and infinite.is_infinite
    made[1].numbers["epsilon_claimed"][:] = np.inf
    assert findings(*made).worst is None


def test_the_unit_of_a_result_is_that_of_its_method():
    """The certified layers protect a client, the noisy sums of gradients a record."""
    block = read_configuration(ROOT / "config.yaml")["studies"]["framework_filters"]
    units = {}
    for method in ("certified_rows", "certified_clients"):
        chosen = block | {"grid": {**block["grid"], "methods": [method]}}
        chosen["cases"] = {"four_hospitals": {**block["cases"]["four_hospitals"], "grid": {"methods": [method]}}}
        (result,) = findings(*invented_columns(plan("framework_filters", chosen, 7), 2)).results
        units[method] = result.protects
    assert units == {"certified_rows": "record", "certified_clients": "client"}


def test_each_unit_that_a_study_protects_has_a_row_of_its_own():
    """Guarantees for a client and for a record are not comparable: the best of all was always a layer of clients.

    The study certifies an epsilon of its own; that of the ledger is for clients, and infinite for sums of gradients.
    """
    block = read_configuration(ROOT / "config.yaml")["studies"]["framework_filters"]
    grid = {"methods": ["certified_rows", "certified_clients"], "epsilon": [1.0]}
    cases = {"four_hospitals": block["cases"]["four_hospitals"] | {"grid": grid}}
    made, columns = invented_columns(plan("framework_filters", block | {"cases": cases}, 7), 2)
    for method, held, cell in (("certified_rows", 0.9, np.inf), ("certified_clients", 0.8, 0.8)):
        for name, value in (("certified_held", held), ("epsilon_certified", cell), ("epsilon_certified_run", cell)):
            put(columns, target := block_of(columns, "four_hospitals", method), name, np.full(target.shape, value))
    shown = [(result.title, result.protects, result.epsilon) for result in findings(made, columns).results]
    assert sorted(shown) == [("four hospitals", "client", ""), ("four hospitals", "record", "")]


def test_notes_on_own_data_are_one_line_per_file_those_on_records_left_out_first(made):
    outside = "a.csv: age is outside its bounds [18, 80] in 3 of 90 rows, which count as the nearest end."
    left_out = "a.csv: 90 of 100 rows are used and 10 left out, which lack an entry."
    other = "b.csv: dose is outside its bounds [0, 9] in 1 of 90 rows, which count as the nearest end."
    assert findings(*made, [outside, left_out, other]).warnings == (
        f"{left_out} 1 more note on this file: summary.txt",
        other,
    )


def test_a_result_is_the_best_certified_fit_at_the_target_nearest_to_1(made):
    """At 2; of a sweep in its first case, whatever is found in others."""
    expected = PrivateResult("", "label", "test log-loss, lower", "0.22 +- 0", "not run", "2")
    first, second = results(made)
    assert [replace(result, title="") for result in results(made).values()] == [expected, expected]
    assert (first, second) == ("a plain case", "n 200")
    put(made[1], block_of(made[1], "n_300", "bad"), "log_loss", [[0.0, 0.01, 0.0], [0.0, 0.01, 0.0]])
    assert replace(results(made)["n 200"], title="") == expected


def test_the_usual_target_needs_no_name(made):
    usual = filled(BLOCK.replace("[0.1, 2.0, 8.0]", "[0.1, 1.0, 8.0]"))
    assert {result.epsilon for result in results(usual).values()} == {""}


def test_a_method_that_misses_its_target_is_not_the_result(made):
    """Its error is the least, and its certified epsilon 1.7e8; where all miss theirs, the least epsilon is chosen."""
    columns = made[1]
    good, bad = (block_of(columns, "plain", name) for name in ("good", "bad"))
    for name in ("epsilon_certified", "epsilon_certified_run"):
        put(columns, good, name, np.full(good.shape, 1.7e8))
    result = results(made)["a plain case"]
    assert (result.private, result.epsilon) == ("0.32 +- 0", "2")
    for name in ("epsilon_certified", "epsilon_certified_run"):
        put(columns, bad, name, np.full(bad.shape, 30.0))
    result = results(made)["a plain case"]
    assert (result.private, result.epsilon) == ("0.32 +- 0", "30")


def test_the_reference_is_the_same_protocol_without_noise(made):
    """The first screen showed 0.3238 certified against 0.3434 "unprotected", which was another model."""
    result = results(filled(BLOCK.replace("8.0]", "8.0, .inf]")))["a plain case"]
    assert (result.private, result.noise_free) == ("0.22 +- 0", "0.2")


def test_the_reference_may_be_named(made):
    named = BLOCK.replace("title: a good one}", "title: a good one, without_noise: open}")
    assert results(filled(named))["a plain case"].noise_free == "0.1"
    elsewhere = BLOCK.replace("title: a good one}", "title: a good one, without_noise: [open]}")
    assert results(filled(elsewhere))["a plain case"].noise_free == "0.1"


@pytest.mark.parametrize(
    ("reference", "problem"),
    [("nothing", "is not among the methods"), ("bad", "adds noise"), ("7", "give the label of a method")],
)
def test_a_reference_that_is_none_is_refused(reference, problem):
    named = BLOCK.replace("title: a good one}", f"title: a good one, without_noise: {reference}}}")
    with pytest.raises(ConfigError, match=rf"methods\.good\.without_noise is .*{problem}"):
        filled(named)


def test_a_short_title_has_at_most_24_characters():
    made, _ = filled(BLOCK.replace("title: a good one}", "title: a title with more than 24 characters}"))
    assert [method.short for method in made.methods.values()] == ["no privacy", "good", "a bad one"]
    made, _ = filled(BLOCK.replace("title: a good one}", 'title: a good one, short: "good at {sigma}"}'))
    assert made.methods["good"].short == "good at analytic"
    long = BLOCK.replace("title: a good one}", "title: a good one, short: a title with more than 24 characters}")
    with pytest.raises(ConfigError, match=r"methods\.good\.short is 'a title with .*room for 24 characters"):
        filled(long)


def test_certified_fits_of_real_tables_stand_next_to_their_protocol_without_noise():
    """The default runs it: an unprotected model of another kind was in its place."""
    block = read_configuration(ROOT / "config.yaml")["studies"]["vertical_trees"]
    shown = results(invented_columns(plan("vertical_trees", block, 7), 2))
    for table in ("Adult", "credit cards", "abalone"):
        assert (shown[table].epsilon, shown[table].noise_free != "not run") == ("", True), table


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
    both = findings(changed, made[1])
    assert both.claims == ("lost: none of 3 no privacy, none of 9 a good one, 1 of 9 a bad one",)
    assert (both.results[0].measure, both.results[0].private) == ("height, higher", "0.32 +- 0")


def test_a_measure_of_distance_from_the_noise_free_fit_needs_no_reference(made):
    own = [("log_loss", Any, measure("d", heading="distance", better="lower", headline=1, noise_free=0.0))]
    measures = make_dataclass("Own", own, bases=(Measures,), frozen=True, kw_only=True)
    changed = replace(made[0], study=replace(made[0].study, measures=measures))
    assert {result.noise_free for result in findings(changed, made[1]).results} == {"0"}


def test_where_nothing_is_certified_the_result_says_so_and_is_last(made):
    for method in ("good", "bad"):
        for name in ("epsilon_certified", "epsilon_certified_run"):
            put(made[1], block_of(made[1], "plain", method), name, np.inf)
    last = findings(*made).results[-1]
    assert (last.title, last.private, last.noise_free) == ("a plain case", "none", "0.1")
    for loss, words in ((0.9, "0.9"), (np.nan, "not run")):
        put(made[1], block_of(made[1], "plain", "open"), "log_loss", loss)
        assert findings(*made).results[-1].noise_free == words, "a fit with noise is no noise-free one"


def test_errors_of_training_records_are_marked(made):
    made[1].number("in_sample")[:] = 1.0
    assert {result.measure for result in findings(*made).results} == {"test log-loss (in-sample), lower"}


def test_a_delta_that_allows_everything_is_a_warning(made):
    assert findings(*made).warnings == ()
    put(made[1], block_of(made[1], "plain", "bad"), "delta_exceeds_1_over_n", 1.0)
    for name in ("delta", "delta_claimed"):
        put(made[1], block_of(made[1], "plain", "bad"), name, 0.5)
    put(made[1], block_of(made[1], "plain", "bad"), "n_protected", 100.0)
    (sentence,) = findings(*made).warnings
    assert sentence.startswith("a delta of 1/n or more allows publishing a whole record")


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
