"""Exchange: sums over the cells of several columns of rows that are added up once for all of them.

`paillier.sums` adds every row once for each grouping. Here rows that agree in all columns are added first, and each
column's cells are sums of these. Of a column with two codes one cell may be the rest of its node: the total less the
other cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...cipher import Cipher
from .ciphertexts import cipher_of, group_sums, values_of
from .paillier import additions, group_totals
from .paillier_keys import PublicKey


@dataclass(frozen=True, eq=False)
class GroupedCells:
    """Rows that are added up together, and the sums that make the cells of each column.

    rows : (m,) number of the sum that each row counts in, -1 for none
    nodes : (c,) node of every sum; n_nodes : their number
    codes : (k, c) code of every sum in each column
    sizes : cells of each column per node
    rests : code of each column of two codes whose cell is the rest of its node; None where all are summed
    """

    rows: np.ndarray
    nodes: np.ndarray
    n_nodes: int
    codes: np.ndarray
    sizes: Sequence[int]
    rests: Sequence[int | None]

    def cells(self, column: int) -> np.ndarray:
        """(c,) cell of every sum in one column, node times size plus code."""
        return np.asarray(self.nodes * self.sizes[column] + self.codes[column])

    def summands(self, column: int) -> np.ndarray:
        """(c,) the same, -1 where the cell is the rest of its node."""
        rest = self.rests[column]
        return self.cells(column) if rest is None else np.where(self.codes[column] == rest, -1, self.cells(column))

    @property
    def additions(self) -> int:
        """Additions and subtractions that the sums take."""
        steps = [self.rows, *(self.summands(column) for column in range(len(self.sizes)))]
        rests = sum(rest is not None for rest in self.rests)
        steps += [self.nodes] if rests else []
        return sum(map(additions, steps)) + rests * self.n_nodes


def grouped_sums(public: PublicKey, cipher: Cipher, groups: Sequence[GroupedCells]) -> Cipher:
    """Sums of all cells, column after column; not re-randomised, and that of an empty cell shows that it is 0."""
    totals = list[int]()
    values = [] if public.kind == "sized" else values_of(public, cipher)
    for group in groups:
        if public.kind == "sized":
            for column, size in enumerate(group.sizes):
                inside = np.append(group.cells(column), -1)[group.rows]
                totals += group_sums(cipher.content, inside, size * group.n_nodes)
        else:
            totals += _cells(public, values, group)
    return cipher_of(public, totals, cipher.key_holder, cipher.made_of)


def _cells(public: PublicKey, values: Sequence[int], group: GroupedCells) -> list[int]:
    """Ciphertexts of all cells of one group of columns."""
    totals, zero = list[int](), public.zero(values)
    sums = group_totals(public, values, group.rows.tolist(), len(group.nodes))
    wanted = any(rest is not None for rest in group.rests)
    nodes = group_totals(public, sums, group.nodes.tolist(), group.n_nodes) if wanted else []
    for column, (size, rest) in enumerate(zip(group.sizes, group.rests, strict=True)):
        cells = group_totals(public, sums, group.summands(column).tolist(), size * group.n_nodes)
        if rest is not None:
            for node, total in enumerate(nodes):
                other = next((cell for cell in cells[node * size : (node + 1) * size] if cell != zero), zero)
                cells[node * size + rest] = public.add(total, public.times(other, -1))
        totals += cells
    return totals
