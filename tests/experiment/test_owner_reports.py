"""predictions.csv and models.json of own data: whose rows they are, and that models lead to predictions."""

from __future__ import annotations

import csv
import json
import math
import shutil
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

import toy
from crate.content import OF_RECORDS, crate_of
from owner_outputs_driver import EXAMPLES, OUTPUTS, ROOT, Taken, example_plan, table, taken
from partywise import LabelPrivateLogisticRegression, VerticalGLM, VerticalLinear
from partywise.experiment.batches import blocks, data_blocks
from partywise.experiment.owner_outputs import OwnerReport, decode_report, encode_report, estimate_rows
from partywise.experiment.results.provenance_record import fingerprint_of, write_record
from partywise.experiment.tables import take_home
from partywise.methods.glm.model import GlmEstimate
from partywise.models.intervals import Intervals
from partywise.studies.vertical_glm.owner_outputs import regression
from plain_digests import artifacts_with, digests_of_file
from verbs.crate import write


@pytest.fixture(scope="module")
def homes(tmp_path_factory, monkeypatch_module) -> dict[str, Taken]:
    monkeypatch_module.chdir(ROOT)
    return {study: taken(example_plan(study), tmp_path_factory.mktemp(study)) for study in EXAMPLES}


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def floats(rows: list[dict[str, str]], column: str) -> np.ndarray:
    return np.array([float(row[column]) for row in rows])


def model_of(home: Taken, method: str, fold: int = 0) -> dict:
    (found,) = [m["model"] for m in home.models["models"] if (m["method"], m["fold"]) == (method, fold)]
    return found


def linear_predictor(model: dict, rows: list[dict[str, str]], clip: bool) -> np.ndarray:
    """Intercept and coefficients on entries as the owner's file has them."""
    found = np.full(len(rows), model["intercept"])
    for one in model["coefficients"]:
        texts = [row[one["column"]] for row in rows]
        if "level" in one:
            values = np.array([float(text == one["level"]) for text in texts])
        else:
            values = np.array([float(text) for text in texts])
            values = np.clip(values, *one["bounds"]) if clip else values
        found += one["coefficient"] * values
    return found


@pytest.mark.parametrize("study", EXAMPLES)
def test_every_record_once_a_fit_and_the_mark_is_the_fold(homes, study):
    home = homes[study]
    (case,) = home.plan.cases.values()
    made = home.plan.study
    folds = None if study == "sliced_inverse_regression" else made.folds(home.data, case.folds, case.settings)
    ids = [str(name) for name in home.data.ids]
    fits = home.fits()
    assert len(fits) == sum(case.folds * len(home.plan.epsilons(case.name, m)) for m in case.methods)
    for (_, fold, _), rows in fits.items():
        times = len({row.get("time") for row in rows})
        assert Counter(row["id"] for row in rows) == dict.fromkeys(ids, times)
        marks = {row["id"]: row["held_out"] for row in rows}
        whole = ("federated_survival", "functional_boosting", "vertical_glm")
        if folds is None or (case.folds == 1 and study in whole):
            assert set(marks.values()) == {"0"}
        else:
            assert [marks[name] for name in ids] == [str(int(of == int(fold))) for of in folds]
    assert {row["replicate"] for row in home.rows} == {"0"}


@pytest.mark.parametrize("study", EXAMPLES)
def test_epsilon_of_a_row_is_that_of_its_fit(homes, study):
    home = homes[study]
    told = {m: {float(row["epsilon_certified"]) for row in home.rows if row["method"] == m} for m in EXAMPLES[study][1]}
    with xr.open_dataset(home.folder / "cube.nc") as cube:
        for place, method in enumerate(cube["method_label"].values):
            certified = cube[home.plan.study.certified].isel(method_label=place, replicate=0)
            assert told[method] == set(certified.values[~np.isnan(certified.values)].tolist())
    assert any(math.isinf(value) for values in told.values() for value in values)


def test_predictions_of_the_reference_are_those_of_the_public_estimator(homes):
    """The reference fits without noise: an estimator given the same arrays predicts the same doubles."""
    home = homes["vertical_glm"]
    rows, data = home.fits()["direct", "0", "inf"], home.data
    fit = VerticalGLM("binomial", "reference").fit(data.X, data.y, parties=[[5, 6, 7], [0, 1, 2, 3, 4]], rng=0)
    assert [row["id"] for row in rows] == [str(name) for name in data.ids]
    np.testing.assert_array_equal(floats(rows, "predicted"), fit.predict(data.X))
    np.testing.assert_array_equal(floats(rows, "observed"), data.y)


def test_predictions_without_privacy_are_those_of_the_label_private_estimator(homes):
    home = homes["label_private"]
    rows, data = home.fits()["unprotected", "0", "inf"], home.data
    X = data.X[:, 1:]
    fit = LabelPrivateLogisticRegression("non_private").fit(X[data.train], data.labels[data.train], rng=0)
    np.testing.assert_array_equal(floats(rows, "predicted"), fit.predict_proba(X)[:, 1])


def test_predictions_of_the_exact_fit_are_those_of_the_linear_estimator(homes):
    home = homes["vertical_linear"]
    rows, data = home.fits()["exact_fit", "0", "inf"], home.data
    parties = [[0, 1, 2, 3, 4], [5, 6, 7]]
    fit = VerticalLinear("exact").fit(data.X[data.train], data.y[data.train], parties=parties, rng=0)
    np.testing.assert_array_equal(floats(rows, "predicted"), fit.predict_proba(data.X)[:, 1])


@pytest.mark.parametrize("method", ["planned_release", "unprotected"])
def test_the_model_of_private_labels_reproduces_predictions_from_the_file(homes, method):
    home, visits = homes["label_private"], table("visits.csv")
    for (label, _, _), rows in home.fits().items():
        if label == method:
            eta = linear_predictor(model_of(home, method), [visits[row["id"]] for row in rows], clip=True)
            # Features are kept as 32-bit floats: relative errors of 6e-8 in each.
            np.testing.assert_allclose(1 / (1 + np.exp(-eta)), floats(rows, "predicted"), rtol=1e-6)


@pytest.mark.parametrize(("study", "clip"), [("vertical_linear", True), ("vertical_glm", False)], ids=["linear", "glm"])
def test_models_of_split_columns_reproduce_predictions_from_the_files(homes, study, clip):
    home, shop, bank = homes[study], table("shop.csv"), table("bank.csv")
    for (method, fold, _), rows in home.fits().items():
        entries = [shop[row["id"]] | bank[row["id"]] for row in rows]
        eta = linear_predictor(model_of(home, method, int(fold)), entries, clip)
        np.testing.assert_allclose(1 / (1 + np.exp(-eta)), floats(rows, "predicted"), rtol=1e-9)
        assert [float(entry["late"]) for entry in entries] == floats(rows, "observed").tolist()


@pytest.mark.parametrize("method", ["pooled", "noisy_tables"])
def test_trees_and_tables_reproduce_predictions_from_the_files(homes, method):
    home, shop, bank = homes["vertical_trees"], table("shop.csv"), table("bank.csv")
    (rows,) = [rows for (label, _, _), rows in home.fits().items() if label == method]
    model = model_of(home, method)
    assert len(model["trees"]) + len(model["tables"]) > 0

    def leaf(node: dict, entry: dict[str, str]) -> float:
        while "value" not in node:
            text = entry[node["column"]]
            left = text in node["levels"] if "levels" in node else float(text) <= node["threshold"]
            node = node["left" if left else "right"]
        return node["value"]

    def value(part: dict, entry: dict[str, str]) -> float:
        text = entry[part["column"]]
        code = part["levels"].index(text) if "levels" in part else float(text)
        return part["values"][np.searchsorted(part["edges"], code, side="left")]

    for row in rows:
        entry = shop[row["id"]] | bank[row["id"]]
        score = model["base"] + model["weight"] * sum(leaf(tree, entry) for tree in model["trees"])
        score += sum(value(part, entry) for part in model["tables"])
        assert 1 / (1 + math.exp(-score)) == pytest.approx(float(row["predicted"]), rel=1e-12)


def test_directions_reproduce_projections_from_the_file(homes):
    home = homes["sliced_inverse_regression"]
    with (ROOT / "config/example_data/clinics.csv").open(encoding="utf-8", newline="") as handle:
        lines = list(csv.DictReader(handle))
    for (method, _, _), rows in home.fits().items():
        (direction,) = model_of(home, method)["directions"]
        entries = [lines[int(row["id"].removeprefix("row ")) - 2] for row in rows]
        as_model = {"intercept": direction["constant"], "coefficients": direction["coefficients"]}
        eta = linear_predictor(as_model, entries, clip=False)
        np.testing.assert_allclose(eta, floats(rows, "direction 1"), rtol=1e-9, atol=1e-12)
        assert [float(entry["flow"]) for entry in entries] == floats(rows, "observed").tolist()


def test_intervals_are_taken_home_beside_their_coefficients_or_the_reason_why_there_are_none(homes):
    home = homes["vertical_glm"]
    told = model_of(home, "private_moments")
    assert "is of a category of several levels" in told["no_intervals"]
    assert {row.note for row in estimate_rows(told)} == {told["no_intervals"]}
    settings: Any = home.plan.cases["my_tables"].settings
    b = np.arange(len(told["coefficients"]) + 1.0)
    estimate: Any = GlmEstimate(b, noise_errors=b / 10, intervals=Intervals(b, np.ones(len(b))))
    found: Any = regression(estimate, settings)
    assert "no_intervals" not in found and found["intercept_interval"].mean() == pytest.approx(0.0)
    for one in found["coefficients"]:
        np.testing.assert_allclose(one["interval"], one["coefficient"] + 1.959964 * np.array([-1, 1]), rtol=1e-6)
        assert one["noise_sd"] == one["coefficient"] / 10
    rows = list(estimate_rows(found))
    assert not any(row.note for row in rows)
    assert [row.estimate for row in rows] == b.tolist() and [row.noise_sd for row in rows] == (b / 10).tolist()
    np.testing.assert_allclose([row.upper - row.lower for row in rows], 2 * 1.959964, rtol=1e-6)


@pytest.mark.parametrize("name", ["size"])
def test_numbers_of_a_slicing_fit_are_taken_home_as_the_cube_has_them(homes, name):
    home = homes["sliced_inverse_regression"]
    with xr.open_dataset(home.folder / "cube.nc") as cube:
        values = cube[name].values[:, list(cube["method_label"].values).index("own_moments"), 0].ravel()
    assert model_of(home, "own_moments")[name] == pytest.approx(values[np.isfinite(values)][0], rel=1e-12)
    assert name not in model_of(home, "pooled_sir")


def test_operators_reproduce_predicted_curves(homes):
    """On smoothed curves, from knots and coefficients alone, by the integrals of the bases."""
    from scipy.interpolate import BSpline

    home, data = homes["functional_boosting"], homes["functional_boosting"].data
    for (method, fold, _), rows in home.fits().items():
        model = model_of(home, method, int(fold))
        bx, by = model["basis_x"], model["basis_y"]
        # Products of two cubics have degree 6: four nodes a knot span integrate them exactly.
        nodes, weights = np.polynomial.legendre.leggauss(4)
        ends = np.unique(bx["knots"])
        half = np.diff(ends)[:, None] / 2
        s, w = (ends[:-1, None] + (nodes + 1) * half).ravel(), (weights * half).ravel()
        basis = BSpline(bx["knots"], np.eye(bx["n_basis"]), bx["degree"])(s)
        times = sorted({float(row["time"]) for row in rows})
        response = BSpline(by["knots"], np.eye(by["n_basis"]), by["degree"])(times)
        found = np.tile(np.array(model["response"]["mean"]), (len(data.ids), 1))
        for j, one in enumerate(model["predictors"]):
            curves = (data.X[:, j] @ data.basis_x.build().inverse_root - one["mean"]) @ basis.T
            found += (curves * w) @ basis @ np.array(one["operator"])
        value = model["response"]["centre"] + model["response"]["scale"] * found @ response.T
        np.testing.assert_allclose(value.ravel(), floats(rows, "predicted"), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("study", ["vertical_linear", "label_private"])
def test_files_are_the_same_bytes_again_and_in_other_batches(homes, study, tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    folds = 2 if study == "vertical_linear" else None
    first = homes[study] if folds is None else taken(example_plan(study, folds), _folder(tmp_path / "a"))
    again = taken(example_plan(study, folds), _folder(tmp_path / "b"), together=False)
    for file in ("predictions.csv", "models.json"):
        assert (first.folder / file).read_bytes() == (again.folder / file).read_bytes()


def _folder(path):
    path.mkdir()
    return path


def test_dictionary_names_every_column(homes):
    for home in homes.values():
        with (home.folder / "dictionary.csv").open(encoding="utf-8", newline="") as handle:
            told = [row["column"] for row in csv.DictReader(handle) if row["table"] == "predictions.csv"]
        assert told == list(home.rows[0])


def test_no_own_data_a_header_and_a_sentence():
    made = take_home.Homes(toy.toy_plan())
    assert list(made.rows()) == []
    assert made.names() == (*take_home.KEYS, *take_home.FIXED)
    assert json.loads(made.text()) == {
        "study": "toy",
        "note": take_home.NOTHING,
        "left_out": [],
        "models": [],
    }


def test_what_is_cut_is_said(homes, monkeypatch):
    home = homes["vertical_glm"]
    full = len(home.rows)
    monkeypatch.setattr(take_home, "MOST_ROWS", full - 1)
    again = taken(home.plan, _folder(home.folder / "cut"))
    assert 0 < len(again.rows) < full
    assert "predictions.csv leaves out 1 fits" in again.models["left_out"][0]


def test_of_many_records_the_held_out_ones_are_kept_and_bytes_lead_back():
    held_out = np.arange(10) % 2 == 1
    values = np.where(np.arange(10) == 3, np.nan, np.arange(10) / 3)
    home = OwnerReport(
        np.array([f"r{i}" for i in range(10)]), held_out, {"predicted": values}, {"b": np.array([np.inf, 0.1])}
    )
    kept = decode_report(encode_report(home.first(6)))
    assert kept.ids.tolist() == ["r0", "r1", "r3", "r5", "r7", "r9"]
    assert kept.left_out == 4
    np.testing.assert_array_equal(kept.columns["predicted"], values[[0, 1, 3, 5, 7, 9]])
    assert kept.model == {"b": ["inf", 0.1]}


def test_ids_that_stand_twice_are_refused():
    with pytest.raises(ValueError, match="not distinct"):
        OwnerReport(np.array(["a", "a"]), np.zeros(2, dtype=bool))


def test_a_matrix_has_a_model_and_no_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    methods = {"direct": {"protocol": "reference"}, "matrix": {"protocol": "correlation"}}
    monkeypatch.setitem(EXAMPLES, "vertical_glm", ("my_tables", methods))
    home = taken(example_plan("vertical_glm"), tmp_path)
    assert {row["method"] for row in home.rows} == {"direct"}
    told, X = model_of(home, "matrix"), home.data.X
    assert told["columns"] == home.data.names.tolist()
    np.testing.assert_allclose(told["correlation"], np.corrcoef(X, rowvar=False), atol=1e-9)
    assert home.models["left_out"] == []


@pytest.mark.parametrize("study", EXAMPLES)
def test_tables_and_a_crate_of_own_data_have_no_plain_digest_of_them(study, homes, tmp_path, monkeypatch):
    """Provenance records have digests of own files and of what shows records: packed with the records alone."""
    home, folder = homes[study], Path("results")
    monkeypatch.chdir(tmp_path)
    top = shutil.copytree(home.folder, folder / study, ignore=shutil.ignore_patterns("cut"))
    (top / OUTPUTS["tidy"]).rename(top / "tidy.csv")
    (top / "timings.csv").touch()
    own = [ROOT / file for case in home.plan.cases.values() for file in case.settings.files.values()]
    fingerprint = fingerprint_of("".join(sha256(path.read_bytes()).hexdigest() for path in own))
    made = [path for path in top.iterdir() if path.suffix != ".npz"]
    jobs = {f"generate/{name}": own for name in data_blocks(home.plan)}
    jobs |= {f"fit/{name}": list(top.glob("*.npz")) for name in blocks(home.plan)}
    for job, outputs in (jobs | {"collect": made}).items():
        record = folder / "provenance" / study / f"{job}.json"
        record.parent.mkdir(parents=True, exist_ok=True)
        write_record(record, fingerprint, outputs)
    private = [path for path in top.iterdir() if path.name in OF_RECORDS or path.suffix == ".npz"]
    digests = {sha256(path.read_bytes()).hexdigest(): path.name for path in private} | {fingerprint: "all inputs"}
    digests |= {digest: what for path in own for digest, what in digests_of_file(path).items()}
    named = {}
    for records in (False, True):
        crate = crate_of(folder, {study: home.plan}, None, {}, records, "Ada Lovelace", "MIT")
        write(Path(f"crate {records}"), crate)
        named[records] = artifacts_with(digests, [*Path(f"crate {records}").rglob("*"), *made])
    assert own and named[False] == []
    assert {"collect.json: digest of all inputs", "collect.json: digest of models.json"} <= set(named[True])
