"""Snakemake whose Slurm executor outlasts a controller that is away for a while, and ends when it stays away.

    python workflow/slurm_patience.py -m snakemake [words for snakemake]

The executor (2.8.0) forgets all jobs that it submitted when one round of status queries fails, for which it is enough
that the controller is away for ten seconds, and then waits for them without end; so it does for a job that Slurm lost.
Here

- a status query is repeated, and a submission waits, until Slurm answers; running jobs go on meanwhile;
- a job that Slurm does not know for that long counts as failed, and the profile's retries submit it again;
- after ten minutes of silence (the environment's PARTYWISE_SLURM_PATIENCE in seconds) the run ends with one sentence;
- jobs of an earlier run of this folder that are still in the queue are cancelled before new ones are submitted.

Runs with another executor are not affected.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import snakemake_executor_plugin_slurm as plugin  # type: ignore[import-untyped]
from snakemake_interface_common.exceptions import WorkflowError

LIMIT = "PARTYWISE_SLURM_PATIENCE"
PATIENCE = 600.0
# A controller that has not answered since the run began is not worth a long wait.
FIRST = 30.0
PAUSE = 2.0


class Slurm:
    """What this run knows of the cluster: whether it answers, and which jobs it named last."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self.met = False
        self.silent_since: float | None = None
        self.min_job_age: int | None = None
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
        raise WorkflowError("There is no Slurm on this machine (scontrol is missing): use a login node.") from None
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


def install(slurm: Slurm) -> None:
    """Put patience into the executor."""
    executor = plugin.Executor
    start, check, query = executor.__post_init__, executor.check_active_jobs, plugin.query_job_status
    min_job_age = plugin.get_min_job_age

    def patient_start(self: Any, *words: Any, **options: Any) -> None:
        cancel_leftovers(slurm, Path.cwd(), self.logger)
        remembered_age()
        start(self, *words, **options)

    def remembered_age() -> int | None:
        # Without an answer the executor would turn to sacct, whatever the profile says.
        slurm.min_job_age = min_job_age() or slurm.min_job_age
        return slurm.min_job_age

    async def patient_query(command: str, logger: Any) -> tuple[dict[str, str], float]:
        while True:
            status, duration = await query(command, logger)
            if status is not None:
                slurm.answer(logger)
                slurm.known = set(status)
                return status, duration
            slurm.silent(logger, command.split()[0])
            await asyncio.sleep(PAUSE)

    async def patient_check(self: Any, active_jobs: list[Any]) -> AsyncIterator[Any]:
        async for job in check(self, active_jobs):
            if slurm.is_lost(job.external_jobid):
                reason = "its controller lost it, or MinJobAge is short"
                self.report_job_error(job, msg=f"Slurm no longer knows job {job.external_jobid} ({reason}). ")
            else:
                yield job

    def patient_submission(submit: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def submission(self: Any, job: Any) -> None:
            try:
                slurm.wait(self.logger)
            except WorkflowError as reason:
                self.workflow.scheduler.executor_error_callback(reason)
            else:
                submit(self, job)

        return submission

    executor.__post_init__ = patient_start
    executor.check_active_jobs = patient_check
    executor.run_job = patient_submission(executor.run_job)
    executor.run_array_jobs = patient_submission(executor.run_array_jobs)
    plugin.query_job_status, plugin.get_min_job_age = patient_query, remembered_age


def chosen() -> float:
    """Seconds of patience that the environment asks for."""
    given = os.environ.get(LIMIT, str(PATIENCE))
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        sys.exit(f"{LIMIT} is {given!r}: it must be a positive number of seconds.")
    return seconds


if __name__ == "__main__":
    from snakemake.cli import main  # type: ignore[import-untyped]

    install(Slurm(chosen()))
    main(sys.argv[3:])
