"""Sub-protocol: held-out rows are scored by all parties together, at the end of every federated protocol.

Source: seed 003, "Inference" (``vertical.eval``).  Every owner is told its splits (number, column, cut: 12 bytes), of
which it knows the thresholds.  Then, by the option ``inference``: ``plain``, owners send which rows go left of each of
their splits; ``he``, leaf vectors pass under encryption; ``ss``, additive shares are multiplied.  With ``none`` nothing
crosses and an evaluator outside the federation scores.

What is protected: nothing is certified.  Splits depend on labels and on everybody's features, scores on the features of
the scored rows: all of it is `Clear`, or closed.  Trees without a split of a passive party, and tables of the active
party's own columns, are its own business and cross in no form.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ...federation.parties import Party
from ...federation.run import Own, Run
from ...privacy.accounted import Clear
from ..leaves import Layout, crosses, skeleton
from ..model import Column, Ensemble, Table, Tree
from .common import active_of, passive_of
from .encrypted_inference import encrypted_scores
from .indicators import local_form, local_layout, local_left, local_open, local_own_left, local_splits, scored_rows
from .shared_inference import shared_scores


def local_indicators(party: Party, splits: np.ndarray, thresholds: tuple[np.ndarray, ...], rows: np.ndarray) -> Clear:
    """(m, n_test / 8) uint8, which rows go left of each split of a passive party, a bit a row."""
    return Clear(np.packbits(local_left(party, splits, thresholds, rows), axis=1), units=("features",))


def local_chosen(
    active: Party, layout: Layout, splits: list[np.ndarray], indicators: tuple[np.ndarray, ...], rows: np.ndarray
) -> list[np.ndarray]:
    """For every tree and table that crosses, what it adds to the score of each row (n_test,)."""
    form = skeleton(layout.inner, layout.buckets)
    open_leaves = form.open_leaves(*local_own_left(active, layout, rows))
    for own, bits in zip(splits, indicators, strict=True):
        left = np.unpackbits(bits, axis=1, count=len(rows)).astype(bool)
        open_leaves &= form.open_leaves(own[:, 0], left)
    ends = pairwise(form.starts.tolist())
    return [layout.weight[start:end][open_leaves[start:end].argmax(axis=0)] for start, end in ends]


def local_scores(
    active: Party, ensemble: Ensemble, columns: tuple[Column, ...], joint: list[np.ndarray], rows: np.ndarray
) -> np.ndarray:
    """(n_test,) scores: what each tree and table adds, in their order, of those that cross from ``joint``.

    Where ``joint`` has one array only, it is what all that cross add together.
    """
    X = np.full((len(rows), len(columns)), np.nan)
    X[:, active.columns] = active.block["X"][rows]
    others, terms = set(range(len(columns))) - set(active.columns), iter(joint)
    total = np.full(len(rows), ensemble.base)
    parts: list[Tree | Table] = [*ensemble.trees, *ensemble.tables]
    for part in parts:
        if crosses(part, others):
            total += next(terms, 0.0)
        elif isinstance(part, Table):
            total += part.at(X)
        else:
            total += ensemble.weight * part.value[part.leaves_of(X)]
    return total


def deployed(run: Run, ensemble: Any, thresholds: Any) -> Any:
    """Score the held-out rows by the option ``inference``.

    Parameters
    ----------
    run : Run
        With options of `DeployedOptions`; where ``inference`` is ``ss``, with the place `sharing.DEALER`.
    ensemble : placed Ensemble
        At the active party: cuts of all splits, thresholds of its own columns; tables with raw edges that are
        declared for their columns.
    thresholds : Own
        At every passive party the raw thresholds of its columns' cuts: arrays in the order of ``party.columns``.

    Returns
    -------
    placed (n_test,) array or None
        Scores of the held-out rows, at the active party; None where ``inference`` is ``none``.
    """
    if run.spec.options.inference == "none":
        return None
    active, passive = active_of(run.parties), passive_of(run.parties)
    columns, rows = run.spec.public.columns, scored_rows(run)
    layout = run.at(active, local_layout, ensemble, columns)
    sent = [run.send(active, party, "deployed splits", local_splits, layout, party.columns) for party in passive]
    splits = Own({party.name: own for party, own in zip(passive, sent, strict=True)})
    if run.spec.options.inference == "plain":
        indicators = run.gather(passive, active, "left indicators", local_indicators, splits, thresholds, rows)
        joint = run.at(active, local_chosen, layout, sent, indicators, rows)
    else:
        joint = _closed(run, active, layout, splits, thresholds, rows)
    return run.at(active, local_scores, ensemble, columns, joint, rows)


def _closed(run: Run, active: Any, layout: Any, splits: Own, thresholds: Any, rows: np.ndarray) -> Any:
    """Scores by ciphers or shares: everybody is told how trees branch, which steers."""
    others = tuple(name for name in run.names if name != active.name)
    sent = run.broadcast(active, others, "form of trees and tables", local_form, layout, others)
    form = skeleton(*run.known(sent))
    if not form.leaves or not len(rows):
        return ()
    if run.spec.options.inference == "he":
        open_leaves = run.each(passive_of(run.parties), local_open, form, splits, thresholds, rows)
        return encrypted_scores(run, form, layout, open_leaves, rows)
    return shared_scores(run, form, layout, splits, thresholds, rows)
