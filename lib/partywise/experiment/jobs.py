"""Log file of a job, and the CPU seconds and peak memory of its fits, which are never among the results."""

from __future__ import annotations

import csv
import gc
import logging
import os
import resource
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, field
from pathlib import Path
from time import process_time
from types import TracebackType

from ..core.errors import DataMissing
from ..core.files import replacing

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def log_to(path: Path | str) -> logging.Logger:
    """Send everything this process prints, logs or dies of to a file, and note its thread variables and cluster job."""
    # What was imported stays: the collector never looks through it again, which took a seventh of a figure.
    gc.freeze()
    gc.enable()
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = path.open("w", encoding="utf-8", buffering=1)
    sys.stdout.flush()
    sys.stderr.flush()
    # On the level of file descriptors, so that compiled libraries and the interpreter's last words are caught too.
    for stream in (1, 2):
        os.dup2(handle.fileno(), stream)
    logging.basicConfig(stream=handle, level=logging.WARNING, format="%(levelname)s %(message)s", force=True)
    logging.captureWarnings(True)
    sys.excepthook = _last_words
    # Fonts that are cached, replaced by others or cut to their glyphs are no news of a run.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)
    logger = logging.getLogger("partywise")
    logger.setLevel(logging.INFO)
    logger.info("threads: %s", ", ".join(f"{name}={os.environ.get(name, 'unset')}" for name in THREADS))
    if "SLURM_JOB_ID" in os.environ:
        logger.info("cluster: job %s on %s", os.environ["SLURM_JOB_ID"], os.environ.get("SLURMD_NODENAME", "unknown"))
    return logger


def _last_words(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """The last line of the log, which states a mistake in a person's data in one sentence; a bug leaves a traceback."""
    if isinstance(error, DataMissing):
        logging.getLogger("partywise").error("%s", " ".join(str(error).split()))
    else:
        sys.__excepthook__(kind, error, trace)


COLUMNS = ("case", "method", "cells", "cpu_seconds", "peak_megabytes")
# Linux only: what a process tells of its memory, and the word that begins a new peak.
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass
class JobCost:
    """Number of fits, sum of their CPU seconds, and their largest memory in MB, the interpreter included."""

    cells: int = 0
    cpu_seconds: float = 0.0
    peak_megabytes: float = 0.0

    def add(self, other: JobCost) -> None:
        """Both together."""
        self.cells += other.cells
        self.cpu_seconds += other.cpu_seconds
        self.peak_megabytes = max(self.peak_megabytes, other.peak_megabytes)


@dataclass
class Timings:
    """Costs by case and method.

    What several methods of a job draw alike is drawn for the first of them and counts for that one.
    """

    costs: dict[tuple[str, str], JobCost] = field(default_factory=dict)

    @contextmanager
    def measure(self, case: str, method: str) -> Iterator[JobCost]:
        """Count what happens inside for a method; the code that computes sets the number of cells."""
        with suppress(OSError):
            RESET.write_text("5")
        cost, begun = JobCost(), process_time()
        yield cost
        cost.cpu_seconds, cost.peak_megabytes = process_time() - begun, peak_megabytes()
        self.add(case, method, cost)

    def add(self, case: str, method: str, cost: JobCost) -> None:
        """Add to a case and method."""
        self.costs.setdefault((case, method), JobCost()).add(cost)

    def __str__(self) -> str:
        return "\n".join(
            f"case {case}, method {method}: {cost.cells} cells, {cost.cpu_seconds:.3f} CPU s"
            for (case, method), cost in self.costs.items()
        )

    def write(self, path: Path | str) -> None:
        """One row for each case and method."""
        with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
            rows = csv.writer(handle, lineterminator="\n")
            rows.writerow(COLUMNS)
            for (case, method), cost in sorted(self.costs.items()):
                cells, seconds, megabytes = astuple(cost)
                rows.writerow([case, method, cells, f"{seconds:.3f}", f"{megabytes:.0f}"])


def peak_megabytes() -> float:
    """Largest memory of this process in MB: since the last new peak if the system reports it, else since its start."""
    with suppress(OSError):
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1.024e-3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1.024e-3


def gather(paths: Iterable[Path | str]) -> Timings:
    """Read the timings of several jobs and add them up."""
    timings = Timings()
    for path in paths:
        with Path(path).open(encoding="utf-8", newline="") as handle:
            for row in csv.DictReader(handle):
                cost = JobCost(int(row["cells"]), float(row["cpu_seconds"]), float(row["peak_megabytes"]))
                timings.add(row["case"], row["method"], cost)
    return timings
