"""Sub-protocol: held-out rows are scored by all parties together, at the end of every federated protocol.

Source: document 003, "Inference" (``vertical.eval``).  Every owner gets its splits (number, column, cut: 12 bytes), of
which it knows the thresholds.  Then, by the option ``inference``: ``plain``, owners send which rows go left of each of
their splits; ``he``, leaf vectors pass under encryption; ``ss``, additive shares are multiplied.  With ``none`` nothing
crosses and an evaluator outside the federation scores.

What is protected: nothing is certified.  Splits depend on labels and on all features, scores on the features of
the scored rows: all of it is `Clear`, or closed.  Trees without a split of a passive party, and tables of the active
party's own columns, are its own business and cross in no form.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....federation.parties import Party
from ....federation.places import PerPlace, by_place, per_place
from ....federation.roles import parts_with_labels, unprotected_value
from ....federation.run import Run
from ....privacy.accounted_values import Clear
from ..leaves import LeafLayout, crosses
from ..model import Ensemble, StepFunction, Tree, TreeColumn
from .common import active_of, passive_of
from .encrypted_inference import encrypted_scores
from .indicators import local_layout, local_left, local_own_left, local_splits, own_form, scored_rows
from .shared_inference import shared_scores

# Rows that are routed together, a multiple of 8: memory stays small however many splits there are.
BLOCK = 1024


def local_indicators(
    party: Party, splits: np.ndarray, thresholds: tuple[np.ndarray, ...], rows: np.ndarray, holder: str
) -> Clear:
    """(m, n_test / 8) uint8, which rows go left of each split of a passive party, a bit a row.

    holder : of the labels, which the splits depend on
    """
    bits = np.empty((len(splits), -(-len(rows) // 8)), dtype=np.uint8)
    for i in range(len(splits)):
        bits[i] = np.packbits(local_left(party, splits[i : i + 1], thresholds, rows))
    return unprotected_value(bits, parts_with_labels(party, holder))


def local_chosen(
    active: Party, layout: LeafLayout, splits: list[np.ndarray], indicators: tuple[np.ndarray, ...], rows: np.ndarray
) -> list[np.ndarray]:
    """Return what each tree and table that crosses adds to the score of each row (n_test,)."""
    form, parts = own_form(layout), []
    numbers, active_left = local_own_left(active, layout, rows)
    for start in range(0, len(rows), BLOCK):
        block = slice(start, min(start + BLOCK, len(rows)))
        left = np.empty((len(layout.splits), block.stop - start), dtype=bool)
        left[numbers] = active_left[:, block]
        for party_splits, bits in zip(splits, indicators, strict=True):
            some = bits[:, start // 8 : start // 8 + BLOCK // 8]
            left[party_splits[:, 0]] = np.unpackbits(some, axis=1, count=left.shape[1]).astype(bool)
        parts.append(layout.weight[form.reach_leaves(left)])
    return list(np.concatenate(parts, axis=1))


def local_scores(
    active: Party, ensemble: Ensemble, columns: tuple[TreeColumn, ...], joint: list[np.ndarray], rows: np.ndarray
) -> np.ndarray:
    """(n_test,) scores: what each tree and table adds, in their order, of those that cross from ``joint``.

    Where ``joint`` has one array only, it is what all that cross add together.
    """
    X = np.full((len(rows), len(columns)), np.nan)
    X[:, active.columns] = active.block["X"][rows]
    others, terms = set(range(len(columns))) - set(active.columns), iter(joint)
    total = np.full(len(rows), ensemble.base)
    parts: list[Tree | StepFunction] = [*ensemble.trees, *ensemble.tables]
    for part in parts:
        if crosses(part, others):
            total += next(terms, 0.0)
        elif isinstance(part, StepFunction):
            total += part.at(X)
        else:
            total += ensemble.weight * part.value[part.leaves_of(X)]
    return total


def shown_scores(
    run: Run,
    layout: LeafLayout,
    splits: PerPlace[np.ndarray],
    thresholds: PerPlace[tuple[np.ndarray, ...]],
    rows: np.ndarray,
) -> list[np.ndarray]:
    """Return what each tree and table that crosses adds to each score, from indicators in the clear."""
    active, passive = active_of(run.parties), passive_of(run.parties)
    inputs = splits, thresholds, rows, active.name
    indicators = run.gather(passive, active, "left indicators", local_indicators, *inputs)
    sent = [by_place(splits)[party.name] for party in passive]
    return run.at(active, local_chosen, layout, sent, indicators, rows)


# What each way of inference gives: at the active party, what trees and tables that cross add.
WAYS: dict[str, Callable[..., list[np.ndarray]]] = {"plain": shown_scores, "he": encrypted_scores, "ss": shared_scores}


def score_held_out(run: Run, ensemble: Ensemble, thresholds: PerPlace[tuple[np.ndarray, ...]]) -> np.ndarray | None:
    """Scores (n_test,) of held-out rows by the option ``inference``, at the active party; None where it is ``none``.

    The ensemble is at the active party: cuts of all splits, thresholds of its own columns, tables with raw edges that
    are declared for their columns. Every passive party has the raw thresholds of its columns' cuts, in the order of
    ``party.columns``.
    """
    if run.spec.options.inference == "none":
        return None
    return score_rows(run, ensemble, thresholds, scored_rows(run))


def score_rows(
    run: Run, ensemble: Ensemble, thresholds: PerPlace[tuple[np.ndarray, ...]], rows: np.ndarray
) -> np.ndarray:
    """Scores of some records (n,) at the active party, from what all have by `score_held_out`."""
    active, passive = active_of(run.parties), passive_of(run.parties)
    columns = run.spec.public.columns
    layout = run.at(active, local_layout, ensemble, columns)
    splits = per_place(
        {
            party.name: run.send(active, party, "deployed splits", local_splits, layout, party.columns)
            for party in passive
        }
    )
    joint = list[np.ndarray]()
    if passive and len(rows):
        joint = WAYS[run.spec.options.inference](run, layout, splits, thresholds, rows)
    return run.at(active, local_scores, ensemble, columns, joint, rows)
