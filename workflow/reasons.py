"""Why jobs of a run failed, in the words of their logs."""

from __future__ import annotations

import re
from pathlib import Path

TRACE = "Traceback (most recent call last):"
# As Python names an error before its sentence.
KIND = re.compile(r"^[A-Za-z_][\w.]*: ")
# How a job tells of a mistake in a person's data, as its last line.
NAMED = "ERROR "
LISTED = 3
# Clocks of file systems and machines agree about so well.
SECONDS = 2.0


def reasons(logs: Path, since: float) -> list[str]:
    """The last sentence of every log that ended in an error, each once, the earliest first.

    Logs lie in a folder at any depth; those older than ``since``, in seconds since the epoch, are of earlier runs.
    """
    sentences = dict[str, None]()
    written = [(path.stat().st_mtime, path) for path in logs.rglob("*.log")]
    for time, path in sorted(written):
        if time < since - SECONDS:
            continue
        if sentence := last_words(path):
            sentences[sentence] = None
    return list(sentences)


def last_words(log: Path) -> str:
    """The sentence that a job ended with, empty if it did not fail; without the name of the error."""
    text = log.read_text(encoding="utf-8", errors="replace").rstrip()
    last = text.splitlines()[-1] if text else ""
    if last.startswith(NAMED):
        return last.removeprefix(NAMED)
    return KIND.sub("", last) if TRACE in text else ""


def summarize(sentences: list[str]) -> str:
    """A line for each of the first reasons, and how many more there are; empty without any."""
    more = len(sentences) - LISTED
    rest = [f"({more} more in the logs)"] if more > 0 else []
    return "\n".join([*(f"Failed: {sentence}" for sentence in sentences[:LISTED]), *rest])
