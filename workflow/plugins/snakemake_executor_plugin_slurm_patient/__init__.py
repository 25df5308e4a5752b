"""Snakemake's executor for Slurm, which outlasts a controller that is away for a while, and ends when it stays away.

The executor below it (2.8.0) forgets all jobs that it submitted when one round of status queries fails, for which it is
enough that the controller is away for ten seconds, and then waits for them without end; so it does for a job that Slurm
lost.  This one

- asks for the status of jobs, and submits, only when Slurm answers; running jobs go on meanwhile;
- keeps the jobs of a round that failed all the same, and counts one that Slurm does not know for long as failed: the
  profile's retries submit it again;
- ends the run with one sentence after ten minutes of silence (``slurm-patient-patience`` of the profile, in seconds);
- cancels jobs of an earlier run of this folder that are still in the queue before new ones are submitted.

Snakemake finds it by its name when the folder above is on the path; ``workflow/launch.py`` puts it there.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import snakemake_executor_plugin_slurm as plugin  # type: ignore[import-untyped]
from snakemake_interface_common.exceptions import WorkflowError

# Versions of the executor below that this one was tried on (tests/system/cluster.py).
KNOWN = ("2.8.0",)
PATIENCE = 600.0
# A controller that has not answered since the run began is not worth a long wait.
FIRST = 30.0
PAUSE = 2.0

common_settings = plugin.common_settings


@dataclass
class ExecutorSettings(plugin.ExecutorSettings):
    """The settings of the executor below, and how long to wait for a controller that does not answer."""

    patience: float = field(
        default=PATIENCE,
        metadata={"help": "Seconds of silence of Slurm's controller after which the run ends.", "type": float},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.patience < float("inf"):
            raise WorkflowError(f"slurm-patient-patience is {self.patience}: it must be a positive number of seconds.")


class Slurm:
    """State of the cluster as this run knows it: whether it answers, and which jobs it named last."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.met = False
        self.silent_since: float | None = None
        self.known: set[str] = set()
        self.unknown_since: dict[str, float] = {}

    def answer(self, logger: Any) -> None:
        """Slurm answered just now."""
        if self.silent_since is not None:
            logger.warning("Slurm answers again: this run goes on.")
        self.met, self.silent_since = True, None

    def silent(self, logger: Any, asked: str) -> None:
        """Slurm did not answer just now; raises WorkflowError when that lasts too long."""
        limit = self.patience if self.met else min(FIRST, self.patience)
        if self.silent_since is None:
            self.silent_since = time.monotonic()
            logger.warning(f"Slurm does not answer `{asked}`: waiting for it, at most {limit:.0f} seconds.")
        elif time.monotonic() - self.silent_since > limit:
            ends = f"Slurm has not answered `{asked}` for {limit:.0f} seconds: this run ends."
            if not self.met:
                raise WorkflowError(f"{ends}  Start its controller, or use a machine of the cluster.")
            remedy = "when it is back (scontrol ping), run the same command again, and what is finished stays."
            raise WorkflowError(f"{ends}  Its jobs may go on; {remedy}")

    def wait(self, logger: Any) -> None:
        """Return when the controller answers."""
        while not controller_answers():
            self.silent(logger, "scontrol ping")
            time.sleep(PAUSE)
        self.answer(logger)

    def is_lost(self, job_id: str) -> bool:
        """Whether Slurm's answers have not named a job for too long."""
        if not self.known.isdisjoint(plugin._status_lookup_ids(job_id)):
            self.unknown_since.pop(job_id, None)
            return False
        return time.monotonic() - self.unknown_since.setdefault(job_id, time.monotonic()) > self.patience


def controller_answers() -> bool:
    """Whether some controller of this cluster is up."""
    try:
        asked = subprocess.run(["scontrol", "ping"], capture_output=True, text=True, timeout=60, check=False)
    except FileNotFoundError:
        raise WorkflowError("Slurm is not installed on this machine (scontrol is missing): use a login node.") from None
    except subprocess.TimeoutExpired:
        return False
    return " is UP" in asked.stdout


def cancel_leftovers(slurm: Slurm, folder: Path, logger: Any) -> None:
    """Cancel the jobs that an earlier run of a folder left in the queue, and wait until they have ended.

    Only one run can hold a folder, so these have lost theirs; what they still write or remove would be in the way.
    """
    words = ["squeue", "--noheader", f"--user={os.getuid()}", "--format=%i|%Z|%k"]
    end = time.monotonic() + slurm.patience
    cancelled: set[str] = set()
    while True:
        slurm.wait(logger)
        asked = subprocess.run(words, capture_output=True, text=True, check=False)
        jobs = [line.split("|", 2) for line in asked.stdout.splitlines()]
        left = {number for number, place, comment in jobs if place == str(folder) and comment.startswith("rule_")}
        names = ", ".join(sorted(left))
        if asked.returncode == 0 and not left:
            return
        if time.monotonic() > end:
            raise WorkflowError(f"Jobs of an earlier run of this folder are still in the queue: {names}. Cancel them.")
        if not left <= cancelled:
            logger.warning(f"An earlier run of this folder left jobs in the queue; cancelled: {names}.")
            subprocess.run(["scancel", *sorted(left)], capture_output=True, check=False)
            cancelled |= left
        time.sleep(PAUSE / 4)


class Executor(plugin.Executor):
    """The executor below, with patience."""

    def __init__(self, workflow: Any, logger: Any) -> None:
        if (installed := version("snakemake-executor-plugin-slurm")) not in KNOWN:
            raise WorkflowError(
                f"snakemake-executor-plugin-slurm is {installed} and this project's executor knows {', '.join(KNOWN)}: "
                "install that version (./run does), or use --executor slurm to run without patience."
            )
        self.slurm = Slurm(workflow.executor_settings.patience)
        self.reported: set[str] = set()
        super().__init__(workflow, logger)

    def __post_init__(self, test_mode: bool = False) -> None:
        cancel_leftovers(self.slurm, Path.cwd(), self.logger)
        super().__post_init__(test_mode)

    def run_job(self, job: Any) -> None:
        """Submit a job once Slurm answers."""
        if self._may_submit():
            super().run_job(job)

    def run_array_jobs(self, jobs: list[Any]) -> None:
        """Submit an array of jobs once Slurm answers."""
        if self._may_submit():
            super().run_array_jobs(jobs)

    def _may_submit(self) -> bool:
        """Wait for Slurm; False, and the run ends, when that lasts too long."""
        try:
            self.slurm.wait(self.logger)
        except WorkflowError as reason:
            self.workflow.scheduler.executor_error_callback(reason)
            return False
        return True

    def report_job_success(self, job: Any) -> None:
        """The executor below has seen a job end well."""
        self.reported.add(job.external_jobid)
        super().report_job_success(job)

    def report_job_error(self, job: Any, *reasons: Any, **words: Any) -> None:
        """The executor below has seen a job fail."""
        self.reported.add(job.external_jobid)
        super().report_job_error(job, *reasons, **words)

    async def check_active_jobs(self, active_jobs: list[Any]) -> AsyncIterator[Any]:
        """Yield the jobs that are still to be waited for; those that ended are reported."""
        if active_jobs:
            await self._answer()
        self.reported.clear()
        async for job in super().check_active_jobs(active_jobs):
            del job  # whatever was not reported is waited for, also after a round that failed
        for job in active_jobs:
            if job.external_jobid in self.reported:
                continue
            if self.slurm.is_lost(job.external_jobid):
                reason = "its controller lost it, or MinJobAge is short"
                self.report_job_error(job, msg=f"Slurm no longer knows job {job.external_jobid} ({reason}). ")
            else:
                yield job

    async def _answer(self) -> None:
        """Learn which jobs of this run Slurm knows, as soon as it answers."""
        command = plugin.query_job_status_squeue(self.run_uuid)
        while True:
            status, _ = await plugin.query_job_status(command, self.logger)
            if status is not None:
                self.slurm.answer(self.logger)
                self.slurm.known = set(status)
                return
            self.slurm.silent(self.logger, "squeue")
            await asyncio.sleep(PAUSE)
