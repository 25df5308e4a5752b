"""Methods and studies from outside the package: named by an address, followed by the fingerprint, no fork needed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from partywise.core.errors import ConfigError
from partywise.experiment.plan import plan
from partywise.experiment.results.cube import open_cube
from partywise.experiment.results.verify import plan_of
from pipeline import ROOT, copy_project, launch, planned

METHOD = ("--configfile", "config/own_method.example.yaml")
STUDY = ("--configfile", "own.yaml")
CONFIG = """
root_seed: 5
studies:
  private_means:
    address: own_study.study:STUDY
    methods: {mean: {protocol: noisy_mean, bound: 2.0}}
    cases:
      one:
        source: normal
        grid: {methods: [mean], replicates: 2, parties: [1, 3], folds: 1, epsilon: [0.5, 2.0]}
"""


@pytest.fixture(scope="module")
def method_run(tmp_path_factory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("own") / "method")
    done = launch(folder, *METHOD, "--cores", "2")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def study_run(tmp_path_factory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("own") / "study")
    shutil.copytree(ROOT / "tests" / "support" / "own_study", folder / "own_study")
    (folder / "own.yaml").write_text(CONFIG)
    done = launch(folder, *STUDY, "--cores", "2")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.runs
def test_a_method_by_address_is_a_method_like_others(method_run):
    cube = open_cube(method_run / "results" / "own_method" / "label_private" / "cube.nc")
    own = cube.isel(case=0).sel(method_label="one_step")
    assert np.allclose(own["epsilon_certified"].sel(epsilon=[1.0, 4.0]), [[[[1.0, 4.0]]]] * 3, rtol=1e-9)
    assert (own["bytes_measured"].sel(epsilon=1.0) > 0).all()
    made = plan_of(cube)
    assert made.methods["one_step"].options.ridge == 0.01


@pytest.mark.runs
def test_an_edit_of_a_method_by_address_reruns_its_fits_alone(method_run):
    path = method_run / "config" / "own_method.py"
    before = path.read_text()
    path.write_text(before.replace("/ 2)", "/ 2.0)"))
    assert path.read_text() != before
    found = planned(method_run, *METHOD)
    path.write_text(before)
    assert found.jobs == {"fit": 1, "collect": 1, "figure": 1}
    assert planned(method_run, *METHOD).jobs == {}


def test_a_study_from_outside_has_a_cube_and_a_figure(study_run):
    cube = open_cube(study_run / "results" / "own" / "private_means" / "cube.nc")
    assert cube.attrs["title"] == "Private means"
    assert dict(cube.sizes) | {"case": 1} == {
        "case": 1, "method_label": 1, "replicate": 2, "parties": 2, "fold": 1, "epsilon": 2
    }  # fmt: skip
    assert np.allclose(
        cube["epsilon_certified"].mean(["case", "method_label", "replicate", "parties", "fold"]), [0.5, 2.0]
    )
    assert (cube["error"] < 0.2).all()
    assert (study_run / "results" / "own" / "figures" / "private_means" / "errors.png").stat().st_size > 5000
    assert json.loads(cube.attrs["config_json"])["address"] == "own_study.study:STUDY"


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("figures.py", {"figure": 1}),
        ("rounding.py", {"fit": 2, "collect": 1, "figure": 1}),
        ("data.py", {"generate": 1, "fit": 2, "collect": 1, "figure": 1}),
    ],
)
def test_an_edit_of_a_study_from_outside_reruns_what_uses_it(study_run, file, expected):
    path = study_run / "own_study" / file
    before = path.read_text()
    path.write_text(before + "\n# edited\n")
    found = planned(study_run, *STUDY)
    path.write_text(before)
    assert found.jobs == expected


def methods(protocol: str) -> dict:
    grid = {"methods": ["own"], "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]}
    return {"methods": {"own": {"protocol": protocol}}, "cases": {"generated": {"grid": grid}}}


@pytest.mark.parametrize(
    ("protocol", "says"),
    [
        ("nowhere.to_be_found:PROTOCOL", r"methods\.own\.protocol is .nowhere.*ModuleNotFoundError.*folder of the run"),
        ("config.own_method:NOTHING", r"config\.own_method defines no .NOTHING."),
        ("config.own_method:fit", r"that is a function, give a Protocol"),
        ("config.own_method:a:b", r"write it as package\.module:name"),
    ],
)
def test_a_wrong_address_is_named(monkeypatch, protocol, says):
    monkeypatch.chdir(ROOT)
    with pytest.raises(ConfigError, match=says):
        plan("label_private", methods(protocol), 1)


def test_options_of_a_method_by_address_are_checked(monkeypatch):
    monkeypatch.chdir(ROOT)
    block = methods("config.own_method:PROTOCOL")
    block["methods"]["own"]["ridge"] = -1.0
    with pytest.raises(ConfigError, match=r"methods\.own\.ridge is -1\.0: it must be at least 0"):
        plan("label_private", block, 1)


def test_a_study_by_address_bears_its_own_name(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "support"))
    block = {"address": "own_study.study:STUDY"} | methods("noisy_mean")
    with pytest.raises(ConfigError, match=r"that study is called .private_means., write private_means"):
        plan("toys", block, 1)
    with pytest.raises(ConfigError, match=r"that is a type, give a Study"):
        plan("toys", {"address": "own_study.study:Spec"} | methods("noisy_mean"), 1)
