"""What a run shows while it goes: one line rewritten in place on a terminal, every twentieth part in a pipe."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from pipeline import ROOT, environment

DRIVER = [sys.executable, str(ROOT / "tests" / "support" / "progress_driver.py")]
COLUMNS = 60


def piped(folder: Path) -> str:
    done = subprocess.run([*DRIVER, str(folder)], env=environment(), capture_output=True, text=True, check=True)
    return timeless(done.stderr)


def terminal(folder: Path, columns: int = COLUMNS) -> str:
    """What a terminal of some columns gets."""
    reading, writing = pty.openpty()
    fcntl.ioctl(writing, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {key: value for key, value in environment().items() if key not in ("COLUMNS", "LINES")}
    child = subprocess.Popen([*DRIVER, str(folder)], env=env | {"COLUMNS": str(columns)}, stderr=writing)
    os.close(writing)
    parts = []
    while True:
        try:
            part = os.read(reading, 2**16)
        except OSError:
            break
        if not part:
            break
        parts.append(part)
    os.close(reading)
    assert child.wait(60) == 0
    return timeless(b"".join(parts).decode())


def timeless(told: str) -> str:
    return re.sub(r"\d+:\d\d", "0:00", told)


def screen(told: str) -> list[str]:
    """The lines that stay when a terminal has shown everything: a return goes to the start of a line."""
    lines = []
    for line in told.replace("\r\n", "\n").split("\n"):
        cells: list[str] = []
        for piece in line.split("\r"):
            cells[: len(piece)] = piece
        lines.append("".join(cells).rstrip())
    return lines


def test_a_pipe_gets_a_line_for_every_twentieth_of_the_jobs(tmp_path):
    lines = piped(tmp_path).splitlines()
    progress = [line for line in lines if "jobs done" in line]
    assert [int(re.match(r"\s*(\d+) %", line)[1]) for line in progress] == list(range(5, 105, 5))
    assert "\r" not in "".join(lines)
    assert re.search(r"^25 %: 25 of 100 jobs done, 0:00 elapsed, about 0:00 left, now first_study$", progress[4])
    assert progress[-1].endswith("all done") and progress[10].endswith("now second_study")


@pytest.mark.parametrize("show", [piped, terminal])
def test_first_figures_warnings_and_errors_are_told_once_and_in_full(tmp_path, show):
    lines = screen(show(tmp_path))
    announced = [line for line in lines if line.startswith("first figures")]
    assert announced == [f"first figures of {name}: results/mine/figures/{name}" for name in FIRST]
    assert lines.count("a warning that comes twice") == 1
    assert [line for line in lines if "own data" in line] == ["own data: a.csv: x is outside its bounds"]
    at = lines.index("Error in rule fit:")
    assert lines[at + 1 : at + 3] == ["    the whole reason", "    and where"]


FIRST = ("first_study", "second_study")


def test_a_terminal_has_one_line_that_is_rewritten_in_place(tmp_path):
    told = terminal(tmp_path)
    stays = screen(told)
    assert [line for line in stays if "jobs done" in line] == ["100 %: 100 of 100 jobs done, 0:00 elapsed, all done"]
    # All hundred were shown, none so long that the terminal wraps it.
    shown = re.split(r"[\r\n]", told)
    assert {f"{n} of 100 jobs done" for n in range(1, 101)} <= set(re.findall(r"\d+ of 100 jobs done", told))
    assert max(len(line) for line in shown if " %: " in line) == COLUMNS - 1


def test_the_run_tells_how_many_jobs_it_finished(tmp_path):
    from snakemake_logger_plugin_partywise import finished

    piped(tmp_path)
    assert finished(tmp_path, 0.0) == 100
    assert finished(tmp_path, 1e12) is None, "of an earlier run"
    (tmp_path / ".snakemake" / "jobs_finished").unlink()
    assert finished(tmp_path, 0.0) is None
