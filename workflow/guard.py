"""The guard against two runs in a folder: a lock of the kernel, which ends with the last process that holds it.

    python workflow/guard.py COMMAND    (runs a command while the folder is held)

The launcher holds it, and the Snakemake that it starts inherits it, so that a folder is busy as long as one of them is
alive, even if the other is killed.  The locked file names its holder, and is emptied when the folder is given back: a
name in a file that no process holds is that of a run that was killed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path

import psutil

from partywise.core.project import command

UNKNOWN = 0


class Occupied(RuntimeError):
    """Another run holds the folder, or may hold it."""


@dataclass(frozen=True)
class Holder:
    """The process that runs in a folder, 0 when its number was lost, its host, and a name that no other run has."""

    process: int
    host: str
    run: str = field(default="", compare=False)


@dataclass(frozen=True)
class Claim:
    """A folder that this process holds: its lock, as file and descriptor, and the run that was killed here, if any."""

    path: Path
    descriptor: int
    killed: Holder | None
    run: str

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which ``partywise.core.files`` checks in a job whether its run still holds the folder."""
        return {"PARTYWISE_RUN": self.run, "PARTYWISE_RUN_FILE": str(self.path.resolve())}

    def name(self, process: int) -> None:
        """Write down which process runs in the folder."""
        text = json.dumps(asdict(Holder(process, socket.gethostname(), self.run))).encode()
        os.pwrite(self.descriptor, text, 0)
        os.ftruncate(self.descriptor, len(text))

    def release(self, finished: bool = True) -> None:
        """Give the folder back; a run that is not ``finished`` leaves its name for the next one."""
        if finished:
            os.ftruncate(self.descriptor, 0)
        os.close(self.descriptor)

    def restore(self) -> None:
        """Give the folder back as it was found."""
        if self.killed is not None:
            self.name(self.killed.process)
        self.release(finished=self.killed is None)


def path_of(folder: Path) -> Path:
    """Return the file of the lock; it stays, since a lock on a file that was removed keeps no process out."""
    return folder / ".snakemake" / "partywise.lock"


def holder(folder: Path) -> Holder | None:
    """Return the process that the file of a folder names; None when the folder was given back."""
    try:
        text = path_of(folder).read_text(encoding="utf-8")
        stored = json.loads(text) if text else None
        return None if stored is None else Holder(int(stored["process"]), str(stored["host"]))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return Holder(UNKNOWN, socket.gethostname())


def take(folder: Path) -> Claim:
    """Claim a folder for this process and those that inherit the descriptor.

    Occupied when a run is alive in this folder, was last alive on another host, or the folder cannot be locked.
    """
    path = path_of(folder)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise Occupied(f"{path} cannot be written ({error.strerror}): make it a file that you may write.") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise Occupied(_refusal(folder, error)) from None
    killed = holder(folder)
    if killed is not None and killed.host != socket.gethostname():
        os.close(descriptor)
        raise Occupied(
            f"A run on host {killed.host} holds this folder, and on a network file system its lock may not be seen "
            f"from here: wait for it, or if it is dead remove {path} and run `{command()} --unlock`."
        )
    claim = Claim(path, descriptor, killed, f"{os.getpid()}-{time.time_ns()}")
    claim.name(os.getpid())
    return claim


def _refusal(folder: Path, error: OSError) -> str:
    """Why a lock was not given."""
    if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
        return (
            f"The file system of {folder.resolve()} gives no locks ({error.strerror}), so that two runs can meet: "
            "run in a folder on a local disk, or mount the network file system with locks."
        )
    alive = holder(folder)
    number = f" (process {alive.process})" if alive is not None and alive.process else ""
    return f"A run is alive in this folder{number}: wait for it or end it first."


def locked(folder: Path) -> bool:
    """Whether Snakemake's own locks are there."""
    locks = folder / ".snakemake" / "locks"
    return locks.is_dir() and any(locks.iterdir())


def refuse_foreign(folder: Path, killed: Holder | None) -> None:
    """Raise :class:`Occupied` where Snakemake's own lock is not, or may not be, one that a killed run of ours left."""
    if not locked(folder) or (killed is not None and (other := foreign(folder)) is None):
        return
    alive = "" if killed is None else f" (process {other})"
    raise Occupied(
        f"This folder is locked by a Snakemake that {command()} did not start{alive}: wait for it, or if none is "
        f"running run `{command()} --unlock` once."
    )


def foreign(folder: Path) -> int | None:
    """Return a Snakemake of this host that works in the folder, by any user; one in a cluster job holds no lock."""
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = process.info["cmdline"] or []
        snakemake = any(Path(word).name == "snakemake" for word in words[:4])
        job = ("--mode", "remote") in pairwise(words)
        if snakemake and not job and process.info["cwd"] == str(folder.resolve()):
            return process.pid
    return None


def main(command: Sequence[str]) -> int:
    """Run a command in this folder while no run and no other Snakemake is alive in it; its exit code, or 2."""
    claim = None
    try:
        claim = take(Path())
        refuse_foreign(Path(), claim.killed)
        return subprocess.call(command, pass_fds=[claim.descriptor])
    except Occupied as reason:
        print(reason, file=sys.stderr)
        return 2
    finally:
        if claim is not None:
            claim.restore()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
