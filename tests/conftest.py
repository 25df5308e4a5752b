"""Fixtures that several test files share."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline import TINY, copy_project, launch


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One undisturbed run of config/tiny.yaml in a copy of the project; never written to."""
    folder = copy_project(tmp_path_factory.mktemp("finished") / "project")
    done = launch(folder, *TINY)
    assert done.returncode == 0, done.stderr
    (folder / "stdout.txt").write_text(done.stdout)
    (folder / "stderr.txt").write_text(done.stderr)
    return folder
