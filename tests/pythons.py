"""The same seed on every other supported Python of this machine: the numbers of the cubes are equal bit for bit.

Run by ``./run system``.  Interpreters are looked for on the path and where pyenv keeps them; with none there is nothing
to compare, which the test says.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from partywise.cube import open_cube
from pipeline import ROOT, copy_project, environment

pytestmark = pytest.mark.system

NEWEST = 14
SMALL = ("config/tiny.yaml", "config/smoke.yaml")


def others() -> dict[str, str]:
    """Version (3.x) and path of each other supported Python."""
    found: dict[str, str] = {}
    for minor in range(11, NEWEST + 1):
        near = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))
        path = str(near[-1]) if near else shutil.which(f"python3.{minor}")
        if path and minor != sys.version_info.minor:
            done = subprocess.run([path, "--version"], capture_output=True, text=True)
            if re.match(rf"Python 3\.{minor}\.", done.stdout):
                found[f"3.{minor}"] = path
    return found


OTHERS = others()


def run(folder: Path, python: Path | str) -> None:
    """Both small configurations in a folder, with an interpreter that has the locked packages."""
    for config in SMALL:
        command = [str(python), "workflow/launch.py", "--configfile", config]
        done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def here(tmp_path_factory) -> Path:
    """The run of this Python."""
    folder = copy_project(tmp_path_factory.mktemp("here") / "project")
    run(folder, sys.executable)
    return folder


def test_other_pythons_are_named():
    print(f"other supported Pythons on this machine: {', '.join(OTHERS) or 'none, so nothing is compared'}")
    assert f"3.{sys.version_info.minor}" not in OTHERS


@pytest.mark.parametrize("version", OTHERS)
def test_another_python_gives_the_same_numbers(version, here, tmp_path):
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([OTHERS[version], "-m", "venv", tmp_path / "venv"], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", ROOT / "requirements.lock"]
    subprocess.run(install, check=True, env=environment())
    folder = copy_project(tmp_path / "project")
    run(folder, python)
    cubes = sorted((here / "results").glob("*/cube.nc"))
    assert len(cubes) >= 3
    for path in cubes:
        one, other = open_cube(path), open_cube(folder / path.relative_to(here))
        assert one.identical(other.assign_attrs(one.attrs)), path.parent.name
        assert one.attrs["config_sha256"] == other.attrs["config_sha256"]
        assert one.attrs["software_versions"] != other.attrs["software_versions"]
