"""A disk that fills up during a run, on a small file system (``./run test --system``; mounting needs root)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import machine  # noqa: F401 - unmounts also when the tests are ended
from partywise.experiment.results.cube import open_cube, write_cube
from pipeline import RESULTS, STUDY, TINY, copy_project, launch, results

pytestmark = pytest.mark.system


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A project whose results lie on a file system of 300 kB."""
    folder = copy_project(tmp_path / "project")
    place = folder / "results"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", place], check=True)
    try:
        yield folder
    finally:
        # Lazily: a job of an interrupted test may still hold it.
        subprocess.run(["umount", "--lazy", place], check=True)


def test_a_full_disk_is_told_and_the_next_run_heals(finished, small_disk):
    done = launch(small_disk, *TINY)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "No space left on device" in said and "free space" in said
    assert not list((small_disk / "results").rglob("*.part*")), "a half file stayed"
    kept = {path: path.read_bytes() for path in (small_disk / RESULTS / STUDY).rglob("*.npz")}
    assert all(kept.values()), "an empty file looks finished"
    subprocess.run(["mount", "-o", "remount,size=200m", small_disk / "results"], check=True)
    again = launch(small_disk, *TINY)
    assert again.returncode == 0, again.stdout + again.stderr
    assert results(small_disk) == results(finished)


def test_a_disk_that_is_full_when_the_cube_is_written_is_told(finished, tmp_path):
    """The file format's library says "HDF error"; the sentence says that the disk is full."""
    cube, place = open_cube(finished / RESULTS / STUDY / "cube.nc"), tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", place], check=True)
    try:
        with pytest.raises(OSError, match=r"cube.nc cannot be written \(No space left on device\): free space"):
            write_cube(place / "cube.nc", cube)
        assert list(place.iterdir()) == []
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)
