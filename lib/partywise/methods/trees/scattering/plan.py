"""Public facts of label scattering before it begins, what crosses in numbers, and its cost on the wire.

Sums of cells cross on the grid of the slots, column after column, node after node. Gradients and hessians are multiples
of 2^-32 and cross as signed slots of one integer each (Seed 003, "Protection of label-scattering"). Sums of such
integers are exact, so trees equal those of the pooled fit of the same integers.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ....audits.attacks.messages import labels_from_signs
from ....federation.cipher import Cipher
from ....federation.exchanges.homomorphic import slots
from ....federation.exchanges.homomorphic.ciphertexts import ciphertext_bytes
from ..codes import CodedColumns, public_bins, quantile_bins
from ..leaves import unit_of
from ..model import LEAF, Ensemble, Tree, TreeColumn, TreeFacts
from ..options import LARGEST_SUM, ScatteringOptions

# Grid of gradients and hessians.
STEP = 2.0**-slots.FRACTION_BITS


@dataclass(frozen=True)
class ScatteringPlan:
    """Public facts of a fit: from options, the number of rows and declared facts.

    n : rows that train
    bound : of a gradient's magnitude; inf where none is declared, which no slot holds
    unit : power of 2 in which gradients cross: 1, or what a smaller bound needs
    bits : of a slot; per : pairs in one ciphertext; width : bytes of a ciphertext; all 0 without encryption
    sizes : cells of every passive column
    node_bytes : of the mark that gives the node of a row; four hold as many nodes as there may be rows
    """

    n: int
    bound: float
    bits: int
    per: int
    width: int
    sizes: Mapping[int, int]
    node_bytes: int
    unit: float = 1.0

    def answer_bytes(self, cells: int) -> int:
        """Bytes of the sums of so many cells."""
        return self.width * self.ciphers(cells) if self.per else 16 * cells

    def ciphers(self, cells: int) -> int:
        """Ciphertexts that hold the sums of so many cells."""
        return -(-cells // self.per) if self.per else 0

    def cells(self, columns: Collection[int]) -> int:
        """Cells of some passive columns."""
        return sum(self.sizes[column] for column in columns)


def plan_of(
    options: ScatteringOptions, public: TreeFacts, n_train: int, passive_columns: Sequence[int]
) -> ScatteringPlan:
    """Make the plan, which everyone knows before anything crosses."""
    regression = public.criterion == "RegressionMSELoss"
    rows = max(n_train, options.batch_size or 0)
    bound, unit = (options.residual_bound or math.inf) if regression else 1.0, gradient_unit(options, public)
    sizes = {column: _size(public.columns[column], options) for column in passive_columns}
    node_bytes = min(max(1, -(-options.max_tree_depth // 8)), 4)
    if math.isfinite(bound) and rows * max(bound, 1.0) > LARGEST_SUM:
        named = f"residual_bound={bound:g}" if regression else "gradients up to 1"
        raise OverflowError(
            f"{named} with {rows} rows: sums above {LARGEST_SUM:g} are not exact on a grid of 2^-32; use fewer rows, "
            "or units in which residual_bound is smaller."
        )
    if options.cipher == "identity":
        return ScatteringPlan(n_train, bound, 0, 0, 0, sizes, node_bytes, unit)
    if math.isinf(bound):
        raise ValueError("residual_bound is None: the slots of a cipher need one in regression; give a public one.")
    bits = slots.slot_bits(rows, bound / unit)
    slots.require_room(bits, rows, max(bound, 1.0), "gradients or hessians")
    per = slots.per_cipher(options.key_size - 2, 2 * bits)
    return ScatteringPlan(n_train, bound, bits, per, options.key_size // 4, sizes, node_bytes, unit)


def gradient_unit(options: ScatteringOptions, public: TreeFacts) -> float:
    """Return the power of 2 in which gradients are whole steps of the grid: 1, or at least a smaller bound."""
    if public.criterion != "RegressionMSELoss" or not options.residual_bound:
        return 1.0
    return unit_of(options.residual_bound)


def passive_bins(X: np.ndarray, facts: Sequence[TreeColumn], options: ScatteringOptions) -> CodedColumns:
    """Codes of a passive party's training rows (n, d_k); each column has as many as everyone knows, empty ones too."""
    if options.edges == "public":
        return public_bins(X, [_edges(column, options) for column in facts])
    binned = quantile_bins(X, int(options.n_bins or 0), options.ties)
    sizes = np.array([_size(column, options) for column in facts], dtype=np.int64)
    # Nothing lies above the last value of a column that has fewer values than bins.
    above = (np.full(size - 1 - len(cuts), np.inf) for size, cuts in zip(sizes, binned.thresholds, strict=True))
    thresholds = tuple(np.concatenate(pair) for pair in zip(binned.thresholds, above, strict=True))
    return CodedColumns(binned.codes, sizes, thresholds)


def wire(
    ensemble: Ensemble,
    draws: Sequence[Sequence[int]],
    groups: Sequence[Sequence[int]],
    plan: ScatteringPlan,
    options: ScatteringOptions,
) -> dict[str, float | int | bool | str | None]:
    """Encryptions, decryptions and bytes of a fit (section 9 of the specification), from the trees that it grew.

    draws : columns of each tree; groups : columns of each passive party
    """
    encryptions = decryptions = size = 0
    row, passive = plan.width or 16, np.concatenate([[], *groups])
    for tree, drawn in zip(ensemble.trees, draws, strict=True):
        nodes, splits = _summed_nodes(tree, options.max_tree_depth), int(np.isin(tree.feature, passive).sum())
        rows = plan.n * (sum(nodes) if options.hide_instances else bool(nodes))
        cells = [count * plan.cells(set(group) & set(drawn)) for group in groups for count in nodes]
        marks = 0 if options.hide_instances else plan.n * plan.node_bytes * max(len(nodes) - 1, 0)
        encryptions += rows
        decryptions += sum(plan.ciphers(count) for count in cells)
        size += len(groups) * (rows * row + marks) + sum(map(plan.answer_bytes, cells))
        size += splits * (12 + -(-plan.n // 8))
    counts = (encryptions, decryptions) if plan.per else (0, 0)
    return dict(zip(("encryptions", "decryptions", "bytes_formula"), (*counts, size), strict=True))


def _summed_nodes(tree: Tree, depth: int) -> list[int]:
    """Nodes whose cells are summed, level by level: the root, then one of every pair of siblings that may split."""
    counts: list[int] = []
    level, pairs = np.zeros(1, dtype=np.intp), 1
    while pairs and len(counts) < depth:
        counts.append(pairs)
        inner = level[tree.feature[level] != LEAF]
        pairs, level = len(inner), np.concatenate([tree.left[inner], tree.right[inner]])
    return counts


def _size(column: TreeColumn, options: ScatteringOptions) -> int:
    return len(_edges(column, options)) + 1 if options.edges == "public" else int(options.n_bins or 0)


def _edges(column: TreeColumn, options: ScatteringOptions) -> np.ndarray:
    """Cuts that everyone knows: the declared ones, or equal parts of declared bounds."""
    if options.n_bins is None:
        return np.asarray(_declaration(column, "edges"), dtype=float)
    low, high = _declaration(column, "bounds")
    return np.linspace(low, high, options.n_bins + 1)[1:-1]


def _declaration(column: TreeColumn, what: str) -> Sequence[float]:
    declared = getattr(column, what)
    if declared is None:
        raise ValueError(f"{what} of column {column.name!r} are not declared: declare them, or use edges 'quantile'.")
    return declared.value


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
