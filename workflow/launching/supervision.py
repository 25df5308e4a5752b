"""The Snakemake of a run: its locks, its signals and its end."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

import forks
from guard import Claim, Holder, refuse_foreign

from .surroundings import environment

# Seconds that Snakemake may take to end after a signal when none of its jobs runs any more.
PATIENCE = 10.0
# Exit codes from here on stand for a signal.
SIGNALLED = 128


def unlock(killed: Holder | None, folder: Path, command: Sequence[str]) -> int:
    """Break the lock of a run whose process is dead on this host, and return Snakemake's exit code.

    Occupied when a Snakemake that ``./run`` did not start holds the lock, or may hold it.
    """
    refuse_foreign(folder, killed)
    process = "" if killed is None else f" of process {killed.process}"
    print(f"The run{process} ended without unlocking this folder: unlocking it.", file=sys.stderr)
    done = subprocess.run([*command, "--unlock"], env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return done.returncode


def supervise(command: Sequence[str], claim: Claim) -> tuple[int, bool]:
    """Run a command in its own process group, as a holder of the folder, and hand signals on.

    Returns its exit code, 128 + number after a signal, and whether it hung after a signal and had to be killed.
    Snakemake does when the signal comes while it holds its own lock; its jobs have ended by then.
    """
    signals = (signal.SIGINT, signal.SIGTERM)
    waiting: list[int] = []
    before = {number: signal.signal(number, lambda got, _: waiting.append(got)) for number in signals}
    sent, busy = 0, time.monotonic()
    try:
        env = {**environment(), **claim.environment}
        child = subprocess.Popen(command, env=env, process_group=0, pass_fds=[claim.descriptor])
        claim.name(child.pid)
        while True:
            while waiting:
                sent = waiting.pop()
                child.send_signal(sent)
            try:
                code = child.wait(timeout=0.1)
                return (code if code >= 0 else SIGNALLED - code), False
            except subprocess.TimeoutExpired:
                if not sent or has_jobs(child.pid):
                    busy = time.monotonic()
                elif time.monotonic() - busy > PATIENCE:
                    child.kill()
                    child.wait()
                    return SIGNALLED + sent, True
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def has_jobs(pid: int) -> bool:
    """Whether a process has started others that still run; a server of forks counts by its forks alone."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        servers = {child.pid for child in process.children() if _serves_forks(child)}
        return any(child.pid not in servers and _runs(child) for child in process.children(recursive=True))
    return False


def _serves_forks(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return Path(forks.__file__).name in (Path(word).name for word in process.cmdline())
    return False


def _runs(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False
