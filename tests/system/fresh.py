"""From nothing: a fresh clone in an empty environment, with pip and with uv (``./run test --system``, by network).

What the first command installs is measured, its results are those of any other environment, and a project that was
moved sets itself up again.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

import machine  # noqa: F401 - ends also when the tests are ended
from partywise.experiment.results.compare import compare_results
from pipeline import RESULTS, ROOT, STUDY, TINY

pytestmark = pytest.mark.system

LIMIT_BYTES = 450 * 10**6
# How this machine reaches the package index, and which kernels of linear algebra it is told to use.
MACHINE = ("PIP_", "UV_", "SSL_CERT", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "OPENBLAS_CORETYPE", "OPENBLAS_L2")
PYTHON = str(Path(sys.base_prefix) / "bin")


def empty(home: Path, *folders: str) -> dict[str, str]:
    """An environment with a home, a path and what the machine itself needs."""
    home.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if name.upper().startswith(MACHINE)}
    return {**kept, "HOME": str(home), "PATH": os.pathsep.join([*folders, PYTHON, "/usr/bin", "/bin"])}


def run(folder: Path, env: Mapping[str, str], *words: str) -> str:
    done = subprocess.run(["./run", *words], cwd=folder, env=env, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stderr


def installed_bytes(folder: Path) -> int:
    """Space on the disk, each file once."""
    found = {(status.st_dev, status.st_ino): status.st_blocks * 512 for status in map(os.lstat, folder.rglob("*"))}
    return sum(found.values())


@pytest.fixture(scope="module")
def uv(tmp_path_factory) -> str:
    """A folder that holds uv."""
    if found := shutil.which("uv"):
        return str(Path(found).parent)
    place = tmp_path_factory.mktemp("uv")
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    subprocess.run([place / "bin" / "python", "-m", "pip", "install", "--quiet", "uv"], check=True)
    (place / "alone").mkdir()
    (place / "alone" / "uv").symlink_to(place / "bin" / "uv")
    return str(place / "alone")


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_a_fresh_clone_runs_in_an_empty_environment(tool, uv, finished, tmp_path):
    folder = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    env = empty(tmp_path / "home", *([uv] if tool == "uv" else []))
    assert bool(shutil.which("uv", path=env["PATH"])) is (tool == "uv")
    begun = time.monotonic()
    said = run(folder, env, *TINY)
    print(f"fresh clone with {tool}: {time.monotonic() - begun:.0f} s, config/tiny.yaml included")
    assert "Setting up .venv from locks/requirements.lock" in said
    reports = dict(compare_results(finished / RESULTS, folder / RESULTS))
    assert list(reports) == [STUDY] and reports[STUDY].equal(), list(reports[STUDY].lines)
    size = installed_bytes(folder / ".venv")
    print(f".venv after its first run: {size / 1e6:.0f} MB")
    assert size <= LIMIT_BYTES
    assert "Setting up" not in run(folder, env, "compare", "results", "results")
    moved = folder.rename(tmp_path / "moved")
    assert "Setting up" in run(moved, env, "compare", "results", "results")
    where = [moved / ".venv/bin/python", "-c", "import partywise; print(partywise.__file__)"]
    found = subprocess.run(where, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout
    assert Path(found.strip()).is_relative_to(moved)
