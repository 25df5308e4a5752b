"""What parties that ran apart have of the estimate: by name, number by number, that of the simulation."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from crate.content import crate_of
from crate.metadata import FEDERATED, METADATA
from deployment_cases import STUDIES, Apart, clients_of_kinds, simulated
from deployment_processes import Parties, PartyOutput
from partywise.__main__ import main
from partywise.core.verdicts import OF_RECORDS
from partywise.deployment.outcomes.kept_runs import cell_of_run
from partywise.deployment.outcomes.result import HeldEstimate, held_estimate, holders_in_words
from partywise.deployment.outcomes.run_files import last_run, read_record, write_outcome
from partywise.deployment.part import LocalRun
from partywise.deployment.screen import _number_line
from partywise.deployment.session.outcome import Outcome, outcomes
from partywise.experiment.cells import Cell, execution
from partywise.experiment.data import generate
from partywise.experiment.owner_outputs import OwnerReport, estimate_rows, plain
from partywise.experiment.plans import plans, read_configuration
from partywise.experiment.results.attributes import meanings
from partywise.experiment.results.cube import open_cube
from partywise.experiment.study import MethodSpec
from partywise.federation.estimators.estimate_rows import EstimateRow
from partywise.federation.place_checks import LocatedValue
from partywise.methods.glm.model import GlmEstimate
from partywise.models.intervals import reason_name
from pipeline import ROOT, Planned, planned, snakemake
from verbs import report
from verbs.crate import write

# Certified methods, by study: options, who has all of the estimate, and who a part.
METHODS: Mapping[str, tuple[dict[str, Any], list[str], list[str]]] = {
    "federated_epidemiology": ({}, ["server"], []),
    "federated_survival": ({}, ["server"], []),
    "functional_boosting": ({}, ["active"], ["upstream", "weather office"]),
    "label_private": ({}, ["shop"], []),
    "sliced_inverse_regression": ({}, ["server"], []),
    "vertical_trees": ({"protocol": "tables", "cipher": "sized", "num_of_trees": 1}, ["bank"], []),
    "vertical_linear": ({}, [], ["bank", "shop"]),
    "vertical_glm": ({}, ["analyst", "bank", "shop"], []),
}
# What a fit of so few records says of itself, where it is not ok.
STATUSES = {"federated_survival": "not_estimable"}
PART = "part of intercept"
# Figures that are drawn of a run.
FIGURES = {"vertical_trees": ["epsilon_by_method"]}


# What a cube of parties apart does not know, by study, and why.
LOSSES = "errors are those of records, of all parties at that"
POOLED = "nobody pools the records, to fit them or to compare with"
PERSONS = "how many persons the records are of is not public"
COUNTED = "the evaluator counts it, over all parties"
UNDEFINED: Mapping[str, Mapping[str, str]] = {
    "federated_epidemiology": {
        **dict.fromkeys(("error", "pooled_sums", "width_ratio"), POOLED),
        "records_read": COUNTED,
    },
    "federated_survival": {
        **dict.fromkeys(("km_error", "cumulative_hazard_error", "rmst_error", "coefficient_rms"), POOLED),
        **dict.fromkeys(("coefficient_largest", "squared_error", "worse_than_zero"), POOLED),
        **dict.fromkeys(("curve_pooled", "ratio_pooled", "ratio_pooled_error"), POOLED),
        **dict.fromkeys(("pooled_at_risk", "pooled_censored"), POOLED),
        **dict.fromkeys(("clip_share", "records_read", "stopped_share"), COUNTED),
    },
    "functional_boosting": {
        **dict.fromkeys(("il2", "mape", "mape_left_out", "nrmse", "relative_error", "ril2", "rmse", "smape"), LOSSES),
        **dict.fromkeys(("wmape", "worse_than_mean", "in_sample"), LOSSES),
        **dict.fromkeys(("curve_observed", "curve_predicted", "record_label", "record_id"), LOSSES),
    },
    "label_private": {
        **dict.fromkeys(("auc", "calibration_error", "calibration_intercept", "calibration_slope"), LOSSES),
        **dict.fromkeys(("log_loss", "uninformative", "calibration_predicted", "calibration_observed"), LOSSES),
        "path_steps": LOSSES,
        "excess_risk": POOLED,
        "n_protected": PERSONS,
        "delta_exceeds_1_over_n": PERSONS,
    },
    "sliced_inverse_regression": {
        "separation": LOSSES,
        "in_sample": LOSSES,
        "record_coordinates": LOSSES,
        "shown_response": LOSSES,
        "entry_clip_share": COUNTED,
        "n_protected": PERSONS,
        "delta_exceeds_1_over_n": PERSONS,
    },
    "vertical_trees": {
        **dict.fromkeys(("accuracy", "auc", "log_loss", "published_loss", "worse_than_mean"), LOSSES),
        **dict.fromkeys(("path_train_loss", "path_test_loss"), LOSSES),
        "additions": COUNTED,
    },
    "vertical_linear": {
        **dict.fromkeys(("accuracy", "auc", "log_loss", "worse_than_mean"), LOSSES),
        **dict.fromkeys(("excess_loss", "limit_excess", "max_coefficient_difference"), POOLED),
        **dict.fromkeys(("path_rounds", "path_loss", "path_loss_excess"), LOSSES),
        **dict.fromkeys(("ciphertexts", "decryptions", "encryptions", "multiplications", "rerandomisations"), COUNTED),
        **dict.fromkeys(("rows_attacked", "rows_recovered"), COUNTED),
    },
    "vertical_glm": {
        **dict.fromkeys(("aic", "aic_published", "deviance", "deviance_r2", "null_deviance", "in_sample"), LOSSES),
        **dict.fromkeys(("coefficient_error", "correlation_error", "eigenvalue_error", "excess_deviance"), POOLED),
        **dict.fromkeys(("loading_angle", "se_units", "worse_than_null", "rank"), POOLED),
        **dict.fromkeys(("pooled_coefficients", "pooled_errors", "pooled_matrix"), POOLED),
        **dict.fromkeys(("attack_rows", "attack_space", "record_clip_share"), COUNTED),
        **dict.fromkeys(("leaked_messages", "leaked_share"), COUNTED),
    },
}


@dataclass(frozen=True)
class Finished:
    """A run that has ended. folder : with ``out``, in it what every party wrote; config : what they shared"""

    study: str
    case: Apart
    folder: Path
    told: Mapping[str, PartyOutput]
    config: Mapping[str, Any]

    @property
    def folders(self) -> list[Path]:
        """What every party wrote."""
        return [last_run(self.folder / "out" / name) for name in self.case.names]


@pytest.fixture(scope="module", params=STUDIES)
def finished(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The run of a study's certified method, for all tests of it."""
    study = request.param
    case, folder, (method, *_) = Apart(study), tmp_path_factory.mktemp(study), METHODS[study]
    case.method, case.figures = method or case.method, FIGURES.get(study)
    # Arrays are kept of the first fold.
    case.network |= {"fold": 0}
    case.write(folder)
    parties = Parties(case, folder)
    return Finished(study, case, folder, parties.all(), parties.configs[case.names[0]])


def report_of(cell: Cell) -> OwnerReport:
    """What the owner of all data takes home."""
    assert cell.owner_report is not None
    return cell.owner_report


def rows_in(path: Path) -> list[EstimateRow]:
    """The rows of an ``estimate.csv``."""
    with path.open(newline="", encoding="utf-8") as handle:
        header, *rows = csv.reader(handle)
    assert tuple(header) == (*EstimateRow._fields, "interval")
    found = []
    for name, *texts, note, centre, interval in rows:
        numbers = (float(text) if text else None for text in texts)
        found.append(EstimateRow(name, *numbers, note, float(centre) if centre else None))
        # Every number has an interval or a reason of the list, and never both.
        assert (interval == "95 %") == (not note) == bool(texts[2]) and (not note or interval == reason_name(note))
    return found


def test_every_place_writes_what_it_has_of_the_estimate_as_the_simulation_has_it(finished, monkeypatch, capsys):
    case, told, (_, whole, parts) = finished.case, finished.told, METHODS[finished.study]
    assert {one.code for one in told.values()} == {0}, told
    model = report_of(simulated(case, finished.folder, monkeypatch)).model
    expected = {row.name: row for row in estimate_rows(model)}
    found, shares = dict[str, EstimateRow](), list[float]()
    for name, one in told.items():
        folder = last_run(finished.folder / "out" / name)
        outcome = json.loads((folder / "outcome.json").read_text())
        assert main(["network", "result", str(folder)]) == 0
        shown = capsys.readouterr().out
        assert (outcome["estimate"]["all of it"], outcome["estimate"]["a part"]) == (whole, parts)
        assert f"estimate: method m gives {holders_in_words(whole, parts)}\n" in one.err
        if name not in (*whole, *parts):
            assert not (folder / "estimate.csv").exists()
            why = f"method m gives {holders_in_words(whole, parts)}"
            assert outcome["estimate"]["none"] == why and f"estimate: none here: {why}" in one.out and why in shown
            continue
        rows = rows_in(folder / "estimate.csv")
        status = STATUSES.get(finished.study, "ok")
        assert outcome["estimate"]["status"] == status
        marked = "" if status == "ok" else f" ({status})"
        assert f"estimate: {len(rows)} numbers{marked} in estimate.csv" in one.out
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


@pytest.mark.parametrize("protocol", ["certified", "whitened"])
def test_intervals_of_a_direction_and_the_bound_of_its_loss_are_those_of_the_simulation(
    protocol, tmp_path, monkeypatch
):
    case = clients_of_kinds()
    case.method |= {"protocol": protocol}
    case.network |= {"fold": 0}
    case.write(tmp_path)
    Parties(case, tmp_path).succeeded()
    model, folder = report_of(simulated(case, tmp_path, monkeypatch)).model, last_run(tmp_path / "out" / "server")
    rows, outcome = rows_in(folder / "estimate.csv"), json.loads((folder / "outcome.json").read_text())
    assert [row.name for row in rows if row.lower is not None] == ["direction 1 a", "direction 1 b"]
    assert list(map(repr, rows)) == list(map(repr, estimate_rows(model)))
    assert 0 < outcome["estimate"]["model"]["loss_bound"] == model["loss_bound"] < 0.3


def test_the_cell_of_a_run_is_that_of_the_simulation_but_for_what_needs_records(finished, monkeypatch):
    """In all its numbers to the last bit; what is undefined is undefined for a reason that is stated."""
    expected, plan = simulated(finished.case, finished.folder, monkeypatch), finished.case.deployment().plan
    cell = cell_of_run(plan, finished.folders)
    assert (cell.coords, cell.names, cell.ledger) == (expected.coords, expected.names, expected.ledger)
    assert repr(cell.wire) == repr(expected.wire)
    record = read_record(finished.folders[0])
    assert (cell.scalars["run_apart"], cell.scalars["run_mode"]) == (record.run, "experiment")
    ours = {name: array for name, array in values_of(cell).items() if not name.startswith("run_")}
    theirs = values_of(expected)
    assert ours.items() <= theirs.items() and "epsilon_certified" in ours
    check_undefined(finished.study, theirs.keys() - ours.keys())
    # The model goes home with who has all of it, and the coefficients of a part nowhere.
    if METHODS[finished.study][1]:
        assert plain(report_of(cell).model) == plain(report_of(expected).model)
    else:
        assert cell.owner_report is None


@pytest.mark.parametrize("finished", FIGURES, indirect=True)
def test_the_pipeline_takes_a_run_as_it_is_and_makes_cube_figure_and_report(finished, tmp_path, monkeypatch, capsys):
    """No data lie there, none are drawn, and nothing is fitted; the same once more makes nothing."""
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(yaml.safe_dump(finished.config, sort_keys=False))
    server = next(folder for folder in finished.folders if not (folder / "cell.npz").exists())
    assert main(["network", "union", *map(str, finished.folders), "--results", "results/mine"]) == 0
    kept = capsys.readouterr().out.splitlines()[-1].removeprefix("kept: ").partition(";")[0]
    assert {path.name for path in Path(kept).rglob("*.*")} == {"run.json", "run.jsonl", "cell.npz"}
    words = "--snakefile", str(ROOT / "Snakefile"), "--configfile", "mine.yaml", "--cores", "1"
    done = snakemake(tmp_path, *words)
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"^(?:local)?rule (\w+):$", done.stderr, re.M)) == {"fit", "collect", "figure", "all"}
    study, run_id = finished.study, read_record(server).run
    with open_cube(Path("results/mine", study, "cube.nc")) as cube:
        assert cube["run_apart"].item() == run_id and meanings(cube["run_mode"]).item() == "experiment"
        assert meanings(cube["status"]).item() == "ok" and np.isnan(cube["log_loss"].item())
    for name in FIGURES[study]:
        assert Path("results/mine/figures", study, f"{name}.png").stat().st_size > 10_000
    assert "distributed fits in mode experiment" in Path("results/mine", study, "findings.json").read_text()
    (record,) = Path("results/mine/provenance", study, "fit").rglob("*.json")
    assert json.loads(record.read_text())["runs_apart"] == [run_id]
    assert planned(tmp_path, *words) == Planned({}, ())
    assert main(["compare", "--recompute", f"results/mine/{study}/cube.nc"]) == 2
    assert "all fits of the cube are of parties that ran apart" in capsys.readouterr().err
    assert report.main(["--configfile", "mine.yaml", "--directory", str(tmp_path)]) == 0
    assert "epsilon_by_method" in Path("results/mine/report.html").read_text()
    check_crate(finished, run_id)


def check_crate(finished: Finished, run_id: str) -> None:
    """The run is an action of all parties; nothing of a party goes in, and no profile of horizontal data is claimed."""
    shared = Path("mine.yaml")
    made = crate_of(Path("results/mine"), plans(read_configuration(shared)), shared, {}, False, "", "licence")
    write(Path("crate"), made)
    entities = {one["@id"]: one for one in json.loads(Path("crate", METADATA).read_text())["@graph"]}
    action = entities[f"#{run_id}"]
    assert [one["@id"] for one in action["agent"]] == [f"#party/{name}" for name in finished.case.names]
    assert [one["@id"] for one in action["object"]][:-1] == [f"#records/{name}" for name in finished.case.files]
    assert action["description"].startswith("certified for the unit") and "mode experiment" in action["name"]
    accounts = {entities[one["@id"]]["value"] for one in action["result"]}
    assert accounts == {sha256((folder / "run.jsonl").read_bytes()).hexdigest() for folder in finished.folders}
    assert FEDERATED not in str(entities["./"]["conformsTo"])
    files = {path.name: path.read_bytes() for path in Path("crate").rglob("*") if path.is_file()}
    assert {"tidy.csv", "ledger.csv", "epsilon_by_method.svg"} <= files.keys()
    assert not {"predictions.csv", "models.json", "report.html", "run.json", "run.jsonl", "cell.npz"} & files.keys()
    assert "localhost" not in files["configuration.yaml"].decode()
    private = {path: path.read_bytes() for path in finished.folder.rglob("*") if path.is_file()}
    assert len(private) > 10 and not {path for path, content in private.items() if content in files.values()}
    tables = [path for path in private if path.suffix == ".csv" and "out" not in path.parts]
    rows = {row for path in tables for row in private[path].splitlines()[1:]}
    assert len(rows) > 100 and not [row for row in rows if any(row in content for content in files.values())]


def check_undefined(study: str, undefined: Set[str]) -> None:
    """What parties apart do not compute is what has a reason above, and nothing else; else what is to be done."""
    reasons = UNDEFINED.get(study, {})
    unexplained, defined = sorted(undefined - reasons.keys()), sorted(reasons.keys() - undefined)
    assert not unexplained, (
        f"{study}: no party that runs apart computes {', '.join(unexplained)}: return it from estimate_measures or "
        "estimate_examples of the study, or, where records are needed, give the reason in UNDEFINED of this file."
    )
    assert not defined, (
        f"{study}: {', '.join(defined)} is in UNDEFINED of this file and parties that run apart compute it, or the "
        "simulation does not: take it out there."
    )


def values_of(cell: Cell) -> dict[str, object]:
    """What is defined of the numbers and arrays of a cell, to the last bit."""
    numbers = {name: repr(value) for name, value in cell.scalars.items() if value is not None and value == value}
    arrays = {name: (dims, array) for name, (dims, array) in cell.example_fits.items() if not np.isnan(array).all()}
    return numbers | {name: (dims, array.tobytes()) for name, (dims, array) in arrays.items()}


def held(
    study: str, folder: Path, monkeypatch: pytest.MonkeyPatch, epsilon: float = 2.0, **method: Any
) -> dict[str, HeldEstimate]:
    """What every place would have of a fit, in one process."""
    case = Apart(study)
    case.method = method or case.method
    case.grid |= {"epsilon": [epsilon]}
    case.network |= {"epsilon": epsilon}
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
    """Minutes of 0 to 60 are fitted as 0 to 1; with more noise, so few records have no interval."""
    shop = held("label_private", tmp_path, monkeypatch, 50.0)["shop"]
    by_hand = held("label_private", tmp_path, monkeypatch, 50.0, protocol="walr", noise="rr")["shop"]
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
    told = Parties(case, tmp_path).succeeded()
    report = report_of(simulated(case, tmp_path, monkeypatch))
    with (last_run(tmp_path / "out" / place) / "predictions.csv").open(newline="") as handle:
        rows = {row["id"]: row for row in csv.DictReader(handle)}
    of_report = zip(report.ids.tolist(), report.held_out.tolist(), report.columns["predicted"].tolist(), strict=True)
    expected = {name: (held_out, value) for name, held_out, value in of_report if held_out or place == "shop"}
    assert rows.keys() == expected.keys() != set()
    for name, (held_out, value) in expected.items():
        assert int(rows[name]["held_out"]) == held_out
        # Scores that parties make together are added in another order.
        assert float(rows[name]["predicted"]) == pytest.approx(value, rel=1e-12 if study == "vertical_trees" else 0)
    assert f"; {len(rows)} predictions of own records in predictions.csv" in told[place].out
    assert [path.parent.parent.name for path in tmp_path.glob("out/*/*/predictions.csv")] == [place]


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
    assert {one.reason for one in found.values()} == {"method m gives all of it to none of them"}
    assert not any(one.rows for one in found.values())


def test_what_is_undefined_or_has_no_names_is_a_reason_and_no_error(tmp_path, monkeypatch):
    """All is paid then: a run must end well."""
    deployment, estimate = Apart("vertical_glm").deployment(), GlmEstimate(np.full(5, np.nan), status="diverged")
    value, spec = LocatedValue(frozenset(["analyst"]), {"analyst": estimate}), MethodSpec(None, None, None, None)
    assert "it has no names: AttributeError" in held_estimate(deployment, value, "analyst", spec).reason
    settings = deployment.plan.cases["own"].settings
    spec = replace(spec, settings=settings)
    assert held_estimate(deployment, value, "analyst", spec).reason == "all its numbers are undefined (status diverged)"


@pytest.mark.parametrize("status", [*OF_RECORDS, "not_converged"])
def test_a_verdict_that_is_exact_of_records_is_in_no_cell_of_a_distributed_run(status, tmp_path, monkeypatch):
    case = Apart("vertical_glm")
    monkeypatch.chdir(case.write(tmp_path))
    deployment = case.deployment()
    plan, network = deployment.plan, deployment.network
    data = generate(plan, network.case, [0], "resources")[0]
    fitted = execution(plan, network.case, network.method, deployment.n_parties, 0, deployment.epsilon, data)
    estimate = GlmEstimate(np.zeros(5), status=status)
    value = LocatedValue(frozenset(["analyst"]), {"analyst": estimate})
    result = held_estimate(deployment, value, "analyst", fitted.spec, LocalRun(fitted, {}))
    expected = "ok" if status in OF_RECORDS else status
    assert result.cell is not None, result.no_cell
    assert (result.status, result.cell.scalars["status"]) == (expected, expected)


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
    header = "name,estimate,noise_sd,lower,upper,note,centre,interval\n"
    assert (tmp_path / "estimate.csv").read_text() == f"{header}age,0.1,,-1.0,1.0,,,95 %\n"
    assert (tmp_path / "predictions.csv").read_text() == "id,held_out,predicted\nv1,0,0.5\n"
    write_outcome(tmp_path, Outcome("shop", {}), "experiment", HeldEstimate(("bank",), reason="bank has it"))
    assert [path.name for path in tmp_path.iterdir()] == ["outcome.json"]


def test_what_parties_apart_do_not_compute_has_a_reason_or_a_remedy():
    check_undefined("vertical_trees", UNDEFINED["vertical_trees"].keys())
    with pytest.raises(AssertionError, match="another: no party that runs apart computes depth: return it from"):
        check_undefined("another", {"depth"})
    with pytest.raises(AssertionError, match=r"additions is in UNDEFINED of this file .*: take it out there"):
        check_undefined("vertical_trees", UNDEFINED["vertical_trees"].keys() - {"additions"})


def test_noise_that_is_undefined_is_said_so():
    row = dict(zip(EstimateRow._fields, ("age", "0.25", "nan", "", "", "", ""), strict=True))
    assert _number_line(row, 5) == f"age    {'0.25':>12}  noise sd undefined"


def test_files_of_two_runs_are_no_result(tmp_path, capsys):
    """A run that was killed after it wrote its outcome has no record yet: that of an earlier run is not its own."""
    case = Apart("label_private")
    case.write(tmp_path)
    Parties(case, tmp_path).succeeded()
    folder = last_run(tmp_path / "out" / "shop")
    told = json.loads((folder / "outcome.json").read_text())
    (folder / "outcome.json").write_text(json.dumps(told | {"digest": "0" * 64}))
    assert main(["network", "result", str(folder)]) == 2
    assert "has no outcome.json and estimate.csv of the run in its run.json" in capsys.readouterr().err
