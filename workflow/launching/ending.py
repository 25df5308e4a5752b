"""What a run says at its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from place import Place
from reasons import reasons, told

from .surroundings import PLUGINS

sys.path.insert(0, str(PLUGINS))


def report(code: int, begun: float, since: float, folder: Path, place: Place, names: Sequence[str]) -> None:
    """The summary of every study, where the results lie and how long it took; or why jobs failed."""
    from snakemake_logger_plugin_partywise import clock

    top = folder / place.folder
    if code == 0:
        for study in names:
            text = top / study / "summary.txt"
            if text.exists():
                print(text.read_text(encoding="utf-8"))
            print(f"Cube and tables: {top / study}; figures: {top / 'figures' / study}")
        print(f"Done in {clock(time.monotonic() - begun)} (minutes:seconds).", flush=True)
    else:
        logs = top / "logs"
        print(
            f"Stopped after {clock(time.monotonic() - begun)} with exit code {code}.  What is finished stays, and the "
            f"same command resumes; logs of jobs are in {logs}.",
            file=sys.stderr,
        )
        # Last, where people look first.
        if why := told(reasons(logs, since)):
            print(why, file=sys.stderr)
