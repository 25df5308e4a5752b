"""Sub-protocol: scores by secret sharing, ``inference: ss``; the source announces it and gives no protocol.

Leaf weights and left indicators are shared between all parties as words of Z_2^64 (`sharing`).  The product of the
indicators along a path is 1 at the leaf where a row ends, level by level; the scores are the sums of weights times
these.  Weights are multiples of 2^-32, of a unit that the active party alone knows where they are below 1, and
indicators integers, so nothing is ever truncated: scores of T trees are exact to T 2^-33 units.

What is protected: a party learns how trees branch, its own splits and, the active party, the sums; not which leaf a row
ends in, nor whose split is where.  **The dealer of triples must do not collude** (`sharing`); it learns how
many products each level takes.  All but one of the parties may collude.  Shares are free in the ledger, the form of
the trees and the scores are `Clear`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ....federation.exchanges.sharing import decode_words, encode_words, multiply_words, share_words
from ....federation.parties import Party
from ....federation.places import PerPlace
from ....federation.roles import parts_with_labels, unprotected_value
from ....federation.run import Run
from ....privacy.accounted_values import Clear
from ....privacy.ledger.event import UNNAMED
from ..leaves import LeafLayout, Skeleton
from .common import active_of, passive_of
from .indicators import forms_of, local_left, local_own_left, own_form

# Words hold multiples of 2^-32 between -2^31 and 2^31.
FRACTION_BITS = 32


def indicator_words(form: Skeleton, numbers: np.ndarray, left: np.ndarray) -> np.ndarray:
    """(S + bins, n) uint64: of the splits of trees who goes left, of tables who is in which bin; 0 of others'."""
    splits, first = len(form.parent), form.starts[-1] - len(form.ends)
    words = np.zeros((splits + first, left.shape[1]), dtype=np.uint64)
    of_trees = numbers < splits
    words[numbers[of_trees]] = left[of_trees]
    cuts = numbers[~of_trees]
    party_leaves = np.zeros(form.leaves, dtype=bool)
    for cut in cuts:
        party_leaves[form.first[cut] : form.last[cut]] = True
    words[splits:][party_leaves[len(form.ends) :]] = form.open_leaves(cuts, left[~of_trees])[party_leaves]
    return words


def local_indicator_words(
    party: Party, form: Skeleton, splits: np.ndarray, thresholds: tuple[np.ndarray, ...], rows: np.ndarray
) -> np.ndarray:
    """Input of a passive party; which splits are its own stays hidden, as those of others are 0."""
    return indicator_words(form, splits[:, 0], local_left(party, splits, thresholds, rows))


def local_own_indicator_words(active: Party, form: Skeleton, layout: LeafLayout, rows: np.ndarray) -> np.ndarray:
    """Input of the active party."""
    return indicator_words(form, *local_own_left(active, layout, rows))


def local_weight_words(active: Party, form: Skeleton, layout: LeafLayout) -> np.ndarray:
    """(leaves,) weights of all leaves as words."""
    unit = form.unit(layout.weight)
    encode_words(np.array(form.largest(layout.weight) / unit), FRACTION_BITS)
    return encode_words(layout.weight / unit, FRACTION_BITS)


def local_sizes(active: Party, layout: LeafLayout, audience: tuple[str, ...]) -> Clear:
    """Ends of the splits of each level, and the number of leaves: how many products are taken, for all parties."""
    form = own_form(layout)
    sizes = np.append(form.levels, form.leaves).astype(np.int32)
    return Clear(sizes, units=("label", "features"), owner=UNNAMED, audience=audience)


def local_total(holder: Party, words: Sequence[np.ndarray]) -> np.ndarray:
    """Share of a sum of shared words."""
    return np.asarray(np.sum(words, axis=0, dtype=np.uint64))


def local_sides(holder: Party, indicators: np.ndarray, start: int, end: int, first: str) -> np.ndarray:
    """Shares (2 splits, n) of going left and of going right at some splits: one holder adds the 1."""
    left = indicators[start:end]
    right = (np.uint64(1) if holder.name == first else np.uint64(0)) - left
    return np.stack([left, right], axis=1).reshape(-1, left.shape[1])


def local_above(holder: Party, reached: np.ndarray, form: Skeleton, start: int, end: int) -> np.ndarray:
    """Shares (2 splits, n) of reaching some splits, for both sides of each."""
    return np.repeat(reached[form.parent[start:end]], 2, axis=0)


def local_joined(holder: Party, above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Shares of all ends of splits so far, one level more."""
    return np.concatenate([above, below])


def local_ends(holder: Party, reached: np.ndarray, indicators: np.ndarray, form: Skeleton) -> np.ndarray:
    """Shares (leaves, n) of ending in each leaf and of lying in each bin."""
    return np.concatenate([reached[form.ends], indicators[len(form.parent) :]])


def local_repeated(holder: Party, weights: np.ndarray, n: int) -> np.ndarray:
    """Shares (leaves, n) of the weights, for every row."""
    return np.repeat(weights[:, None], n, axis=1)


def local_score_share(holder: Party, terms: np.ndarray) -> np.ndarray:
    """Share (n,) of the scores."""
    return terms.sum(axis=0, dtype=np.uint64)


def local_opened_share(passive: Party, terms: np.ndarray, holder: str) -> Clear:
    """Score share of a passive party, sent to the active party, the holder of the labels, which opens the sum."""
    return unprotected_value(local_score_share(passive, terms), parts_with_labels(passive, holder))


def local_opened_scores(
    active: Party, form: Skeleton, layout: LeafLayout, terms: np.ndarray, others: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """Open what all trees and tables that cross add to each score."""
    words = local_score_share(active, terms) + np.sum(others, axis=0, dtype=np.uint64)
    return [decode_words(words, FRACTION_BITS) * form.unit(layout.weight)]


def reached_ends(
    run: Run, levels: list[int], forms: PerPlace[Skeleton], indicators: PerPlace[np.ndarray], n: int
) -> PerPlace[np.ndarray]:
    """Products of the indicators along all paths: shares of every end of every split."""
    holders, first = run.parties, run.parties[0].name
    reached = run.each(holders, local_sides, indicators, 0, levels[min(1, len(levels) - 1)], first)
    for start, end in pairwise(levels[1:]):
        above = run.each(holders, local_above, reached, forms, start, end)
        sides = run.each(holders, local_sides, indicators, start, end, first)
        shape = (2 * (end - start), n)
        below = multiply_words(run, holders, f"paths to {start}..{end - 1}", above, sides, shape, run.rng_for)
        reached = run.each(holders, local_joined, reached, below)
    return reached


def shared_scores(
    run: Run,
    layout: LeafLayout,
    splits: PerPlace[np.ndarray],
    thresholds: PerPlace[tuple[np.ndarray, ...]],
    rows: np.ndarray,
) -> list[np.ndarray]:
    """Return what all trees and tables that cross add to each score, at the active party."""
    active, passive, holders, n = active_of(run.parties), passive_of(run.parties), run.parties, len(rows)
    others = tuple(name for name in run.names if name != active.name)
    *levels, leaves = run.agreed(run.broadcast(active, others, "products", local_sizes, layout, others)).tolist()
    if not leaves:
        return []
    forms = forms_of(run, layout)
    words = [run.at(active, local_own_indicator_words, forms, layout, rows)]
    words += [run.at(party, local_indicator_words, forms, splits, thresholds, rows) for party in passive]
    parts = [
        share_words(run, owner, holders, "indicators in shares", owner_words, run.rng_for)
        for owner, owner_words in zip((active, *passive), words, strict=True)
    ]
    indicators = run.each(holders, local_total, parts)
    leaf_words = run.at(active, local_weight_words, forms, layout)
    weights = share_words(run, active, holders, "weights in shares", leaf_words, run.rng_for)

    reached = reached_ends(run, levels, forms, indicators, n)
    ends = run.each(holders, local_ends, reached, indicators, forms)
    every = run.each(holders, local_repeated, weights, n)
    terms = multiply_words(run, holders, "weights", every, ends, (leaves, n), run.rng_for)
    opened = run.gather(passive, active, "scores in shares", local_opened_share, terms, active.name)
    return run.at(active, local_opened_scores, forms, layout, terms, opened)
