"""What the fits of every method cost: CPU seconds and peak memory, beside the results and never among them."""

from __future__ import annotations

import csv
import resource
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, field
from pathlib import Path
from time import process_time

from ..files import replacing

COLUMNS = ("case", "method", "cells", "cpu_seconds", "peak_megabytes")
# Linux only: what a process tells of its memory, and the word that begins a new peak.
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass
class Cost:
    """Number of fits, sum of their CPU seconds, and their largest memory in MB, the interpreter included."""

    cells: int = 0
    cpu_seconds: float = 0.0
    peak_megabytes: float = 0.0

    def add(self, other: Cost) -> None:
        """Both together."""
        self.cells += other.cells
        self.cpu_seconds += other.cpu_seconds
        self.peak_megabytes = max(self.peak_megabytes, other.peak_megabytes)


@dataclass
class Timings:
    """Costs by case and method.

    What several methods of a job draw alike is drawn for the first of them and counts for that one.
    """

    costs: dict[tuple[str, str], Cost] = field(default_factory=dict)

    @contextmanager
    def measured(self, case: str, method: str) -> Iterator[Cost]:
        """Count what happens inside for a method; whoever computes sets the number of cells."""
        with suppress(OSError):
            RESET.write_text("5")
        cost, begun = Cost(), process_time()
        yield cost
        cost.cpu_seconds, cost.peak_megabytes = process_time() - begun, peak_megabytes()
        self.add(case, method, cost)

    def add(self, case: str, method: str, cost: Cost) -> None:
        """Add to a case and method."""
        self.costs.setdefault((case, method), Cost()).add(cost)

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
    """Largest memory of this process in MB: since the last new peak where the system can tell, else since its start."""
    with suppress(OSError):
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1.024e-3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1.024e-3


def gather(paths: Iterable[Path | str]) -> Timings:
    """What several jobs wrote, together."""
    found = Timings()
    for path in paths:
        with Path(path).open(encoding="utf-8", newline="") as handle:
            for row in csv.DictReader(handle):
                cost = Cost(int(row["cells"]), float(row["cpu_seconds"]), float(row["peak_megabytes"]))
                found.add(row["case"], row["method"], cost)
    return found
