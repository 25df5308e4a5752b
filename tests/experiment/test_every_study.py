"""config/smoke.yaml through real Snakemake: every study from data to figures, and its cubes made again in part."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from partywise.experiment.plans import read_configuration
from partywise.experiment.results.attributes import check_attributes
from partywise.experiment.results.cube import open_cube
from partywise.experiment.results.verify import configuration
from partywise.experiment.study import available, load
from pipeline import ROOT, copy_project, environment, launch

SMOKE = ROOT / "config" / "smoke.yaml"
CONFIG = read_configuration(SMOKE)
STUDIES = sorted(CONFIG["studies"])
# Two minutes of Snakemake; `tests/workflow/test_code_closure.py` runs a job of every rule for every study.
pytestmark = pytest.mark.runs


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run of every study at its smallest."""
    folder = copy_project(tmp_path_factory.mktemp("smoke") / "project")
    done = launch(folder, "--configfile", "config/smoke.yaml")
    assert done.returncode == 0, done.stderr
    return folder


def tool(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The verbs on cubes."""
    command = [sys.executable, "-m", "partywise", *words]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True)


def test_the_smallest_configurations_cover_every_study():
    tiny = read_configuration(ROOT / "config" / "tiny.yaml")
    assert set(available()) == set(STUDIES) | set(tiny["studies"])


@pytest.mark.parametrize("study", STUDIES)
def test_every_cell_has_its_two_epsilons(smoke, study):
    cube = open_cube(smoke / "results" / "smoke" / study / "cube.nc")
    assert check_attributes(cube) == []
    filled = cube["status"] > 0
    assert int(filled.sum()) > 4
    certified = cube["epsilon_certified"].where(filled)
    assert int(certified.isnull().sum()) == int((~filled).sum())
    part = cube["epsilon_certified_part"].where(filled)
    assert bool((part <= certified).where(filled, True).all())
    assert np.isinf(certified).any(), "something in every study is not certified"
    if any(protocol.options.uses_epsilon for protocol in load(study).methods.values()):
        assert np.isfinite(certified.values[filled.values]).any(), "something is certified where a method has a target"


@pytest.mark.parametrize("study", STUDIES)
def test_every_figure_is_drawn(smoke, study):
    folder = smoke / "results" / "smoke" / "figures" / study
    for name in CONFIG["studies"][study].get("figures", load(study).figures):
        kinds = ("svg", "pdf", "png", "csv") if load(study).figures[name].output == "image" else ("html", "csv")
        for kind in kinds:
            path = folder / f"{name}.{kind}"
            if kind == "csv":
                with path.open(newline="", encoding="utf-8") as handle:
                    rows = sum(1 for _ in csv.reader(handle))
                if "html" in kinds:
                    # A table's file has the rows of its page: a small configuration may leave none.
                    page = path.with_suffix(".html").read_text(encoding="utf-8")
                    assert page.count("<tr") == rows, path.name
                else:
                    assert rows > 1, f"{path.name} has no value of the figure"
            else:
                assert path.stat().st_size > 500, path.name


@pytest.mark.parametrize("study", STUDIES)
def test_a_sample_of_cells_is_made_again(smoke, study):
    done = tool(smoke, "compare", "--recompute", f"results/smoke/{study}/cube.nc", "--cells", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 of 3 cells came out the same." in done.stdout


def test_a_cell_that_was_changed_is_found(smoke, tmp_path):
    """One number of one method is moved; all cells are made again."""
    cube = open_cube(smoke / "results" / "smoke" / "federated_survival" / "cube.nc").load()
    number = "km_error"
    moved = cube.copy(deep=True)
    moved[number][{"method_label": 1}] *= 1.001
    moved.to_netcdf(tmp_path / "cube.nc")
    done = tool(smoke, "compare", "--recompute", str(tmp_path / "cube.nc"), "--cells", "1000")
    assert done.returncode == 1
    changed = moved["method_label"].values[1]
    lines = [line for line in done.stdout.splitlines() if line.startswith("differs")]
    assert lines and all(f"method {changed}," in line for line in lines)
    assert f"    {number}: " in done.stdout


def test_provenance_is_a_configuration_that_makes_the_cube_again(smoke, tmp_path):
    """The printed text holds the same studies, and a dry run of it has nothing to do but what provenance leaves out."""
    path = smoke / "results" / "smoke" / STUDIES[0] / "cube.nc"
    done = tool(smoke, "provenance", str(path))
    assert done.returncode == 0
    for name in ("git_commit", "lock_sha256", "software_versions"):
        assert f"# {name}: " in done.stdout
    again = yaml.safe_load(done.stdout)
    assert again == configuration(open_cube(path))
    block = CONFIG["studies"][STUDIES[0]]
    assert again["studies"][STUDIES[0]] == {
        key: block[key] for key in ("spec", "methods", "grid", "cases") if key in block
    }


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("compare", "--recompute", "nothing.nc"), "nothing.nc is not there: name the cube.nc of a study"),
        (("provenance", "Snakefile"), "cannot be read"),
        (
            ("compare", "--recompute", f"results/smoke/{STUDIES[0]}/cube.nc", "--cells", "0"),
            "--cells is 0: it must be at least 1",
        ),
    ],
)
def test_what_cannot_be_done_is_told(smoke, words, sentence):
    done = tool(smoke, *words)
    assert done.returncode == 2 and sentence in done.stderr and "Traceback" not in done.stderr
