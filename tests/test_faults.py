"""Faults: kills, stale locks, two runs, signals, failing cells, broken files.

Nothing finished is lost, and the next run heals what was broken.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from guard import Occupied, Record, release, take
from launch import locked, supervise, unwritable
from pipeline import STUDY, TINY, copy_project, copy_run, edit, environment, launch, planned, results

KILLS = 5
K2 = "simulated/moments/k2_r0000-0001_f00-01"
CUBE = f"results/{STUDY}/cube.nc"


def start(folder: Path) -> subprocess.Popen[bytes]:
    """A run in the background, in a process group of its own."""
    command = [sys.executable, "workflow/launch.py", *TINY]
    with (folder / "said.txt").open("ab") as said:
        return subprocess.Popen(command, cwd=folder, env=environment(), stdout=said, stderr=said, process_group=0)


def runner(folder: Path, launcher: subprocess.Popen[bytes]) -> psutil.Process | None:
    """The Snakemake that the launcher started, once it is recorded."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and launcher.poll() is None:
        record = Record.read(folder)
        pids = [pid for pid, _ in record.processes] if record else []
        others = [pid for pid in pids if pid != launcher.pid]
        if others and launcher.pid in pids:
            try:
                return psutil.Process(others[0])
            except psutil.NoSuchProcess:
                return None
        time.sleep(0.02)
    return None


def end(process: psutil.Process, number: int) -> None:
    with suppress(psutil.NoSuchProcess):
        process.send_signal(number)


def strike(folder: Path, delay: float, everything: bool) -> bool:
    """Start a run and kill it some time after it locked its folder; False when it was over before.

    ``everything`` kills the launcher, Snakemake and all jobs at once, as a power cut does; otherwise Snakemake alone
    dies, the launcher reports it, and jobs may outlive it.
    """
    launcher = start(folder)
    snakemake = runner(folder, launcher)
    assert snakemake is not None, (folder / "said.txt").read_text()
    # How long Snakemake takes to begin is the machine's business; from here on there is something to lose.
    deadline = time.monotonic() + 30
    while not locked(folder) and launcher.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    try:
        launcher.wait(timeout=delay)
        return False
    except subprocess.TimeoutExpired:
        pass
    victims = [snakemake]
    if everything:
        victims = [psutil.Process(launcher.pid), snakemake, *snakemake.children(recursive=True)]
    for victim in victims:
        end(victim, signal.SIGKILL)
    code = launcher.wait(timeout=30)
    if code == 0:
        return False  # Snakemake was already done when the signal came: no kill to count
    assert code == (-signal.SIGKILL if everything else 128 + signal.SIGKILL)
    return True


def test_kills_at_random_moments_leave_the_same_results(finished, tmp_path):
    """Five SIGKILLs at seeded random moments, then an undisturbed run: cube, tables and figures equal byte for byte."""
    folder = copy_project(tmp_path / "killed", finished)
    draw = random.Random(20240601)
    kills = rounds = 0
    while kills < KILLS:
        kills += strike(folder, draw.uniform(0.0, 3.3), everything=kills % 2 == 1)
        rounds += 1
        assert rounds < 4 * KILLS, "the runs finish before the kills"
        if (folder / CUBE).exists() and kills < KILLS and not planned(folder, *TINY).jobs:
            assert results(folder) == results(finished)
            subprocess.run(["rm", "-rf", str(folder / "results")], check=True)
    done = launch(folder, *TINY)
    assert done.returncode == 0, done.stderr
    assert results(folder) == results(finished)
    assert planned(folder, *TINY).jobs == {}
    assert "ended without unlocking this folder: unlocking it" in (folder / "said.txt").read_text() + done.stderr
    assert not list((folder / "results").rglob(".*.part*")), "a killed writer left its temporary file"


def test_sigterm_ends_cleanly_and_the_next_run_goes_on(finished, tmp_path):
    folder = copy_project(tmp_path / "terminated", finished)
    launcher = start(folder)
    assert runner(folder, launcher) is not None
    deadline = time.monotonic() + 30
    while not list((folder / "results").rglob("*.npz")) and time.monotonic() < deadline:
        time.sleep(0.05)
    launcher.send_signal(signal.SIGTERM)
    assert launcher.wait(timeout=60) != 0
    assert not list((folder / "results").rglob(".*.part*"))
    assert Record.read(folder) is None
    done = launch(folder, *TINY)
    assert done.returncode == 0, done.stderr
    assert results(folder) == results(finished)


def test_a_snakemake_that_hangs_after_a_signal_is_ended(tmp_path, monkeypatch):
    """It does when the signal comes while it holds its own lock; here a process that only ignores the signal."""
    (tmp_path / ".snakemake").mkdir()
    monkeypatch.setattr("launch.PATIENCE", 0.5)
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True)"
    stubborn += "; time.sleep(60)"
    threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    begun = time.monotonic()
    assert supervise([sys.executable, "-c", stubborn], tmp_path) == (128 + signal.SIGTERM, True)
    assert 2.0 <= time.monotonic() - begun < 20
    # With a job at work it is left alone for as long as that takes.
    working = "import signal, subprocess; signal.signal(signal.SIGTERM, signal.SIG_IGN); subprocess.run(['sleep', '4'])"
    threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    assert supervise([sys.executable, "-c", working], tmp_path) == (0, False)


def test_a_second_run_is_refused_in_one_sentence(finished, tmp_path):
    folder = copy_run(finished, tmp_path / "busy")
    (folder / ".snakemake").mkdir(exist_ok=True)
    Record.of(os.getpid()).write(folder)
    done = launch(folder, *TINY)
    assert done.returncode == 2
    assert done.stderr == f"A run is alive in this folder (process {os.getpid()}): wait for it or end it first.\n"
    assert Record.read(folder) is not None, "the record of the living run was taken away"


def test_a_run_of_another_host_is_left_alone(tmp_path):
    (tmp_path / ".snakemake").mkdir()
    Record(((1, 0.0),), "elsewhere").write(tmp_path)
    with pytest.raises(Occupied, match=r"^A run on host elsewhere holds this folder: wait for it, or if it is dead"):
        take(tmp_path)


def test_dead_owners_and_reused_process_numbers_are_recognised(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    (tmp_path / ".snakemake").mkdir()
    Record(((child.pid, 0.0),), socket.gethostname()).write(tmp_path)
    assert take(tmp_path) == child.pid
    release(tmp_path)
    # This process lives, but did not start when the record says: its number was used again.
    Record(((os.getpid(), 1.0),), socket.gethostname()).write(tmp_path)
    assert take(tmp_path) == os.getpid()
    assert Record.read(tmp_path).living == os.getpid()
    release(tmp_path)
    assert take(tmp_path) is None


def test_a_record_that_was_cut_off_counts_as_dead(tmp_path):
    (tmp_path / ".snakemake").mkdir()
    (tmp_path / ".snakemake" / "partywise.pid").write_text('{"proc')
    assert take(tmp_path) == 0


def test_a_lock_of_a_foreign_snakemake_is_not_broken(finished, tmp_path):
    folder = copy_run(finished, tmp_path / "foreign")
    locks = folder / ".snakemake" / "locks"
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").write_text("results/x\n")
    done = launch(folder, *TINY)
    assert done.returncode == 2
    assert done.stderr.startswith("This folder is locked by a Snakemake that ./run did not start:")
    assert (locks / "0.output.lock").exists()
    again = launch(folder, *TINY)
    assert again.returncode == 2, "a refused run leaves nothing that looks like the owner of the lock"
    # Nor is it broken after a run of ours was killed, while somebody's Snakemake works here.
    Record(((os.getpid(), 1.0),), socket.gethostname()).write(folder)
    command = [sys.executable, "-c", "import time; time.sleep(60)", "snakemake"]
    with subprocess.Popen(command, cwd=folder) as other:
        third = launch(folder, *TINY)
        other.kill()
    assert third.returncode == 2
    assert f"did not start (process {other.pid})" in third.stderr
    assert (locks / "0.output.lock").exists()


def test_a_broken_configuration_after_a_kill_is_told(finished, tmp_path):
    folder = copy_run(finished, tmp_path / "broken")
    locks = folder / ".snakemake" / "locks"
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").write_text("results/x\n")
    Record(((os.getpid(), 1.0),), socket.gethostname()).write(folder)
    edit(folder / "config/tiny.yaml", "folds: 2\n", "folds: 0\n")
    done = launch(folder, *TINY)
    assert done.returncode == 1
    assert "grid.folds is 0: it must be at least 1." in done.stderr
    assert "Traceback" not in done.stderr


def test_results_that_cannot_be_written_are_told_before_any_job(tmp_path):
    """A file where the folder should be: nobody can write there, root included."""
    folder = copy_project(tmp_path / "project")
    (folder / "results").write_text("in the way")
    done = launch(folder, *TINY)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "results cannot be written (" in done.stderr
    assert (folder / "results").read_text() == "in the way" and not (folder / ".snakemake" / "log").exists()
    (folder / "results").unlink()
    assert unwritable(folder) is None and list((folder / "results").iterdir()) == []


def test_a_missing_profile_is_an_error(finished):
    done = launch(finished, *TINY, "--workflow-profile", "profiles/slrum")
    assert done.returncode == 2
    assert done.stderr == "--workflow-profile is 'profiles/slrum': there is no such folder; name one in profiles/.\n"


def test_a_failing_cell_is_named_in_its_log_and_the_rest_goes_on(finished, tmp_path):
    folder = copy_project(tmp_path / "failing", finished)
    module = folder / "lib/partywise/functional/moments_release.py"
    before = module.read_text()
    edit(
        module,
        "    options, public, delta = spec.options, spec.public, spec.study.delta\n",
        "    options, public, delta = spec.options, spec.public, spec.study.delta\n"
        "    if fold.held_out == 1 and len(parties) == 5 and epsilon > 9:\n"
        "        raise ArithmeticError('a planted fault')\n",
    )
    done = launch(folder, *TINY)
    assert done.returncode == 1
    cell = f"cell (study {STUDY}, case simulated, method moments, replicate 0, parties 4, fold 1, epsilon 64.0) failed"
    sentence = f"RuntimeError: {cell}: ArithmeticError: a planted fault"
    log = folder / f"results/logs/{STUDY}/fit/simulated/moments/k4_r0000-0001_f00-01.log"
    assert log.read_text().rstrip().endswith(sentence)
    assert sentence in done.stderr, "the reason is shown to the user"
    corners = folder / "results" / STUDY / "corners"
    assert len(list(corners.rglob("*.npz"))) == 9, "the other fits were kept"
    assert not (folder / CUBE).exists()
    module.write_text(before)
    healed = launch(folder, *TINY)
    assert healed.returncode == 0, healed.stderr
    assert results(folder) == results(finished)


@pytest.mark.parametrize(
    ("broken", "log", "sentence"),
    [
        (f"results/{STUDY}/corners/{K2}.npz", "collect.log", "corner"),
        (
            f"results/{STUDY}/data/simulated/r0000-0001.npz",
            "fit/simulated/moments/k2_r0000-0001_f00-01.log",
            "data file",
        ),
        (CUBE, "figure/error_by_parties.log", "cube"),
    ],
)
def test_a_truncated_file_is_named_with_its_remedy(finished, tmp_path, broken, log, sentence):
    """The file is cut behind Snakemake's back; the job that reads it says so, and deleting it heals the run."""
    folder = copy_run(finished, tmp_path / "truncated")
    path = folder / broken
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    done = launch(folder, *TINY)
    assert done.returncode == 1
    said = (folder / "results/logs" / STUDY / log).read_text()
    assert f"{sentence} {broken} cannot be read" in said
    assert "delete it and run again." in said
    path.unlink()
    healed = launch(folder, *TINY)
    assert healed.returncode == 0, healed.stderr
    assert results(folder) == results(finished)


def test_a_record_of_a_run_is_plain(tmp_path):
    (tmp_path / ".snakemake").mkdir()
    Record.of(os.getpid()).write(tmp_path)
    stored = json.loads((tmp_path / ".snakemake" / "partywise.pid").read_text())
    assert set(stored) == {"processes", "host"}
