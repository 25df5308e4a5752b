"""Our losses beside the ones that the source prints: z-score, ratio and mark of every cell, from the cube alone.

A cell of fewer than `FEWEST` replicates is not judged: its own standard error is a guess, so that the difference is
told in brackets of the source, and there is neither a z-score nor a mark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from ..settings import SimulatedSettings
from .angles import simulated

# The source averages 400 replicates; its bracket is of the size of their standard deviation.
PRINTED_REPLICATES = 400
# Replicates below which a cell is not judged.
FEWEST = 30
# Both means are printed to three decimals.
ROUNDING = 0.0003
AGREES, NEAR = 2.0, 0.12
# Where nearly every method loses nearly everything, agreement is no evidence: limits by structure dimension.
SATURATED = {1: 1.0, 2: 1.4}
# A bracket of two decimals up to here is known to a quarter at best.
COARSE = 0.02
# Variables of an entry, replicate by replicate.
SHOWN = ("loss", "paper_mean", "paper_bracket", "epsilon_claimed", "epsilon_certified", "delta_exceeds_1_over_n")
MARKS = ("agrees", "within 12 %", "saturated", "not reproduced")


@dataclass(frozen=True)
class Entry:
    """One cell of a table.

    mean, se, replicates : ours; paper, bracket : as printed, NaN where the source prints nothing
    claimed, certified : total epsilon; vain : whether it stands at a total delta of 1/n or more
    """

    case: str
    model: str
    row: int
    n: int
    method: str
    clients: int
    mean: float
    se: float
    replicates: int
    paper: float
    bracket: float
    claimed: float
    certified: float
    vain: bool = False

    @property
    def judged(self) -> bool:
        """Whether there are replicates enough for a verdict."""
        return self.replicates >= FEWEST

    @property
    def brackets(self) -> float:
        """Difference in brackets of the source; NaN where it prints nothing."""
        return (self.mean - self.paper) / self.bracket

    @property
    def expected(self) -> float:
        """Two standard deviations of `brackets`, were every choice the source's own."""
        return 2 * np.sqrt(1 / self.replicates + 1 / PRINTED_REPLICATES)

    @property
    def z(self) -> float:
        """Difference over its standard error; NaN where the cell is not judged."""
        if not self.judged:
            return np.nan
        return (self.mean - self.paper) / np.sqrt(self.se**2 + self.bracket**2 / PRINTED_REPLICATES + ROUNDING**2)

    @property
    def approximate(self) -> bool:
        """Whether two decimals of the bracket leave a difference in its unit vague."""
        return self.bracket <= COARSE

    @property
    def ratio(self) -> float:
        """Ours over theirs."""
        return self.mean / self.paper

    @property
    def saturated(self) -> bool:
        """Whether the printed loss is so large that nearly every choice matches it."""
        return self.paper >= SATURATED[1 if self.model in ("I", "II") else 2]

    @property
    def mark(self) -> str:
        """One of `MARKS`; empty where the source prints nothing or the cell is not judged."""
        if not np.isfinite(self.paper) or not self.judged:
            return ""
        if abs(self.z) <= AGREES or abs(self.ratio - 1) <= NEAR:
            return "saturated" if self.saturated else MARKS[0 if abs(self.z) <= AGREES else 1]
        return MARKS[3]


def table_cases(cube: xr.Dataset, high: bool) -> list[tuple[str, SimulatedSettings]]:
    """Cases that stand for a row of Tables 1 and 2, or of Tables 3 and 4 (``high``), with their settings."""
    return [(c, s) for c, s in simulated(cube).items() if s.row is not None and s.screened == high]


def entries(cube: xr.Dataset, epsilon: float, high: bool) -> list[Entry]:
    """All cells of a table at one epsilon: every method and number of clients of its cases."""
    if epsilon not in cube["epsilon"].values or "loss" not in cube:
        return []
    part = cube[[name for name in SHOWN if name in cube]].sel(epsilon=epsilon).isel(fold=0)
    values = {str(name): part[name].transpose("case", "method_label", "parties", "replicate").values for name in part}
    cases, found = cube["case"].values.tolist(), []
    for case, settings in table_cases(cube, high):
        for j, method in enumerate(cube["method_label"].values.tolist()):
            for k, clients in enumerate(cube["parties"].values.tolist()):
                cell = {name: array[cases.index(case), j, k] for name, array in values.items()}
                losses = cell["loss"][np.isfinite(cell["loss"])]
                if len(losses):
                    found.append(_entry(cell, case, settings, method, clients, losses))
    return found


def _entry(
    cell: Mapping[str, np.ndarray],
    case: str,
    settings: SimulatedSettings,
    method: str,
    clients: int,
    losses: np.ndarray,
) -> Entry:
    def first(name: str) -> float:
        values = cell.get(name, np.array([np.nan]))
        values = values[~np.isnan(values)]
        return float(values[0]) if len(values) else np.nan

    return Entry(
        case=case,
        model=settings.model,
        row=settings.row or 0,
        n=settings.n,
        method=method,
        clients=clients,
        mean=float(losses.mean()),
        se=float(losses.std(ddof=1) / np.sqrt(len(losses))) if len(losses) > 1 else np.nan,
        replicates=len(losses),
        paper=first("paper_mean"),
        bracket=first("paper_bracket"),
        claimed=first("epsilon_claimed"),
        certified=first("epsilon_certified"),
        vain=first("delta_exceeds_1_over_n") == 1,
    )


def counts(found: Iterable[Entry]) -> dict[str, int]:
    """Number of judged cells of each mark."""
    number = Counter(entry.mark for entry in found)
    return {mark: number[mark] for mark in MARKS}


def printed(found: Iterable[Entry]) -> list[str]:
    """Methods that stand for a column of the source, in the order of the cube."""
    return list(dict.fromkeys(entry.method for entry in found if np.isfinite(entry.paper)))
