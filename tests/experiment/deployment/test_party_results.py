"""What parties that ran apart have of the estimate: by name, number by number, that of the simulation."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deployment_cases import STUDIES, Apart
from deployment_processes import Parties
from partywise.__main__ import main
from partywise.experiment.cells import execution, run
from partywise.experiment.data import generate
from partywise.experiment.deployment.result import HeldEstimate, held_estimate, holders_in_words
from partywise.experiment.deployment.run_files import write_outcome
from partywise.experiment.deployment.screen import _number_line
from partywise.experiment.owner_outputs import OwnerReport, estimate_rows
from partywise.experiment.study import MethodSpec
from partywise.federation.deployment.outcome import Outcome, outcomes
from partywise.federation.place_checks import LocatedValue
from partywise.federation.publication.estimate import EstimateRow
from partywise.glm.model import Estimate

# Certified methods, by study: options, who has all of the estimate, and who a part.
METHODS: Mapping[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "functional_boosting": ({}, ["active"], ["upstream", "weather office"]),
    "label_private": ({}, ["shop"], []),
    "sliced_inverse_regression": ({}, ["server"], []),
    "vertical_trees": ({"protocol": "tables", "cipher": "sized", "num_of_trees": 1}, ["bank"], []),
    "vertical_linear": ({}, [], ["bank", "shop"]),
    "vertical_glm": ({}, ["analyst", "bank", "shop"], []),
}
PART = "part of intercept"


def case_of(study: str) -> Apart:
    """The small case of a study with its certified method."""
    case, (method, *_) = Apart(study), METHODS[study]
    if method:
        case.method = method
    return case


def simulated(case: Apart, folder: Path, monkeypatch: pytest.MonkeyPatch) -> OwnerReport:
    """What the owner of all data takes home of the same fit."""
    monkeypatch.chdir(folder / "whole")
    found = case.deployment()
    network = found.network
    data = generate(found.plan, network.case, [0], "resources")
    cells = run(found.plan, network.case, network.method, found.n_parties, [0], [network.fold], data)
    (report,) = (one.owner_report for one in cells if one.coords["epsilon"] == found.epsilon)
    monkeypatch.chdir(folder)
    assert report is not None
    return report


def rows_in(path: Path) -> list[EstimateRow]:
    """The rows of an ``estimate.csv``."""
    with path.open(newline="", encoding="utf-8") as handle:
        header, *rows = csv.reader(handle)
    assert tuple(header) == EstimateRow._fields
    return [EstimateRow(name, *(float(text) if text else None for text in texts)) for name, *texts in rows]


@pytest.mark.parametrize("study", STUDIES)
def test_every_place_writes_what_it_has_of_the_estimate_as_the_simulation_has_it(study, tmp_path, monkeypatch, capsys):
    case, (_, whole, parts) = case_of(study), METHODS[study]
    case.write(tmp_path)
    told = Parties(case, tmp_path).all()
    assert {one.code for one in told.values()} == {0}, told
    expected = {row.name: row for row in estimate_rows(simulated(case, tmp_path, monkeypatch).model)}
    found, shares = dict[str, EstimateRow](), list[float]()
    for name, one in told.items():
        folder = tmp_path / "out" / name
        outcome = json.loads((folder / "outcome.json").read_text())
        assert main(["result", str(folder)]) == 0
        shown = capsys.readouterr().out
        assert (outcome["estimate"]["all of it"], outcome["estimate"]["a part"]) == (whole, parts)
        assert f"estimate: method m gives {holders_in_words(whole, parts)}\n" in one.err
        if name not in (*whole, *parts):
            assert not (folder / "estimate.csv").exists()
            why = f"method m gives {holders_in_words(whole, parts)}"
            assert outcome["estimate"]["none"] == why and f"estimate: none here: {why}" in one.out and why in shown
            continue
        rows = rows_in(folder / "estimate.csv")
        assert f"estimate: {len(rows)} numbers in estimate.csv" in one.out
        assert name in parts or {row.name for row in rows} == expected.keys()
        for row in rows:
            assert f"{row.name} " in shown and f"{row.estimate:.6g}" in shown
            if row.name == PART:
                shares.append(row.estimate)
            else:
                assert repr(row) == repr(expected[row.name])
                found[row.name] = row
    if shares:
        # Of linear models with columns at two parties nobody has the whole.
        assert sum(shares) == pytest.approx(expected.pop("intercept").estimate, rel=1e-12)
    assert found.keys() == expected.keys() != set()


def held(study: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **method: Any) -> dict[str, HeldEstimate]:
    """What every place would have of a fit, in one process."""
    case = Apart(study)
    case.method = method or case.method
    monkeypatch.chdir(case.write(folder))
    if method.get("protocol") == "joint":
        del case.network["epsilon"]
    found = case.deployment()
    network = found.network
    data = generate(found.plan, network.case, [0], "resources")[0]
    run = execution(found.plan, network.case, network.method, found.n_parties, network.fold, found.epsilon, data)
    value = next(iter(outcomes(found.plan.methods[network.method].protocol.fit, run).values())).value
    return {name: held_estimate(found, value, name, run.spec) for name in run.names}


def test_the_noise_and_the_interval_of_a_number_are_in_its_unit(tmp_path, monkeypatch):
    """Minutes of 0 to 60 are fitted as 0 to 1."""
    shop = held("label_private", tmp_path, monkeypatch)["shop"]
    by_hand = held("label_private", tmp_path, monkeypatch, protocol="walr", noise="rr")["shop"]
    for one in (shop, by_hand):
        names = [row.name for row in one.rows]
        assert names == ["intercept", "minutes", "kind = y", "kind = z"]
        minutes, kind = one.rows[1:3]
        assert minutes.noise_sd and kind.noise_sd and 20 < kind.noise_sd / minutes.noise_sd < 180
        assert minutes.lower < minutes.upper and kind.upper - kind.lower > 2 * kind.noise_sd


@pytest.mark.parametrize("study", ["label_private", "vertical_trees"])
def test_a_party_that_can_predicts_its_own_records_as_the_simulation_does(study, tmp_path, monkeypatch):
    """The holder of the features; of trees the active party, the held-out records that all parties scored."""
    case, place = Apart(study), {"label_private": "shop", "vertical_trees": "bank"}[study]
    if study == "vertical_trees":
        case.method = {"protocol": "tables", "cipher": "sized", "num_of_trees": 2, "inference": "plain"}
        case.grid |= {"folds": 3}
        case.network |= {"fold": 1}
    case.write(tmp_path)
    told = Parties(case, tmp_path).all()
    assert {one.code for one in told.values()} == {0}, told
    report = simulated(case, tmp_path, monkeypatch)
    with (tmp_path / "out" / place / "predictions.csv").open(newline="") as handle:
        rows = {row["id"]: row for row in csv.DictReader(handle)}
    of_report = zip(report.ids.tolist(), report.held_out.tolist(), report.columns["predicted"].tolist(), strict=True)
    expected = {name: (held_out, value) for name, held_out, value in of_report if held_out or place == "shop"}
    assert rows.keys() == expected.keys() != set()
    for name, (held_out, value) in expected.items():
        assert int(rows[name]["held_out"]) == held_out
        # Scores that parties make together are added in another order.
        assert float(rows[name]["predicted"]) == pytest.approx(value, rel=1e-12 if study == "vertical_trees" else 0)
    assert f"; {len(rows)} predictions of own records in predictions.csv" in told[place].out
    assert [path.parent.name for path in tmp_path.glob("out/*/predictions.csv")] == [place]


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ({"protocol": "moments"}, "method m gives all of it to analyst, bank, shop"),
        ({"protocol": "bcd"}, "method m gives all of it to analyst, and to bank, shop a part each"),
        ({"protocol": "joint"}, "who has it shows when the run has ended"),
    ],
)
def test_who_will_have_it_is_told_before_anybody_connects(method, words, tmp_path):
    """From the program alone; where values steer it from a rehearsal, which made-up records may not pass (joint)."""
    case = Apart("vertical_glm")
    case.method = method
    case.network["patience"] = 1.0
    if method["protocol"] != "moments":
        del case.network["epsilon"]
    if method["protocol"] != "joint":
        del case.network["parties"]["dealer"]
    case.write(tmp_path)
    parties = Parties(case, tmp_path)
    parties.start("bank")
    told = parties.ended("bank")["bank"]
    assert told.code == 1 and "has not come within" in told.err
    assert f"estimate: {words}" in told.err.splitlines()


def test_trees_of_ranks_have_no_threshold_of_a_column_elsewhere(tmp_path, monkeypatch):
    bank = held("vertical_trees", tmp_path, monkeypatch)["bank"]
    thresholds = {row.name.split()[-2] for row in bank.rows if row.name.endswith("threshold")}
    (first, *_) = bank.model["trees"]
    assert thresholds == {"b"} and first["column"] == "a" and first["rank"] >= 0 and np.isnan(first["threshold"])


def test_an_estimate_that_no_place_has_is_said_to_be_nobodys(tmp_path, monkeypatch):
    found = held("vertical_glm", tmp_path, monkeypatch, protocol="joint", link="shared", solver="lbfgs")
    assert {one.reason for one in found.values()} == {"method m gives all of it to nobody"}
    assert not any(one.rows for one in found.values())


def test_what_is_undefined_or_has_no_names_is_a_reason_and_no_error(tmp_path, monkeypatch):
    """All is paid then: a run must end well."""
    deployment, estimate = Apart("vertical_glm").deployment(), Estimate(np.full(5, np.nan), status="diverged")
    value, spec = LocatedValue(frozenset(["analyst"]), {"analyst": estimate}), MethodSpec(None, None, None, None)
    assert "it has no names: AttributeError" in held_estimate(deployment, value, "analyst", spec).reason
    settings = deployment.plan.cases["own"].settings
    spec = replace(spec, settings=settings)
    assert held_estimate(deployment, value, "analyst", spec).reason == "all its numbers are undefined (status diverged)"


def test_all_of_a_result_is_on_disk_when_it_is_written_and_none_of_an_earlier_one(tmp_path, monkeypatch):
    """A party says that it is done after that."""
    synced, sync = set[str](), os.fsync

    def noted(handle: int) -> None:
        sync(handle)
        synced.add(Path(os.readlink(f"/proc/self/fd/{handle}")).name)

    monkeypatch.setattr(os, "fsync", noted)
    array, rows = np.arange(20.0), (EstimateRow("age", 0.1, None, -1.0, 1.0),)
    full = HeldEstimate(("shop",), (), rows, {"kind": "line"}, predictions=(("v1", 0, 0.5),))
    assert write_outcome(tmp_path, Outcome("shop", {"x": array}), "experiment", full) == ["outcome_1.csv"]
    files = {"outcome.json", "estimate.csv", "predictions.csv", "outcome_1.csv"}
    assert synced == {path.name for path in tmp_path.iterdir()} | {tmp_path.name} == files | {tmp_path.name}
    assert (tmp_path / "estimate.csv").read_text() == "name,estimate,noise_sd,lower,upper\nage,0.1,,-1.0,1.0\n"
    assert (tmp_path / "predictions.csv").read_text() == "id,held_out,predicted\nv1,0,0.5\n"
    write_outcome(tmp_path, Outcome("shop", {}), "experiment", HeldEstimate(("bank",), reason="bank has it"))
    assert [path.name for path in tmp_path.iterdir()] == ["outcome.json"]


def test_noise_that_is_undefined_is_said_so():
    row = dict(zip(EstimateRow._fields, ("age", "0.25", "nan", "", ""), strict=True))
    assert _number_line(row, 5) == f"age    {'0.25':>12}  noise sd undefined"


def test_files_of_two_runs_are_no_result(tmp_path, capsys):
    """A run that was killed after it wrote its outcome has no record yet: that of an earlier run is not its own."""
    case = Apart("label_private")
    case.write(tmp_path)
    assert {one.code for one in Parties(case, tmp_path).all().values()} == {0}
    folder = tmp_path / "out" / "shop"
    told = json.loads((folder / "outcome.json").read_text())
    (folder / "outcome.json").write_text(json.dumps(told | {"digest": "0" * 64}))
    assert main(["result", str(folder)]) == 2
    assert "has no outcome.json and estimate.csv of the run in its run.json" in capsys.readouterr().err
