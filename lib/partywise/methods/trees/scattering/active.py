"""Steps of the active party of label scattering: gradients that go out, splits from sums that others send, trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

# Any: what crosses is a cipher or, without encryption, an array: the key decides which.
from typing import Any

import numpy as np

from ....federation.cipher import Cipher
from ....federation.exchanges.homomorphic import paillier, slots
from ....federation.exchanges.homomorphic.paillier_keys import PrivateKey
from ....federation.parties import Party
from ....federation.roles import parts_of
from ....privacy.accounted_values import Clear, Public
from ....privacy.ledger.event import UNNAMED
from ..codes import CodedColumns
from ..ensemble import Draws, Growing, ensemble_of, round_to_grid, rule_of, statistics
from ..growth.cells import Bins, bins_of, complete_siblings, histograms
from ..growth.level import Level, Splits, close_level, split, start
from ..growth.splits import Rule, best_splits, left_of
from ..model import LEAF, ColumnGroups, Ensemble, TreeSpec
from ..options import ScatteringOptions
from .plan import STEP, ScatteringPlan, by_column, gradient_unit, integers_of, marks_of

LABELS = ("label", "features")


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


@dataclass(frozen=True, eq=False)
class TreeTraining:
    """State of the active party between trees: its codes, the draws of every tree, trees and scores so far."""

    codes: CodedColumns
    draws: tuple[Draws, ...]
    growing: Growing


def local_drawn(active: Party, training: TreeTraining, number: int) -> Public:
    """The columns of one tree."""
    return Public(np.array(training.draws[number][0], dtype=np.int64), because="drawn without data")


def local_root(
    active: Party, training: TreeTraining, train: np.ndarray, number: int, spec: TreeSpec[ScatteringOptions]
) -> Branches:
    """A tree of no splits: gradients and hessians on the grid of the slots."""
    drawn, times = training.draws[number]
    y, scores = active.block["y"][train], training.growing.scores
    unit = gradient_unit(spec.options, spec.public)
    sums = round_to_grid(*statistics(y, scores, spec.options, spec.public.criterion, times), STEP, unit)
    rows = None if times is None else times > 0
    return Branches.at_root(sums, rows, own_bins(training.codes, active.columns), drawn)


def local_gradients(
    active: Party,
    training: TreeTraining,
    branches: Branches,
    key: PrivateKey | None,
    plan: ScatteringPlan,
    place: tuple[int, int],
    hidden: bool,
    rng_for: Callable,
) -> Cipher | Clear:
    """Gradients and hessians of all rows, or once for every node that is summed, with zeros outside it.

    place : tree and level; all but the first gradients follow from the columns of all parties as well as from labels
    """
    numbers = integers_of(branches.a, branches.w, training.draws[place[0]][1], plan.bound, plan.unit)
    if hidden:
        inside = branches.node_positions == np.arange(len(branches.level.summed_nodes))[:, None]
        numbers = np.where(inside[..., None], numbers, 0).reshape(-1, 2)
    if key is None:
        return Clear(numbers, units=LABELS, owner=UNNAMED)
    pairs = slots.merge_slots((numbers[:, 0], numbers[:, 1]), plan.bits)
    rng = rng_for("encryption", active.name, "gradients", *place)
    return paillier.encrypt(key, pairs, rng, key_holder=active.name, made_of=parts_of((active,)))


def local_nodes(active: Party, branches: Branches, plan: ScatteringPlan, audience: tuple[str, ...]) -> Clear:
    """Node of each row among those that are summed; of no rows where there is none."""
    nodes = branches.node_positions[: len(branches.node_positions) if len(branches.level.summed_nodes) else 0]
    return Clear(marks_of(nodes, plan.node_bytes), units=LABELS, owner=UNNAMED, audience=audience)


def local_chosen(
    active: Party,
    branches: Branches,
    answers: Sequence[Any],
    groups: ColumnGroups,
    key: PrivateKey | None,
    plan: ScatteringPlan,
    options: ScatteringOptions,
) -> tuple[Branches, Splits]:
    """Best splits, from the answers of the passive parties in order."""
    nodes, sums = len(branches.level.summed_nodes), dict[int, np.ndarray]()
    others = [columns for name, columns in groups if name != active.name]
    for columns, answer in zip(others, answers, strict=True):
        drawn = [column for column in columns if column in branches.drawn_columns]
        sizes = [plan.sizes[column] for column in drawn]
        if key is None:
            pairs = answer
        else:
            integers = paillier.decrypt(key, answer)
            # The lower slot holds the hessian.
            pairs = slots.split_slots(integers, plan.bits, 2 * plan.per).reshape(-1, 2)[: nodes * sum(sizes), ::-1]
        sums |= dict(zip(drawn, by_column(pairs, sizes, nodes, plan.unit), strict=True))
    return branches.choose_splits(sums, rule_of(options))


def local_splits(active: Party, chosen: tuple[Branches, Splits], columns: tuple[int, ...]) -> Clear:
    """(m, 3) int32: node, column and cut of the splits of one owner."""
    branches, splits = chosen
    positions = _positions(splits, columns)
    rows = np.stack([branches.level.first + positions, splits.feature[positions], splits.cut[positions]], axis=1)
    return Clear(rows.astype(np.int32), units=LABELS, owner=UNNAMED)


def local_parted(
    active: Party, chosen: tuple[Branches, Splits], indicators: Sequence[np.ndarray], groups: ColumnGroups
) -> Branches:
    """One level on."""
    branches, splits = chosen
    n, left_rows = len(branches.a), dict[int, np.ndarray]()
    others = [columns for name, columns in groups if name != active.name]
    for columns, bits in zip(others, indicators, strict=True):
        left = np.unpackbits(bits, axis=1, count=n).astype(bool)
        left_rows |= dict(zip(_positions(splits, columns).tolist(), left, strict=True))
    return branches.split_by(splits, left_rows)


def local_grown(
    active: Party, training: TreeTraining, branches: Branches, plan: ScatteringPlan, spec: TreeSpec[ScatteringOptions]
) -> TreeTraining:
    """One tree more; cuts of passive columns are codes whose raw values the active party does not know."""
    known = dict(zip(active.columns, training.codes.thresholds, strict=True))
    unknown = {column: np.full(size - 1, np.nan) for column, size in plan.sizes.items()}
    every = tuple((known | unknown)[column] for column in range(len(spec.public.columns)))
    codes, level = replace(training.codes, thresholds=every), close_level(branches.level)
    growing = training.growing.with_tree(level, codes, spec.options, spec.public.criterion)
    return replace(training, growing=growing)


def local_ensemble(active: Party, training: TreeTraining, options: ScatteringOptions) -> Ensemble:
    """All trees; thresholds of own columns only."""
    return ensemble_of(training.growing.trees, options, training.growing.base)


def _positions(splits: Splits, columns: Sequence[int]) -> np.ndarray:
    """Open nodes that some columns split."""
    return np.flatnonzero(np.isin(splits.feature, columns))
