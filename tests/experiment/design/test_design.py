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


def test_the_question_of_a_clinician_is_one_screen_and_one_command(tmp_path, capsys):
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 24
    sys.addaudithook(watch)
    WATCHING[0] = True
    try:
        assert main(["design", str(EXAMPLE), "--results", str(tmp_path)]) == 0
    finally:
        WATCHING[0] = False
    assert OPENED and not [name for name in OPENED if name.endswith(DATA)]
    folder = tmp_path / "design" / NAME
    assert {path.name for path in folder.iterdir()} == {
        *("design.csv", "design.html", "design.json", "figure.png", "paragraph.md"),
    }
    assert (folder / "figure.png").read_bytes()[:4] == b"\x89PNG"
    answer = capsys.readouterr().out
    assert re.search(r"n = 2100, epsilon = [0-9.]+, delta = 1e-05: restricted mean ±1 months", answer)


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


def test_planned_and_found_half_widths_agree(plan):
    """60 fits: medians within 3 % of the plan, coverage of the restricted mean within 3 standard errors of .95."""
    rows = {row["target"]: row for row in plan.check(60)}
    assert all(abs(row["ratio"] - 1) < 0.03 for row in rows.values())
    assert all(row["without_interval"] == 0 for row in rows.values())
    assert rows["restricted mean"]["coverage"] > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 60)


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
    assert abs(row["ratio"] - 1) < 0.01 and abs(row["coverage"] - 0.95) < 3 * np.sqrt(0.95 * 0.05 / 300)


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


@pytest.mark.parametrize("method", ["survival", "survey", "local", "added"])
def test_the_paragraph_is_short_and_made_of_the_file_alone(method):
    options = {"local": {"noise": "local"}, "added": {"relation": "add_remove", "bins": 12}}.get(method, {})
    plan = (
        pw.design("randomized_response", n=5000, parties=2, model=SURVEY, epsilon=1.0)
        if method == "survey"
        else plan_of(BLOCK | {"options": options}, "design.curves")
    )
    content = json.loads(plan.to_json(), parse_constant=lambda word: pytest.fail(word))
    text = PrecisionPlan.from_json(plan.to_json()).paragraph()
    assert text == plan.paragraph() and len(text.split()) <= 150
    known = {f"{number:.3g}" for number in leaves(content)} | {f"{number:g}" for number in leaves(content)}
    # The level of the intervals, and targets that are named by a time.
    known |= {"95"} | numbers(" ".join(row["target"] for row in content["table"]))
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
    "no design": ({"method": "federated_survival.scores"}, "not designed yet; take one of federated_survival.table"),
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


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_ends_in_a_sentence_with_key_value_and_remedy(name):
    edits, sentence = MISTAKES[name]
    block = json.loads(json.dumps(BLOCK))
    for path, value in edits.items():
        *outer, last = path.split(".")
        inner = block
        for key in outer:
            inner = inner[key]
        if value is None:
            del inner[last]
        else:
            inner[last] = value
    with pytest.raises(ConfigError, match=sentence) as refusal:
        plan_of(block, "design.curves")
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
