"""What makes Snakemake run a job: one input that is younger than its outputs, by dates that no clock gives."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

YOUNG = Path(".snakemake/changed")


@cache
def young_file() -> str:
    """The young file, below the folder of the run; with a content that it never had: Snakemake compares it."""
    YOUNG.parent.mkdir(exist_ok=True)
    YOUNG.write_text(f"{time.time_ns()}\n", encoding="utf-8")
    os.utime(YOUNG, (2, 2))
    return str(YOUNG)


def there(paths: Iterable[str]) -> list[str]:
    """Files that are there."""
    return [path for path in paths if os.path.exists(path)]


def set_back(paths: Iterable[str]) -> None:
    """Make the first of the files that are there older than the young one, and none of time 0, which is no time."""
    found = there(paths)
    for path in found:
        if path == found[0] or os.path.getmtime(path) < 1:
            os.utime(path, (1, 1))
