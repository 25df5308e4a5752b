"""Results are current by their provenance records, not by times: touched, switched, copied, unpacked, stale."""

from __future__ import annotations

import base64
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline import PARTS, RESULTS, STUDY, TINY, copy_project, copy_run, edit, launch, planned, results

FOLDER = f"{RESULTS}/{STUDY}"
BLOCK = f"{FOLDER}/blocks/simulated/moments/k2_r0000-0001_f00-01.npz"
DOWNSTREAM = {"collect": 1, "figure": 2}
FITS = {"fit": 10, **DOWNSTREAM}
EVERYTHING = {"generate": 1, "fit": 10, **DOWNSTREAM}
STEPS = ("config/tiny.yaml", "dealer\n        max_steps: 30", "dealer\n        max_steps: 31")


def git(folder: Path, *words: str) -> None:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def touch(folder: Path) -> None:
    """Every file of the project is younger than all results."""
    for part in PARTS:
        for path in [folder / part, *(folder / part).rglob("*")]:
            path.touch()


def switch(folder: Path) -> None:
    """Another branch, with another method, and back."""
    git(folder, "init", "--quiet", "--initial-branch", "here")
    git(folder, "add", *PARTS)
    git(folder, "commit", "--quiet", "-m", "here")
    git(folder, "checkout", "--quiet", "-b", "there")
    method = folder / "lib/partywise/methods/functional/protocols/moments.py"
    method.write_text(method.read_text() + "\n# there\n")
    git(folder, "commit", "--quiet", "-am", "there")
    found = planned(folder, *TINY)
    assert found.jobs == {"fit": 2, **DOWNSTREAM} and found.methods() == {"moments"}
    git(folder, "checkout", "--quiet", "here")


def shuffle(folder: Path) -> None:
    """Times as no run leaves them: of a copy in any order, of an archive without times, of a clock that is ahead."""
    chosen = random.Random(0)
    for path in [path for path in sorted(folder.rglob("*")) if path.is_file()]:
        time = chosen.choice([0.0, 4e9, 1.7e9 + chosen.uniform(0, 3e8)])
        os.utime(path, (time, time))


@pytest.mark.parametrize("happens", [touch, switch, shuffle], ids=lambda happens: happens.__name__)
def test_times_of_files_make_nothing_run(finished, tmp_path, happens: Callable[[Path], None]):
    folder = copy_run(finished, tmp_path / "copy")
    happens(folder)
    assert planned(folder, *TINY).jobs == {}


def unpack(finished: Path, folder: Path, records: bool = False) -> Path:
    """A fresh clone with the results of another one, older than its files; with Snakemake's records or without."""
    copy_project(folder)
    shutil.copytree(finished / RESULTS, folder / RESULTS)
    if records:
        shutil.copytree(finished / ".snakemake" / "metadata", folder / ".snakemake" / "metadata")
    touch(folder)
    return folder


@pytest.mark.parametrize("records", [True, False])
def test_unpacked_results_are_current_and_those_of_another_method_are_not(finished, tmp_path, records):
    folder = unpack(finished, tmp_path / "clone", records)
    assert planned(folder, *TINY).jobs == {}
    edit(folder / STEPS[0], *STEPS[1:])
    shuffle(folder / RESULTS)
    found = planned(folder, *TINY)
    assert found.jobs == {"fit": 2, **DOWNSTREAM} and found.methods() == {"moments"}


def test_results_without_their_origins_are_not_trusted(finished, tmp_path):
    folder = unpack(finished, tmp_path / "clone")
    shutil.rmtree(folder / RESULTS / "provenance" / STUDY / "figure")
    assert planned(folder, *TINY).jobs == {"figure": 2}
    shutil.rmtree(folder / RESULTS / "provenance")
    assert planned(folder, *TINY).jobs == EVERYTHING


def test_a_cube_needs_no_data_and_no_blocks_until_something_changes(finished, tmp_path):
    """They can be left out of what is handed over; an edit then computes all that its cube needs."""
    folder = unpack(finished, tmp_path / "clone")
    shutil.rmtree(folder / FOLDER / "data")
    assert planned(folder, *TINY).jobs == {}
    shutil.rmtree(folder / FOLDER / "blocks")
    assert planned(folder, *TINY).jobs == {}
    edit(folder / STEPS[0], *STEPS[1:])
    assert planned(folder, *TINY).jobs == EVERYTHING


def exchange(path: Path, content: bytes) -> None:
    """Another content at the old time."""
    then = path.stat().st_mtime
    path.write_bytes(content)
    os.utime(path, (then, then))


@pytest.fixture
def damaged(finished, tmp_path) -> Path:
    """A cube cut to its half and, of the same size, a block with another last byte."""
    folder = unpack(finished, tmp_path / "clone")
    cube, block = folder / FOLDER / "cube.nc", folder / BLOCK
    exchange(cube, cube.read_bytes()[: cube.stat().st_size // 2])
    assert planned(folder, *TINY).jobs == DOWNSTREAM
    content = block.read_bytes()
    exchange(block, content[:-1] + bytes([content[-1] ^ 1]))
    return folder


def test_files_changed_at_their_old_times_are_planned_again(damaged):
    found = planned(damaged, *TINY)
    assert found.jobs == {"fit": 1, **DOWNSTREAM} and BLOCK in found.outputs


@pytest.mark.runs
def test_files_changed_at_their_old_times_are_made_again(finished, damaged):
    folder = damaged
    done = launch(folder, *TINY)
    # The rule that asks for all is one of them.
    assert done.returncode == 0 and "5 of 5 jobs done" in done.stderr, done.stderr
    assert results(folder) == results(finished)
    assert planned(folder, *TINY).jobs == {}


DATA = f"{FOLDER}/data/simulated/r0000-0001.npz"


@pytest.fixture
def cut(finished, tmp_path) -> Path:
    """Half of the data."""
    folder = copy_run(finished, tmp_path / "copy")
    exchange(folder / DATA, (finished / DATA).read_bytes()[: (finished / DATA).stat().st_size // 2])
    return folder


def test_data_that_were_changed_are_drawn_again_and_no_fit_is(cut):
    """Of the same data fits need nothing anew."""
    assert planned(cut, *TINY).jobs == {"generate": 1}
    (cut / BLOCK).unlink()
    (cut / FOLDER / "cube.nc").unlink()
    assert planned(cut, *TINY).jobs == {"generate": 1, "fit": 1, **DOWNSTREAM}


@pytest.mark.runs
def test_a_fit_that_is_made_again_reads_data_that_were_changed_as_they_were(finished, cut):
    (cut / BLOCK).unlink()
    (cut / FOLDER / "cube.nc").unlink()
    done = launch(cut, *TINY)
    assert done.returncode == 0, done.stderr
    assert (cut / DATA).read_bytes() == (finished / DATA).read_bytes() and results(cut) == results(finished)


def test_a_run_that_was_killed_as_a_fit_ended_makes_the_cube(finished, tmp_path):
    """Snakemake had not noted that the fit ended: it would make that again, and leave out what waits for it."""
    folder = copy_run(finished, tmp_path / "copy")
    for name in (BLOCK, BLOCK.replace(".npz", ".timings.csv")):
        marker = folder / ".snakemake" / "incomplete" / base64.urlsafe_b64encode(name.encode()).decode()
        marker.write_text('{"external_jobid": null}')
    shutil.rmtree(folder / RESULTS / "figures")
    assert planned(folder, *TINY).jobs == {"figure": 2}
    (folder / FOLDER / "cube.nc").unlink()
    assert planned(folder, *TINY).jobs == DOWNSTREAM


@pytest.mark.parametrize(
    ("asked", "expected"), [("generate", EVERYTHING), ("fit", FITS), (BLOCK, {"fit": 1, **DOWNSTREAM})]
)
def test_what_is_asked_for_is_made_with_all_that_follows(finished, asked, expected):
    assert planned(finished, *TINY, "--forcerun", asked).jobs == expected
