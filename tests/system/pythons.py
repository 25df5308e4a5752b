"""The same seed on every other supported Python of this machine: the numbers of the cubes are equal bit for bit.

Run by ``./run test --system``.  Interpreters are looked for on the path, where pyenv and uv keep them, and below
PARTYWISE_PYTHONS, a list of folders like PATH.  Where there is none this is a skip that says where was looked (and an
error if that list is set): no package of Debian 12 or of PyPI brings another Python, so no script here can install one.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import machine  # noqa: F401 - ends also when the tests are ended
from partywise.experiment.results.cube import open_cube
from pipeline import ROOT, copy_project, environment

pytestmark = pytest.mark.system

NEWEST = 14
SMALL = ("config/tiny.yaml", "config/smoke.yaml")
# Whether an interpreter can make an environment of its own.
WHOLE = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"


def folders() -> list[Path]:
    """Folders that may hold interpreters, the home of the user as well as what HOME says."""
    homes = [Path.home(), Path(pwd.getpwuid(os.getuid()).pw_dir)]
    pyenv = [Path(os.environ["PYENV_ROOT"])] if os.environ.get("PYENV_ROOT") else []
    given = [Path(folder) for folder in os.environ.get("PARTYWISE_PYTHONS", "").split(os.pathsep) if folder]
    kept = [root / "versions" for root in (*pyenv, *(home / ".pyenv" for home in homes))]
    kept += [home / ".local" / "share" / "uv" / "python" for home in homes]
    return list(dict.fromkeys([*given, *kept]))


def interpreters(minor: int) -> Iterator[str]:
    """Paths at which Python 3.minor may be, the newest of a folder first."""
    name = f"python3.{minor}"
    for folder in folders():
        found = [*folder.glob(f"bin/{name}"), *folder.glob(f"*/bin/{name}")]
        yield from map(
            str, sorted(found, key=lambda path: [int(n) for n in re.findall(r"\d+", str(path))], reverse=True)
        )
    if path := shutil.which(name):
        yield path


def others() -> dict[str, str]:
    """Version (3.x) and path of each other supported Python that is whole."""
    found: dict[str, str] = {}
    for minor in range(11, NEWEST + 1):
        if minor == sys.version_info.minor:
            continue
        for path in interpreters(minor):
            done = subprocess.run([path, "-c", WHOLE], capture_output=True, text=True)
            if done.returncode == 0 and done.stdout == f"3.{minor}\n":
                found[f"3.{minor}"] = path
                break
    return found


OTHERS = others()
LOOKED = f"the path and {', '.join(map(str, folders()))}"
NONE = pytest.param(
    "none", marks=pytest.mark.skip(reason=f"NO OTHER PYTHON, so nothing is compared; looked in {LOOKED}")
)


def run(folder: Path, python: Path | str) -> None:
    """Both small configurations in a folder, with an interpreter that has the locked packages."""
    for config in SMALL:
        command = [str(python), "workflow/launch.py", "--configfile", config]
        done = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=1200)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def here(tmp_path_factory) -> Path:
    """The run of this Python."""
    folder = copy_project(tmp_path_factory.mktemp("here") / "project")
    run(folder, sys.executable)
    return folder


def test_other_pythons_are_named():
    named = ", ".join(f"{version} ({path})" for version, path in OTHERS.items())
    print(f"other supported Pythons: {named or 'none'}; looked in {LOOKED}")
    assert f"3.{sys.version_info.minor}" not in OTHERS
    assert OTHERS or not os.environ.get("PARTYWISE_PYTHONS"), "PARTYWISE_PYTHONS holds no other Python"


def test_one_that_is_named_is_found(tmp_path, monkeypatch):
    """And nothing is taken for one that only has its name."""
    minor = next(minor for minor in range(11, NEWEST + 1) if minor != sys.version_info.minor)
    for version, answer in (("3.9", f"3.{minor}"), ("3.10", "3.2")):
        path = tmp_path / version / "bin" / f"python3.{minor}"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!/bin/sh\necho {answer}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PARTYWISE_PYTHONS", str(tmp_path))
    assert others()[f"3.{minor}"] == str(tmp_path / "3.9" / "bin" / f"python3.{minor}")


@pytest.mark.parametrize("version", OTHERS or [NONE])
def test_another_python_gives_the_same_numbers(version, here, tmp_path):
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([OTHERS[version], "-m", "venv", tmp_path / "venv"], check=True)
    install = [str(python), "-m", "pip", "install", "--disable-pip-version-check"]
    if uv := shutil.which("uv"):
        install = [uv, "pip", "install", "--python", str(python)]
    for what in (
        ["--require-hashes", "-r", str(ROOT / "locks/requirements.lock")],
        ["--no-build-isolation", "-e", str(ROOT)],
    ):
        subprocess.run([*install, "--quiet", "--no-deps", *what], check=True, env=environment(), timeout=1200)
    folder = copy_project(tmp_path / "project")
    run(folder, python)
    cubes = sorted((here / "results").glob("*/*/cube.nc"))
    assert len(cubes) >= 3
    for path in cubes:
        one, other = open_cube(path), open_cube(folder / path.relative_to(here))
        assert one.identical(other.assign_attrs(one.attrs)), path.parent.name
        assert one.attrs["config_sha256"] == other.attrs["config_sha256"]
        assert one.attrs["software_versions"] != other.attrs["software_versions"]
