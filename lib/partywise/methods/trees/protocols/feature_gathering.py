"""Protocol: passive parties send the order of their columns, the active party grows trees on codes.

Source: document 003, "Feature-gathering tree-based models" and its two protections of the order.

What is protected: the columns of one record at all passive parties together (unit ``features``, replace one), against
everyone, by noise that each owner draws (``local``); without noise the order crosses in the clear. Labels never leave
the active party. What the active party's own columns show it keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ....federation.parties import Party
from ....federation.payloads import Payload
from ....federation.roles import records_together
from ....federation.run import Run
from ..codes import CodedColumns, from_codes, side_by_side
from ..ensemble import Draws, grow_trees, pooled_difference, rows_rerouted, with_thresholds
from ..gathering.protection import Protection, protection
from ..gathering.ranks import RankCodes, message_of, rank, rank_codes
from ..model import ColumnGroups, Ensemble, Numbers, TreeEstimate, TreeSpec
from ..options import GatheringOptions
from .common import active_of, columns_of, draws_of, local_codes, local_rows, passive_of
from .inference import score_held_out

# What is sent, by protection.
NAMES = {"none": "dense ranks", "dp": "bin indices", "op_boost": "noisy codes"}


def local_ranks(passive: Party, train: np.ndarray, spec: TreeSpec[GatheringOptions]) -> tuple[RankCodes, ...]:
    """The columns of a passive party, coded; they stay there."""
    X, facts = passive.block["X"][train], spec.public.columns
    return tuple(
        rank_codes(X[:, place], facts[column], passive.name, spec.options)
        for place, column in enumerate(passive.columns)
    )


def local_message(passive: Party, ranks: Sequence[RankCodes], plan: Protection, rng_for: Callable) -> Payload:
    """Ranks or codes of a passive party's columns, noised as the plan states."""
    return message_of(ranks, passive.columns, plan, passive.name, rng_for)


def local_thresholds(passive: Party, ranks: Sequence[RankCodes]) -> tuple[np.ndarray, ...]:
    """Raw values of the cuts of each of a passive party's columns."""
    return tuple(coding.thresholds for coding in ranks)


def local_data(
    active: Party,
    codes: CodedColumns,
    messages: Sequence[np.ndarray],
    groups: ColumnGroups,
    plan: Protection,
    options: GatheringOptions,
) -> tuple[CodedColumns, ...]:
    """All columns side by side in codes: once, or for each tree.

    messages : of the passive parties, in order; groups : name and columns of every party
    """
    columns = [numbers for _, numbers in groups]
    coded = []
    for draw in range(plan.draws):
        received = iter(messages)
        parts = [
            codes if name == active.name else _received_codes(next(received), draw, plan, c, options)
            for name, c in groups
        ]
        coded.append(side_by_side(parts, columns))
    return tuple(coded)


def local_ensemble(
    active: Party,
    train: np.ndarray,
    data: Sequence[CodedColumns],
    draws: Sequence[Draws],
    spec: TreeSpec[GatheringOptions],
) -> Ensemble:
    """Trees on all columns; cuts of passive columns are codes whose raw values the active party does not know."""
    y = active.block["y"][train]
    facts = spec.public
    return grow_trees(
        _by_tree(data), y, spec.options, facts.criterion, draws, outputs=facts.outputs, bounds=facts.response_bounds
    )


def active_plan(
    train: np.ndarray, columns: tuple[int, ...], epsilon: float, spec: TreeSpec[GatheringOptions]
) -> Protection:
    """Mechanisms of all passive columns, by anyone: which rows train is public."""
    n, group = int(train.sum()), records_together(spec)
    return protection(spec.options, spec.public, n, columns, epsilon, spec.study.delta, group)


def _received_codes(
    codes: np.ndarray, draw: int, plan: Protection, columns: tuple[int, ...], options: GatheringOptions
) -> CodedColumns:
    """Codes of a passive party as the active one reads them."""
    chosen = codes[draw] if codes.ndim == 3 else codes
    if options.protect == "op_boost" and options.ties == "position":
        by_place = rank(chosen, options)
        return from_codes(by_place.codes, by_place.sizes)
    sizes = [plan.sizes[c] for c in columns] if plan.sizes else chosen.max(axis=0).astype(np.int64) + 1
    return from_codes(chosen, sizes)


def _by_tree(data: Sequence[CodedColumns]) -> CodedColumns | Callable[[int], CodedColumns]:
    """Codes of all trees, or of each."""
    return data[0] if len(data) == 1 else data.__getitem__


def active_estimate(ensemble: Ensemble, scores: np.ndarray | None, plan: Protection) -> TreeEstimate:
    """The trees as the active party has them: of columns of others it knows no thresholds (nan)."""
    return TreeEstimate(ensemble, plan.epsilon_claimed, scores)


def to_estimate(
    estimate: TreeEstimate,
    thresholds: Mapping[str, tuple[np.ndarray, ...]],
    rows: Mapping[str, Mapping[str, np.ndarray]],
    data: Sequence[CodedColumns],
    draws: Sequence[Draws],
    groups: ColumnGroups,
    plan: Protection,
    spec: TreeSpec[GatheringOptions],
) -> TreeEstimate:
    """The estimate, as only an evaluator sees it: thresholds of all owners, and all rows."""
    columns = dict(groups)
    raw = {
        c: cuts for name, party_cuts in thresholds.items() for c, cuts in zip(columns[name], party_cuts, strict=True)
    }
    whole = with_thresholds(estimate.ensemble, raw)
    X = np.empty((len(data[0].codes), len(data[0].sizes)))
    for name, arrays in rows.items():
        X[:, columns[name]] = arrays["X"]
    numbers: Numbers = {
        "rows_rerouted": rows_rerouted(whole, _by_tree(data), X),
        "features_released": len(raw),
        "epsilon_per_index": plan.epsilon,
        "bytes_formula": sum(plan.bytes_formula(columns[name], len(X)) for name in thresholds),
    }
    if not plan.mechanisms:
        cuts = [raw.get(column, known) for column, known in enumerate(data[0].thresholds)]
        y = next(arrays["y"] for arrays in rows.values() if "y" in arrays)
        inputs = (whole, cuts, X, y, spec.options, spec.public.criterion, draws)
        numbers["max_prediction_difference"] = pooled_difference(*inputs, bounds=spec.public.response_bounds)
    return replace(estimate, ensemble=whole, numbers=numbers)


def fit(run: Run) -> TreeEstimate:
    """Ranks of passive columns, trees on codes, inference as the options state."""
    active, passive, groups = active_of(run.parties), passive_of(run.parties), columns_of(run.parties)
    train, spec = run.fold.train, run.spec
    gathered = tuple(column for party in passive for column in party.columns)
    plan = run.everywhere(active_plan, train, gathered, run.epsilon, spec)
    ranks = run.each(passive, local_ranks, train, spec)
    messages = run.gather(passive, active, NAMES[spec.options.protect], local_message, ranks, plan, run.rng_for)
    codes = run.at(active, local_codes, train, spec.options)
    data = run.at(active, local_data, codes, messages, groups, plan, spec.options)
    draws = run.at(active.name, draws_of, groups, int(train.sum()), spec.options, run.rng_for)
    ensemble = run.at(active, local_ensemble, train, data, draws, spec)
    thresholds = run.each(passive, local_thresholds, ranks)
    scores = score_held_out(run, ensemble, thresholds)
    rows = run.each(run.parties, local_rows, train)
    estimate = run.at(active.name, active_estimate, ensemble, scores, plan)
    return run.assemble(to_estimate, estimate, thresholds, rows, data, draws, groups, plan, spec)
