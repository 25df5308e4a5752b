"""What the tests on system packages share: what they start ends with them, also when they are interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TypeVar

import psutil

from pipeline import environment

T = TypeVar("T")


def interrupt(number: int, frame: FrameType | None) -> None:
    """End as Ctrl-C does, so that pytest takes down what its fixtures set up; once, so that it can finish that."""
    signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


# pytest dies of SIGTERM (as `timeout` sends it) without cleaning up.
signal.signal(signal.SIGTERM, interrupt)


class Run:
    """A run of the verb behind ``./run``: its process, and the file with what it said."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.folder, self.process = folder, process

    @property
    def said(self) -> str:
        """All that it printed so far."""
        return (self.folder / "said.txt").read_text()

    def wait(self, limit: float) -> int:
        """Its exit code; AssertionError when it takes longer than so many seconds."""
        try:
            return self.process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the run did not end within {limit} seconds:\n{self.said}") from None

    def until(self, condition: Callable[[], T], limit: float, what: str) -> T:
        """The first true value of a condition while the run is alive."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline and self.process.poll() is None:
            if found := condition():
                return found
            time.sleep(0.2)
        raise AssertionError(f"{what} did not happen within {limit} seconds:\n{self.said}")


@contextmanager
def running(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> Iterator[Run]:
    """A run in the background in a folder, killed with all its children if it is alive at the end."""
    command = [sys.executable, "workflow/launch.py", *words]
    with (folder / "said.txt").open("wb") as said:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment(), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield Run(folder, process)
    finally:
        if process.poll() is None:
            for victim in [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]:
                with suppress(psutil.NoSuchProcess):
                    victim.kill()
            process.wait()
