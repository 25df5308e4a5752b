"""Fixtures of published folders, for test files that name this module in ``pytest_plugins``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from partywise.deployment.outcomes.run_files import last_run
from release_folders import published_run


@pytest.fixture
def published(tmp_path_factory) -> Path:
    """Folder of a run that was published, and all that its parties have."""
    return published_run(tmp_path_factory.getbasetemp() / "published")


@pytest.fixture
def copied(published, tmp_path) -> Path:
    """The published folder alone, elsewhere."""
    return Path(shutil.copytree(last_run(published / "out" / "server") / "release", tmp_path / "copy"))
