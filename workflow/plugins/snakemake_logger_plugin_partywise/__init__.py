"""Progress for people, as a logger of Snakemake: one line with jobs done, time left and study; errors in full.

On a terminal the line is rewritten in place; in a pipe there is one for every twentieth of the jobs.  The first figures
of a study are announced when they are there.  Snakemake finds the plugin by its name when the folder above is on the
path; ``workflow/launch.py`` puts it there.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from contextlib import suppress
from logging import ERROR, WARNING, LogRecord
from pathlib import Path
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

NOTHING = "Nothing to be done"
# Of Snakemake's plain messages, the one that people wait for.
TOLD = "Will exit after finishing"
# Results that were copied have no such records, and nothing here reads them (workflow/rules/provenance.smk).
UNREAD = "Missing metadata for file"
# A pipe gets a line for each of so many equal parts of the jobs.
PARTS = 20
# How many jobs the run has finished, for whoever started it.
COUNT = Path(".snakemake") / "jobs_finished"
WIDTH = 100
# How the last line of a log begins that tells a mistake in the data (`partywise.experiment.jobs`).
NAMED = "ERROR "
# How a line of a log begins that tells something about a person's data that did not end the job.
NOTED = "WARNING own data: "
# What a note says of records that are not used.
LEFT_OUT = "left out"
# A script that failed has told why in its log; that it failed says nothing more.
SCRIPT = re.compile(r"CalledProcessError in file .*/scripts/.* returned non-zero exit status 1\b", re.DOTALL)
ENDS = ("Exiting because a job execution failed", "WorkflowError:\nAt least one job did not complete")


def _last_words(log: Path) -> str:
    """The sentence of a job that ended with a mistake in the data; empty of any other."""
    text = log.read_text(encoding="utf-8", errors="replace").rstrip() if log.is_file() else ""
    last = text.splitlines()[-1] if text else ""
    return last.removeprefix(NAMED) if last.startswith(NAMED) else ""


def _notes(log: Path) -> list[str]:
    """Return the notes of a job on own data: all on records that are left out, and of the others one per file."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.is_file() else []
    notes = list(dict.fromkeys(line.removeprefix("WARNING ") for line in lines if line.startswith(NOTED)))
    others: dict[str, list[str]] = {}
    for note in notes:
        if LEFT_OUT not in note:
            others.setdefault(note.split(": ")[1], []).append(note)
    grouped = [
        f"{first} {len(rest)} more notes on this file are in {log}." if rest else first
        for first, *rest in others.values()
    ]
    return [*(note for note in notes if LEFT_OUT in note), *grouped]


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours where there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class LogHandler(LogHandlerBase):
    """One line for the progress of a run; all other messages appear above it and stay."""

    def __post_init__(self) -> None:
        self.begun = time.monotonic()
        self.live = sys.stderr.isatty()
        self.width, self.part = 0, 0
        self.line, self.study = "", ""
        self.reported: set[str] = set()
        self.mistaken = False
        self.logs: dict[int, list[str]] = {}
        self.drawing: dict[int, tuple[str, str]] = {}
        self.drawn: set[str] = set()

    def emit(self, record: LogRecord) -> None:
        """Show progress, warnings and errors; the full log is in .snakemake/log."""
        event = getattr(record, "event", None)
        if event == LogEvent.JOB_INFO:
            self._started(record)
        elif event == LogEvent.JOB_FINISHED:
            self._finished(record.job_id)
        elif event == LogEvent.PROGRESS:
            self._progress(record.done, record.total)
        elif self._mistake(event, record):
            pass
        elif event in (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR, LogEvent.ERROR) or record.levelno >= ERROR:
            self._line(self.format(record))
        elif record.getMessage().startswith(NOTHING):
            # Whoever started the run tells it, with what lies where.
            _count(0)
        elif record.getMessage().startswith(UNREAD):
            pass
        elif record.levelno >= WARNING or record.getMessage().startswith(TOLD):
            self._once(record.getMessage())

    def _mistake(self, event: LogEvent | None, record: Any) -> bool:
        """Report a mistake in own data by its sentence alone, without the job that met it."""
        if event == LogEvent.JOB_ERROR:
            sentences = [words for path in record.log if (words := _last_words(Path(str(path))))]
            self.mistaken |= bool(sentences)
            for sentence in sentences:
                self._once(sentence)
            return bool(sentences)
        if event == LogEvent.ERROR and SCRIPT.search(record.getMessage()):
            return True
        return self.mistaken and record.getMessage().startswith(ENDS)

    def _started(self, record: Any) -> None:
        wildcards = dict(record.wildcards)
        self.logs[record.jobid] = [str(path) for path in getattr(record, "log", ())]
        self.study = str(wildcards.get("study", self.study))
        if record.rule_name in ("figure", "table"):
            self.drawing[record.jobid] = self.study, next(iter(record.output), "")
        self._show()

    def _finished(self, job: int) -> None:
        """Report the notes of a job on own data once, and announce the first figure of a study."""
        for path in self.logs.pop(job, []):
            for note in _notes(Path(path)):
                self._once(note)
        study, path = self.drawing.pop(job, ("", ""))
        if study and study not in self.drawn:
            self.drawn.add(study)
            self._line(f"first figures of {study}: {os.path.dirname(str(path)) or '.'}")

    def _progress(self, done: int, total: int) -> None:
        _count(done)
        elapsed = time.monotonic() - self.begun
        left = f"about {clock(elapsed / done * (total - done))} left" if 0 < done < total else "all done"
        share = 100 * done // max(total, 1)
        self.line = f"{share:3d} %: {done} of {total} jobs done, {clock(elapsed)} elapsed, {left}"
        if done >= total:
            last, self.line = self.line, ""
            self._line(last)
        elif self.live:
            self._show()
        elif done * PARTS // total > self.part:
            self.part = done * PARTS // total
            self._line(self._text())

    def _text(self) -> str:
        return self.line + (f", now {self.study}" if self.study else "")

    def _show(self) -> None:
        """Rewrite the line of a terminal in place, no longer than its width: a line that wraps cannot be rewritten."""
        if self.live and self.line:
            text = self._text()[: shutil.get_terminal_size((WIDTH, 24)).columns - 1]
            sys.stderr.write(f"\r{text:<{self.width}}")
            self.width = len(text)
            sys.stderr.flush()

    def _once(self, text: str) -> None:
        if text not in self.reported:
            self.reported.add(text)
            self._line(text)

    def _line(self, text: str) -> None:
        """Write a line that stays; the line of progress is cleared for it and written again below."""
        start = f"\r{'':<{self.width}}\r" if self.width else ""
        self.width = 0
        sys.stderr.write(f"{start}{text.strip()}\n")
        sys.stderr.flush()
        self._show()

    @property
    def writes_to_stream(self) -> bool:
        """It takes the place of Snakemake's own messages."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """Snakemake keeps its log file."""
        return False

    @property
    def has_filter(self) -> bool:
        """This handler decides which messages are left out."""
        return True

    @property
    def has_formatter(self) -> bool:
        """Errors are formatted as Snakemake does."""
        return False

    @property
    def needs_rulegraph(self) -> bool:
        """No diagram is drawn."""
        return False


def _count(done: int) -> None:
    """Keep the number of finished jobs; a run goes on where that cannot be written."""
    with suppress(OSError):
        COUNT.write_text(f"{done}\n", encoding="utf-8")


def finished(folder: Path, since: float) -> int | None:
    """Return the number of jobs that the run since ``since`` has finished in a folder; None if it wrote none."""
    try:
        path = folder / COUNT
        return int(path.read_text(encoding="utf-8")) if path.stat().st_mtime >= since else None
    except (OSError, ValueError):
        return None
