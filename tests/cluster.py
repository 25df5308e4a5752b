"""config/tiny.yaml through a real Slurm on this machine (``./run system``): the bytes of a local run, kills included.

Not collected by the normal run: it starts Slurm's daemons, which needs root.  A machine where they cannot be started
fails here with the reason; nothing is skipped.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline import ROOT, STUDY, TINY, copy_project, environment, results

pytestmark = pytest.mark.system

NODE = ROOT / "workflow" / "cluster" / "slurm_node.sh"
# The profile's waits suit a large cluster; one machine answers at once.
PATIENCE = ("--latency-wait", "10", "--seconds-between-status-checks", "2")
PATIENCE += ("--slurm-init-seconds-before-status-checks", "2", "--jobs", "20")
LIMIT = 300


@pytest.fixture(scope="module", autouse=True)
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A Slurm of one node, from the first test to the last."""
    state = tmp_path_factory.mktemp("slurm")
    begun = time.monotonic()
    subprocess.run([NODE, "start", state], check=True)
    print(f"Slurm is up after {time.monotonic() - begun:.1f} s")
    yield
    subprocess.run([NODE, "stop", state], check=True)


def command() -> list[str]:
    """The verb behind ``./run``, on the cluster; ended from outside if a scheduler that hangs keeps it."""
    words = [sys.executable, "workflow/launch.py", "--workflow-profile", "profiles/slurm", *PATIENCE, *TINY]
    return ["timeout", "-k", "30", str(LIMIT), *words]


def fit_logs(folder: Path) -> list[str]:
    """What the fit jobs said."""
    logs = sorted((folder / "results" / "logs" / STUDY / "fit").rglob("*.log"))
    return [log.read_text() for log in logs]


def slurm_jobs(folder: Path) -> set[str]:
    """Numbers of the cluster jobs that fitted; a fit log without one shows a job that ran elsewhere."""
    found = [re.findall(r"cluster: job (\d+)", log) for log in fit_logs(folder)]
    assert found and all(found), "a fit job ran outside the scheduler"
    return {numbers[-1] for numbers in found}


def test_tiny_through_the_scheduler_gives_the_local_bytes(finished, tmp_path):
    folder = copy_project(tmp_path / "cluster")
    begun = time.monotonic()
    done = subprocess.run(command(), cwd=folder, env=environment(), capture_output=True, text=True)
    print(f"tiny through Slurm: {time.monotonic() - begun:.1f} s")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(slurm_jobs(folder)) == len(fit_logs(folder)) == 10
    assert results(folder) == results(finished)


def running_fits() -> list[str]:
    """Numbers of the fit jobs that run now, told by the comment that the executor gives them."""
    asked = subprocess.run(["squeue", "-h", "-t", "RUNNING", "-o", "%i %k"], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in asked.stdout.splitlines() if "rule_fit" in line]


def test_a_job_killed_by_the_scheduler_is_retried(finished, tmp_path):
    """The first fit that runs is cancelled; its second attempt asks for more memory and the cube is the same."""
    folder = copy_project(tmp_path / "killed")
    said = folder / "said.txt"
    with said.open("w") as handle:
        process = subprocess.Popen(command(), cwd=folder, env=environment(), stdout=handle, stderr=subprocess.STDOUT)
        victim = first_fit(folder, process)
        subprocess.run(["scancel", victim], check=True)
        code = process.wait(timeout=LIMIT + 60)
    text = said.read_text()
    assert code == 0, text
    assert victim not in slurm_jobs(folder)
    state = subprocess.run(["scontrol", "show", "job", victim], capture_output=True, text=True, check=True).stdout
    assert "JobState=CANCELLED" in state
    assert sorted(set(fit_memory())) == [1000, 2000], "the second attempt asks for twice the memory"
    assert results(folder) == results(finished)


def fit_memory() -> list[int]:
    """Memory in MB that the fit jobs of this Slurm asked for, one entry a job."""
    shown = subprocess.run(["scontrol", "show", "job"], capture_output=True, text=True, check=True).stdout
    fits = [job for job in shown.split("\n\n") if "Comment=rule_fit" in job]
    return [int(re.findall(r"MinMemoryNode=(\d+)M", job)[0]) for job in fits]


def first_fit(folder: Path, process: subprocess.Popen[bytes]) -> str:
    """Wait until a fit job runs, and name it."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        if jobs := running_fits():
            return jobs[0]
        time.sleep(0.2)
    raise AssertionError(f"no fit job ran within two minutes: {(folder / 'said.txt').read_text()}")


def test_a_misspelt_profile_is_an_error(tmp_path):
    """Snakemake itself would silently run on this machine."""
    folder = copy_project(tmp_path / "misspelt")
    words = [sys.executable, "workflow/launch.py", "--workflow-profile", "profiles/slum", *TINY]
    done = subprocess.run(words, cwd=folder, env=environment(), capture_output=True, text=True)
    assert done.returncode == 2 and "there is no such folder" in done.stderr
    assert not (folder / "results").exists()
