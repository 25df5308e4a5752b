"""The wheel in an empty environment, on the oldest and the newest numpy and scipy that it promises.

Run by ``./run system``; the packages come from the index that pip is configured with.
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

from pipeline import ROOT, environment

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
carriers = (".transport.connection", ".transport.pool", ".relay.nvflare", ".nvflare.site")
named = (".figures", *carriers, *(f".experiment.{room}" for room in rooms))
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
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "lib", folder / "lib", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", "dist", "."]
    checked([sys.executable, "-m", "pip", *words], folder)
    (found,) = (folder / "dist").glob("*.whl")
    return found


def test_the_wheel_holds_all_that_is_in_the_library(wheel):
    """Modules and data files alike, and nothing of the pipeline or the tests."""
    kept = {
        path.relative_to(ROOT / "lib").as_posix()
        for path in (ROOT / "lib" / "partywise").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if not re.match(r"partywise-[^/]*\.dist-info/", name)}
    assert inside == kept and any(name.endswith(".csv") for name in kept)


@pytest.mark.parametrize("versions", [OLDEST, ["numpy", "scipy"]], ids=["oldest", "newest"])
def test_the_page_runs_in_an_empty_environment(wheel, versions, tmp_path):
    """Every example of docs/python.md prints what stands there, with every warning an error."""
    checked([sys.executable, "-m", "venv", "alone"], tmp_path)
    python = str(tmp_path / "alone" / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    checked([*install, str(wheel), *versions], tmp_path)
    checked([python, "-I", "-W", "error", "-c", WHOLE], tmp_path)
    for path in (ROOT / "docs" / "python.md", ROOT / "tests" / "support" / "documented.py"):
        shutil.copy(path, tmp_path)
    checked([python, "-I", "-W", "error", "documented.py", "python.md"], tmp_path)
    # The command is there, and says which extra its verbs need.
    command = [str(tmp_path / "alone" / "bin" / "partywise"), "compare", "one.nc", "other.nc"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "partywise compare needs xarray: pip install 'partywise[pipeline]'.\n")
