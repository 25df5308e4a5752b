"""The revision of a project in its cubes: told also where git has doubts, and never lost without a word."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from partywise.experiment.results.provenance import git_commit

# The repository belongs to somebody else, as git sees it, and no settings of this machine say that it is safe.
FOREIGN = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    author = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    environ = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    return subprocess.run(["git", *author, *words], cwd=folder, env=environ, capture_output=True, text=True, check=True)


@pytest.fixture
def project(tmp_path) -> Path:
    """A repository with one revision, at a path with a space."""
    folder = tmp_path / "a project"
    folder.mkdir()
    (folder / "code.py").write_text("answer = 42\n")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "first")
    return folder


def test_the_revision_of_a_folder_that_another_user_owns(project, monkeypatch):
    head = git(project, "rev-parse", "HEAD").stdout.strip()
    for name, value in FOREIGN.items():
        monkeypatch.setenv(name, value)
    refused = subprocess.run(["git", "rev-parse", "HEAD"], cwd=project, capture_output=True, text=True)
    assert refused.returncode != 0 and "dubious ownership" in refused.stderr, "git trusts the folder: no test"
    assert git_commit(project) == head
    monkeypatch.chdir(project)
    assert git_commit(Path()) == head
    (project / "code.py").write_text("answer = 43\n")
    assert git_commit(project) == f"{head}-dirty"


def test_a_revision_that_git_does_not_tell_is_lost_with_a_warning(project, monkeypatch):
    (project / ".git" / "HEAD").write_text("nonsense\n")
    with pytest.warns(
        UserWarning, match=r"^git does not tell the revision \(fatal: .*\): the cube says git_commit unk"
    ):
        assert git_commit(project) == "unknown"
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.warns(
        UserWarning, match=r"^git cannot be asked for the revision \(No such file or directory\): the cu"
    ):
        assert git_commit(project) == "unknown"


def test_a_folder_without_a_repository_of_its_own_has_no_revision(project, recwarn):
    """One inside another project would have the revision of that."""
    (project / "inner").mkdir()
    assert git_commit(project / "inner") == "unknown"
    assert not recwarn.list
