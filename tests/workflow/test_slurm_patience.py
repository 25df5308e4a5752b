"""Patience with Slurm's controller, on stand-ins for the cluster; tests/system/cluster.py has a real one."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import pytest
import snakemake_executor_plugin_slurm as plugin
import yaml
from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry

import snakemake_executor_plugin_slurm_patient as slurm_patience
from guard import foreign
from pipeline import ROOT
from snakemake_executor_plugin_slurm_patient import (
    Executor,
    ExecutorSettings,
    Slurm,
    cancel_leftovers,
    controller_answers,
)

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


def executor(slurm: Slurm, scheduler: SimpleNamespace | None = None) -> Executor:
    """An executor with nothing below it: no thread, no Snakemake."""
    made = Executor.__new__(Executor)
    made.slurm, made.logger, made.run_uuid, made.reported = slurm, LOGGER, "a-run", set()
    made.workflow = SimpleNamespace(scheduler=scheduler)
    return made


def answers(monkeypatch, *replies: dict[str, str] | None) -> list[str]:
    """What Slurm replies to queries, the last for ever; the commands that were asked."""
    asked: list[str] = []

    async def query(command, logger):
        asked.append(command)
        reply = replies[min(len(asked), len(replies)) - 1]
        return reply, None if reply is None else 0.1

    monkeypatch.setattr(plugin, "query_job_status", query)
    return asked


def below(monkeypatch, check) -> list[tuple[str, str]]:
    """A round of the executor below, and what is reported to Snakemake."""
    told: list[tuple[str, str]] = []
    monkeypatch.setattr(plugin.Executor, "check_active_jobs", check)
    monkeypatch.setattr(plugin.Executor, "report_job_success", lambda self, job: told.append((job.external_jobid, "")))
    monkeypatch.setattr(
        plugin.Executor, "report_job_error", lambda self, job, msg: told.append((job.external_jobid, msg))
    )
    return told


def jobs(*numbers: str) -> list[SimpleNamespace]:
    return [SimpleNamespace(external_jobid=number) for number in numbers]


def still_active(made: Executor, active: list[SimpleNamespace]) -> list[str]:
    """Jobs that are still waited for after a round."""

    async def collect():
        return [job.external_jobid async for job in made.check_active_jobs(active)]

    return asyncio.run(collect())


async def keeps_all(self, active_jobs):
    for job in active_jobs:
        yield job


async def forgets_all(self, active_jobs):
    return
    yield


def test_a_query_is_repeated_until_slurm_answers(clock, monkeypatch, caplog):
    asked = answers(monkeypatch, *[None] * 5, {"7": "RUNNING"})
    below(monkeypatch, keeps_all)
    slurm = Slurm(patience=60)
    slurm.met = True
    assert still_active(executor(slurm), jobs("7")) == ["7"]
    assert slurm.known == {"7"} and len(asked) == 6 and all("--name a-run" in command for command in asked)
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        "Slurm does not answer `squeue`: waiting for it, at most 60 seconds.",
        "Slurm answers again: this run goes on.",
    ]


@pytest.mark.parametrize(
    ("met", "limit", "remedy"), [(True, 600, "Its jobs may go on"), (False, 30, "Start its controller")]
)
def test_silence_ends_the_run_in_one_sentence(clock, monkeypatch, met, limit, remedy):
    answers(monkeypatch, None)
    slurm = Slurm()
    slurm.met = met
    begun = clock.now
    with pytest.raises(WorkflowError, match=rf"answered `squeue` for {limit} seconds: this run ends\.  {remedy}"):
        still_active(executor(slurm), jobs("7"))
    assert limit < clock.now - begun <= limit + 2 * slurm_patience.PAUSE


def test_jobs_of_a_round_that_failed_are_kept(clock, monkeypatch):
    """The executor below forgets them when its own query fails a moment after ours."""
    answers(monkeypatch, {"7": "RUNNING", "8": "COMPLETED"})
    told = below(monkeypatch, forgets_all)
    made = executor(Slurm())
    assert still_active(made, jobs("7", "8")) == ["7", "8"] and told == []

    async def reports_one(self, active_jobs):
        self.report_job_success(active_jobs[1])
        self.report_job_error(active_jobs[2], msg="failed")
        yield active_jobs[0]

    monkeypatch.setattr(plugin.Executor, "check_active_jobs", reports_one)
    assert still_active(made, jobs("7", "8", "9")) == ["7"] and told == [("8", ""), ("9", "failed")]
    monkeypatch.setattr(plugin.Executor, "check_active_jobs", keeps_all)
    assert still_active(made, jobs("7", "8")) == ["7", "8"], "a number that comes again is another job"


def test_without_jobs_slurm_is_not_asked(monkeypatch):
    asked = answers(monkeypatch, None)
    below(monkeypatch, keeps_all)
    assert still_active(executor(Slurm()), []) == asked == []


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


def test_a_lost_job_fails_and_a_known_one_is_left_alone(clock, monkeypatch):
    replies = (
        [{"7": "RUNNING", "9": "RUNNING"}] * 2 + [dict.fromkeys("789", "RUNNING")] + [{"7": "RUNNING", "9": "RUNNING"}]
    )
    answers(monkeypatch, *replies)
    told = below(monkeypatch, keeps_all)
    made, active = executor(Slurm(patience=60)), jobs("7", "8", "9_3")
    assert still_active(made, active) == ["7", "8", "9_3"], "a job may be named a little late"
    clock.sleep(61)
    assert still_active(made, active) == ["7", "9_3"], "tasks of an array go by the array's number"
    assert [number for number, _ in told] == ["8"] and "no longer knows job 8" in told[0][1]
    assert still_active(made, active) == ["7", "8", "9_3"]
    assert still_active(made, active) == ["7", "8", "9_3"], "named in between: the count begins anew"


@pytest.mark.parametrize("how", ["run_job", "run_array_jobs"])
def test_a_submission_waits_for_the_controller_and_then_gives_up(clock, monkeypatch, how):
    up = iter([False] * 3 + [True])
    monkeypatch.setattr(slurm_patience, "controller_answers", lambda: next(up, False))
    submitted: list[str] = []
    ended: list[Exception] = []
    monkeypatch.setattr(plugin.Executor, how, lambda self, job: submitted.append(job))
    made = executor(Slurm(patience=20), SimpleNamespace(executor_error_callback=ended.append))
    getattr(made, how)("one")
    assert submitted == ["one"] and ended == []
    getattr(made, how)("two")
    assert submitted == ["one"] and "for 20 seconds: this run ends" in str(ended[0])


def test_another_version_of_the_executor_below_ends_in_a_sentence(monkeypatch):
    monkeypatch.setattr(slurm_patience, "version", lambda package: "3.0.0")
    settings = SimpleNamespace(executor_settings=ExecutorSettings())
    with pytest.raises(WorkflowError, match=r"slurm is 3\.0\.0 and this project's executor knows 2\.8\.0: install"):
        Executor(settings, LOGGER)


def test_the_profile_names_the_executor_and_options_that_it_has(monkeypatch):
    """Found by Snakemake itself, by name; what its profile says of Slurm are settings of this executor."""
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text())
    found = ExecutorPluginRegistry().get_plugin(profile["executor"])
    assert found.executor is Executor and found.settings_cls is ExecutorSettings
    names = {f"{profile['executor']}-{setting.name.replace('_', '-')}" for setting in fields(ExecutorSettings)}
    said = {key for key in profile if key.startswith("slurm")}
    assert said <= names and "slurm-patient-patience" in names and len(said) == 2


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
    with pytest.raises(WorkflowError, match="Slurm is not installed on this machine"):
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


@pytest.mark.parametrize("value", [-1.0, 0.0, float("inf"), float("nan")])
def test_a_patience_that_is_no_time_is_refused(value):
    with pytest.raises(
        WorkflowError, match=rf"^slurm-patient-patience is {value}: it must be a positive number of seco"
    ):
        ExecutorSettings(patience=value)
    assert ExecutorSettings().patience == 600


@pytest.mark.parametrize(("mode", "holds"), [("remote", False), ("default", True)])
def test_a_snakemake_that_is_a_cluster_job_holds_no_folder(tmp_path, mode, holds):
    """On a cluster of one machine it runs beside the one that submitted it, and may outlive that."""
    command = [sys.executable, "-c", "import time; time.sleep(60)", "snakemake", "--mode", mode]
    with subprocess.Popen(command, cwd=tmp_path) as process:
        try:
            assert foreign(tmp_path) == (process.pid if holds else None)
        finally:
            process.kill()
