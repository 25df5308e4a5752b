"""Faults: kills, stale locks, two runs, signals, failing cells, broken files.

Nothing finished is lost, and the next run heals what was broken.
"""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from guard import Holder, Occupied, holder, locked, path_of, take
from launching.supervision import supervise
from launching.surroundings import account
from launching.words import Refused
from launching.writable import check_writable
from partywise.core.files import replacing
from pipeline import RESULTS, ROOT, STUDY, TINY, copy_project, copy_run, edit, environment, launch, planned, results
from place import Place

KILLS = 15
PLACE = Place("tiny", "config/tiny.yaml")
CUBE = f"{RESULTS}/{STUDY}/cube.nc"


def start(folder: Path) -> subprocess.Popen[bytes]:
    """A run in the background, in a process group of its own."""
    command = [sys.executable, "workflow/launch.py", *TINY]
    with (folder / "said.txt").open("ab") as said:
        return subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=said, stderr=said, process_group=0)


def runner(folder: Path, launcher: subprocess.Popen[bytes]) -> psutil.Process | None:
    """The Snakemake that the launcher started, once it is named; what a killed run left there is not its child."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and launcher.poll() is None:
        found = holder(folder)
        with suppress(psutil.NoSuchProcess):
            if found is not None and found.process and psutil.Process(found.process).ppid() == launcher.pid:
                return psutil.Process(found.process)
        time.sleep(0.02)
    return None


def killed(folder: Path, process: int = 1, host: str | None = None) -> None:
    """What a run that was killed leaves: its name in the file of the lock, and nobody who holds that."""
    path_of(folder).parent.mkdir(exist_ok=True)
    path_of(folder).write_text(json.dumps({"process": process, "host": host or socket.gethostname()}))


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
        victims.insert(0, psutil.Process(launcher.pid))  # not waited for yet, so it has its entry even when it is done
        with suppress(psutil.NoSuchProcess):  # Snakemake may be done by now, and the launcher with it a moment later
            victims += snakemake.children(recursive=True)
    for victim in victims:
        end(victim, signal.SIGKILL)
    code = launcher.wait(timeout=30)
    if code == 0:
        return False  # Snakemake was already done when the signal came: no kill to count
    assert code == (-signal.SIGKILL if everything else 128 + signal.SIGKILL)
    return True


@pytest.mark.runs
def test_kills_at_random_moments_leave_the_same_results(finished, tmp_path):
    """Fifteen SIGKILLs at seeded random moments, then an undisturbed run: all results equal byte for byte."""
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


@pytest.mark.runs
def test_sigterm_ends_cleanly_and_the_next_run_goes_on(finished, tmp_path):
    """Of a run whose cube and four of ten blocks are still to be made."""
    folder = copy_run(finished, tmp_path / "terminated")
    missing = [folder / CUBE, *(p for m in ("moments", "party_fixed") for p in folder.rglob(f"{m}/*.npz"))]
    assert len(missing) == 5
    for path in missing:
        path.unlink()
    launcher = start(folder)
    assert runner(folder, launcher) is not None
    deadline = time.monotonic() + 30
    while not any(path.exists() for path in missing) and time.monotonic() < deadline:
        time.sleep(0.05)
    launcher.send_signal(signal.SIGTERM)
    assert launcher.wait(timeout=60) != 0
    assert not list((folder / "results").rglob(".*.part*"))
    assert holder(folder) is None
    done = launch(folder, *TINY)
    assert done.returncode == 0, done.stderr
    assert results(folder) == results(finished)


def test_a_snakemake_that_hangs_after_a_signal_is_ended(tmp_path, monkeypatch):
    """It does when the signal comes while it holds its own lock; here a process that only ignores the signal."""
    claim = take(tmp_path)
    monkeypatch.setattr("launching.supervision.PATIENCE", 0.5)
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True)"
    stubborn += "; time.sleep(60)"
    threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    begun = time.monotonic()
    assert supervise([sys.executable, "-c", stubborn], claim) == (128 + signal.SIGTERM, True)
    assert 2.0 <= time.monotonic() - begun < 20
    # With a job at work it is left alone for as long as that takes.
    working = "import signal, subprocess; signal.signal(signal.SIGTERM, signal.SIG_IGN); subprocess.run(['sleep', '4'])"
    threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    assert supervise([sys.executable, "-c", working], claim) == (0, False)


def test_a_second_run_is_refused_in_one_sentence(finished, tmp_path):
    folder = copy_run(finished, tmp_path / "busy")
    claim = take(folder)
    for words in (TINY, ("--unlock", *TINY), ("--touch", *TINY)):
        done = launch(folder, *words)
        assert done.returncode == 2
        assert done.stderr == f"A run is alive in this folder (process {os.getpid()}): wait for it or end it first.\n"
    assert holder(folder) == Holder(os.getpid(), socket.gethostname()), "the name of the living run was taken away"
    claim.release()
    assert launch(folder, "--touch", *TINY).returncode == 0
    assert holder(folder) is None


def claimant(number: int, folders: list[Path], barrier: Any, told: Any) -> None:
    """Claim every folder at the same time as its rival, and keep it until both have tried."""
    for folder in folders:
        barrier.wait()
        claim = None
        with suppress(Occupied):
            claim = take(folder)
        told.put((folder.name, number if claim else None))
        barrier.wait()
        if claim:
            claim.release()


def test_of_two_runs_that_start_together_one_has_the_folder(tmp_path):
    """300 pairs, a third of them where a run was killed before: never none, never both, and either may be first."""
    folders = [tmp_path / f"{i}" for i in range(300)]
    for folder in folders[::3]:
        folder.mkdir()
        killed(folder)
    context = multiprocessing.get_context("fork")
    barrier, told = context.Barrier(2, timeout=60), context.Queue()
    rivals = [context.Process(target=claimant, args=(i, folders, barrier, told)) for i in range(2)]
    for rival in rivals:
        rival.start()
    answers = [told.get(timeout=60) for _ in range(2 * len(folders))]
    for rival in rivals:
        rival.join(timeout=60)
        assert rival.exitcode == 0
    winners = Counter(name for name, number in answers if number is not None)
    assert winners == Counter(folder.name for folder in folders)


def test_a_folder_is_held_until_its_last_process_ends(tmp_path):
    """The Snakemake of a launcher that was killed goes on alone: the folder is its own, and free when it has ended."""
    code = "import subprocess, sys; sys.path.insert(0, sys.argv[1]); from guard import take; from pathlib import Path"
    code += "; claim = take(Path(sys.argv[2])); c = 'import sys; sys.stdin.read()'"
    code += "; child = subprocess.Popen([sys.executable, '-c', c], pass_fds=[claim.descriptor])"
    code += "; claim.name(child.pid); print(child.pid, flush=True); child.wait()"
    command = [sys.executable, "-c", code, str(ROOT / "workflow"), str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as launcher:
        child = psutil.Process(int(launcher.stdout.readline()))
        launcher.kill()
        launcher.wait()
        with pytest.raises(Occupied, match=rf"^A run is alive in this folder \(process {child.pid}\): wait for it"):
            take(tmp_path)
        launcher.stdin.close()
        child.wait(timeout=30)
    claim = take(tmp_path)
    assert claim.killed == Holder(child.pid, socket.gethostname())
    claim.release()
    claim = take(tmp_path)
    assert claim.killed is None
    claim.release()


def test_a_job_of_a_killed_run_gives_its_file_up(tmp_path, monkeypatch):
    """It may have begun with another configuration or other code: its late file would replace the right one."""
    result = tmp_path / "block"
    first = take(tmp_path)
    for name, value in first.environment.items():
        monkeypatch.setenv(name, value)
    first.name(12345)
    with replacing(result) as temporary:
        temporary.write_text("in time")
    first.release(finished=False)
    # The run was killed, and nobody has repeated its job yet.
    with replacing(result) as temporary:
        temporary.write_text("late, and wanted")
    with pytest.raises(OSError, match=r"the run that started this job has ended"), replacing(result) as temporary:
        temporary.write_text("late")
        second = take(tmp_path)
    assert result.read_text() == "late, and wanted"
    second.release()
    with pytest.raises(OSError, match=r"the run that started this job has ended"), replacing(result) as temporary:
        temporary.write_text("later still")
    assert result.read_text() == "late, and wanted"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".snakemake", "block"]


def test_jobs_know_their_run(tmp_path, capfd):
    """What the Snakemake of a run finds in its environment is what the file of the lock says meanwhile."""
    claim = take(tmp_path)
    code = "import os; print(os.environ['PARTYWISE_RUN'] in open(os.environ['PARTYWISE_RUN_FILE']).read())"
    assert supervise([sys.executable, "-c", code], claim) == (0, False)
    assert capfd.readouterr().out == "True\n"
    claim.release()


def test_a_run_of_another_host_is_left_alone(tmp_path):
    killed(tmp_path, host="elsewhere")
    with pytest.raises(Occupied, match=r"^A run on host elsewhere holds this folder, and on a network file system"):
        take(tmp_path)
    assert holder(tmp_path) == Holder(1, "elsewhere")


def test_a_file_system_without_locks_is_told(tmp_path, monkeypatch):
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("guard.fcntl.flock", refuse)
    with pytest.raises(Occupied, match=r"^The file system of .* gives no locks \(No locks available\), .*network"):
        take(tmp_path)


def test_the_file_of_the_lock_is_no_way_into_other_files(tmp_path):
    """A link in its place is refused, and what it points to stays as it is."""
    (tmp_path / "precious").write_text("numbers")
    (tmp_path / ".snakemake").mkdir()
    path_of(tmp_path).symlink_to(tmp_path / "precious")
    with pytest.raises(Occupied, match=r"partywise.lock cannot be written \("):
        take(tmp_path)
    assert (tmp_path / "precious").read_text() == "numbers"


def test_a_name_that_was_cut_off_counts_as_killed(tmp_path):
    (tmp_path / ".snakemake").mkdir()
    path_of(tmp_path).write_text('{"proc')
    assert take(tmp_path).killed == Holder(0, socket.gethostname())


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
    killed(folder)
    command = [sys.executable, "-c", "import time; time.sleep(60)", "snakemake"]
    with subprocess.Popen(command, cwd=folder) as other:
        third = launch(folder, *TINY)
        fourth = launch(folder, "--unlock", *TINY)
        other.kill()
    assert third.returncode == fourth.returncode == 2
    assert f"did not start (process {other.pid})" in third.stderr
    assert fourth.stderr == f"A Snakemake that ./run did not start works here (process {other.pid}): wait for it.\n"
    assert holder(folder) == Holder(1, socket.gethostname()), "what was found before was forgotten"
    assert (locks / "0.output.lock").exists()


@pytest.mark.parametrize(("was_killed", "code"), [(False, 2), (True, 0)])
def test_results_are_not_removed_under_a_snakemake_that_holds_its_own_lock(tmp_path, was_killed, code):
    """The lock that a killed run of ours left is no reason to keep them."""
    (tmp_path / "results").mkdir()
    (tmp_path / ".snakemake" / "locks").mkdir(parents=True)
    (tmp_path / ".snakemake" / "locks" / "0.output.lock").write_text("results/x\n")
    if was_killed:
        killed(tmp_path)
    command = [sys.executable, str(ROOT / "workflow" / "guard.py"), "rm", "-rf", "results"]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True)
    assert done.returncode == code
    assert (tmp_path / "results").exists() is not was_killed
    assert ("locked by a Snakemake that ./run did not start" in done.stderr) is not was_killed
    assert (holder(tmp_path) is not None) is was_killed, "the name that was found is left there"


def test_a_broken_configuration_after_a_kill_is_told(finished, tmp_path):
    folder = copy_run(finished, tmp_path / "broken")
    locks = folder / ".snakemake" / "locks"
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").write_text("results/x\n")
    killed(folder)
    edit(folder / "config/tiny.yaml", "folds: 2\n", "folds: 0\n")
    done = launch(folder, *TINY)
    assert done.returncode == 1
    assert "grid.folds is 0: it must lie in [1, 100]." in done.stderr
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
    check_writable(folder, PLACE, [STUDY])
    assert list((folder / "results").iterdir()) == []


def told_as(user: int | None, folder: Path, told: Any) -> None:
    """What the check of a folder says, to another user where this one may write everywhere."""
    if user is not None:
        os.seteuid(user)
    try:
        check_writable(folder, PLACE, [STUDY])
        told.put("")
    except Refused as reason:
        told.put(str(reason))


@pytest.mark.parametrize(
    "name",
    [f"{RESULTS}/{STUDY}/blocks/simulated/moments", f"{RESULTS}/logs", f"{RESULTS}/figures", ".snakemake/metadata"],
)
def test_a_folder_that_cannot_be_written_is_told_before_any_job(name):
    """It is far below the folder where a probe was written; for root, who may write everywhere, ``nobody`` looks."""
    place = Path(tempfile.mkdtemp(prefix="read-only-"))
    try:
        (place / name).mkdir(parents=True)
        for path in [place, *(path for path in place.rglob("*"))]:
            path.chmod(0o777)
        context, user = multiprocessing.get_context("fork"), 65534 if os.geteuid() == 0 else None
        answers = []
        for mode in (0o777, 0o555):
            (place / name).chmod(mode)
            told = context.Queue()
            process = context.Process(target=told_as, args=(user, place, told))
            process.start()
            answers.append(told.get(timeout=60))
            process.join(timeout=60)
        sentence = "cannot be written (Permission denied): make it a folder that you may write, or remove it."
        assert answers == ["", f"{place / name} {sentence}"]
    finally:
        (place / name).chmod(0o777)
        shutil.rmtree(place)


@pytest.mark.parametrize("name", [f"{RESULTS}/{STUDY}", f"{RESULTS}/logs", f"{RESULTS}/figures", ".snakemake"])
def test_a_file_where_a_folder_should_be_is_told_before_any_job(finished, tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("in the way")
    done = launch(finished, *TINY, "--directory", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == (
        f"{tmp_path / name} cannot be written (it is not a folder): make it a folder that you may write, or "
        "remove it.\n"
    )
    assert (tmp_path / name).read_text() == "in the way"


FIGURE = f"{RESULTS}/figures/{STUDY}/error_by_parties.svg"
RECORD = f"{RESULTS}/provenance/{STUDY}/collect.json"


@pytest.mark.parametrize(
    "name",
    [
        CUBE,
        *(pytest.param(name, marks=pytest.mark.runs) for name in (FIGURE, RECORD, f"{RESULTS}/screen.txt")),
        "results/last_run.json",
    ],
)
def test_a_folder_where_a_file_should_be_is_told_before_any_job(finished, tmp_path, name):
    """With something in it, or else Snakemake would take it away."""
    (tmp_path / name).mkdir(parents=True)
    (tmp_path / name / "precious").write_text("numbers")
    done = launch(finished, *TINY, "--directory", str(tmp_path))
    assert done.returncode in (1, 2)
    told = [line for line in done.stderr.splitlines() if " is a folder where a file " in line]
    assert len(told) == 1 and name in told[0] and told[0].endswith(": move it away or remove it."), done.stderr
    assert "Traceback" not in done.stderr and "rule" not in done.stderr
    assert (tmp_path / name / "precious").read_text() == "numbers"


def test_the_probe_writes_into_no_other_file(tmp_path):
    """A link that waits where the probe once was, named by the process, is not followed."""
    (tmp_path / "results").mkdir()
    (tmp_path / "precious").write_text("numbers")
    link = tmp_path / "results" / f".probe.{os.getpid()}"
    link.symlink_to(tmp_path / "precious")
    check_writable(tmp_path, PLACE, [STUDY])
    assert (tmp_path / "precious").read_text() == "numbers"
    assert [path.name for path in (tmp_path / "results").iterdir()] == [link.name]


@pytest.mark.runs
@pytest.mark.parametrize("home", ["/dev/null", None])
def test_a_run_needs_no_home(finished, tmp_path, home):
    """Caches lie below .snakemake; a figure that is drawn again is the same, byte for byte."""
    folder = copy_run(finished, tmp_path / "homeless")
    (folder / RESULTS / "figures" / STUDY / "error_by_parties.svg").unlink()
    shutil.rmtree(folder / ".snakemake" / "cache")
    unset = {"HOME", "XDG_CACHE_HOME", "MPLCONFIGDIR"}
    environ = {key: value for key, value in environment(folder).items() if key not in unset}
    command = [sys.executable, "workflow/launch.py", *TINY]
    environ |= {"HOME": home} if home else {}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert results(folder) == results(finished)
    caches = {path.name for path in (folder / ".snakemake" / "cache").iterdir()}
    assert {"matplotlib", "snakemake"} <= caches


def test_a_user_without_an_account_gets_a_home_and_a_name(tmp_path, monkeypatch):
    def unknown() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr("launching.surroundings.getpass.getuser", unknown)
    monkeypatch.setenv("HOME", str(tmp_path / "absent"))
    monkeypatch.setenv("XDG_CACHE_HOME", "/their/own")
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    place = str(tmp_path / ".snakemake" / "cache")
    found = account(tmp_path)
    assert found == {
        "HOME": place,
        "USER": str(os.getuid()),
        "XDG_CACHE_HOME": "/their/own",
        "MPLCONFIGDIR": f"{place}/matplotlib",
    }
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "HOME" not in account(tmp_path), "the home of a user is left alone"


def test_a_missing_profile_is_an_error(finished):
    done = launch(finished, *TINY, "--workflow-profile", "profiles/slrum")
    assert done.returncode == 2
    assert done.stderr == "--workflow-profile is 'profiles/slrum': that folder does not exist; name one in profiles/.\n"


@pytest.mark.runs
def test_a_failing_cell_is_named_in_its_log_and_the_rest_goes_on(finished, tmp_path):
    folder = copy_project(tmp_path / "failing", finished)
    module = folder / "lib/partywise/methods/functional/protocols/aggregation.py"
    before = module.read_text()
    edit(
        module,
        '    options, because = plan.options, "root of the sum of squares of the radii"\n',
        '    options, because = plan.options, "root of the sum of squares of the radii"\n'
        "    if plan.fold.held_out == 1 and len(plan.owner_columns) == 4 and plan.epsilon > 9:\n"
        "        raise ArithmeticError('a planted fault')\n",
    )
    done = launch(folder, *TINY)
    assert done.returncode == 1
    cell = f"cell (study {STUDY}, case simulated, method moments, replicate 0, parties 4, fold 1, epsilon 64.0) failed"
    sentence = f"RuntimeError: {cell}: ArithmeticError: a planted fault"
    log = folder / f"{RESULTS}/logs/{STUDY}/fit/simulated/moments/k4_r0000-0001_f00-01.log"
    assert log.read_text().rstrip().endswith(sentence)
    assert sentence in done.stderr, "the reason is shown to the user"
    stopped, failed = done.stderr.splitlines()[-2:]
    assert failed == f"Failed: {cell}: ArithmeticError: a planted fault" and stopped.startswith("Stopped after")
    blocks = folder / RESULTS / STUDY / "blocks"
    assert len(list(blocks.rglob("*.npz"))) == 9, "the other fits were kept"
    assert not (folder / CUBE).exists()
    module.write_text(before)
    healed = launch(folder, *TINY)
    assert healed.returncode == 0, healed.stderr
    assert results(folder) == results(finished)
