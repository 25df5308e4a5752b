"""What every way of scoring together begins with: who owns which split, and which rows go left of it."""

from __future__ import annotations

import numpy as np

from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.accounted import Clear
from ...privacy.ledger.event import UNNAMED
from ..leaves import Layout, Skeleton, laid_out
from ..model import Column, Ensemble
from .common import held_out


def scored_rows(run: Run) -> np.ndarray:
    """(n_test,) numbers of the records that are scored: public, as folds and options are."""
    return np.flatnonzero(held_out(run.fold))[: run.spec.options.inference_rows]


def local_layout(active: Party, ensemble: Ensemble, columns: tuple[Column, ...]) -> Layout:
    """The parts of the ensemble that have splits of other parties."""
    return laid_out(ensemble, set(range(len(columns))) - set(active.columns), columns)


def local_splits(active: Party, layout: Layout, columns: tuple[int, ...]) -> Clear:
    """The splits (m, 3) of one owner, which labels and the features of all parties chose."""
    return Clear(layout.of(columns), units=("label", "features"), owner=UNNAMED)


def local_form(active: Party, layout: Layout, audience: tuple[str, ...]) -> Clear:
    """How trees branch and how many buckets tables have, for everybody who computes on all leaves."""
    form = (layout.inner, layout.buckets)
    return Clear(form, units=("label", "features"), owner=UNNAMED, audience=audience)


def local_left(party: Party, splits: np.ndarray, thresholds: tuple[np.ndarray, ...], rows: np.ndarray) -> np.ndarray:
    """(m, n) bool, which rows go left of each split of a passive party."""
    X, place = party.block["X"][rows], {column: k for k, column in enumerate(party.columns)}
    left = np.empty((len(splits), len(rows)), dtype=bool)
    for i, (_, column, cut) in enumerate(splits.tolist()):
        own = place[column]
        left[i] = X[:, own] <= thresholds[own][cut]
    return left


def local_own_left(active: Party, layout: Layout, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (m,) of the active party's own splits, and which rows go left of each (m, n)."""
    own, place = layout.of(active.columns), {column: k for k, column in enumerate(active.columns)}
    X = active.block["X"][rows][:, [place[column] for column in own[:, 1].tolist()]]
    return own[:, 0], layout.threshold[own[:, 0], None] >= X.T


def local_open(
    party: Party, form: Skeleton, splits: np.ndarray, thresholds: tuple[np.ndarray, ...], rows: np.ndarray
) -> np.ndarray:
    """(leaves, n) bool, the leaves that the splits of a passive party leave open."""
    return form.open_leaves(splits[:, 0], local_left(party, splits, thresholds, rows))
