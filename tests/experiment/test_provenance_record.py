"""Origins of results: what makes them stale, what does not, and which jobs leave none."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest

from partywise.core.errors import InputChanged
from partywise.experiment.results.provenance_record import (
    as_planned,
    digests_before,
    fingerprint_of,
    is_current,
    read_record,
    sha256,
    write_record,
)
from partywise.experiment.results.sources import LOADED, Finder


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A finished job that wrote two files."""
    for path in outputs(tmp_path):
        path.write_text(path.name)
    write_record(tmp_path / "record", fingerprint_of("told"), outputs(tmp_path))
    return tmp_path


def outputs(folder: Path) -> list[Path]:
    return [folder / "cube", folder / "table"]


def current(folder: Path, told: str = "told", *before: str) -> bool:
    return is_current(folder / "record", fingerprint_of(told, before), outputs(folder))


def test_a_finished_job_is_current_whatever_the_time_and_the_folder(job):
    assert current(job) and set(read_record(job / "record").outputs) == {"cube", "table"}
    for time in (0, 4e9):
        for path in (*outputs(job), job / "record"):
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
    write_record(job / "record", fingerprint_of("told"), [job / "cube"])
    assert not current(job)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"fingerprint": "f", "outputs": []}', "\xff"])
def test_what_has_no_readable_origin_is_stale(job, text):
    (job / "record").write_text(text, encoding="latin-1")
    assert not current(job)
    (job / "record").unlink()
    assert not current(job)


def test_a_job_reads_what_those_before_it_were_planned_to_write_and_nothing_else(job):
    """Each is told by its own record: files of several jobs may have one name."""
    other = job / "other"
    other.mkdir()
    (other / "cube").write_text("another")
    write_record(other / "record", fingerprint_of("other"), [other / "cube"])
    records, cubes = [job / "record", other / "record"], [job / "cube", other / "cube"]
    planned = fingerprint_of("later", [fingerprint_of("told"), fingerprint_of("other")])
    assert digests_before("later", planned, records, cubes) == {str(cube): sha256(cube) for cube in cubes}
    (other / "record").unlink()
    with pytest.raises(InputChanged, match=r"^A job before this one was made of other code or data .*: run again\.$"):
        digests_before("later", planned, records, cubes)
    write_record(other / "record", fingerprint_of("edited"), [other / "cube"])
    with pytest.raises(InputChanged, match="A job before this one"):
        digests_before("later", planned, records, cubes)


def put_back(path: Path) -> None:
    """Another content for a moment; content, size and time are those from before."""
    before, content = path.stat(), path.read_bytes()
    path.write_text("abcd")
    path.write_bytes(content)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("happens", [put_back, Path.unlink, lambda path: path.write_text("x")])
@pytest.mark.parametrize("error", [None, ValueError("row 3 has no number")])
def test_a_job_ends_where_a_file_that_it_reads_is_written_meanwhile(tmp_path, happens, error):
    """Whatever else went wrong: that may be why."""
    own = tmp_path / "own.csv"
    own.write_text("1234")
    files = {str(own): sha256(own)}
    with as_planned({}, files):
        assert own.read_text() == "1234"
    sentence = rf"^{own} was changed while this run was under way: run again\.$"
    with pytest.raises(InputChanged, match=sentence), as_planned({}, files):
        happens(own)
        if error:
            raise error


def test_a_job_does_not_begin_with_other_files_than_planned(tmp_path):
    own, other = tmp_path / "own.csv", tmp_path / "other.csv"
    own.write_text("1234")
    planned = {str(own): sha256(own), str(other): sha256(own)}
    own.write_text("1235")
    began = []
    with pytest.raises(InputChanged, match=r"own\.csv \(and 1 more files\) was changed"), as_planned({}, planned):
        began.append(True)
    assert not began


def test_a_job_ends_where_a_module_that_it_loads_on_its_way_is_not_as_planned(tmp_path, monkeypatch):
    """Most modules are loaded after the begin, when they are first needed."""
    names = "loaded_as_planned", "edited_before_it_was_loaded"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [Finder(names), *sys.meta_path])
    for name in names:
        (tmp_path / f"{name}.py").write_text("VALUE = 1\n")
    planned = {name: sha256(tmp_path / f"{name}.py") for name in names}
    edited = tmp_path / f"{names[1]}.py"
    edited.write_text("VALUE = 2\n")
    try:
        with as_planned(planned, {}):
            assert import_module(names[0]).VALUE == 1
        with pytest.raises(InputChanged, match=rf"^{edited} was changed while this run was"), as_planned(planned, {}):
            assert import_module(names[1]).VALUE == 2
    finally:
        for name in names:
            sys.modules.pop(name, None)
            LOADED.pop(name, None)
