"""A tree as the active party grows it, from its own columns and sums that others send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..codes import CodedColumns
from ..growth.cells import Bins, bins_of, complete_siblings, histograms
from ..growth.level import Level, Splits, split, start
from ..growth.splits import Rule, best_splits, left_of
from ..model import LEAF


@dataclass(frozen=True, eq=False)
class Branches:
    """A tree as the active party grows it.

    a, w : (n,) what is summed, multiples of 2^-32; bound : of the magnitude of ``a``
    active_bins : cells of its own columns that were drawn; drawn_columns : all that were, increasing
    level, before : the open nodes, and the sums of those before
    """

    a: np.ndarray
    w: np.ndarray
    active_bins: Bins
    drawn_columns: tuple[int, ...]
    level: Level
    before: np.ndarray | None = None

    @classmethod
    def at_root(
        cls, sums: tuple[np.ndarray, np.ndarray], rows: np.ndarray | None, active_bins: Bins, drawn: Sequence[int]
    ) -> Branches:
        """The root, of all rows or those of a boolean array (n,)."""
        chosen = active_bins.only(np.isin(active_bins.columns, drawn))
        return cls(*sums, chosen, tuple(sorted(drawn)), start(*sums, rows))

    @property
    def node_positions(self) -> np.ndarray:
        """(n,) position of each row among the nodes that are summed, -1 in none: of siblings the smaller one."""
        place = np.full(self.level.width + 1, -1)
        place[self.level.summed_nodes] = np.arange(len(self.level.summed_nodes))
        return place[self.level.at]

    def choose_splits(self, sums: Mapping[int, np.ndarray], rule: Rule) -> tuple[Branches, Splits]:
        """Best split of every open node, from sums (2, wanted, size) over the cells of each column of other parties."""
        active_sums = histograms(self.active_bins, self.level, self.a, self.w)
        ends = pairwise(self.active_bins.starts.tolist())
        active_cells = {
            int(c): active_sums[:, :, a:b] for c, (a, b) in zip(self.active_bins.columns, ends, strict=True)
        }
        blocks = [active_cells[column] if column in active_cells else sums[column] for column in self.drawn_columns]
        completed = complete_siblings(self.level, np.concatenate(blocks, axis=2), self.before)
        starts = np.concatenate([[0], np.cumsum([block.shape[2] for block in blocks])])
        every = np.arange(len(blocks))
        bins = Bins(np.array(self.drawn_columns), starts, every, np.empty((len(blocks), 0), dtype=np.intp))
        return replace(self, before=completed), best_splits(bins, self.level, completed, rule)

    def split_by(self, splits: Splits, indicators: Mapping[int, np.ndarray]) -> Branches:
        """One level on, from the owners' indicators of the splits of their columns: (n,) bool by position."""
        by_active = np.isin(splits.feature, self.active_bins.columns)
        left = left_of(self.active_bins, self.level, replace(splits, feature=np.where(by_active, splits.feature, LEAF)))
        for position, indicator in indicators.items():
            inside = self.level.at == position
            left[inside] = indicator[inside]
        return replace(self, level=split(self.level, splits, left))


def own_bins(data: CodedColumns, columns: Sequence[int]) -> Bins:
    """Cells of a party's own columns under their global numbers."""
    order = np.argsort(np.asarray(columns, dtype=np.intp), kind="stable")
    bins = bins_of(data).only(order)
    return replace(bins, columns=np.asarray(columns, dtype=np.intp)[order])
