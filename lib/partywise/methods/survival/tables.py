"""The certified table: every record is in one of a few public cells, whose counts are released with noise.

A record has the event in bin j by one of C causes, is censored in bin j, or is still followed at the horizon: one of
(C + 1) J + 1 cells of its group, 2 J + 1 where there is one cause.  Replacing a record moves two counts by one, so that
the l2 sensitivity is the root of 2.

Prior art: Gondara and Wang, Differentially Private Survival Function Estimation (PMLR 126, 2020), release noisy counts
of events and records at risk once, and take survival, intervals and tests from them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from .exact import bins_of
from .records import SurvivalRecords, round_times

Relation = Literal["replace_one", "add_remove"]
# Bins that the rule may choose.
FEWEST, MOST = 4, 64


def equal_edges(horizon: float, bins: int) -> np.ndarray:
    """Edges (J + 1,) of bins of equal width from 0 to the horizon, rounded as times are, so that a time may be one."""
    return round_times(horizon * np.arange(bins + 1) / bins, horizon)


def chosen_bins(records: int, mu: float, noise_factor: float = 1.0) -> int:
    """Number of bins by public numbers alone: about as wide as makes discretisation and noise alike.

    J = (n mu / (4 sqrt(2 K')))^(2/3), between 4 and 64, where K' (``noise_factor``) is the variance of the noise in
    units of that of one release for all: K where each of K clients adds its own.
    """
    return int(np.clip(np.rint((records * mu / (4 * np.sqrt(2 * noise_factor))) ** (2 / 3)), FEWEST, MOST))


def cells_of(records: SurvivalRecords, edges: np.ndarray, causes: int = 1) -> np.ndarray:
    """Cell (n,) of each record: J times its cause, or C where it is censored, and its bin; the last cell is the end."""
    bins, records = len(edges) - 1, records.until(edges[-1])
    followed = (records.times == edges[-1]) & ~records.events
    block = np.where(records.events, records.causes, causes)
    return np.where(followed, (causes + 1) * bins, bins_of(records.times, edges) + bins * block)


def cell_counts(records: SurvivalRecords, edges: np.ndarray, groups: int = 1, causes: int = 1) -> np.ndarray:
    """Counts (A, (C + 1) J + 1): events by cause and bin, censored records by bin, those followed at the last edge."""
    size = cells_per_group(len(edges) - 1, causes)
    cells = records.groups * size + cells_of(records, edges, causes)
    return np.bincount(cells, minlength=groups * size).reshape(groups, size)


def cells_per_group(bins: int, causes: int) -> int:
    """(C + 1) J + 1."""
    return (causes + 1) * bins + 1


@dataclass(frozen=True, eq=False)
class CellTable:
    """Released counts of cells, after the correction of their sum where n is public.

    cells : (A, (C + 1) J + 1) noisy counts; edges : (J + 1,)
    sd : of the noise of a cell, of all clients together; 0 without noise
    records : n, where it is public (``replace_one``); None under ``add_remove``
    causes : C, of events
    """

    cells: np.ndarray
    edges: np.ndarray
    sd: float
    records: int | None
    causes: int = 1

    @property
    def bins(self) -> int:
        """Number of bins J."""
        return len(self.edges) - 1

    @property
    def size(self) -> float:
        """n, or what is released of it; at least 1."""
        if self.records is not None and len(self.cells) == 1:
            return float(self.records)
        return max(float(np.maximum(self.cells, 0).sum()), 1.0)

    def group(self, group: int) -> CellTable:
        """The table of one group, whose size is not public among several."""
        return replace(self, cells=self.cells[[group]], records=self.records if len(self.cells) == 1 else None)

    @property
    def events_by_cause(self) -> np.ndarray:
        """Noisy events (A, C, J) by cause and bin."""
        return self.cells[:, : self.causes * self.bins].reshape(len(self.cells), self.causes, self.bins)

    @property
    def events(self) -> np.ndarray:
        """Noisy events d (A, J) of all causes by bin."""
        return self.events_by_cause.sum(axis=1)

    @property
    def censorings(self) -> np.ndarray:
        """Noisy censored records c (A, J) by bin."""
        return self.cells[:, self.causes * self.bins : -1]

    @property
    def at_start(self) -> np.ndarray:
        """Noisy records N (A, J) that are followed into each bin."""
        left = self.events + self.censorings
        return np.cumsum(left[:, ::-1], axis=1)[:, ::-1] + self.cells[:, -1:]

    @property
    def at_risk(self) -> np.ndarray:
        """Noisy records r (A, J) at risk in each bin, at least 1, of whom half of the censored count (actuarial)."""
        return np.maximum(self.at_start - self.censorings / 2, 1)

    @property
    def least_at_start(self) -> np.ndarray:
        """Least numbers of followed records (J,) that stand out of their noise; at least one."""
        cells = (self.causes + 1) * np.arange(self.bins, 0, -1) + 1
        return np.maximum(3 * self.sd * np.sqrt(cells), 1)

    @property
    def determined_bins(self) -> int:
        """Bins, from the first on, whose number at risk stands out of its noise in every group."""
        clear = (self.at_start >= self.least_at_start).all(axis=0)
        return int(np.flatnonzero(clear)[-1]) + 1 if clear.any() else 0


def correct_sum(cells: np.ndarray, edges: np.ndarray, sd: float, records: int | None, causes: int = 1) -> CellTable:
    """The table of released counts: where n is public, what their sum lacks is shared among all cells."""
    noisy = np.asarray(cells, float)
    if records is not None:
        noisy = noisy + (records - noisy.sum()) / noisy.size
    return CellTable(noisy, edges, sd, records, causes)


def merge(table: CellTable, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Events and censored records (J / count,) of a single group, summed over ``count`` neighbouring bins."""
    return table.events[0].reshape(-1, count).sum(axis=1), table.censorings[0].reshape(-1, count).sum(axis=1)
