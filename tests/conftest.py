"""Fixtures that several test files share."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

import pytest

from pipeline import TINY, copy_project, launch


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
