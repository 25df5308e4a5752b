"""Fixtures that several test files share."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import sys
from collections.abc import Generator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from launching.surroundings import BYTECODE
from pipeline import ROOT, TINY, copy_project, launch

# Figures are drawn without a display, also where there is one.
os.environ.setdefault("MPLBACKEND", "agg")
# As `./run` does it: without bytecode collecting alone takes four times as long, and every process that a test starts
# compiles all that it imports.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    sys.pycache_prefix = os.environ.setdefault("PYTHONPYCACHEPREFIX", str(BYTECODE))
    sys.dont_write_bytecode = False

# How long an example takes is a matter of the machine and of what else it does.
settings.register_profile("partywise", deadline=None)
settings.load_profile("partywise")

# Collecting makes millions of objects that stay, and nothing that is garbage.
gc.disable()

# Files that take longest, about in that order (23 to 8 CPU s), then those that start processes: what comes last is
# short, and no core is idle at the end (`./run test` hands files out in the order of collection).  Those that wait for
# one undisturbed run of the pipeline do not all begin at once.
LONGEST = (
    "tests/experiment/test_figures_legible.py",
    "tests/workflow/test_rerun.py",
    "tests/privacy/statistics/test_public_arguments.py",
    "tests/federation/test_every_protocol.py",
    "tests/data/test_datasets.py",
    "tests/data/test_tables_of_all_studies.py",
    "tests/workflow/test_code_closure.py",
    "tests/deployment/test_party_processes.py",
    "tests/deployment/session/test_wire_tap.py",
    "tests/workflow/test_faults.py",
    "tests/workflow/test_time_stamps.py",
    "tests/workflow/test_long_checks.py",
    "tests/experiment/test_check_method.py",
    "tests/methods/glm/test_glm_joint.py",
    "tests/methods/glm/test_shared_link.py",
    "tests/workflow/test_own_modules.py",
    "tests/privacy/accounting/test_accounting.py",
    "tests/experiment/test_cube.py",
    "tests/experiment/test_figures.py",
    "tests/experiment/register",
    "tests/deployment",
    "tests/workflow",
    "tests/federation",
    "tests/data",
    "tests/experiment",
    "tests/methods/glm",
    "tests/methods/trees",
    "tests/privacy",
)


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """One worker more than cores: tests of parties wait for each other, and for patience that ends."""
    return (yield) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; the order within a file stays."""
    assert all((ROOT / name).exists() for name in LONGEST), [n for n in LONGEST if not (ROOT / n).exists()]
    rank = {name: number for number, name in enumerate(LONGEST)}

    @cache
    def place(file: Path) -> int:
        path = file.relative_to(ROOT)
        return min(rank.get(one.as_posix(), len(LONGEST)) for one in (path, *path.parents))

    items.sort(key=lambda item: place(item.path))


def pytest_collection_finish() -> None:
    """Thousands of tests live until the end: neither the garbage collector nor a fork needs to look at them again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One undisturbed run of config/tiny.yaml in a copy of the project, shared by all processes; never written to."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "finished" / "project"
    folder.parent.mkdir(exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "stderr.txt").exists():
            shutil.rmtree(folder, ignore_errors=True)
            copy_project(folder)
            done = launch(folder, *TINY)
            assert done.returncode == 0, done.stderr
            (folder / "stdout.txt").write_text(done.stdout)
            (folder / "stderr.txt").write_text(done.stderr)
    return folder


@pytest.fixture(autouse=True)
def closed_figures():
    """Figures of a test are closed after it, if it draws any."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return the folder of a test that runs in it, where paths begin."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def started(tmp_path):
    """Parties of a case as processes, in a folder; those left over end with the test."""
    from deployment_processes import Parties

    made = []

    def start(case):
        case.write(tmp_path)
        made.append(Parties(case, tmp_path))
        return made[-1]

    yield start
    for process in (process for parties in made for process in parties.processes.values()):
        process.kill()
        process.join()
