"""Own data by configuration alone: files to curves, three forms of one table, two real data sets, one real run."""

from __future__ import annotations

import logging
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
import pytest
import yaml

from own_data_sets import REAL, example, example_tables, write_csv, write_netcdf
from own_network_data import write as example_parties
from own_row_data import example_clients, example_hospitals, example_labels, example_wards
from partywise.core.randomness import stream
from partywise.data.own.curves.load import CurveGroup, OwnCurve, load
from partywise.data.own.curves.netcdf import read_variable
from partywise.experiment.configuration.build import build
from partywise.experiment.plan import plan
from partywise.experiment.plans import read_configuration
from partywise.experiment.results.cube import DIMS
from partywise.experiment.results.provenance import config_json
from partywise.methods.functional.bases import make_basis
from partywise.studies.functional_boosting import data as study_data
from partywise.studies.functional_boosting.figures.curves import real_curves
from partywise.studies.functional_boosting.own_cases import draw, smooth, table
from partywise.studies.functional_boosting.own_settings import CurveTableSettings
from pipeline import ROOT, copy_project, edit, planned, snakemake
from protocol_driver import data_rng
from small_cube import assemble, computed_parts

EXAMPLE = "config/my_data.example.yaml"
IDS = [f"d{i:02d}" for i in range(24)]
HOURS = np.arange(8) * 3 + 1.5
LEVELS = stream(3, "levels").normal(0, 1, (2, 24, 8)).cumsum(axis=2).round(3)


pytestmark = pytest.mark.usefixtures("folder")


def settings(response: dict[str, Any] | None = None, predictor: dict[str, Any] | None = None, **more: Any) -> Any:
    """Settings with one predictor; both curves are in long form unless they say otherwise."""
    long = {"time": "hour", "value": "v"}
    block = {
        "id": "day",
        "domain": [0, 24],
        "radius": 50.0,
        "response_radius": 50.0,
        "response": {"file": "y.csv", **(long if response is None else response)},
        "predictors": [{"name": "x", "party": "p", "file": "x.csv", **(long if predictor is None else predictor)}],
    }
    return build(CurveTableSettings, {**block, **more}, "settings")


def write_long(path: str, values: np.ndarray, ids=IDS, hours=HOURS, **more: Any) -> None:
    rows = [(one, h, v) for one, row in zip(ids, values, strict=True) for h, v in zip(hours, row, strict=True)]
    write_csv(Path(path), ("day", "hour", "v"), rows)


def made(chosen: CurveTableSettings, replicate: int = 0) -> Any:
    return table(chosen, draw(chosen, None, data_rng(replicate), Path("resources")))


def raw(chosen: CurveTableSettings) -> Any:
    return load(chosen, {file: Path(file).read_bytes() for file in chosen.files.values()})


# Smoothing


def curve(times: np.ndarray, values: np.ndarray) -> OwnCurve:
    return OwnCurve("x", (CurveGroup(times, np.arange(len(values)), values),))


def test_smoothing_at_irregular_times_is_the_penalised_minimum():
    rng = stream(1, "smooth")
    basis, weight = make_basis("bspline", (2.0, 14.0), 7), 3e-4
    groups = [(np.sort(rng.uniform(2, 14, m)), rng.normal(size=(1, m))) for m in (5, 9, 30)]
    one = OwnCurve("x", tuple(CurveGroup(t, np.array([i]), v) for i, (t, v) in enumerate(groups)))
    found = smooth(one, basis, 3, weight, np.array(IDS))
    root = np.linalg.cholesky(basis.penalty + 1e-14 * np.eye(7)).T
    for row, (t, v) in zip(found, groups, strict=True):
        stacked = np.vstack([basis.evaluate(t) / np.sqrt(t.size), np.sqrt(weight * 12.0**3) * root])
        target = np.concatenate([v[0] / np.sqrt(t.size), np.zeros(7)])
        np.testing.assert_allclose(row, basis.root @ np.linalg.lstsq(stacked, target)[0], rtol=1e-5, atol=1e-7)


def test_a_sine_keeps_the_stated_part_of_its_height():
    basis, weight, t = make_basis("fourier", (0.0, 24.0), 9), 1e-4, (np.arange(48) + 0.5) / 2
    for k in (1, 2, 4):
        waves = np.outer([1.0, 2.0], np.sin(2 * np.pi * k * t / 24))
        fitted = smooth(curve(t, waves), basis, 2, weight, np.array(IDS)) @ basis.evaluate(t).T
        np.testing.assert_allclose(fitted, waves / (1 + weight * (2 * np.pi * k) ** 4), atol=1e-12)


def test_neither_the_unit_of_time_nor_the_number_of_values_changes_the_weight():
    rng = stream(2, "smooth")
    t, values = np.sort(rng.uniform(0, 24, 12)), rng.normal(size=(3, 12))
    hours, minutes = make_basis("bspline", (0.0, 24.0), 8), make_basis("bspline", (0.0, 1440.0), 8)
    one = smooth(curve(t, values), hours, 3, 1e-4, np.array(IDS)) @ hours.inverse_root
    other = smooth(curve(60 * t, values), minutes, 3, 1e-4, np.array(IDS)) @ minutes.inverse_root
    np.testing.assert_allclose(one, other, atol=1e-9)
    twice = smooth(curve(np.repeat(t, 2), np.repeat(values, 2, axis=1)), hours, 3, 1e-4, np.array(IDS))
    np.testing.assert_allclose(twice @ hours.inverse_root, one, atol=1e-9)


def test_curves_of_the_basis_come_back_without_smoothing_and_the_log_tells_the_freedom(caplog):
    caplog.set_level(logging.INFO, "partywise")
    rng = stream(4, "smooth")
    basis = make_basis("bspline", (0.0, 24.0), 6)
    truth = rng.normal(size=(2, 6))
    groups = [CurveGroup(t, np.array([i]), (truth[i] @ basis.evaluate(t).T)[None]) for i, t in enumerate(_grids(rng))]
    found = smooth(OwnCurve("level", tuple(groups)), basis, 2, 0.0, np.array(IDS))
    np.testing.assert_allclose(found @ basis.inverse_root, truth, atol=1e-9)
    assert "level: smoothing 0, 6 basis functions; values a curve: least 20, median 25, most 30" in caplog.text
    assert "effective degrees of freedom a curve: least 6, median 6, most 6" in caplog.text
    smooth(OwnCurve("level", tuple(groups)), basis, 2, 1.0, np.array(IDS))
    assert "effective degrees of freedom a curve: least 2.00" in caplog.text


def _grids(rng: np.random.Generator) -> list[np.ndarray]:
    return [np.sort(rng.uniform(0, 24, m)) for m in (20, 30)]


# Files


def test_three_forms_of_one_table_give_the_same_curves():
    write_long("y.csv", LEVELS[0])
    write_long("x.csv", LEVELS[1])
    write_csv(
        Path("wide.csv"), ("day", *(f"h{h:g}" for h in HOURS)), [(d, *r) for d, r in zip(IDS, LEVELS[1], strict=True)]
    )
    write_netcdf(Path("x.nc"), "day", IDS, HOURS, v=LEVELS[1])
    with netCDF4.Dataset("turned.nc", "w") as data:
        data.createDimension("hour", 8)
        data.createDimension("day", 24)
        data.createVariable("hour", "f4", ("hour",))[:] = HOURS
        data.createVariable("day", str, ("day",))[:] = np.array(IDS, dtype=object)
        data.createVariable("v", "f8", ("hour", "day"))[:] = LEVELS[1].T
    wide = {"file": "wide.csv", "format": "wide", "columns": "h*"}
    forms = [
        None,
        wide,
        {**wide, "times": "names"},
        {**wide, "columns": ["h1.5", "h[4-9]*", "h1?.5", "h2*"], "times": list(map(float, HOURS))},
        {"file": "x.nc", "format": "netcdf", "time": "time", "value": "v"},
        {"file": "turned.nc", "format": "netcdf", "time": "hour", "value": "v"},
    ]
    first = made(settings())
    for form in forms[1:]:
        other = made(settings(predictor=form))
        np.testing.assert_array_equal(other.X, first.X)
        np.testing.assert_array_equal(other.Y, first.Y)
    assert first.record_names.tolist() == IDS and first.predictor_names.tolist() == ["x"]


def test_order_of_rows_in_another_file_does_not_matter():
    write_long("y.csv", LEVELS[0])
    write_long("x.csv", LEVELS[1])
    first = made(settings())
    lines = Path("x.csv").read_text().splitlines()
    order = stream(5, "rows").permutation(len(lines) - 1)
    Path("x.csv").write_text("\n".join([lines[0], *(lines[1:][i] for i in order)]) + "\n")
    np.testing.assert_array_equal(made(settings()).X, first.X)


def test_scales_transforms_and_domains():
    write_long("y.csv", np.exp(LEVELS[0]) - 1)
    write_long("x.csv", LEVELS[1], hours=HOURS * 60)
    chosen = settings(
        {"time": "hour", "value": "v", "transform": "log1p", "centre": 2.0, "scale": 4.0},
        {"time": "hour", "value": "v", "domain": [0, 1440], "centre": 1.0, "scale": 0.5, "radius": 40.0},
    )
    read = raw(chosen)
    (group,) = read.predictors[0].groups
    np.testing.assert_allclose(group.times, HOURS, atol=1e-9)
    np.testing.assert_allclose(group.values, (LEVELS[1] - 1.0) / 0.5, atol=1e-12)
    np.testing.assert_allclose(read.response.groups[0].values, (LEVELS[0] - 2.0) / 4.0, atol=1e-12)
    data = made(chosen)
    assert (data.y_offset, data.y_scale) == (2.0, 4.0)
    assert data.radius.tolist() == [40.0 * np.sqrt(24.0)] and data.response_radius == 50.0 * np.sqrt(24.0)
    assert data.public().basis_x == ("bspline", (0.0, 24.0), 8) and not data.has_truth


def test_one_file_holds_the_earlier_and_the_later_curve():
    write_long("y.csv", LEVELS[0])
    part = {"file": "y.csv", "time": "hour", "value": "v", "outside": "ignore"}
    chosen = settings({**part, "domain": [12, 24]}, {**part, "domain": [0, 12]}, domain=[0, 12])
    read = raw(chosen)
    np.testing.assert_array_equal(read.response.groups[0].times, HOURS[4:])
    np.testing.assert_array_equal(read.predictors[0].groups[0].values, LEVELS[0][:, :4])
    with pytest.raises(ValueError, match="is the same curve as response"):
        settings({**part, "domain": [11, 24]}, {**part, "domain": [0, 12]})


def test_marks_encodings_delimiters_and_names_of_ids():
    write_long("y.csv", LEVELS[0])
    text = Path("y.csv").read_text()
    Path("y.csv").write_text(text, encoding="utf-8-sig")
    rows = [f"{d};{h};{'-9999' if (i, k) == (3, 4) else v}" for (i, d), k, h, v in _cells()]
    Path("x.csv").write_text("Tag;Stunde;Höhe\n" + "\n\n".join(rows) + "\n", encoding="latin-1")
    german = {"id": "Tag", "time": "Stunde", "value": "Höhe", "delimiter": ";", "encoding": "latin-1"}
    read = raw(settings(predictor=german, marks=["-9999"], max_gap=6.0))
    short = read.predictors[0].groups[1]
    assert [len(g.records) for g in read.predictors[0].groups] == [23, 1] and short.records.tolist() == [3]
    np.testing.assert_array_equal(short.values[0], np.delete(LEVELS[1][3], 4))


def _cells():
    return [((i, d), k, h, LEVELS[1][i, k]) for i, d in enumerate(IDS) for k, h in enumerate(HOURS)]


def test_long_gaps_drop_a_record_and_its_ends_count():
    values = LEVELS[0].copy()
    values[0, 3] = values[1, 0] = values[2, 7] = values[3, 3:5] = np.nan
    values[4] = np.nan
    write_long("y.csv", values)
    write_long("x.csv", LEVELS[1])

    def kept(**gaps: Any) -> set[str]:
        return set(IDS) - set(raw(settings(**gaps, missing="drop", min_records=2)).ids.tolist())

    # Three hours between neighbours: one lost value leaves 6 hours, at an end 4.5, two lost values leave 9.
    assert kept() == {"d00", "d01", "d02", "d03", "d04"}
    assert kept(max_gap=9.0) == {"d04"}
    assert kept(max_gap=6.0) == {"d03", "d04"}
    assert kept(max_gap=5.0) == {"d00", "d03", "d04"}
    assert kept(max_gap=4.0) == {"d00", "d01", "d02", "d03", "d04"}
    assert kept(max_gap=9.0, min_points=7) == {"d03", "d04"}


def test_ids_in_common_are_used_in_the_order_of_the_response(caplog):
    caplog.set_level(logging.INFO, "partywise")
    write_long("y.csv", LEVELS[0][::-1], ids=IDS[::-1])
    write_long("x.csv", LEVELS[1][2:], ids=[*IDS[2:23], "z"])
    read = raw(settings(match="common"))
    assert read.ids.tolist() == IDS[2:23][::-1]
    whose = "are not in all files"
    assert re.search(rf"response \(y\.csv\): \d+ of \d+ records are used and 3 left out, which {whose}", caplog.text)
    assert re.search(rf"x \(x\.csv\): \d+ of \d+ records are used and 1 left out, which {whose}", caplog.text)
    assert "records: 21 of the 21 that all files share" in caplog.text
    np.testing.assert_array_equal(read.predictors[0].groups[0].values, LEVELS[1][2:23][::-1])


@pytest.mark.parametrize(
    ("kind", "values", "units", "expected"),
    [
        ("i4", [1, 20, 3], "", ["1", "20", "3"]),
        ("f8", [1.0, 20.0, 3.5], "", ["1", "20", "3.5"]),
        ("i4", [0, 1, 31], "days since 2010-01-01", ["2010-01-01", "2010-01-02", "2010-02-01"]),
        ("f8", [0.0, 6.0, 24.0], "hours since 2010-01-01", ["2010-01-01T00:00:00", "2010-01-01T06:00:00"]),
        ("S1", ["ab ", "cd ", "efg"], "", ["ab", "cd", "efg"]),
    ],
)
def test_ids_of_netcdf_files_become_text(kind, values, units, expected):
    with netCDF4.Dataset("ids.nc", "w") as data:
        for name, size in (("day", 3), ("hour", 2), ("letter", 3)):
            data.createDimension(name, size)
        data.createVariable("hour", "f8", ("hour",))[:] = [1.0, 2.0]
        ids = data.createVariable("day", kind, ("day", "letter") if kind == "S1" else ("day",))
        ids[:] = np.array([list(value) for value in values], dtype="S1") if kind == "S1" else values
        if units:
            ids.units = units
        data.createVariable("v", "i2", ("day", "hour"), fill_value=-1)[:] = [[1, 2], [3, -1], [5, 6]]
    ids_found, times, found, unit = read_variable(Path("ids.nc").read_bytes(), "ids.nc", "v", ("day", "hour"))
    assert ids_found[: len(expected)] == expected and times.tolist() == [1.0, 2.0] and unit == ""
    np.testing.assert_array_equal(found, [[1, 2], [3, np.nan], [5, 6]])


# The case


def test_groups_are_held_out_together_and_dealt_anew():
    write_long("x.csv", LEVELS[1])
    rows = [(d, f"w{i // 4}", h, LEVELS[0][i, k]) for (i, d), k, h, _ in _cells()]
    write_csv(Path("y.csv"), ("day", "week", "hour", "v"), rows)
    chosen = settings(fold_block="week")
    first, second = made(chosen), made(chosen, replicate=1)
    np.testing.assert_array_equal(first.X, second.X)
    assert not np.array_equal(first.block, second.block)
    for data in (first, second):
        folds = study_data.folds(data, 3, chosen).reshape(6, 4)
        assert (folds == folds[:, :1]).all() and sorted(folds[:, 0]) == [0, 0, 1, 1, 2, 2]
    alone = made(replace(chosen, fold_block=None))
    assert sorted(alone.block) == list(range(24))


def test_groups_of_a_netcdf_response():
    write_long("x.csv", LEVELS[1])
    write_netcdf(Path("y.nc"), "day", IDS, HOURS, v=LEVELS[0])
    with netCDF4.Dataset("y.nc", "a") as data:
        data.createVariable("week", "i4", ("day",))[:] = np.arange(24) // 4
    form = {"file": "y.nc", "format": "netcdf", "time": "time", "value": "v"}
    assert raw(settings(form, fold_block="week")).block.tolist() == (np.arange(24) // 4).tolist()


def test_parties_are_those_of_the_configuration(folder):
    example(folder / "config" / "example_data")
    case = plan_of(read_configuration(ROOT / EXAMPLE)).cases["my_data"]
    assert case.settings.party_counts == (2,) and case.settings.n_predictors == 3
    data = made(case.settings)
    active, *owners = study_data.split(data, 2, None, case.settings)
    assert [(o.name, o.columns) for o in owners] == [("weather office", (0, 1)), ("upstream gauge", (2,))]
    assert set(active.block) == {"Y"}


def plan_of(config: dict[str, Any]) -> Any:
    return plan("functional_boosting", config["studies"]["functional_boosting"], config["root_seed"])


def test_the_shipped_example_data_are_what_the_script_makes(folder):
    example(folder / "made")
    example_tables(folder / "made")
    example_labels(folder / "made")
    example_clients(folder / "made")
    example_hospitals(folder / "made")
    example_wards(folder / "made")
    example_parties(folder / "made", folder / "made" / "network")
    made, shipped = files(folder / "made"), files(ROOT / "config" / "example_data")
    # What a clinic consents to is written by hand, beside its data.
    assert shipped.pop("network/site.yaml")
    assert {"river.csv", "network/river.csv"} < set(shipped) and made == shipped


def files(folder: Path) -> dict[str, bytes]:
    """Content of all files of a folder and of those in it."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# (records, least squares, boosting, released curves at 10 000), relative errors over one replicate of five folds
FOUND = {"elnino": (42, 0.62, 0.56, 0.61), "fertility": (194, 0.083, 0.083, 0.096)}


@pytest.mark.parametrize("name", REAL)
def test_real_data_that_no_study_uses(folder, name):
    """From files as a person has them to a cube and a figure; no line of Python knows the data."""
    config = REAL[name](folder, replicates=1)
    block = config["studies"]["functional_boosting"]
    block["cases"]["own"]["grid"]["epsilon"] = [10000.0]
    block = plan_of(config)
    cube = assemble(block, computed_parts(block, folder)).assign_attrs(config_json=config_json(block))
    count, *expected = FOUND[name]
    assert len(made(block.cases["own"].settings).Y) == count
    errors = cube["relative_error"].mean([dim for dim in DIMS if dim != "method_label"])
    found = errors.sel(method_label=["least_squares", "predictor_none", "local"]).values
    assert found == pytest.approx(expected, rel=0.05)
    assert cube["epsilon_certified"].sel(method_label="local", epsilon=10000.0).max() <= 10000.0 * (1 + 1e-9)
    figure = real_curves(cube)
    assert len(figure.axes) == 6 and figure.axes[0].get_ylabel().endswith(("(degrees C)", "(children per woman)"))
    ids = made(block.cases["own"].settings).ids
    assert {ax.get_title() for ax in figure.axes[:3]} <= set(ids.tolist())


# The pipeline


def test_a_run_by_configuration_alone_and_what_an_edited_file_reruns(folder):
    project = copy_project(folder / "project")
    config = read_configuration(project / EXAMPLE)
    study = config["studies"]["functional_boosting"]
    study["cases"]["my_data"]["grid"] |= {"methods": ["predictor_none"], "replicates": 1}
    study["figures"] = []
    (project / "mine.yaml").write_text(yaml.safe_dump(config))
    words = ("--configfile", "mine.yaml")
    done = snakemake(project, *words, "--cores", "2")
    assert done.returncode == 0, done.stderr
    assert "predictor_none" in (project / "results/mine/functional_boosting/summary.txt").read_text()
    (file,) = (project / "results/mine/logs/functional_boosting/fit").rglob("*.log")
    log = file.read_text()
    assert "effective degrees of freedom a curve" in log and "records: 59 of the 60" in log
    assert planned(project, *words).jobs == {}
    edit(project / "config/example_data/gauge.csv", "2023-03-06,1.03", "2023-03-06,1.04")
    assert planned(project, *words).jobs == {"generate": 1, "fit": 1, "collect": 1}
    shutil.move(project / "config/example_data/gauge.csv", project / "gauge.csv")
    done = snakemake(project, *words)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert (
        "Configuration error: studies.functional_boosting.cases.my_data.settings.predictors[2].file is "
        "'config/example_data/gauge.csv': there is no such file; paths begin in the folder of the run, "
    ) in done.stderr
