"""Who runs in a folder: a record of process, start and host, so that a lock is broken only when its owner is dead."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import psutil


class Occupied(RuntimeError):
    """Another run holds the folder, or may hold it."""


@dataclass(frozen=True)
class Record:
    """Processes of a run, as (pid, start time since the epoch), and their host."""

    processes: tuple[tuple[int, float], ...]
    host: str

    @classmethod
    def of(cls, *pids: int) -> Record:
        """Record of processes of this host; those that have ended already are left out."""
        alive = [(pid, started(pid)) for pid in pids]
        return cls(tuple((pid, when) for pid, when in alive if when is not None), socket.gethostname())

    @classmethod
    def read(cls, folder: Path) -> Record | None:
        """The record of a folder; None when there is none, an empty one when it was cut off."""
        try:
            stored = json.loads(path_of(folder).read_text(encoding="utf-8"))
            return cls(tuple((int(pid), float(when)) for pid, when in stored["processes"]), str(stored["host"]))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return cls((), socket.gethostname())

    def write(self, folder: Path) -> None:
        """Replace the record of a folder in one step."""
        path = path_of(folder)
        temporary = path.with_name(f"{path.name}.{os.getpid()}")
        temporary.write_text(json.dumps(asdict(self)), encoding="utf-8")
        temporary.replace(path)

    @property
    def living(self) -> int | None:
        """A process of the record that is still running, told by its start time from a new one with its number."""
        for pid, when in self.processes:
            now = started(pid)
            if now is not None and abs(now - when) < 1:
                return pid
        return None


def path_of(folder: Path) -> Path:
    """Where the record of a folder lies."""
    return folder / ".snakemake" / "partywise.pid"


def started(pid: int) -> float | None:
    """Start time of a running process; None when there is none."""
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.NoSuchProcess:
        return None


def foreign(folder: Path) -> int | None:
    """A Snakemake of this host that works in the folder, whoever started it; one in a cluster job holds no lock."""
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = process.info["cmdline"] or []
        snakemake = any(Path(word).name == "snakemake" for word in words[:4])
        job = ("--mode", "remote") in pairwise(words)
        if snakemake and not job and process.info["cwd"] == str(folder.resolve()):
            return process.pid
    return None


def take(folder: Path) -> int | None:
    """Claim a folder for this process.

    Returns
    -------
    int or None
        The process of an earlier run that ended without giving the folder back; 0 when its number is unknown.

    Raises
    ------
    Occupied
        When a run is alive in this folder, or on another host, where nobody can tell from here.
    """
    path = path_of(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    found = Record.read(folder)
    if found is not None:
        if found.host != socket.gethostname():
            raise Occupied(
                f"A run on host {found.host} holds this folder: wait for it, or if it is dead remove {path} and say "
                "`./run --unlock`."
            )
        if found.living is not None:
            raise Occupied(f"A run is alive in this folder (process {found.living}): wait for it or end it first.")
        path.unlink(missing_ok=True)
    try:
        # Of two runs that start together, only one can create the record.
        path.open("x").close()
    except FileExistsError:
        raise Occupied("Another run has just started in this folder: wait for it or end it first.") from None
    Record.of(os.getpid()).write(folder)
    if found is None:
        return None
    return found.processes[-1][0] if found.processes else 0


def release(folder: Path) -> None:
    """Give the folder back."""
    path_of(folder).unlink(missing_ok=True)
