"""Reference results: packed to the same bytes, unpacked and compared; what a run finds differently is told."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from partywise.__main__ import main
from partywise.core.errors import DataMissing
from partywise.experiment.differences.verb import pack, unpack
from partywise.experiment.plans import read_configuration
from partywise.experiment.results.cube import DIMS, open_cube
from pipeline import ROOT
from small_cube import computed

BLOCK = {
    "spec": {"delta": 1e-5, "unit": "label"},
    "methods": {"free": {"protocol": "non_private"}, "noised": {"protocol": "walr", "noise": "iid", "ridge": "fixed"}},
    "grid": {"replicates": 3, "parties": [2], "folds": 1, "epsilon": [1.0]},
    "cases": {"one": {"source": "generated", "settings": {"n": 200, "k": 3}, "grid": {"methods": ["free", "noised"]}}},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A run with one cube."""
    folder = tmp_path_factory.mktemp("results") / "default"
    cube = computed("label_private", BLOCK, 1, tmp_path_factory.mktemp("data"))
    attributes = {"source": "partywise 0, study label_private", "code_sha256": "c", "lock_sha256": "l"}
    cube = cube.assign_attrs(attributes | {"git_commit": "g", "software_versions": "{}"})
    (folder / "label_private").mkdir(parents=True)
    cube.to_netcdf(folder / "label_private" / "cube.nc")
    return folder


def test_the_archive_has_the_same_bytes_each_time_and_all_numbers_of_cells(run, tmp_path):
    for name in ("first", "second"):
        pack(run, tmp_path / f"{name}.tar.xz")
    assert (tmp_path / "first.tar.xz").read_bytes() == (tmp_path / "second.tar.xz").read_bytes()
    unpack(tmp_path / "first.tar.xz", tmp_path / "there")
    kept, whole = (open_cube(folder / "label_private" / "cube.nc") for folder in (tmp_path / "there", run))
    numbers = {name for name, held in whole.data_vars.items() if held.dims == DIMS and held.dtype.kind in "fi"}
    assert set(kept.data_vars) == numbers and {"log_loss", "epsilon_certified", "status"} <= numbers
    for name in numbers:
        np.testing.assert_array_equal(kept[name].values, whole[name].values)
    assert kept.attrs["config_json"] == whole.attrs["config_json"]


def test_a_run_that_is_the_same_does_not_differ_and_another_does(run, tmp_path, capsys):
    archive = tmp_path / "default.tar.xz"
    assert main(["compare", "--reference", str(run), "--archive", str(archive), "--pack"]) == 0
    assert main(["compare", "--reference", str(run), "--archive", str(archive)]) == 0
    assert "0 of 1 cubes differ" in capsys.readouterr().out
    other = tmp_path / "other" / "default"
    shutil.copytree(run, other)
    path = other / "label_private" / "cube.nc"
    with xr.open_dataset(path, decode_times=False) as held:
        cube = held.load()
    cube["log_loss"][:] = cube["log_loss"] + 1.0
    cube.to_netcdf(path)
    assert main(["compare", "--reference", str(other), "--archive", str(archive)]) == 1
    assert "log_loss" in capsys.readouterr().out


def test_what_is_missing_is_said(run, tmp_path, capsys):
    with pytest.raises(DataMissing, match="has no cube: run it first"):
        pack(tmp_path, tmp_path / "a.tar.xz")
    assert main(["compare", "--reference", str(run), "--archive", str(tmp_path / "a.tar.xz")]) == 2
    assert "is absent: restore it" in capsys.readouterr().err
    pack(run, tmp_path / "a.tar.xz")
    assert main(["compare", "--reference", str(tmp_path / "nothing"), "--archive", str(tmp_path / "a.tar.xz")]) == 2
    assert "nothing is absent: run ./run, then ./run compare --reference again" in capsys.readouterr().out


def test_an_archive_of_something_else_is_refused(tmp_path):
    with tarfile.open(tmp_path / "a.tar.xz", "w:xz") as packed:
        info = tarfile.TarInfo("../outside.nc")
        info.size = 1
        packed.addfile(info, io.BytesIO(b"x"))
    with pytest.raises(DataMissing, match="it is not an archive of cubes"):
        unpack(tmp_path / "a.tar.xz", tmp_path / "there")
    assert not (tmp_path / "outside.nc").exists()


def test_the_committed_archive_is_small_and_has_every_study_of_the_default(tmp_path):
    archive = ROOT / "docs" / "reference" / "default.tar.xz"
    assert archive.stat().st_size < 1.5e6
    unpack(archive, tmp_path / "there")
    studies = read_configuration(ROOT / "config.yaml")["studies"]
    assert {path.parent.name for path in (tmp_path / "there").glob("*/cube.nc")} == set(studies)
    kept = open_cube(tmp_path / "there" / "label_private" / "cube.nc")
    assert set(kept.dims) >= set(DIMS) and "epsilon_certified" in kept
