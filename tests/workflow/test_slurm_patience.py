"""Patience with Slurm's controller, on stand-ins for the cluster; tests/system/cluster.py has a real one."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import snakemake_executor_plugin_slurm as plugin
from snakemake_interface_common.exceptions import WorkflowError

import slurm_patience
from guard import foreign
from slurm_patience import Slurm, cancel_leftovers, chosen, controller_answers, install

LOGGER = logging.getLogger("test")


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()

    async def sleep(seconds: float) -> None:
        clock.sleep(seconds)

    monkeypatch.setattr(slurm_patience, "time", clock)
    monkeypatch.setattr(slurm_patience, "asyncio", SimpleNamespace(sleep=sleep))
    return clock


def commands(folder: Path, monkeypatch, **scripts: str) -> Path:
    """Stand-ins for commands, first on the path."""
    folder.mkdir()
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


@pytest.fixture
def executor(monkeypatch) -> type:
    """The executor's class with patience; everything is as it was after the test."""
    for name in ("__post_init__", "check_active_jobs", "run_job", "run_array_jobs"):
        monkeypatch.setattr(plugin.Executor, name, getattr(plugin.Executor, name))
    for name in ("query_job_status", "get_min_job_age"):
        monkeypatch.setattr(plugin, name, getattr(plugin, name))
    return plugin.Executor


def test_a_query_is_repeated_until_slurm_answers(executor, clock, monkeypatch, caplog):
    replies = [(None, None)] * 5 + [({"7": "RUNNING"}, 0.1)]

    async def query(command, logger):
        return replies.pop(0)

    monkeypatch.setattr(plugin, "query_job_status", query)
    slurm = Slurm(patience=60)
    slurm.met = True
    install(slurm)
    assert asyncio.run(plugin.query_job_status("squeue --all", LOGGER)) == ({"7": "RUNNING"}, 0.1)
    assert slurm.known == {"7"} and not replies
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        "Slurm does not answer `squeue`: waiting for it, at most 60 seconds.",
        "Slurm answers again: this run goes on.",
    ]


@pytest.mark.parametrize(
    ("met", "limit", "remedy"), [(True, 600, "Its jobs may go on"), (False, 30, "Start its controller")]
)
def test_silence_ends_the_run_in_one_sentence(executor, clock, monkeypatch, met, limit, remedy):
    async def query(command, logger):
        return None, None

    monkeypatch.setattr(plugin, "query_job_status", query)
    slurm = Slurm()
    slurm.met = met
    install(slurm)
    begun = clock.now
    with pytest.raises(WorkflowError, match=rf"answered `sacct` for {limit} seconds: this run ends\.  {remedy}"):
        asyncio.run(plugin.query_job_status("sacct -X", LOGGER))
    assert limit < clock.now - begun <= limit + 2 * slurm_patience.PAUSE


def test_the_polling_interval_is_not_silence(clock):
    """A large cluster is asked every three minutes; what counts begins with the first question without an answer."""
    slurm = Slurm(patience=60)
    slurm.answer(LOGGER)
    clock.sleep(180)
    slurm.silent(LOGGER, "squeue")
    clock.sleep(50)
    slurm.silent(LOGGER, "squeue")
    clock.sleep(20)
    with pytest.raises(WorkflowError):
        slurm.silent(LOGGER, "squeue")


def test_a_lost_job_fails_and_a_known_one_is_left_alone(executor, clock, monkeypatch):
    jobs = [SimpleNamespace(external_jobid=number) for number in ("7", "8", "9_3")]
    reported = []

    async def check(self, active_jobs):
        for job in active_jobs:
            yield job

    monkeypatch.setattr(plugin.Executor, "check_active_jobs", check)
    slurm = Slurm(patience=60)
    install(slurm)
    me = SimpleNamespace(report_job_error=lambda job, msg: reported.append((job.external_jobid, msg)))

    def still_active() -> list[str]:
        async def collect():
            return [job.external_jobid async for job in plugin.Executor.check_active_jobs(me, jobs)]

        return asyncio.run(collect())

    slurm.known = {"7", "9"}
    assert still_active() == ["7", "8", "9_3"], "a job may be named a little late"
    clock.sleep(61)
    assert still_active() == ["7", "9_3"], "tasks of an array go by the array's number"
    assert [number for number, _ in reported] == ["8"] and "no longer knows job 8" in reported[0][1]
    slurm.known = {"7", "8", "9"}
    assert still_active() == ["7", "8", "9_3"]
    slurm.known = {"7", "9"}
    assert still_active() == ["7", "8", "9_3"], "named in between: the count begins anew"


def test_the_age_of_jobs_is_remembered_while_the_controller_is_away(executor, monkeypatch):
    """Without it the executor turns to sacct, which without a database fails at once and for ever."""
    ages = iter([3600, None, 7200])
    monkeypatch.setattr(plugin, "get_min_job_age", lambda: next(ages))
    install(Slurm())
    assert [plugin.get_min_job_age() for _ in range(3)] == [3600, 3600, 7200]


def test_a_submission_waits_for_the_controller_and_then_gives_up(executor, clock, monkeypatch):
    answers = iter([False] * 3 + [True])
    monkeypatch.setattr(slurm_patience, "controller_answers", lambda: next(answers, False))
    submitted: list[str] = []
    ended: list[Exception] = []
    monkeypatch.setattr(plugin.Executor, "run_job", lambda self, job: submitted.append(job))
    install(Slurm(patience=20))
    scheduler = SimpleNamespace(executor_error_callback=ended.append)
    me = SimpleNamespace(logger=LOGGER, workflow=SimpleNamespace(scheduler=scheduler))
    plugin.Executor.run_job(me, "one")
    assert submitted == ["one"] and ended == []
    plugin.Executor.run_job(me, "two")
    assert submitted == ["one"] and "for 20 seconds: this run ends" in str(ended[0])


@pytest.mark.parametrize(
    ("script", "up"),
    [
        ("echo 'Slurmctld(primary) at a is UP'", True),
        ("echo 'Slurmctld(primary) at a is DOWN'; echo 'Slurmctld(backup) at b is UP'; exit 1", True),
        ("echo 'Slurmctld(primary) at a is DOWN'; exit 1", False),
        ("echo 'no slurm.conf' >&2; exit 1", False),
    ],
)
def test_any_controller_will_do(tmp_path, monkeypatch, script, up):
    commands(tmp_path / "bin", monkeypatch, scontrol=script)
    assert controller_answers() is up


def test_a_machine_without_slurm_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkflowError, match="There is no Slurm on this machine"):
        controller_answers()


def test_only_jobs_of_the_same_folder_are_cancelled(tmp_path, monkeypatch, caplog):
    queue = tmp_path / "queue"
    queue.write_text(f"3|{tmp_path}|rule_fit_a\n4|{tmp_path}|\n5|/elsewhere|rule_fit_a\n6|{tmp_path}|rule_fit|b\n")
    commands(
        tmp_path / "bin",
        monkeypatch,
        scontrol="echo 'Slurmctld(primary) at a is UP'",
        squeue=f"cat {queue}",
        scancel=f'echo "$@" >> {tmp_path}/cancelled; for n in "$@"; do sed -i "/^$n|/d" {queue}; done',
    )
    cancel_leftovers(Slurm(), tmp_path, LOGGER)
    assert (tmp_path / "cancelled").read_text() == "3 6\n"
    assert [line[0] for line in queue.read_text().splitlines()] == ["4", "5"]
    assert "cancelled: 3, 6." in caplog.text
    cancel_leftovers(Slurm(), tmp_path, LOGGER)
    assert (tmp_path / "cancelled").read_text() == "3 6\n"


def test_jobs_that_cannot_be_cancelled_are_named(clock, tmp_path, monkeypatch):
    queue = f"echo '3|{tmp_path}|rule_fit_a'"
    up = "echo 'Slurmctld(primary) at a is UP'"
    commands(tmp_path / "bin", monkeypatch, scontrol=up, squeue=queue, scancel="exit 1")
    with pytest.raises(WorkflowError, match="are still in the queue: 3"):
        cancel_leftovers(Slurm(patience=5), tmp_path, LOGGER)


@pytest.mark.parametrize("value", ["soon", "-1", "0", "inf", "nan", ""])
def test_a_patience_that_is_no_time_is_refused(monkeypatch, value):
    monkeypatch.setenv(slurm_patience.LIMIT, value)
    with pytest.raises(SystemExit) as refused:
        chosen()
    assert refused.value.code == f"PARTYWISE_SLURM_PATIENCE is '{value}': it must be a positive number of seconds."


def test_patience_is_ten_minutes_unless_the_environment_says_otherwise(monkeypatch):
    monkeypatch.delenv(slurm_patience.LIMIT, raising=False)
    assert chosen() == 600
    monkeypatch.setenv(slurm_patience.LIMIT, "45.5")
    assert chosen() == 45.5


@pytest.mark.parametrize(("mode", "holds"), [("remote", False), ("default", True)])
def test_a_snakemake_that_is_a_cluster_job_holds_no_folder(tmp_path, mode, holds):
    """On a cluster of one machine it runs beside the one that submitted it, and may outlive that."""
    command = [sys.executable, "-c", "import time; time.sleep(60)", "snakemake", "--mode", mode]
    with subprocess.Popen(command, cwd=tmp_path) as process:
        try:
            assert foreign(tmp_path) == (process.pid if holds else None)
        finally:
            process.kill()
