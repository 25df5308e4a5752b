"""First steps of every protocol of vertical trees: roles of parties, rows, codes of own columns, draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ....federation.folds import Fold
from ....federation.parties import Participant, Party
from ..codes import CodedColumns, dense_ranks, quantile_bins
from ..ensemble import Draws, grow_trees, renumber
from ..model import ColumnGroups, Ensemble, TreeColumn, TreeFacts
from ..options import TreeOptions

P = TypeVar("P", bound=Participant)


def active_of(parties: Sequence[P]) -> P:
    """The party that holds the labels."""
    return next(party for party in parties if party.role == "active")


def passive_of(parties: Sequence[P]) -> tuple[P, ...]:
    """The parties that hold features only, in order."""
    return tuple(party for party in parties if party.role == "passive")


def columns_of(parties: Sequence[Participant]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Name and global columns of every party: public."""
    return tuple((party.name, tuple(party.columns)) for party in parties)


def held_out(fold: Fold) -> np.ndarray:
    """(N,) bool, the rows that are scored: none where all train."""
    return (fold.of == fold.held_out) & ~fold.train


def own_codes(X: np.ndarray, options: TreeOptions) -> CodedColumns:
    """Codes of the active party's training rows (n, d): quantile bins, or dense ranks."""
    if options.own_n_bins is None:
        return dense_ranks(X, options.ties)
    return quantile_bins(X, options.own_n_bins, options.ties)


def local_codes(active: Party, train: np.ndarray, options: TreeOptions) -> CodedColumns:
    """The active party's own columns, coded; they stay there."""
    return own_codes(active.block["X"][train], options)


def local_rows(party: Party, train: np.ndarray) -> dict[str, np.ndarray]:
    """A party's own training rows, for what is reported of the run."""
    return {name: values[train] for name, values in party.block.items()}


def local_own_ensemble(
    active: Party, train: np.ndarray, data: CodedColumns, options: TreeOptions, facts: TreeFacts, rng_for: Callable
) -> Ensemble:
    """Trees that the active party grows alone, on its own columns as coded; features have global numbers."""
    y = active.block["y"][train]
    places = ((active.name, tuple(range(len(active.columns)))),)
    draws = draws_of(places, len(y), options, rng_for)
    ensemble = grow_trees(data, y, options, facts.criterion, draws, outputs=facts.outputs, bounds=facts.response_bounds)
    return renumber(ensemble, active.columns)


def local_residual_clip_share(active: Party, gradients: np.ndarray, bound: float) -> float:
    """Return the share of gradients (n,) beyond their public bound, which the estimator reports."""
    beyond = int(np.count_nonzero(np.abs(gradients) > bound))
    active.clips.add("residual_bound", beyond, len(gradients))
    return beyond / len(gradients)


def local_beyond(party: Party, columns: Sequence[TreeColumn]) -> None:
    """Count the entries of a party beyond the declared ranges of its columns, or in one and the same of their bins."""
    for place, j in enumerate(party.columns):
        values, column = party.block["X"][:, place], columns[j]
        values = values[~np.isnan(values)]
        if column.bounds is not None:
            low, high = column.bounds.value
            party.clips.add("public_bounds", int(np.count_nonzero((values < low) | (values > high))), len(values))
        elif column.edges is not None and len(values):
            # Values beyond the outer edges are in the outer bins, which is where they belong, unless all are in one.
            bins = np.searchsorted(column.edges.value, values, side="left")
            outer = bool(np.all(bins == bins[0])) and bins[0] in (0, len(column.edges.value))
            party.clips.add("public_edges", len(values) * outer, len(values))


def draws_of(groups: ColumnGroups, n: int, options: TreeOptions, rng_for: Callable) -> tuple[Draws, ...]:
    """Draws for every tree, at the active party: columns of each party, and rows of a forest."""
    trees = range(options.num_of_trees)
    return tuple((_columns(groups, options, rng_for, tree), _times(n, options, rng_for, tree)) for tree in trees)


def _columns(groups: ColumnGroups, options: TreeOptions, rng_for: Callable, tree: int) -> tuple[int, ...]:
    drawn: list[int] = []
    for name, columns in groups:
        # A product such as .1 * 30 must not lose a column to rounding.
        count = max(1, int(options.feature_subsample_ratio * len(columns) + 1e-9))
        if count >= len(columns):
            drawn.extend(columns)
            continue
        places = rng_for("drawn columns", name, tree).permutation(len(columns))[:count]
        drawn.extend(columns[place] for place in places)
    return tuple(sorted(drawn))


def _times(n: int, options: TreeOptions, rng_for: Callable, tree: int) -> np.ndarray | None:
    """Number of times that each row is drawn for a tree of a forest; None where trees see every row once."""
    if options.algo != "rf":
        return None
    size = n if options.batch_size is None else options.batch_size
    return np.bincount(rng_for("drawn rows", tree).integers(n, size=size), minlength=n)
