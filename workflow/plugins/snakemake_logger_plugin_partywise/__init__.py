"""Progress for people, as a logger of Snakemake: jobs done of all, time left, and errors in full.

Snakemake finds it by its name when the folder above is on the path; ``workflow/launch.py`` puts it there.
"""

from __future__ import annotations

import sys
import time
from logging import ERROR, WARNING, LogRecord

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

# Of Snakemake's plain messages, those that people wait for.
TOLD = ("Nothing to be done", "Will exit after finishing")


def clock(seconds: float) -> str:
    """Minutes and seconds, with hours where there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


class LogHandler(LogHandlerBase):
    """One line for each finished job; on a terminal the lines overwrite each other."""

    def __post_init__(self) -> None:
        self.begun = time.monotonic()
        self.live = sys.stderr.isatty()
        self.width = 0
        self.last = ""
        self.told: set[str] = set()

    def emit(self, record: LogRecord) -> None:
        """Show progress and whatever is a warning or an error; the full account is in .snakemake/log."""
        event = getattr(record, "event", None)
        if event == LogEvent.JOB_INFO:
            self.last = " ".join([record.rule_name, *(str(value) for value in dict(record.wildcards).values())])
        elif event == LogEvent.PROGRESS:
            self._progress(record.done, record.total)
        elif event in (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR, LogEvent.ERROR) or record.levelno >= ERROR:
            self._line(self.format(record))
        elif record.levelno >= WARNING or record.getMessage().startswith(TOLD):
            self._once(record.getMessage())

    def _progress(self, done: int, total: int) -> None:
        elapsed = time.monotonic() - self.begun
        left = f"about {clock(elapsed / done * (total - done))} left" if 0 < done < total else "all done"
        text = f"{done} of {total} jobs done, {clock(elapsed)} elapsed, {left}"
        text += f" (newest: {self.last})" if done < total and self.last else ""
        if self.live and done < total:
            sys.stderr.write(f"\r{text[:118]:<{self.width}}")
            self.width = len(text[:118])
            sys.stderr.flush()
        else:
            self._line(text)

    def _once(self, text: str) -> None:
        if text not in self.told:
            self.told.add(text)
            self._line(text)

    def _line(self, text: str) -> None:
        start = f"\r{'':<{self.width}}\r" if self.width else ""
        self.width = 0
        sys.stderr.write(f"{start}{text.strip()}\n")
        sys.stderr.flush()

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
        """What is quiet is decided here."""
        return True

    @property
    def has_formatter(self) -> bool:
        """Errors are formatted as Snakemake does."""
        return False

    @property
    def needs_rulegraph(self) -> bool:
        """No diagram is drawn."""
        return False
