"""config/tiny.yaml through a real Slurm here (``./run test --system``): the bytes of a local run, kills included.

Not collected by the normal run: it starts Slurm's daemons, which needs root.  A machine where they cannot be started
fails here with the reason; nothing is skipped.
"""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from machine import Run, running
from pipeline import RESULTS, ROOT, STUDY, TINY, copy_project, results

pytestmark = pytest.mark.system

NODE = ROOT / "tests" / "system" / "slurm_node.sh"
# The profile's waits suit a large cluster; one machine answers at once.
QUICK = ["--latency-wait", "10", "--seconds-between-status-checks", "2"]
QUICK += ["--slurm-patient-init-seconds-before-status-checks", "2", "--jobs", "20"]
SLURM = ["--workflow-profile", "profiles/slurm", *QUICK, *TINY]
# Of a run through Slurm: 40 s on a machine that does nothing else, 280 s were seen on one that does a lot.
LIMIT = 900
# How long the controller is away: longer than the executor alone bears, which is ten seconds.
OUTAGE = 20
FITS = 10


def node(*words: str | Path) -> None:
    """Do something to the Slurm of this machine."""
    subprocess.run([NODE, *words], check=True, timeout=300)


@pytest.fixture(scope="module", autouse=True)
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A Slurm of one node, from the first test to the last; the folder of its state."""
    begun = time.monotonic()
    folder = tmp_path_factory.mktemp("slurm")
    try:
        node("start", folder)
        print(f"Slurm is up after {time.monotonic() - begun:.1f} s")
        yield folder
    finally:
        node("stop")


def fit_logs(folder: Path) -> list[str]:
    """What the fit jobs said."""
    logs = sorted((folder / RESULTS / "logs" / STUDY / "fit").rglob("*.log"))
    return [log.read_text() for log in logs]


def slurm_jobs(folder: Path) -> set[str]:
    """Numbers of the cluster jobs that fitted; a fit log without one shows a job that ran elsewhere."""
    found = [re.findall(r"cluster: job (\d+)", log) for log in fit_logs(folder)]
    assert len(found) == FITS and all(found), "a fit job ran outside the scheduler"
    return {numbers[-1] for numbers in found}


def known_jobs(folder: Path) -> dict[str, dict[str, str]]:
    """Number and fields of the fit jobs of a folder that Slurm remembers."""
    shown = subprocess.run(["scontrol", "show", "job"], capture_output=True, text=True, check=True).stdout
    jobs = [dict(word.split("=", 1) for word in job.split() if "=" in word) for job in shown.split("\n\n")]
    return {
        job["JobId"]: job
        for job in jobs
        if job.get("WorkDir") == str(folder) and job.get("Comment", "").startswith("rule_fit")
    }


def running_fits(run: Run) -> dict[str, dict[str, str]]:
    """Number and fields of the fit jobs of a run that run now."""
    return {number: job for number, job in known_jobs(run.folder).items() if job["JobState"] == "RUNNING"}


def processes(jobs: Iterable[str]) -> list[psutil.Process]:
    """The processes of cluster jobs on this node."""
    found = []
    for number in jobs:
        listed = subprocess.run(["scontrol", "listpids", number], capture_output=True, text=True, check=False).stdout
        for pid in (int(line.split()[0]) for line in listed.splitlines()[1:] if int(line.split()[0]) > 1):
            with suppress(psutil.NoSuchProcess):
                found.append(psutil.Process(pid))
    return found


def tell(jobs: Iterable[str], number: signal.Signals) -> None:
    """Send a signal to the processes of cluster jobs."""
    for process in processes(jobs):
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)


def kill_controller(run: Run, slurm: Path) -> None:
    """kill -9 of the controller while fits run, at a moment when it has written down that they do.

    One that comes back with an older state starts jobs a second time, upon which Slurm drains the node and waits for
    its administrator: nothing that a run could or should mend.  So all fits that run are stopped, a remark on them
    makes the controller save its state (the start of a job does not always), it is killed once it did, they go on.
    """
    stopped: set[str] = set()
    settled: list[float] = []

    def saved() -> bool:
        jobs = running_fits(run)
        if not jobs or not stopped.issuperset(jobs):
            settled.clear()
        else:
            settled.append(time.time())
            words = ["scontrol", "update", f"JobId={min(jobs)}", f"AdminComment={settled[-1]}"]
            subprocess.run(words, check=True)
        stopped.update(jobs)
        tell(jobs, signal.SIGSTOP)
        return bool(settled) and (slurm / "state" / "job_state").stat().st_mtime > settled[0] + 0.1

    try:
        run.until(saved, LIMIT / 3, "a saved state with running fit jobs")
        node("kill-controller")
    finally:
        tell(stopped, signal.SIGCONT)


def test_tiny_through_the_scheduler_gives_the_local_bytes(finished, tmp_path):
    folder = copy_project(tmp_path / "cluster")
    begun = time.monotonic()
    with running(folder, *SLURM) as run:
        assert run.wait(LIMIT) == 0, run.said
    print(f"tiny through Slurm: {time.monotonic() - begun:.1f} s")
    assert len(slurm_jobs(folder)) == FITS
    assert results(folder) == results(finished)


def test_a_job_killed_by_the_scheduler_is_retried(finished, tmp_path):
    """The first fit that runs is cancelled; its second attempt asks for more memory and the cube is the same."""
    folder = copy_project(tmp_path / "killed")
    with running(folder, *SLURM) as run:
        victim = min(run.until(lambda: running_fits(run), LIMIT / 3, "a running fit job"))
        subprocess.run(["scancel", victim], check=True)
        assert run.wait(LIMIT) == 0, run.said
    jobs = known_jobs(folder)
    assert jobs[victim]["JobState"] == "CANCELLED"
    assert victim not in slurm_jobs(folder)
    assert jobs[victim]["MinMemoryNode"] == "1000M"
    again = [job["MinMemoryNode"] for job in jobs.values() if job["Comment"] == jobs[victim]["Comment"]]
    assert again == ["1000M", "2000M"], "the second attempt asks for twice the memory"
    assert results(folder) == results(finished)


@pytest.mark.outage
def test_a_controller_that_is_killed_and_comes_back_is_waited_for(finished, tmp_path, slurm):
    """kill -9 of slurmctld while fits run; the same run sees them through."""
    folder = copy_project(tmp_path / "outage")
    with running(folder, *SLURM, "--slurm-patient-patience", "90") as run:
        kill_controller(run, slurm)
        run.until(lambda: "Slurm does not answer" in run.said, LIMIT / 3, "the notice of the outage")
        time.sleep(OUTAGE)
        node("start-controller")
        assert run.wait(LIMIT) == 0, run.said
    assert "Slurm answers again" in run.said
    assert len(slurm_jobs(folder)) == FITS
    assert results(folder) == results(finished)


@pytest.mark.outage
def test_a_controller_that_stays_away_ends_the_run_and_the_next_one_heals(finished, tmp_path, slurm):
    folder = copy_project(tmp_path / "away")
    patience = 20
    with running(folder, *SLURM, "--slurm-patient-patience", str(patience)) as run:
        kill_controller(run, slurm)
        begun = time.monotonic()
        assert run.wait(LIMIT / 3) == 1, run.said
    print(f"the run ended {time.monotonic() - begun:.1f} s after the controller, with a patience of {patience} s")
    assert re.search(rf"Slurm has not answered `\w+` for {patience} seconds: this run ends\.", run.said)
    assert "the same command resumes" in run.said
    assert not (folder / RESULTS / STUDY / "cube.nc").exists()
    node("start-controller")
    with running(folder, *SLURM) as run:
        assert run.wait(LIMIT) == 0, run.said
    assert "unlocking" not in run.said, "the run that ended gave its folder back"
    assert results(folder) == results(finished)


def test_jobs_of_a_killed_run_are_cancelled_by_the_next(finished, tmp_path):
    """Snakemake and its launcher die at once, their jobs stay; the next run breaks the lock and ends them."""
    folder = copy_project(tmp_path / "orphans")
    with running(folder, *SLURM) as run:
        run.until(lambda: running_fits(run), LIMIT / 3, "a running fit job")
    left = {number for number, job in known_jobs(folder).items() if job["JobState"] in ("PENDING", "RUNNING")}
    assert left, run.said
    with running(folder, *SLURM) as run:
        assert run.wait(LIMIT) == 0, run.said
    assert "ended without unlocking this folder: unlocking it." in run.said
    assert "An earlier run of this folder left jobs in the queue; cancelled:" in run.said
    jobs = known_jobs(folder)
    assert {jobs[number]["JobState"] for number in left} <= {"CANCELLED", "COMPLETED"}
    assert "CANCELLED" in {jobs[number]["JobState"] for number in left}
    assert results(folder) == results(finished)


def test_a_misspelt_profile_is_an_error(tmp_path):
    """Snakemake itself would silently run on this machine."""
    folder = copy_project(tmp_path / "misspelt")
    with running(folder, "--workflow-profile", "profiles/slum", *TINY) as run:
        assert run.wait(LIMIT) == 2
    assert "that folder does not exist" in run.said
    assert not (folder / "results").exists()
