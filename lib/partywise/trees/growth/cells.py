"""Histograms: sums of two statistics over the cells of columns and the nodes of a level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..codes import Coded
from .level import Level


@dataclass(frozen=True, eq=False)
class Bins:
    """Columns of one tree side by side, a cell for each of their codes.

    columns : (d,) their numbers, increasing
    starts : (d + 1,) first cell of each
    places : (d,) where each stands in ``codes``
    codes : (D, n) intp, code of every row; D is at least d, and other trees may share them
    """

    columns: np.ndarray
    starts: np.ndarray
    places: np.ndarray
    codes: np.ndarray

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


def bins_of(data: Coded, columns: Sequence[int] | None = None) -> Bins:
    """Cells of some columns, increasing, by default of all."""
    every = np.arange(len(data.sizes))
    starts = np.concatenate([[0], np.cumsum(data.sizes)])
    bins = Bins(every, starts, every, np.ascontiguousarray(data.codes.T, dtype=np.intp))
    return bins if columns is None else bins.only(np.asarray(columns, dtype=np.intp))


def histograms(bins: Bins, level: Level, a: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(2, wanted, cells) sums of a and w (n,) over the rows of the wanted nodes."""
    rows, node, nodes = None, np.empty(0, dtype=np.intp), len(level.wanted)
    if not level.whole:
        place = np.full(level.width + 1, -1)
        place[level.wanted] = np.arange(nodes)
        at = place[level.at]
        rows = np.flatnonzero(at >= 0)
        node, a, w = at[rows], a[rows], w[rows]
    # Counting is twice as fast as adding ones.
    weights = None if np.all(w == 1) else w
    sums = np.empty((2, nodes, bins.count))
    for place, begin, end in zip(bins.places.tolist(), bins.starts.tolist(), bins.starts[1:].tolist(), strict=False):
        size = end - begin
        cell = bins.codes[place] if rows is None else bins.codes[place].take(rows)
        if nodes > 1:
            cell += node * size
        for row, values in enumerate((a, weights)):
            sums[row, :, begin:end] = np.bincount(cell, values, nodes * size).reshape(nodes, size)
    return sums


def completed(level: Level, computed: np.ndarray, before: np.ndarray | None) -> np.ndarray:
    """(2, m, cells) of all open nodes: the wanted as summed, their siblings as what is left of their parents.

    computed : (2, wanted, cells); before : (2, m', cells), completed, of the level before, None at the root
    """
    if before is None:
        return computed
    found = np.empty((2, level.width, computed.shape[2]))
    found[:, level.wanted] = computed
    found[:, level.wanted ^ 1] = before[:, level.parents] - computed
    return found
