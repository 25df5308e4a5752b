"""``pw.design`` and ``./run design``: answers, files, and refusals."""

from __future__ import annotations

import json
import re
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import partywise as pw
from partywise.__main__ import main
from partywise.core.errors import ConfigError
from partywise.core.randomness import Streams
from partywise.experiment.design.block import checked_block, designs
from partywise.experiment.design.evaluate import Evaluator, power_of, upward
from partywise.experiment.design.plan import PrecisionPlan, plan_of
from partywise.experiment.design.verb import print_check
from partywise.experiment.study import available, load
from partywise.methods.survival.precision import FollowUpModel
from partywise.methods.survival.records import SurvivalRecords, pool
from partywise.methods.survival.tables import cell_counts, equal_edges
from pipeline import ROOT

EXAMPLE = ROOT / "config" / "design" / "survival.yaml"
((NAME, BLOCK),) = designs(EXAMPLE).items()
FOLLOW_UP = BLOCK["model"]
SMOKING = ROOT / "config" / "design" / "smoking.yaml"
((_, COEFFICIENTS),) = designs(SMOKING).items()
SURVEY = {"shares": {"smoker": 0.2, "other": 0.8}, "because": "the form has two boxes"}
# Endings of files of data.
DATA = (".csv", ".parquet", ".arrow", ".nc", ".npz", ".npy", ".gz")
OPENED = list[str]()
WATCHING = [False]


def watch(event: str, arguments: tuple[object, ...]) -> None:
    if WATCHING[0] and event == "open" and arguments[1] in ("r", "rb", None):
        OPENED.append(str(arguments[0]))


@pytest.fixture(scope="module")
def plan() -> PrecisionPlan:
    return plan_of(BLOCK, f"design.{NAME}")


@pytest.fixture(scope="module")
def coefficients() -> PrecisionPlan:
    return plan_of(COEFFICIENTS, "design.coefficients")


ANSWERS = {
    EXAMPLE: r"n = 2100, epsilon = [0-9.]+, delta = 1e-05: restricted mean ±1 months",
    SMOKING: r"n = 2100, epsilon = [0-9.]+, delta = 1e-05: smoker ±0\.15\n",
}


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: path.stem)
def test_the_question_of_a_clinician_is_one_screen_and_one_command(path, tmp_path, capsys):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 24
    sys.addaudithook(watch)
    OPENED.clear()
    WATCHING[0] = True
    try:
        assert main(["design", str(path), "--results", str(tmp_path)]) == 0
    finally:
        WATCHING[0] = False
    assert OPENED and not [name for name in OPENED if name.endswith(DATA)]
    (name,) = designs(path)
    folder = tmp_path / "design" / name
    assert {path.name for path in folder.iterdir()} == {
        *("design.csv", "design.html", "design.json", "figure.png", "paragraph.md"),
    }
    assert (folder / "figure.png").read_bytes()[:4] == b"\x89PNG"
    assert re.search(ANSWERS[path], capsys.readouterr().out)


def test_the_epsilon_reaches_the_wanted_half_width_and_a_smaller_one_does_not(plan):
    wanted = BLOCK["half_width"]["restricted mean"]
    assert wanted * 0.995 <= plan.half_widths["restricted mean"] <= wanted
    evaluator = Evaluator(checked_block(BLOCK, "design"), "design")
    assert evaluator.half_width("restricted mean", 0.99 * plan.epsilon, plan.n) > wanted


def test_the_noise_of_a_plan_is_that_of_the_announced_events(plan):
    ahead, _ = Evaluator(checked_block(BLOCK, "design"), "design").ahead(plan.epsilon, plan.n)
    (event,) = [event for event in ahead.releases if event.mu is not None]
    assert event.mu == pytest.approx(float(pw.gdp_mu(plan.epsilon, 1e-5)))
    assert plan.privacy["epsilon_certified"] == pytest.approx(plan.epsilon, rel=1e-6)
    assert plan.privacy["trust"] == "no two parties join their knowledge"


def test_the_cost_of_coefficients_is_that_of_moments_and_counts(coefficients):
    ahead, _ = Evaluator(checked_block(COEFFICIENTS, "design"), "design").ahead(coefficients.epsilon, coefficients.n)
    mus = [event.mu for event in ahead.releases if event.mu is not None]
    # The moments, counts of three parties, and those of responses.
    assert len(mus) == 5
    assert np.sqrt(np.sum(np.square(mus))) == pytest.approx(float(pw.gdp_mu(coefficients.epsilon, 1e-5)), rel=1e-6)


@pytest.mark.parametrize("edits", [{}, {"n": 800, "model.correlation": 0.5, "half_width.smoker": 0.3}])
def test_the_epsilon_of_a_coefficient_reaches_the_wanted_half_width(edits):
    block = edited(COEFFICIENTS, edits)
    plan, wanted = plan_of(block, "design.again"), block["half_width"]["smoker"]
    assert wanted * 0.995 <= plan.half_widths["smoker"] <= wanted
    evaluator = Evaluator(checked_block(block, "design"), "design")
    assert evaluator.half_width("smoker", 0.98 * plan.epsilon, plan.n) > wanted


def test_n_of_a_coefficient_is_computed_and_the_figure_meets_the_plan():
    plan = plan_of(edited(COEFFICIENTS, {"n": None, "epsilon": 4.0}), "design.n")
    assert 0.15 * 0.995 <= plan.half_widths["smoker"] <= 0.15 and plan.answers == "n"
    rows = {row["epsilon"]: row["half_width"] for row in plan.curve if row["n"] == plan.n}
    assert rows[4.0] == pytest.approx(plan.half_widths["smoker"])
    assert np.all(np.diff([rows[epsilon] for epsilon in sorted(rows)]) < 0)


def test_planned_and_found_half_widths_of_coefficients_agree():
    """24 fits: medians within 4 standard errors, and 6 %, of the plan; coverage of the least coefficient above 0.7."""
    edits = {"half_width": None, "epsilon": 6.0, "model.kinds.bmi": ["uniform", 18, 34]}
    rows = plan_of(edited(COEFFICIENTS, edits), "design.coefficients").check(24)
    assert all(abs(row["ratio"] - 1) < max(0.06, 4 * row["ratio_error"]) for row in rows)
    assert all(row["without_interval"] <= 0.1 and row["covered"] > 0.7 for row in rows)


def test_coefficients_of_noisy_newton_are_planned_and_found():
    """20 fits at the epsilon that four of five fits need: medians within 4 standard errors, and 6 %, of the plan."""
    edits = {"method": "vertical_glm.noisy_newton", "model.family": "binomial", "model.response": None}
    plan = plan_of(edited(COEFFICIENTS, edits | {"half_width.smoker": 0.3}), "design.newton")
    rows = plan.check(20)
    assert all(abs(row["ratio"] - 1) < max(0.06, 4 * row["ratio_error"]) for row in rows), rows
    assert all(row["without_interval"] <= 0.45 and row["covered"] > 0.7 for row in rows), rows


DIRECTION = {
    "method": "sliced_inverse_regression.certified",
    "parties": 3,
    "n": 2000,
    "model": {
        "coefficients": {"age": 0.8, "dose": -0.6, "bmi": 0.0},
        "edges": [-0.8, 0.0, 0.8],
        "because": "limits of a guideline",
        "dispersion": 0.25,
        "radius": 1.5,
    },
    "half_width": {"age": 0.05},
    "options": {"noise": "shared"},
}


def test_the_entries_of_a_direction_are_planned_and_found():
    """20 fits: medians within 4 standard errors, and 6 %, of the plan; coverage of the least entry above 0.7."""
    plan = plan_of(DIRECTION, "design.direction")
    assert 0.05 * 0.99 <= plan.half_widths["age"] <= 0.05
    assert plan.privacy["epsilon_certified"] == pytest.approx(plan.epsilon, rel=1e-6)
    rows = plan.check(20)
    assert all(abs(row["ratio"] - 1) < max(0.06, 4 * row["ratio_error"]) for row in rows), rows
    assert all(row["without_interval"] <= 0.1 and row["covered"] > 0.7 for row in rows), rows


QUANTILE = {
    "method": "histogram_quantile",
    "parties": 3,
    "n": 2000,
    "model": {"ends": [0, 120], "shares": [[45, 0.25], [60, 0.5], [72, 0.75]], "because": "ages", "cells": 120},
    "half_width": {"median": 2.0},
}


def test_quantiles_of_histograms_are_planned_and_found():
    """100 fits: the median half-width is the planned one, intervals at cuts are conservative."""
    plan = plan_of(QUANTILE, "design.ages")
    assert 2.0 * 0.98 <= plan.half_widths["median"] <= 2.0
    assert plan.privacy["epsilon_certified"] == pytest.approx(plan.epsilon, rel=1e-6)
    (row,) = plan.check(100)
    assert abs(row["ratio"] - 1) < max(0.05, 3 * row["ratio_error"]) and row["covered"] >= 0.93
    assert plan_of(edited(QUANTILE, {"n": None, "epsilon": plan.epsilon}), "design.ages").n <= 2050


def test_records_are_made_by_the_declared_law():
    units = {"model.location": {"age": 60, "bmi": 25}, "model.scale": {"age": 10, "bmi": 4}, "n": 60_000}
    slopes = {"smoker": 0.4, "age": 0.02, "bmi": 0.02}
    edits = units | {"model.kinds.bmi": ["lognormal", 15], "model.coefficients": slopes, "model.intercept": -1.8}
    evaluator = Evaluator(checked_block(edited(COEFFICIENTS, edits), "design"), "design")
    parties = evaluator.run(1.0, 60_000, Streams(3)).parties
    smoker, age, bmi = (party.block["X"][:, 0] for party in parties)
    assert [party.role for party in parties] == ["active", "passive", "passive"]
    assert set(np.unique(smoker)) == {0, 1} and smoker.mean() == pytest.approx(0.25, abs=0.01)
    assert (age.mean(), age.std()) == (pytest.approx(60, abs=0.2), pytest.approx(10, rel=0.02))
    assert (bmi.mean(), bmi.std()) == (pytest.approx(25, abs=0.1), pytest.approx(4, rel=0.05)) and bmi.min() > 15
    design = np.column_stack([np.ones(60_000), smoker, age, bmi])
    slopes, residual, *_ = np.linalg.lstsq(design, parties[0].block["y"], rcond=None)
    assert np.allclose(slopes, [-1.8, 0.4, 0.02, 0.02], atol=[0.12, 0.04, 0.002, 0.005])
    assert residual[0] / 60_000 == pytest.approx(1, rel=0.03)


def test_planned_and_found_half_widths_agree(plan):
    """60 fits: medians within 3 % of the plan, coverage of the restricted mean within 3 standard errors of .95."""
    rows = {row["target"]: row for row in plan.check(60)}
    assert all(abs(row["ratio"] - 1) < 0.03 for row in rows.values())
    assert all(row["without_interval"] == 0 for row in rows.values())
    assert rows["restricted mean"]["covered"] > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 60)


def test_a_check_of_the_command_refutes_a_plan_that_is_too_narrow(plan, tmp_path, capsys):
    assert main(["design", str(EXAMPLE), "--results", str(tmp_path), "--check", "--replicates", "20"]) == 0
    assert re.search(r"restricted mean .*: as planned; coverage [01]\.\d+", capsys.readouterr().out)
    narrow = replace(plan, table=[row | {"half_width": 0.85 * row["half_width"]} for row in plan.table])
    assert print_check(narrow, 20)
    assert "differs from the plan" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["design", str(EXAMPLE), "--check", "--replicates", "2"])
    assert "--replicates is 2: give at least 20, for a median." in capsys.readouterr().err


@pytest.mark.parametrize("retention", [[], [[60.0, 0.7]], [[10.0, 0.9], [30.0, 0.8]]])
def test_expected_cells_are_those_of_many_made_up_records(retention):
    model = FollowUpModel(60.0, ((12.0, 0.85), (36.0, 0.6)), "protocol", tuple(map(tuple, retention)))
    edges, n = equal_edges(60.0, 7), 200_000
    made_up = model.made_up(n, 3, Streams(1, "records"))
    records = pool([SurvivalRecords(party.block["times"], party.block["events"]) for party in made_up.parties])
    counts, shares = cell_counts(records, edges)[0], model._cell_shares(edges)
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    assert np.abs(counts - n * shares).max() < 5 * np.sqrt(n * shares.max())
    assert np.all(np.abs(counts - n * shares) <= 5 * np.sqrt(n * shares) + 1e-9)


def test_frequencies_of_randomised_response_are_planned_and_found():
    plan = pw.design("randomized_response", n=5000, parties=2, model=SURVEY, half_width={"smoker": 0.03})
    assert 0.03 * 0.995 <= plan.half_widths["smoker"] <= 0.03
    (row, _) = plan.check(300)
    assert abs(row["ratio"] - 1) < 0.01 and abs(row["covered"] - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 300)


def test_many_levels_are_taken():
    levels = {f"level {k}": 0.1 for k in range(10)}
    plan = pw.design("randomized_response", n=5000, parties=3, model={"shares": levels, "because": "form"}, epsilon=0.5)
    assert plan.half_widths["level 0"] == pytest.approx(0.121, rel=0.05)


def test_n_and_power_are_computed_from_the_rest():
    common = {"parties": 3, "model": FOLLOW_UP}
    plan = pw.design("federated_survival.table", epsilon=2.0, half_width={"restricted mean": 1.0}, **common)
    assert plan.answers == "n" and 0.995 <= plan.half_widths["restricted mean"] <= 1
    fewer = pw.design("federated_survival.table", epsilon=2.0, n=int(0.97 * plan.n), **common)
    assert fewer.half_widths["restricted mean"] > 1 and fewer.answers == "precision"
    powered = pw.design("federated_survival.table", n=3000, power=0.8, effect={"restricted mean": 2.0}, **common)
    assert 0.8 <= powered.power["restricted mean"] < 0.815
    assert power_of(fewer.detectable["restricted mean"], fewer.half_widths["restricted mean"]) == pytest.approx(
        0.8, abs=1e-3
    )


def test_a_half_width_out_of_reach_names_a_number_of_records_that_reaches_it():
    block = BLOCK | {"half_width": {"restricted mean": 0.5}}
    with pytest.raises(ConfigError, match="records alone give") as refusal:
        plan_of(block, "design.narrow")
    n = int(re.search(r"n = (\d+) would", str(refusal.value))[1])
    assert plan_of(block | {"n": n + 5}, "design.narrow").epsilon <= 32


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:\.\d+)?(?:e-\d+)?", text))


def leaves(value: object) -> list[float]:
    if isinstance(value, dict | list):
        return [leaf for inner in (value.values() if isinstance(value, dict) else value) for leaf in leaves(inner)]
    return [value] if isinstance(value, int | float) else []


@pytest.mark.parametrize("method", ["survival", "survey", "local", "added", "coefficients", "dealer"])
def test_the_paragraph_is_short_and_made_of_the_file_alone(method, coefficients):
    options = {"local": {"noise": "local"}, "added": {"relation": "add_remove", "bins": 12}}.get(method, {})
    if method == "survey":
        plan = pw.design("randomized_response", n=5000, parties=2, model=SURVEY, epsilon=1.0)
    elif method == "dealer":
        plan = plan_of(COEFFICIENTS | {"options": {"dealer": "dealer"}}, "design.coefficients")
    else:
        plan = coefficients if method == "coefficients" else plan_of(BLOCK | {"options": options}, "design.curves")
    content = json.loads(plan.to_json(), parse_constant=lambda word: pytest.fail(word))
    text = PrecisionPlan.from_json(plan.to_json()).paragraph()
    assert text == plan.paragraph() and len(text.split()) <= 150
    known = {f"{number:.3g}" for number in leaves(content)} | {f"{number:g}" for number in leaves(content)}
    # The level of the intervals, targets that are named by a time, and parties by their places.
    known |= (
        {"95"} | numbers(" ".join(row["target"] for row in content["table"])) | numbers(content["privacy"]["trust"])
    )
    assert numbers(text) <= known


def test_a_figure_has_lines_of_three_numbers_of_records_and_what_is_wanted_widths(plan):
    figure = plan.figure()
    labels = figure.axes[0].get_legend_handles_labels()[1]
    assert labels == ["n = 1050", "n = 2100", "n = 4200", "n = 2100, no noise", "wanted", "this design"]
    (line,) = [line for line in figure.axes[0].lines if line.get_label() == "n = 2100"]
    x, y = line.get_data()
    assert np.interp(plan.epsilon, x, y) == pytest.approx(plan.half_widths["restricted mean"])
    assert len(figure.axes) == 1


def test_closed_forms_take_less_than_a_second(plan):
    began = time.process_time()
    plan_of(BLOCK, "design.again")
    assert time.process_time() - began < 3


# Edits of the example, and the sentence that each ends in.
MISTAKES = {
    "effect of nothing": ({"effect": {"age": 2.0}}, "half_width: 'age' is not a target: give 'restricted mean'"),
    "target": ({"half_width": {"restrcted mean": 1.0}}, "'restrcted mean' is not a target"),
    "time beyond": ({"half_width": {"survival at 72": 0.1}}, r"'survival at 72' is not a target.* \(0, 60\]"),
    "all three": ({"epsilon": 2.0}, "epsilon is 2, and n and half_width are given too: leave one of the three out"),
    "two goals": ({"power": 0.8, "effect": {"restricted mean": 2.0}}, "power and half_width are both given"),
    "no goal": ({"half_width": None}, "epsilon is missing: give it, or half_width or power"),
    "power": ({"half_width": None, "power": 1.2}, "power is 1.2: it must lie in"),
    "power without effect": ({"half_width": None, "power": 0.8}, "power is 0.8 without an effect"),
    "few records": ({"n": 120}, "n is 120: it must be at least 300"),
    "no n": ({"n": None}, "n is missing: give it, or epsilon together with half_width"),
    "no noise": ({"method": "federated_survival.reference"}, "draws no noise, so there is nothing to choose"),
    "not designed": ({"method": "vertical_trees.tables"}, "allowed here|not designed yet"),
    "no design": (
        {"method": "federated_survival.scores"},
        "not designed yet; take one of federated_epidemiology.tables, federated_survival.table",
    ),
    "no method": ({"method": "federated_survival.tabel"}, "did you mean table"),
    "not identified": ({"n": 300, "largest_epsilon": 0.02}, "does not stand out of its noise at any epsilon up to"),
    "no because": ({"model.because": None}, "model.because is missing: state where the horizon, 60, is public"),
    "rising": ({"model.survival": [[12, 0.5], [24, 0.6]]}, r"survival has \[24.0, 0.6\] after \[12.0, 0.5\]"),
    "data": ({"model.file": "patients.csv"}, "model.file is 'patients.csv': a design is made before data"),
    "data elsewhere": ({"model.unit": "visits.parquet"}, "model.unit is 'visits.parquet': a design is made before"),
    "key": ({"epsilom": 2.0}, "epsilom is unknown: did you mean epsilon"),
    "option": ({"options": {"noise": "some"}}, "options.noise is 'some'"),
    "half-width": ({"half_width": {"restricted mean": -1}}, "half_width.restricted mean is -1: give a positive number"),
    "level": (
        {"method": "randomized_response", "model": SURVEY},
        "half_width: 'restricted mean' is not a target: give one of the levels smoker, other",
    ),
    "shares": (
        {"method": "randomized_response", "model": {"shares": {"a": 0.5, "b": 0.6}, "because": "form"}},
        "shares is .* that sum to 1",
    ),
}


MISTAKES_OF_OTHERS = {
    "no direction": (
        DIRECTION,
        {"model.coefficients": {"age": 0.0, "dose": 0}},
        "coefficients is .*: name two columns",
    ),
    "edges": (DIRECTION, {"model.edges": [0.8, 0.0]}, r"edges is \[0.8, 0.0\]: give rising numbers"),
    "entry": (DIRECTION, {"half_width": {"weight": 0.1}}, "'weight' is not a target: give one of the columns age"),
    "sign": (DIRECTION, {"model.because": ""}, "because is missing: state where the edges are public"),
    "quantile": (QUANTILE, {"half_width": {"quantile 2": 1.0}}, "'quantile 2' is not a target: give 'median' or"),
    "ends": (QUANTILE, {"model.ends": [120, 0]}, r"ends is \[120.0, 0.0\]: give two numbers, the smaller one first"),
    "falling": (QUANTILE, {"model.shares": [[60, 0.5], [45, 0.6]]}, r"shares has \[45.0, 0.6\] after \[60.0, 0.5\]"),
    "instrument": (QUANTILE, {"model.because": ""}, "because is missing: state where the ends are public"),
}
# The same of coefficients.
MISTAKES_OF_COEFFICIENTS = {
    "no column": ({"half_width": {"smoking": 0.15}}, "'smoking' is not a target: give one of the columns smoker, age"),
    "effect": ({"half_width": None, "power": 0.8, "effect": {"weight": 1}}, "effect: 'weight' is not a target"),
    "coefficient": ({"model.coefficients.weight": 1.0}, "coefficients.weight is 1.0: kinds declares no such column"),
    "kind": ({"model.kinds.age": "normall"}, "kinds has 'normall', which is unknown: use one of normal"),
    "levels": ({"model.kinds.age": "levels"}, "kinds has 'levels' for column 'age': indicators of a category have no"),
    "no kinds": ({"model.kinds": {}}, "kinds is empty: name every column"),
    "kind as a block": ({"model.kinds.age": {"lognormal": -3}}, r"'lognormal': -3\} for column 'age': give 'normal'"),
    "share": ({"model.shares.age": 0.5}, r"shares.age is 0.5: give a share in \[0.02, 0.98\], of a binary column"),
    "scale": ({"model.scale.age": -1.0}, "scale.age is -1.0: give a positive number"),
    "lognormal": (
        {"model.kinds.age": ["lognormal", 70], "model.location.age": 60},
        "location.age is 60: give a mean above its shift, 70",
    ),
    "response": ({"model.response": None}, "response is missing with family 'gaussian': give its least and its"),
    "labels": ({"model.family": "binomial"}, r"response is \[-4.0, 4.0\] with family 'binomial': leave it out"),
    "range": ({"model.response": [4, -4]}, "response is .*: give two numbers, the smaller one first"),
    "dispersion": ({"model.family": "poisson", "model.dispersion": 2.0}, "dispersion is 2: family 'poisson' has none"),
    "family": ({"model.family": "inverse_gaussian"}, "family is 'inverse_gaussian', which is not designed yet"),
    "correlation": ({"model.correlation": 0.95}, r"correlation is 0.95: it must lie in \[-0.9, 0.9\]"),
    "because": ({"model.because": " "}, "because is missing: state where kinds and ranges are public"),
    "parties": ({"parties": 5}, "^design.curves.parties is 5: give 2 to 3, so that every one holds a column"),
    "radii": ({"model.radii": [3.0, 3.0]}, r"model.radii is \[3.0, 3.0\]: give 3 numbers, one per party"),
    "hidden": ({"n": 300, "largest_epsilon": 0.5}, "does not stand out of its noise at any epsilon up to largest"),
    "narrow": ({"half_width.smoker": 0.05}, r"records alone give \+-0.1.*; n = \d+ would"),
    "no intervals": ({"options": {"intervals": "none"}}, "options.intervals is 'none': a design is of intervals"),
    "no noise": ({"method": "vertical_glm.joint"}, "draws no noise, so there is nothing to choose"),
    "single records": (
        {"method": "vertical_glm.noisy_predictor"},
        "not designed yet and has no intervals .linear predictors of single records",
    ),
}
CASES = [
    *((BLOCK, *row) for row in MISTAKES.values()),
    *((COEFFICIENTS, *row) for row in MISTAKES_OF_COEFFICIENTS.values()),
    *MISTAKES_OF_OTHERS.values(),
]


def edited(block: dict[str, object], edits: dict[str, object]) -> dict[str, object]:
    """Return a copy with values at paths; None takes a key out."""
    copy = json.loads(json.dumps(block))
    for path, value in edits.items():
        *outer, last = path.split(".")
        inner = copy
        for key in outer:
            inner = inner.setdefault(key, {})
        if value is None:
            del inner[last]
        else:
            inner[last] = value
    return copy


@pytest.mark.parametrize(
    ("block", "edits", "sentence"), CASES, ids=[*MISTAKES, *MISTAKES_OF_COEFFICIENTS, *MISTAKES_OF_OTHERS]
)
def test_a_mistake_ends_in_a_sentence_with_key_value_and_remedy(block, edits, sentence):
    with pytest.raises(ConfigError, match=sentence) as refusal:
        plan_of(edited(block, edits), "design.curves")
    assert str(refusal.value).startswith("design.curves") and str(refusal.value).endswith(".")


def test_a_file_without_designs_is_named(tmp_path, capsys):
    assert main(["design", str(ROOT / "config" / "tiny.yaml"), "--results", str(tmp_path)]) == 2
    assert "tiny.yaml has no block `design`: write one as in config/design/survival.yaml." in capsys.readouterr().err


def test_every_method_is_designed_or_refused_by_name():
    for study in available():
        for name, protocol in load(study).methods.items():
            block = {"method": f"{study}.{name}", "parties": 3, "n": 2100, "epsilon": 1.0, "model": FOLLOW_UP}
            if protocol.precision is None:
                with pytest.raises(ConfigError, match=rf"'{study}.{name}'.*(not designed yet|draws no noise)"):
                    plan_of(block, "design.any")


def test_an_epsilon_is_rounded_up_at_the_third_digit():
    assert [upward(value) for value in (2.7301, 2.73, 0.09999, 123.4)] == [2.74, 2.73, 0.1, 124.0]
