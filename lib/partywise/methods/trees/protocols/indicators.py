"""First steps of every way of scoring together: the owner of each split, and the rows that go left of it."""

from __future__ import annotations

import numpy as np

from ....federation.parties import Party
from ....federation.places import PerPlace
from ....federation.run import Run
from ....privacy.accounted_values import Clear
from ....privacy.ledger.event import UNNAMED
from ..leaves import LeafLayout, Skeleton, laid_out, skeleton
from ..model import Ensemble, TreeColumn
from .common import active_of, held_out, passive_of


def scored_rows(run: Run) -> np.ndarray:
    """(n_test,) numbers of the records that are scored: public, as folds and options are."""
    return np.flatnonzero(held_out(run.fold))[: run.spec.options.inference_rows]


def local_layout(active: Party, ensemble: Ensemble, columns: tuple[TreeColumn, ...]) -> LeafLayout:
    """The parts of the ensemble that have splits of other parties."""
    return laid_out(ensemble, set(range(len(columns))) - set(active.columns), columns)


def local_splits(active: Party, layout: LeafLayout, columns: tuple[int, ...]) -> Clear:
    """The splits (m, 3) of one owner, which labels and the features of all parties chose."""
    return Clear(layout.of(columns), units=("label", "features"), owner=UNNAMED)


def local_form(active: Party, layout: LeafLayout, audience: tuple[str, ...]) -> Clear:
    """Form of trees and number of bins of tables, for the passive parties, which compute on all leaves."""
    form = (layout.inner, layout.bins)
    return Clear(form, units=("label", "features"), owner=UNNAMED, audience=audience)


def received_form(form: tuple[np.ndarray, np.ndarray]) -> Skeleton:
    """The form of what crosses, as a passive party reads it."""
    return skeleton(*form)


def own_form(layout: LeafLayout) -> Skeleton:
    """Skeleton of a layout, at the active party."""
    return skeleton(layout.inner, layout.bins)


def forms_of(run: Run, layout: LeafLayout) -> PerPlace[Skeleton]:
    """The form of what crosses, at every party."""
    active, names = active_of(run.parties), tuple(party.name for party in passive_of(run.parties))
    sent = run.broadcast(active, names, "form of trees and tables", local_form, layout, names)
    return run.each((active.name, *names), received_form, sent)


def local_left(party: Party, splits: np.ndarray, thresholds: tuple[np.ndarray, ...], rows: np.ndarray) -> np.ndarray:
    """(m, n) bool, which rows go left of each split of a passive party."""
    X, place = party.block["X"][rows], {column: k for k, column in enumerate(party.columns)}
    left = np.empty((len(splits), len(rows)), dtype=bool)
    for i, (_, column, cut) in enumerate(splits.tolist()):
        position = place[column]
        left[i] = X[:, position] <= thresholds[position][cut]
    return left


def local_own_left(active: Party, layout: LeafLayout, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (m,) of the active party's own splits, and which rows go left of each (m, n)."""
    splits, place = layout.of(active.columns), {column: k for k, column in enumerate(active.columns)}
    X = active.block["X"][rows][:, [place[column] for column in splits[:, 1].tolist()]]
    return splits[:, 0], layout.threshold[splits[:, 0], None] >= X.T


def local_open(
    party: Party, form: Skeleton, splits: np.ndarray, thresholds: tuple[np.ndarray, ...], rows: np.ndarray
) -> np.ndarray:
    """(leaves, n) bool, the leaves that the splits of a passive party leave open."""
    return form.open_leaves(splits[:, 0], local_left(party, splits, thresholds, rows))
