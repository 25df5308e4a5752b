"""What benchmarks share: one thread, the folders that they import from, and CPU times."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import TypeVar

# NumPy sets up its threads when it is imported: after this module.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "lib"), str(ROOT / "tests" / "support")]

Result = TypeVar("Result")


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """Return the CPU seconds of one call, and its result."""
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


def by_turns(works: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Return the median CPU seconds of each call, taken in turn so that a busy machine slows all alike."""
    turns = [[timed(work)[0] for work in works] for _ in range(repeats)]
    return [median(times) for times in zip(*turns, strict=True)]


def cpu_seconds(work: Callable[[], object], repeats: int = 1) -> float:
    """Return the median CPU seconds of one call."""
    return by_turns([work], repeats)[0]
