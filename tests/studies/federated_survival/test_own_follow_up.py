"""Own follow-up by configuration alone: the arrays of the files, the draft of two commands, and the page's example."""

from __future__ import annotations

import re
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import partywise as pw
from own_row_mistakes import sites
from own_rows import OwnRows, every, method, setting
from partywise.__main__ import main
from partywise.core.errors import PartyError
from partywise.deployment.deployments import deployments_of
from partywise.experiment.cells import Cell, run
from partywise.experiment.configuration.text import questions
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan, plan
from partywise.experiment.plans import plans, read_configuration
from partywise.federation.run import simulate
from partywise.methods.survival.options import SurvivalTableOptions
from partywise.methods.survival.protocols import table
from partywise.methods.survival.records import SurvivalRecords
from pipeline import ROOT
from survival_driver import run_of

STUDY = "federated_survival"
EXAMPLE = ROOT / "config" / "my_survival.example.yaml"
PAGE = ROOT / "docs" / "your_own_data.md"


pytestmark = pytest.mark.usefixtures("folder")


def made(folder: Path, *changes: Any) -> tuple[OwnRows, Any]:
    own = OwnRows(STUDY, folder)
    for change in changes:
        change(own)
    return own, own.data()


def test_clients_are_the_arrays_that_their_rows_hold(folder):
    own, data = made(folder)
    header, rows = own.rows[0], np.array(own.rows[1:])
    columns = {name: rows[:, header.index(name)] for name in header}
    order = np.concatenate([np.flatnonzero(columns["site"] == name) for name in ("north", "south")])
    np.testing.assert_array_equal(data.times, columns["flow"].astype(float)[order])
    np.testing.assert_array_equal(data.events, (columns["late"] == "1")[order])
    z = [(columns["age"].astype(float) - 49) / 31, *(2.0 * (columns["kind"] == level) - 1 for level in "yz")]
    np.testing.assert_allclose(data.covariates, np.column_stack(z)[order], atol=1e-12)
    assert data.ids.tolist() == columns["id"][order].tolist() and data.sizes.tolist() == [60, 60]
    _, apart = made(folder, sites())
    for name in ("times", "events", "covariates", "groups", "sizes", "ids"):
        np.testing.assert_array_equal(getattr(data, name), getattr(apart, name))
    _, groups = made(folder, setting(group_by="kind", groups=["z", "x", "y"], columns=[]), method(protocol="table"))
    np.testing.assert_array_equal(np.array(["z", "x", "y"])[groups.groups], columns["kind"][order])
    assert groups.covariates.shape == (120, 0) and groups.group_names == ("z", "x", "y")


def test_words_for_events_and_gaps(folder, caplog):
    def words(own: OwnRows) -> None:
        for row in own.rows[1:]:
            row[5] = {"1": "relapse", "0": "well"}[row[5]]
        own.rows[1][5] = "moved"
        own.rows[2][6] = "-9"

    told = setting(events=["relapse"], censoring=["well", "moved"], missing="drop", marks=["-9"])
    with caplog.at_level("INFO", "partywise"):
        own, data = made(folder, words, told)
    assert len(data.times) == 119 and "data.csv: 119 of 120 rows are used and 1 left out" in caplog.text
    assert data.events.sum() == sum(row[5] == "relapse" and row[6] != "-9" for row in own.rows[1:])


@pytest.mark.parametrize("protocol", ["scores", "table"])
def test_where_nobody_had_the_event_there_is_an_answer(protocol, folder):
    own, _ = made(folder, every("late", "0"), method(protocol=protocol))
    (cell,) = own.fit()
    assert (
        cell.scalars["status"] == {"scores": "not_estimable", "table": "ok"}[protocol]
        and cell.scalars.get("coefficient_rms") is None
    )
    assert protocol == "table" or cell.scalars["not_estimable"] == 1


def test_two_commands_draft_what_is_answered_and_run(folder, capsys):
    """Every public number is asked for; nothing of the file is drafted as one."""
    file = str(ROOT / "config" / "example_data" / "hospitals.csv")
    assert main(["check-data", file, "--study", STUDY, "--into", "mine.yaml"]) == 0
    assert "months: numbers" in capsys.readouterr().out
    draft = Path("mine.yaml")
    text = draft.read_text()
    keys = [line.strip().partition(":")[0] for line in text.splitlines() if ": ?  #" in line]
    assert keys == ["events", "censoring", "horizon", "because", "bounds", "levels", "levels"]
    assert len(questions(text)) == 7 and "time: months" in text and "event: status" in text
    answers = ("[relapse]", "[censored]", "60", "five years of follow-up", "[30, 90]", "[I, II, III]", '["no", "yes"]')
    for answer in answers:
        text = text.replace("?  #", f"{answer}  #", 1)
    draft.write_text(text)
    chosen = plans(read_configuration(draft))[STUDY]
    data = generate(chosen, "own_files", [0], folder)
    assert len(data[0].times) == 600 and data[0].client_names == ("north", "old town", "river")
    for label in chosen.methods:
        cell = run(chosen, "own_files", label, [3], [0], [0], data)[-1]
        assert cell.scalars["status"] == "ok" and cell.owner_report is not None
    # A table of something else is none of it.
    assert main(["check-data", str(ROOT / "config/example_data/clinics.csv"), "--study", STUDY]) == 1
    assert "Not for federated_survival: it needs a column of numbers: how long each record" in capsys.readouterr().out


@pytest.fixture(scope="module")
def example() -> tuple[Plan, Any]:
    """The plan of the shipped example, and its data, of which replicates are the same."""
    config = read_configuration(EXAMPLE)
    chosen = plan(STUDY, config["studies"][STUDY], config["root_seed"])
    with chdir(ROOT):
        return chosen, {name: generate(chosen, name, range(5), ROOT) for name in chosen.cases}


def test_the_page_has_the_numbers_of_the_example(example):
    """Means over five replicates, as the summary prints them."""
    chosen, data = example
    page = PAGE.read_text(encoding="utf-8")

    def cells(case: str, label: str) -> list[Cell]:
        return run(chosen, case, label, [3], range(5), [0], data[case])

    def means(found: list[Cell], key: str) -> str:
        targets = [[float(one.scalars[key]) for one in found if one.coords["epsilon"] == e] for e in (1.0, 4.0, 16.0)]
        return " | ".join(f"{np.mean(values):.2g}" for values in targets)

    table_cells, score_cells = cells("my_relapses", "noisy_table"), cells("my_relapses", "noisy_scores")
    assert f"| `noisy_table`: error of survival | {means(table_cells, 'km_error')} |" in page
    assert f"| `noisy_scores`: error of log hazard ratios | {means(score_cells, 'coefficient_rms')} |" in page
    arms = cells("my_arms", "noisy_table")
    for one in (*table_cells, *score_cells, *arms):
        assert one.scalars["epsilon_certified"] == pytest.approx(float(one.coords["epsilon"]), rel=1e-9)
    rejections = [bool(one.scalars["rejected"]) for one in arms if one.coords["epsilon"] == 4.0]
    assert all(rejections) and "rejects equal hazards in all five replicates at ε = 4" in page


def test_files_of_hospitals_apart_are_the_same_patients(example):
    """The example of a network: as many rows as it says, and the numbers of the one file."""
    config = read_configuration(ROOT / "config" / "network_survival.example.yaml")
    (deployment,) = deployments_of(config, plans(config))
    with chdir(ROOT):
        apart = generate(deployment.plan, "my_relapses", [0], ROOT)[0]
    one = example[1]["my_relapses"][0]
    for name in ("times", "events", "covariates", "sizes", "client_names", "ids"):
        np.testing.assert_array_equal(getattr(apart, name), getattr(one, name))
    assert dict(deployment.network.rows) == dict(zip(apart.client_names, apart.sizes.tolist(), strict=True))


@pytest.mark.parametrize("label", ["noisy_table", "noisy_scores"])
def test_no_result_depends_on_how_cells_are_batched(label, example):
    chosen, data = example
    together = run(chosen, "my_relapses", label, [3], [0, 1], [0], data["my_relapses"])
    alone = [one for r in (0, 1) for one in run(chosen, "my_relapses", label, [3], [r], [0], data["my_relapses"])]
    for one, other in zip(together, alone, strict=True):
        assert one.coords == other.coords and repr(one.scalars) == repr(other.scalars)


def test_the_estimator_gives_the_fit_of_the_files(example):
    """The same records, as arrays in the units of the file: the pooled fit to the digits of its solver."""
    chosen, data = example
    (cell, *_) = run(chosen, "my_relapses", "pooled", [3], [0], [0], data["my_relapses"])
    rows = [line.split(",") for line in (ROOT / "config/example_data/hospitals.csv").read_text().splitlines()[1:]]
    X = np.array([[float(np.clip(float(r[4]), 30, 90)), r[5] == "II", r[5] == "III", r[6] == "yes"] for r in rows])
    months, relapse = np.array([float(r[2]) for r in rows]), np.array([r[3] == "relapse" for r in rows])
    model = pw.FederatedCox("reference", horizon=60).fit(X, months, relapse, parties=3, rng=1)
    assert cell.owner_report is not None
    told: Any = cell.owner_report.model["log_hazard_ratios"]
    np.testing.assert_allclose([one["coefficient"] for one in told], model.params_, rtol=1e-7)
    np.testing.assert_allclose([one["standard_error"] for one in told], model.standard_errors_, rtol=1e-6)


def test_in_a_release_an_error_about_records_names_the_party_alone():
    """How many records there are stays on the owner's screen, and nothing was sent."""
    records = SurvivalRecords(np.array([1.0, 2.0, 0.5, 1.5]), np.array([True, False, True, True]))
    done = run_of(records, SurvivalTableOptions(bins=4), clients=2, epsilon=1.0, rng=pw.SecureStreams(1))
    done.spec = replace(done.spec, public=replace(done.spec.public, natural_sizes=(3, 1)))
    with pytest.raises(PartyError) as told:
        simulate(table.fit, done)
    assert str(told.value).startswith("'client 1' has another number of records") and not done.channel.messages
    assert re.findall(r"\d", str(told.value)) == ["1"]
