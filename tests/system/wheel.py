"""The wheel in an empty environment, on the oldest and the newest numpy and scipy that it promises.

Run by ``./run test --system``; the packages come from the index that pip is configured with.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from partywise.core.verbs import VERBS
from pipeline import RESULTS, ROOT, STUDY, TINY, copy_project, environment, launch

pytestmark = pytest.mark.system

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OLDEST = [requirement.replace(">=", "==") for requirement in PROJECT["dependencies"]]
# Everything of the library that needs neither the pipeline nor figures can be imported; nothing else is installed.
WHOLE = """
import importlib, importlib.metadata, pkgutil, sys
import partywise
assert "site-packages" in partywise.__file__, partywise.__file__
found = {one.metadata["Name"].lower() for one in importlib.metadata.distributions()}
assert found <= {"partywise", "numpy", "scipy", "pip", "setuptools"}, found
extras, missing = {"xarray", "netCDF4", "matplotlib", "pandas", "jinja2", "yaml", "aiohttp", "tno", "nvflare"}, set()
for module in pkgutil.walk_packages(partywise.__path__, "partywise."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        assert error.name in extras, (module.name, error)
        missing.add(module.name)
rooms = ("results", "plotting", "tables", "differences", "register", "collect", "verify", "plans", "configuration.text")
carriers = (".wire.connection", ".wire.pool", ".nvflare.site", ".filters.dxo")
named = (".figures", ".plot.", *carriers, *(f".experiment.{room}" for room in rooms))
assert all(any(part in name for part in named) for name in missing), missing
from partywise.studies.sliced_inverse_regression.metrics import printed_table
assert len(printed_table()) == 560
# What is certified rests on scipy's last digits: delta at epsilon 0 is erf(mu / sqrt 8), and must not be exceeded.
import math
import partywise as pw
for delta in (1e-9, 1e-5, 1e-3):
    mu = float(pw.gdp_mu(0.0, delta))
    assert delta * (1 - 1e-9) <= math.erf(mu / math.sqrt(8)) <= delta, (delta, mu)
"""


def checked(command: list[str], folder: Path) -> str:
    """What a command printed; AssertionError with its errors if it failed."""
    done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the sources, so that nothing is left behind here."""
    folder = tmp_path_factory.mktemp("wheel")
    copy_project(folder / "project")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "docs/reference"):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, folder / "project" / name)
    build(folder / "project", "sdist", folder / "dist")
    build(folder / "project", "wheel", folder / "dist")
    (found,) = (folder / "dist").glob("*.whl")
    return found


def build(source: Path, what: str, into: Path) -> None:
    """Make a wheel or an sdist of a folder, by the tools that the lock pins."""
    code = f"import setuptools.build_meta as made; made.build_{what}({str(into)!r})"
    into.mkdir(exist_ok=True)
    checked([sys.executable, "-c", code], source)


def python_of(folder: Path, *requirements: str) -> str:
    """The Python of a new environment with these requirements alone."""
    checked([sys.executable, "-m", "venv", str(folder)], folder.parent)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    checked([*install, *requirements], folder.parent)
    return python


def test_the_wheel_holds_all_that_is_in_the_library(wheel):
    """Modules and data files alike, the pipeline below ``pipeline`` but for what reads a clone, and no tests."""
    parts = [
        f"{part}*"
        for part in ("CITATION.cff", "Snakefile", "config", "docs/reference", "envs", "profiles", "scripts", "workflow")
    ]
    tracked = ["git", "ls-files", "--", "lib/partywise", *parts, ":!workflow/artifact"]
    tracked += [f":!workflow/{verb.function}" for verb in VERBS if verb.is_about_clone and verb.is_script]
    names = checked(tracked, ROOT).splitlines()
    kept = {name.removeprefix("lib/") if name.startswith("lib/") else f"partywise/pipeline/{name}" for name in names}
    assert contents(wheel) == kept and any(name.endswith(".csv") for name in kept)


def contents(wheel: Path) -> set[str]:
    """Names of the files in a wheel, without its metadata."""
    return {name for name in zipfile.ZipFile(wheel).namelist() if not re.match(r"partywise-[^/]*\.dist-info/", name)}


def test_wheel_and_sdist_are_what_an_index_takes(wheel, tmp_path):
    """By check-wheel-contents and twine; and the sdist makes the same wheel."""
    python = python_of(tmp_path / "tools", "check-wheel-contents", "twine")
    (sdist,) = wheel.parent.glob("*.tar.gz")
    assert "PASSED" in checked([python, "-m", "twine", "check", "--strict", str(wheel), str(sdist)], tmp_path)
    # W002, equal files: two environments with the same packages, marks of packages of one shape, a table dealt twice.
    looked = [str(Path(python).with_name("check-wheel-contents")), "--ignore", "W002", str(wheel)]
    assert "OK" in checked(looked, tmp_path)
    shutil.unpack_archive(sdist, tmp_path)
    (unpacked,) = tmp_path.glob("partywise-*")
    build(unpacked, "wheel", tmp_path / "again")
    again, first = (zipfile.ZipFile(path) for path in (tmp_path / "again" / wheel.name, wheel))
    assert sorted(again.namelist()) == sorted(first.namelist())
    assert [name for name in first.namelist() if again.read(name) != first.read(name)] == []


def test_the_command_runs_a_study_in_an_empty_folder(wheel, tmp_path):
    """From nothing but the wheel and the lock: a cube, figures and a report, and jobs as a clone plans them."""
    python = python_of(tmp_path / "installed", "--no-deps", "-r", str(ROOT / "locks/requirements.lock"))
    checked([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)], tmp_path)
    command, folder = str(Path(python).with_name("partywise")), tmp_path / "an empty folder"
    folder.mkdir()
    told = checked([command, "run", "--configfile", "tiny.yaml"], folder)
    assert "partywise summary STUDY  tables" in told
    checked([command, "report"], folder)
    assert (folder / RESULTS / "report.html").stat().st_size > 10**5
    assert "2 of 2 cells" in checked(
        [command, "compare", "--recompute", f"{RESULTS}/{STUDY}/cube.nc", "--cells", "2"], folder
    )
    assert "14 jobs" in checked([command, "crate"], folder)
    assert "Nothing to be done" in checked([command, "run", "--configfile", "tiny.yaml"], folder)
    # In a clone nothing of it is to be done: what every job was made of is the same.
    clone = copy_project(tmp_path / "clone")
    shutil.copytree(folder / "results", clone / "results")
    assert "Nothing to be done" in launch(clone, *TINY).stdout


@pytest.mark.parametrize("versions", [OLDEST, ["numpy", "scipy"]], ids=["oldest", "newest"])
def test_the_page_runs_in_an_empty_environment(wheel, versions, tmp_path):
    """Every example of docs/python.md and of the docstrings prints what stands there, with every warning an error."""
    python = python_of(tmp_path / "alone", str(wheel), *versions)
    checked([python, "-I", "-W", "error", "-c", WHOLE], tmp_path)
    for path in (ROOT / "docs" / "python.md", ROOT / "tests" / "support" / "documented.py"):
        shutil.copy(path, tmp_path)
    checked([python, "-I", "-W", "error", "documented.py", "python.md"], tmp_path)
    # The command is there, and says which extra its verbs need.
    command = [str(tmp_path / "alone" / "bin" / "partywise"), "compare", "one.nc", "other.nc"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "partywise compare needs xarray: pip install 'partywise[pipeline]'.\n")
