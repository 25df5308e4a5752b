"""Numbers of rows and sums of cells as they cross: on the grid of the slots, column after column, node after node.

Gradients and hessians are multiples of 2^-32 and cross as signed slots of one integer each (Seed 003, "Protection of
label-scattering"). Sums of such integers are exact, so trees equal those of the pooled fit of the same integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ....audits.attacks.messages import labels_from_signs
from ....federation.cipher import Cipher
from ....federation.exchanges.homomorphic import slots
from ....federation.exchanges.homomorphic.ciphertexts import ciphertext_bytes
from ..codes import CodedColumns


def group_rows(
    codes: CodedColumns, places: Sequence[int], node: np.ndarray, nodes: int
) -> tuple[np.ndarray, list[int]]:
    """Cells of rows: (columns, rows) node times size plus code, -1 outside all nodes; number of cells of each column.

    node : (rows,) of each row; a multiple of the n rows of the codes where every node has rows of its own
    """
    chosen = list(places)
    sizes = codes.sizes[chosen]
    code = np.tile(codes.codes[:, chosen].T.astype(np.int64), (1, len(node) // max(len(codes.codes), 1)))
    code = code[:, : len(node)]
    return np.where(node >= 0, node * sizes[:, None] + code, -1), [int(size) * nodes for size in sizes]


def open_sums(numbers: np.ndarray, cells: np.ndarray, counts: Sequence[int]) -> np.ndarray:
    """(all cells, 2) int64 sums of the rows of (n, 2) int64: what is summed of ciphertexts, in the clear."""
    blocks = [np.zeros((0, 2), dtype=np.int64)]
    for row, count in zip(cells, counts, strict=True):
        counted = row >= 0
        slot = [np.bincount(row[counted], numbers[counted, k].astype(float), minlength=count) for k in range(2)]
        blocks.append(np.stack(slot, axis=1).astype(np.int64))
    return np.concatenate(blocks)


def marks_of(nodes: np.ndarray, width: int) -> np.ndarray:
    """(n, width) uint8, big-endian: 1 + the node of each row, 0 for none."""
    return np.asarray(nodes + 1, dtype=">u4").view(np.uint8).reshape(-1, 4)[:, 4 - width :]


def nodes_of(marks: np.ndarray) -> np.ndarray:
    """Inverse of `marks_of`."""
    wide = np.zeros((len(marks), 4), dtype=np.uint8)
    wide[:, 4 - marks.shape[1] :] = marks
    return wide.view(">u4")[:, 0].astype(np.int64) - 1


def guessed_labels(gradients: Cipher | np.ndarray, forest: bool) -> np.ndarray | None:
    """(n,) bool, labels as the receiver of the gradients may guess them: by their signs, or a bit of their ciphertexts.

    None where a substitute was sent: it does not show what a cipher hides.
    """
    if isinstance(gradients, np.ndarray):
        return gradients[:, 0] > 0 if forest else labels_from_signs(gradients[:, 0])
    return ciphertext_bytes(gradients)[:, 0] >= 128 if gradients.scheme == "paillier" else None


def by_column(pairs: np.ndarray, sizes: Sequence[int], nodes: int, unit: float) -> list[np.ndarray]:
    """Sums (2, nodes, size) over the cells of each column, from (cells, 2) integers; gradients are in a unit."""
    values = np.ldexp(np.asarray(pairs, dtype=float), -slots.FRACTION_BITS) * [unit, 1.0]
    ends = pairwise(np.cumsum([0, *(nodes * size for size in sizes)]).tolist())
    return [values[a:b].T.reshape(2, nodes, size) for size, (a, b) in zip(sizes, ends, strict=True)]


def integers_of(a: np.ndarray, w: np.ndarray, times: np.ndarray | None, bound: float, unit: float = 1.0) -> np.ndarray:
    """(n, 2) int64 of numbers on the grid, gradients in a unit, of rows that count ``times`` (n,)."""
    most = float(np.max(np.abs(a) / (1 if times is None else np.maximum(times, 1)), initial=0.0))
    if most > bound:
        raise OverflowError(f"residual_bound is {bound:g}, and there is a residual beyond it: declare a larger one.")
    return np.stack([slots.to_fixed_point(a / unit), slots.to_fixed_point(w)], axis=1)
