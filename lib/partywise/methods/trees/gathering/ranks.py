"""A column as its owner codes it, what of it leaves the owner, and the raw values that the cuts mean.

Order noise is drawn here, by the owner, who keeps the thresholds: the receiver trains on codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....core.errors import CertificationError
from ....core.randomness import Rng
from ....federation.payloads import Payload
from ....privacy.accounted_values import Clear, Public
from ....privacy.mechanisms.release import Release, derive
from ....privacy.statistics.bounded import Bounded, repeat
from ....privacy.statistics.integers import integer_cuts, mapped_integers
from ....privacy.statistics.records import entries
from ....privacy.statistics.slices import Quantiles, bin_index
from ..codes import CodedColumns, dense_ranks, mean_below, quantile_bins
from ..model import TreeColumn
from ..options import GatheringOptions
from .protection import Protection, integer_domain, public_cuts


@dataclass(frozen=True, eq=False)
class RankCodes:
    """One column of n training records, as its owner keeps it.

    values : (n,) ranks, indices of bins, or integers of OpBoost, before any noise
    thresholds : raw value up to which a record goes left, for each cut between codes
    bounded : the values with what one record can move, where a mechanism takes them
    first : the integer of code 0
    steps : codes of the integers from ``first`` on; None where these are the codes
    """

    values: np.ndarray
    thresholds: np.ndarray
    bounded: Bounded | None = None
    first: int = 0
    steps: np.ndarray | None = None

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Codes of such values."""
        places = np.asarray(values).astype(np.int64) - self.first
        return places if self.steps is None else self.steps[places]


def rank_codes(x: np.ndarray, facts: TreeColumn, owner: str, options: GatheringOptions) -> RankCodes:
    """A column (n,) as the protection needs it."""
    if options.protect == "none":
        ranks = dense_ranks(x[:, None], options.ties)
        return RankCodes(ranks.codes[:, 0], ranks.thresholds[0])
    if options.protect == "op_boost":
        return _mapped_ranks(x, facts, owner, options)
    if options.edges == "public":
        cuts = public_cuts(facts, options)
        return _certified_ranks(bin_index(x, cuts), np.array(cuts.value, dtype=float))
    size = int(options.n_bins or 0)
    if options.ties == "position":
        by_rank = bin_index(x, Quantiles(size))
        return _certified_ranks(by_rank, cuts_by_rank(x, np.asarray(by_rank.value), size))
    return _tied_ranks(x, size)


def message_of(
    ranks: Sequence[RankCodes], columns: Sequence[int], plan: Protection, owner: str, rng_for: Rng
) -> Payload:
    """Return the message of a passive party: its columns, with a row in the ledger for each column that was noised.

    Codes (n, d_k), or (T, n, d_k) where noise is drawn for each tree; ``columns`` are global numbers, and the noise of
    a column lives at ("order", owner, column).
    """
    kind = plan.code_type(columns)
    if not plan.mechanisms:
        codes = np.stack([coding.codes(coding.values) for coding in ranks], axis=-1)
        return Clear(codes.astype(kind), units=("features",), owner=owner)
    releases = [
        _noisy_ranks(coding, column, plan, owner, rng_for) for coding, column in zip(ranks, columns, strict=True)
    ]
    codes = np.stack([coding.codes(release.value) for coding, release in zip(ranks, releases, strict=True)], axis=-1)
    return derive(codes.astype(kind), releases, name=f"orders/{owner}", owner=owner)


def rank(columns: np.ndarray, options: GatheringOptions) -> CodedColumns:
    """Codes of columns (n, d) by the order of their rows: bins of equal counts, or a rank for every row."""
    if options.n_bins is None:
        return dense_ranks(columns, "position")
    return quantile_bins(columns, options.n_bins, "position")


def cuts_by_rank(x: np.ndarray, codes: np.ndarray, size: int) -> np.ndarray:
    """Raw values (size - 1,) between bins that are runs of ranks of x (n,); ties at a cut go right."""
    order = np.argsort(x, kind="stable")
    values, up_to = x[order], np.searchsorted(codes[order], np.arange(size - 1), side="right")
    cuts = mean_below(values[np.maximum(up_to - 1, 0)], values[np.minimum(up_to, len(x) - 1)])
    return np.where(up_to == 0, -np.inf, np.where(up_to == len(x), np.inf, cuts))


def _certified_ranks(
    bounded: Bounded, thresholds: np.ndarray, first: int = 0, steps: np.ndarray | None = None
) -> RankCodes:
    return RankCodes(np.asarray(bounded.value), thresholds, bounded, first, steps)


def _tied_ranks(x: np.ndarray, size: int) -> RankCodes:
    """Quantile bins in which equal values never separate: all of them may be equal, and cross an edge with one."""
    binned = quantile_bins(x[:, None], size, "kept")
    moved = Public(len(x), because="the number of records: all may be tied at an edge, and cross it with one of them")
    # Fewer distinct values than bins: nothing lies above the last cuts.
    thresholds = np.full(size - 1, np.inf)
    thresholds[: len(binned.thresholds[0])] = binned.thresholds[0]
    return _certified_ranks(entries(binned.codes[:, 0], unit="features", moved=moved), thresholds)


def _mapped_ranks(x: np.ndarray, facts: TreeColumn, owner: str, options: GatheringOptions) -> RankCodes:
    domain, ends = integer_domain(options), facts.bounds
    if options.extremes == "sample" or ends is None:
        ends = Clear((float(x.min()), float(x.max())), units=("features",), owner=owner)
    bounded, cuts = mapped_integers(x, ends, domain), integer_cuts(ends.value, domain.value)
    if options.ties == "position":
        # Cuts are places in the order of what was drawn, and mean the values at the same places of the raw order.
        return _certified_ranks(bounded, rank(x[:, None], options).thresholds[0], options.lower_bound)
    if options.n_bins is None:
        return _certified_ranks(bounded, cuts, options.lower_bound)
    # Bins are runs of the integers, so that a cut between bins is one between integers, or at an end.
    steps = np.arange(len(cuts) + 1) * options.n_bins // (len(cuts) + 1)
    last = np.searchsorted(steps, np.arange(options.n_bins - 1), side="right")
    return _certified_ranks(bounded, np.array([-np.inf, *cuts, np.inf])[last], options.lower_bound, steps)


def _noisy_ranks(coding: RankCodes, column: int, plan: Protection, owner: str, rng_for: Rng) -> Release:
    """One column of a party, drawn as often as the plan states: (n,), or (T, n)."""
    if coding.bounded is None:
        raise CertificationError(f"column {column} of {owner!r} has no certificate: no mechanism takes it.")
    bounded = coding.bounded if plan.draws == 1 else repeat(coding.bounded, plan.draws)
    name, rng = f"order/{owner}/{column}", rng_for("order", owner, int(column))
    return plan.mechanisms[column](bounded, rng, owner=owner, release_id=name, epsilon_claimed=plan.epsilon_claimed)
