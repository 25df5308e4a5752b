"""Our losses next to the ones that the source prints: difference, standard error and verdict of every cell.

From `FEWEST` replicates on the standard error is that of our replicates.  Below, their standard deviation is a guess;
the source's bracket, which has the size of a standard deviation, stands for it: were our replicates draws of the
source's own, their mean would lie within two such standard errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from ..settings import SimulatedSlicingSettings
from .angles import simulated_settings

# The source averages 400 replicates; its bracket is of the size of their standard deviation.
PRINTED_REPLICATES = 400
# Replicates from which on their own standard deviation is used.
FEWEST = 30
# Both means are printed to three decimals; the last digit of a bracket is worth 0.01.
ROUNDING, HALF_DIGIT = 0.0003, 0.005
AGREES, NEAR = 2.0, 0.12
# Where nearly every method loses nearly everything, agreement is no evidence: limits by structure dimension.
SATURATED = {1: 1.0, 2: 1.4}
# Variables of an entry, replicate by replicate.
SHOWN = ("loss", "paper_mean", "paper_bracket", "epsilon_claimed", "epsilon_certified", "delta_exceeds_1_over_n")
VERDICTS = ("agrees", "within 12 %", "saturated", "not reproduced")


@dataclass(frozen=True)
class TableMark:
    """One cell of a table.

    mean, se, replicates : ours; paper, bracket : as printed, NaN where the source prints nothing
    epsilon_claimed, epsilon_certified : total; delta_at_least_1_over_n : whether they are at a total delta >= 1/n
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
    epsilon_claimed: float
    epsilon_certified: float
    delta_at_least_1_over_n: bool = False

    @property
    def difference(self) -> float:
        """Our mean minus the printed one; NaN where the source prints nothing."""
        return self.mean - self.paper

    @property
    def error(self) -> float:
        """Standard error of the difference: ours and theirs, and what rounding leaves open."""
        se = self.se if self.replicates >= FEWEST else (self.bracket + HALF_DIGIT) / np.sqrt(self.replicates)
        return float(np.sqrt(se**2 + self.bracket**2 / PRINTED_REPLICATES + ROUNDING**2))

    @property
    def z(self) -> float:
        """Difference over its standard error; NaN where the source prints nothing."""
        return self.difference / self.error

    @property
    def ratio(self) -> float:
        """Ours over theirs."""
        return self.mean / self.paper

    @property
    def is_saturated(self) -> bool:
        """Whether the printed loss is so large that nearly every choice matches it."""
        return self.paper >= SATURATED[1 if self.model in ("I", "II") else 2]

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`; empty where the source prints nothing."""
        if not np.isfinite(self.paper):
            return ""
        if abs(self.z) <= AGREES or abs(self.ratio - 1) <= NEAR:
            return "saturated" if self.is_saturated else VERDICTS[0 if abs(self.z) <= AGREES else 1]
        return VERDICTS[3]


def table_cases(cube: xr.Dataset, high: bool) -> list[tuple[str, SimulatedSlicingSettings]]:
    """Cases that stand for a row of Tables 1 and 2, or of Tables 3 and 4 (``high``), with their settings."""
    return [(c, s) for c, s in simulated_settings(cube).items() if s.row is not None and s.screened == high]


def entries(cube: xr.Dataset, epsilon: float, high: bool) -> list[TableMark]:
    """All cells of a table at one epsilon: every method and number of clients of its cases."""
    if epsilon not in cube["epsilon"].values or "loss" not in cube:
        return []
    part = cube[[name for name in SHOWN if name in cube]].sel(epsilon=epsilon).isel(fold=0)
    values = {str(name): part[name].transpose("case", "method_label", "parties", "replicate").values for name in part}
    cases, cells = cube["case"].values.tolist(), []
    for case, settings in table_cases(cube, high):
        for j, method in enumerate(cube["method_label"].values.tolist()):
            for k, clients in enumerate(cube["parties"].values.tolist()):
                cell = {name: array[cases.index(case), j, k] for name, array in values.items()}
                losses = cell["loss"][np.isfinite(cell["loss"])]
                if len(losses):
                    cells.append(_entry(cell, case, settings, method, clients, losses))
    return cells


def _entry(
    cell: Mapping[str, np.ndarray],
    case: str,
    settings: SimulatedSlicingSettings,
    method: str,
    clients: int,
    losses: np.ndarray,
) -> TableMark:
    def first(name: str) -> float:
        values = cell.get(name, np.array([np.nan]))
        values = values[~np.isnan(values)]
        return float(values[0]) if len(values) else np.nan

    return TableMark(
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
        epsilon_claimed=first("epsilon_claimed"),
        epsilon_certified=first("epsilon_certified"),
        delta_at_least_1_over_n=first("delta_exceeds_1_over_n") == 1,
    )


def counts(cells: Iterable[TableMark]) -> dict[str, int]:
    """Number of cells of each verdict."""
    number = Counter(entry.verdict for entry in cells)
    return {verdict: number[verdict] for verdict in VERDICTS}


def source_methods(cells: Iterable[TableMark]) -> list[str]:
    """Methods that stand for a column of the source, in the order of the cube."""
    return list(dict.fromkeys(entry.method for entry in cells if np.isfinite(entry.paper)))
