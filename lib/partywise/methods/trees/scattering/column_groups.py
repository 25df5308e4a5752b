"""Groups of a passive party's columns, whose rows of codes are summed once: fewer additions, the same sums.

Rows with the same codes in all columns of a group are added up first; the cells of each column are sums of these. Of a
column with two codes the rarer one is summed, and the other is the rest of its node. A product of ciphertexts does not
depend on the order of its factors, so that all cells are those of sums row by row, to the bit.

Groups are made from the party's own columns and stay with it. How many additions they take depends on the columns: the
evaluator of a simulation alone counts them, and no message or report of a distributed run has their number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ....federation.exchanges.homomorphic.grouped_sums import GroupedCells
from ..codes import CodedColumns

# Combinations of codes that a group of several columns has at most.
LARGEST = 512


@dataclass(frozen=True, eq=False)
class ColumnGroup:
    """Columns of a party whose rows are summed together.

    places : of the columns among those of the party; sizes : their cells
    row_combinations : (n,) combination of codes of each row; combinations : (m, k) codes of those that occur
    rests : code of each column whose cell is the rest of its node; None where all cells are summed
    """

    places: tuple[int, ...]
    sizes: tuple[int, ...]
    row_combinations: np.ndarray
    combinations: np.ndarray
    rests: tuple[int | None, ...]

    def cells(self, node: np.ndarray, nodes: int, drawn: Collection[int]) -> GroupedCells:
        """Steps of the sums over the cells of the columns that are drawn.

        node : (rows,) of each row, -1 for none; a multiple of the n rows where every node has rows of its own
        """
        times = -(-len(node) // max(len(self.row_combinations), 1))
        of_rows = np.tile(self.row_combinations, times)[: len(node)]
        inside, count = node >= 0, len(self.combinations)
        occurring, numbers = np.unique(node[inside] * count + of_rows[inside], return_inverse=True)
        rows = np.full(len(node), -1)
        rows[inside] = numbers
        cell_nodes, combination = np.divmod(occurring, max(count, 1))
        columns = [k for k, place in enumerate(self.places) if place in drawn]
        codes = self.combinations[combination][:, columns]
        sizes = [self.sizes[k] for k in columns]
        return GroupedCells(rows, cell_nodes, nodes, codes.T, sizes, [self.rests[k] for k in columns])


def group_columns(codes: CodedColumns) -> tuple[ColumnGroup, ...]:
    """Divide columns, in their order, into groups with at most `LARGEST` combinations of codes that occur."""
    groups, places = list[ColumnGroup](), list[int]()
    alone = np.zeros(len(codes.codes), dtype=np.int64)
    combinations = alone
    for place in range(codes.codes.shape[1]):
        rows = _join(combinations, codes, place)
        if places and rows.max(initial=-1) >= LARGEST:
            groups.append(_group(codes, places, combinations))
            places, rows = [], _join(alone, codes, place)
        places, combinations = [*places, place], rows
    return (*groups, _group(codes, places, combinations)) if places else ()


def _join(rows: np.ndarray, codes: CodedColumns, place: int) -> np.ndarray:
    """(n,) number of the combination of each row when a column is added to those of ``rows``."""
    return np.unique(rows * codes.sizes[place] + codes.codes[:, place], return_inverse=True)[1]


def _group(codes: CodedColumns, places: Sequence[int], rows: np.ndarray) -> ColumnGroup:
    _, first = np.unique(rows, return_index=True)
    rests = tuple(_rest(codes.codes[:, place]) if len(places) > 1 else None for place in places)
    sizes = tuple(int(codes.sizes[place]) for place in places)
    combinations = codes.codes[first][:, list(places)].astype(np.int64)
    return ColumnGroup(tuple(places), sizes, rows, combinations, rests)


def _rest(column: np.ndarray) -> int | None:
    """Return the more frequent code of a column that has at most two."""
    codes, counts = np.unique(column, return_counts=True)
    return int(codes[counts.argmax()]) if 0 < len(codes) <= 2 else None


def cells_of(
    groups: Sequence[ColumnGroup], node: np.ndarray, nodes: int, drawn: Collection[int]
) -> Iterator[GroupedCells]:
    """Yield the steps of every group that has a drawn column; all columns keep their order."""
    for group in groups:
        if not set(group.places).isdisjoint(drawn):
            yield group.cells(node, nodes, drawn)
