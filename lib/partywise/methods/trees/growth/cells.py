"""Histograms: sums of two statistics over the cells of columns and the nodes of a level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..codes import CodedColumns
from .level import Level

# A cell is summed in so many parts: additions to one memory cell wait for each other where most rows have one code.
SLOTS = 8
# From so many rows on this pays.
MANY = 4096


@dataclass(frozen=True, eq=False)
class Bins:
    """Columns of one tree side by side, a cell for each of their codes.

    columns : (d,) their numbers, increasing
    starts : (d + 1,) first cell of each
    places : (d,) row of each in ``codes``
    codes : (D, n) intp, code of every row; D is at least d, and other trees may share them
    spread : (D, n) intp, the same codes times `SLOTS` plus a number below that changes from row to row; None for few
        rows
    """

    columns: np.ndarray
    starts: np.ndarray
    places: np.ndarray
    codes: np.ndarray
    spread: np.ndarray | None = None

    @property
    def count(self) -> int:
        """Number of cells."""
        return int(self.starts[-1])

    @property
    def sizes(self) -> np.ndarray:
        """(d,) number of cells of each column."""
        return np.diff(self.starts)

    def only(self, chosen: np.ndarray) -> Bins:
        """Some of the columns, by their positions or a boolean array (d,)."""
        sizes = self.sizes[chosen]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        return replace(self, columns=self.columns[chosen], starts=starts, places=self.places[chosen])


def bins_of(data: CodedColumns, columns: Sequence[int] | None = None) -> Bins:
    """Cells of some columns, increasing, by default of all."""
    every = np.arange(len(data.sizes))
    starts = np.concatenate([[0], np.cumsum(data.sizes)])
    codes = np.ascontiguousarray(data.codes.T, dtype=np.intp)
    spread = codes * SLOTS + np.arange(codes.shape[1]) % SLOTS if codes.shape[1] >= MANY else None
    bins = Bins(every, starts, every, codes, spread)
    return bins if columns is None else bins.only(np.asarray(columns, dtype=np.intp))


def histograms(bins: Bins, level: Level, a: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(2, wanted, cells) sums of a and w (n,) over the rows of the wanted nodes."""
    rows, node, nodes = None, None, len(level.summed_nodes)
    if not level.whole:
        place = np.full(level.width + 1, -1)
        place[level.summed_nodes] = np.arange(nodes)
        at = place[level.at]
        rows = np.flatnonzero(at >= 0)
        a, w = a[rows], w[rows]
        node = at[rows] if nodes > 1 else None
    # Counting is twice as fast as adding ones.
    values = a, None if np.all(w == 1) else w
    sums = np.empty((2, nodes, bins.count))
    for place, begin, end in zip(bins.places, bins.starts, bins.starts[1:], strict=False):
        cells = nodes * (end - begin)
        slots = SLOTS if bins.spread is not None and cells * SLOTS <= len(a) // 4 else 1
        codes = bins.codes[place] if bins.spread is None or slots == 1 else bins.spread[place]
        cell = codes if rows is None else codes.take(rows)
        if node is not None:
            cell += node * ((end - begin) * slots)
        for row, weights in enumerate(values):
            column_sums = np.bincount(cell, weights, cells * slots)
            column_sums = column_sums.reshape(cells, slots).sum(axis=1) if slots > 1 else column_sums
            sums[row, :, begin:end] = column_sums.reshape(nodes, end - begin)
    return sums


def complete_siblings(level: Level, computed: np.ndarray, before: np.ndarray | None) -> np.ndarray:
    """(2, m, cells) of all open nodes: the wanted as summed, their siblings as what is left of their parents.

    computed : (2, wanted, cells); before : (2, m', cells), completed, of the level before, None at the root
    """
    if before is None:
        return computed
    sums = np.empty((2, level.width, computed.shape[2]))
    sums[:, level.summed_nodes] = computed
    sums[:, level.summed_nodes ^ 1] = before[:, level.parents] - computed
    return sums
