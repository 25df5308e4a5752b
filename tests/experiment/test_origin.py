"""Origins of results: what makes them stale, and what does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from partywise.experiment.results.origin import fingerprint_of, is_current, read_origin, write_origin


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A finished job that wrote two files."""
    for path in outputs(tmp_path):
        path.write_text(path.name)
    write_origin(tmp_path / "origin", "told", [*outputs(tmp_path), tmp_path / "origin"])
    return tmp_path


def outputs(folder: Path) -> list[Path]:
    return [folder / "cube", folder / "table"]


def current(folder: Path, told: str = "told", *before: str) -> bool:
    return is_current(folder / "origin", fingerprint_of(told, before), outputs(folder))


def test_a_finished_job_is_current_whatever_the_time_and_the_folder(job):
    assert current(job) and set(read_origin(job / "origin").outputs) == {"cube", "table"}
    for time in (0, 4e9):
        for path in (*outputs(job), job / "origin"):
            os.utime(path, (time, time))
        assert current(job)
    assert current(job.rename(job.parent / "renamed"))


def test_what_was_told_otherwise_is_stale(job):
    assert not current(job, "other")
    assert not current(job, "told", "before")


@pytest.mark.parametrize("text", ["cub", "cubE", ""])
def test_an_output_that_was_changed_is_stale_at_its_old_time(job, text):
    before = (job / "cube").stat().st_mtime
    (job / "cube").write_text(text)
    os.utime(job / "cube", (before, before))
    assert not current(job)


def test_an_output_that_no_origin_names_is_stale(job):
    write_origin(job / "origin", "told", [job / "cube"])
    assert not current(job)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"fingerprint": "f", "outputs": []}', "\xff"])
def test_what_has_no_readable_origin_is_stale(job, text):
    (job / "origin").write_text(text, encoding="latin-1")
    assert not current(job)
    (job / "origin").unlink()
    assert not current(job)


def test_a_job_claims_what_those_before_it_hold_and_nothing_else(job):
    """Not what they would hold now: what it read may be older than the code of this moment."""
    held = read_origin(job / "origin")
    write_origin(job / "later", "later", [], [job / "origin"])
    assert read_origin(job / "later").fingerprint == fingerprint_of("later", [held.fingerprint])
    write_origin(job / "origin", "another", [])
    assert read_origin(job / "later").fingerprint != fingerprint_of("later", [read_origin(job / "origin").fingerprint])
    (job / "origin").unlink()
    write_origin(job / "later", "later", [], [job / "origin"])
    assert read_origin(job / "later").fingerprint not in {fingerprint_of("later"), fingerprint_of("later", [""])}
