"""The messages at the end of a run."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from place import Place
from reasons import reasons, summarize
from screen import write_screen

from .surroundings import PLUGINS

sys.path.insert(0, str(PLUGINS))


def report(code: int, begun: float, since: float, folder: Path, place: Place, names: Sequence[str]) -> None:
    """One screen of results, and how long they took or that nothing was to be done; or why jobs failed.

    names : studies whose results are current where the code is 0
    """
    from snakemake_logger_plugin_partywise import clock, finished

    top, took = folder / place.folder, clock(time.monotonic() - begun)
    if code == 0:
        has_run = finished(folder, since)
        if names:
            print(write_screen(folder, place.folder, names, took if has_run else ""), end="")
        elif has_run:
            print(f"Done in {took} (minutes:seconds).")
        if not has_run:
            print(f"Nothing to be done: {top} is up to date with {place.configuration}.")
        sys.stdout.flush()
    else:
        logs = top / "logs"
        print(
            f"Stopped after {took} with exit code {code}.  What is finished stays, and the "
            f"same command resumes; logs of jobs are in {logs}.",
            file=sys.stderr,
        )
        # Last, where people look first.
        if why := summarize(reasons(logs, since)):
            print(why, file=sys.stderr)
