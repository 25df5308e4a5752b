"""Steps of a passive party of label scattering: sums over its bins, order bits of its splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

# Any: what crosses is a cipher or, without encryption, an array: the key decides which.
from typing import Any

import numpy as np

from ....federation.exchanges.homomorphic import paillier
from ....federation.exchanges.homomorphic.grouped_sums import grouped_sums
from ....federation.exchanges.homomorphic.paillier_keys import PublicKey
from ....federation.parties import Party
from ....federation.roles import parts_with_labels, unprotected_value
from ....privacy.accounted_values import Clear
from ..codes import CodedColumns
from ..model import TreeSpec
from ..options import ScatteringOptions
from .column_groups import ColumnGroup, cells_of, group_columns
from .plan import ScatteringPlan, group_rows, guessed_labels, nodes_of, open_sums, passive_bins


@dataclass(frozen=True, eq=False)
class Work:
    """Report of a passive party: its additions, and the labels that it reads off the first gradients."""

    additions: int = 0
    guess: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class LevelSums:
    """Sums of a level at a passive party: the answer, and how many additions it took."""

    answer: Clear
    additions: int


def local_bins(passive: Party, train: np.ndarray, spec: TreeSpec[ScatteringOptions]) -> CodedColumns:
    """A passive party's own columns, coded; they stay there."""
    facts = [spec.public.columns[column] for column in passive.columns]
    return passive_bins(passive.block["X"][train], facts, spec.options)


def local_groups(passive: Party, codes: CodedColumns, options: ScatteringOptions) -> tuple[ColumnGroup, ...]:
    """Columns of a passive party that are summed together; they stay there."""
    return () if options.cipher == "identity" else group_columns(codes)


def local_thresholds(passive: Party, codes: CodedColumns) -> tuple[np.ndarray, ...]:
    """Raw values of the cuts of a passive party's columns."""
    return codes.thresholds


def local_sums(
    passive: Party,
    codes: CodedColumns,
    groups: Sequence[ColumnGroup],
    gradients: Any,
    marks: np.ndarray | None,
    drawn: Sequence[int],
    key: PublicKey | None,
    plan: ScatteringPlan,
    place: tuple[int, int],
    holder: str,
    rng_for: Callable,
) -> LevelSums:
    """Sums over nodes and bins of a passive party's columns, packed and re-randomised.

    groups : of columns that are summed together, where gradients are closed
    marks : node of every row; None where each node comes with gradients of its own
    holder : of the labels, which the gradients depend on
    """
    rows = gradients.shape[0]
    node = np.arange(rows) // max(plan.n, 1) if marks is None else nodes_of(marks)
    nodes = int(node.max(initial=-1)) + 1
    drawn_places = [k for k, column in enumerate(passive.columns) if column in set(np.asarray(drawn).tolist())]
    if len(node) < rows:
        # No node is open: nothing is summed.
        node = np.full(rows, -1)
    parts = parts_with_labels(passive, holder)
    if key is None:
        cells, counts = group_rows(codes, drawn_places, node, nodes)
        return LevelSums(unprotected_value(open_sums(gradients, cells, counts), parts), 0)
    steps = list(cells_of(groups, node, nodes, drawn_places))
    ciphers = paillier.pack(key, grouped_sums(key, gradients, steps), plan.per, 2 * plan.bits)
    rng = rng_for("encryption", passive.name, "sums", *place)
    additions = sum(step.additions for step in steps)
    return LevelSums(unprotected_value(paillier.rerandomise(key, ciphers, rng), parts), additions)


def local_answer(passive: Party, sums: LevelSums) -> Clear:
    """Part of the sums that leaves the party."""
    return sums.answer


def local_left(passive: Party, codes: CodedColumns, splits: np.ndarray, holder: str) -> Clear:
    """(m, n / 8) uint8, which rows go left of each split of a passive party: the order bit of every row.

    holder : of the labels, which the splits depend on
    """
    place = {column: k for k, column in enumerate(passive.columns)}
    left = [codes.codes[:, place[column]] <= cut for _, column, cut in splits.tolist()]
    rows = np.array(left, dtype=bool).reshape(len(splits), len(codes.codes))
    return unprotected_value(np.packbits(rows, axis=1), parts_with_labels(passive, holder))


def local_worked(passive: Party, before: Work, sums: LevelSums, gradients: Any, options: ScatteringOptions) -> Work:
    """Additions so far, and what the first gradients showed."""
    guess = guessed_labels(gradients, options.algo == "rf") if before.guess is None else before.guess
    return Work(before.additions + sums.additions, guess)
