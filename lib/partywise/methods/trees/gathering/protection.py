"""Protection of the order of passive columns: the mechanism of each column and what everyone knows of its cost.

Everything here is computed from options, declared facts and the grid's epsilon, by anyone. Source: document 003,
section "Privacy protection algorithms", with the distributions that its formulas mean.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ....core.errors import CertificationError
from ....privacy.accounted_values import AccountedValue, Public
from ....privacy.accounting.roots import bisect
from ....privacy.ledger.event import UNNAMED
from ....privacy.mechanisms.distances.adjustment import AdjustedDistanceExponential
from ....privacy.mechanisms.distances.exponential import DistanceExponential
from ....privacy.mechanisms.mixed_response import grouped_epsilon
from ....privacy.mechanisms.randomized_response import RandomizedResponse
from ....privacy.mechanisms.release import derive
from ..model import TreeColumn, TreeFacts
from ..options import GatheringOptions

Mechanism = RandomizedResponse | DistanceExponential | AdjustedDistanceExponential
# Widest gap, relative, between the loss that a scaled mechanism of OpBoost has and the one it may have.
GAP = 1e-9


@dataclass(frozen=True)
class Protection:
    """Public facts of how the passive columns are sent.

    sizes : number of codes of each column, by its global number; empty for ranks, whose number depends on the data
    mechanisms : of each column, by its global number; empty where they cross without noise
    epsilon : pure loss of one index, or of one value over the whole domain of OpBoost; inf without noise
    epsilon_claimed : by the source, for a feature, or the target of a record; inf where the source has none
    draws : how often the noise is drawn
    """

    sizes: Mapping[int, int]
    mechanisms: Mapping[int, Mechanism]
    epsilon: float
    epsilon_claimed: float
    draws: int = 1

    def bytes_formula(self, columns: Sequence[int], n: int) -> int:
        """Bytes of the message with these columns of n records, by the formula of the protocol."""
        return n * len(columns) * self.draws * self.code_type(columns).itemsize

    def code_type(self, columns: Sequence[int]) -> np.dtype:
        """Smallest type of whole numbers that holds the codes of these columns: ceil(log2(b) / 8) bytes a code."""
        if not self.sizes:
            return np.dtype(np.uint32)
        return np.min_scalar_type(max(self.sizes[column] for column in columns) - 1)


def protection(
    options: GatheringOptions,
    public: TreeFacts,
    n: int,
    columns: Sequence[int],
    epsilon: float,
    delta: float,
    group: int = 1,
) -> Protection:
    """The protection of all passive columns together."""
    draws = options.num_of_trees if options.redraw == "tree" else 1
    facts = {column: public.columns[column] for column in columns}
    if options.protect == "none":
        return Protection({}, {}, math.inf, math.inf)
    if options.protect == "op_boost":
        return _order_preserving(options, facts, epsilon, delta, draws, group)
    sizes = {column: _bins(declared, options) for column, declared in facts.items()}
    if not options.randomise:
        return Protection(sizes, {}, math.inf, math.inf)
    index_epsilon, moved = epsilon, draws * indices_moved(options, n)
    if options.budget == "record":
        index_epsilon = grouped_epsilon([(size, moved) for size in sizes.values()], epsilon, delta, group)
    return Protection(
        sizes, {c: RandomizedResponse(index_epsilon, k) for c, k in sizes.items()}, index_epsilon, epsilon, draws
    )


def _order_preserving(
    options: GatheringOptions, facts: Mapping[int, TreeColumn], epsilon: float, delta: float, draws: int, group: int
) -> Protection:
    """OpBoost: one mechanism for all columns."""
    for column in facts.values():
        _check_ends(column, options)
    integers = options.upper_bound - options.lower_bound + 1
    # Bins of an order are made by who gets the integers.
    sizes = dict.fromkeys(facts, integers if options.ties == "position" else options.n_bins or integers)
    if options.uses_epsilon and math.isinf(epsilon):
        return Protection(sizes, {}, math.inf, math.inf)
    whole = None
    if options.budget == "record":
        whole = grouped_epsilon([(None, draws * len(facts))], epsilon, delta, group)
    mechanism = order_preserving(options, epsilon, whole)
    # Of adjusting the source states two numbers and claims none; the larger one is what its bins or values get.
    epsilon_claimed = epsilon if options.uses_epsilon else max(options.epsilon_prt, options.epsilon_ner)
    return Protection(sizes, dict.fromkeys(facts, mechanism), mechanism.epsilon_pure, epsilon_claimed, draws)


def indices_moved(options: GatheringOptions, n: int) -> int:
    """Indices of one feature that replacing one of n records can move.

    Declared edges leave all others where they are. Quantiles of the data move an index across every edge, and where
    equal values never separate, all that are equal.
    """
    if options.edges == "public":
        return 1
    return min(int(options.n_bins or n), n) if options.ties == "position" else n


def public_cuts(column: TreeColumn, options: GatheringOptions) -> AccountedValue:
    """Declared edges of a column: its own, or as many equal parts of its declared bounds as bins are asked for."""
    if options.n_bins is None:
        if column.edges is None:
            raise CertificationError(
                f"edges of column {column.name!r} are not declared: declare them with the data, or give n_bins, "
                "which cuts declared bounds into equal parts."
            )
        return column.edges
    if column.bounds is None:
        raise CertificationError(
            f"bounds of column {column.name!r} are not declared: n_bins {options.n_bins} with edges 'public' "
            "cuts them into equal parts; declare them with the data, leave n_bins out, or use edges 'quantile'."
        )
    low, high = column.bounds.value
    cuts = np.linspace(low, high, options.n_bins + 1)[1:-1]
    reason = f"{options.n_bins} equal parts of the declared bounds of {column.name!r}; n_bins is a setting"
    return derive(cuts, (column.bounds,), name=f"edges of {column.name}", owner=UNNAMED, because=reason)


def integer_domain(options: GatheringOptions) -> Public:
    """The integers of OpBoost."""
    ends = options.lower_bound, options.upper_bound
    return Public(ends, because="lower_bound and upper_bound are settings")


def order_preserving(
    options: GatheringOptions, epsilon: float, whole: float | None
) -> DistanceExponential | AdjustedDistanceExponential:
    """OpBoost for one value: as options or ``epsilon`` state, or with a loss of ``whole`` over the domain."""
    domain = integer_domain(options)
    if options.variant == "global":
        if whole is not None:
            epsilon = 2 * whole / (options.upper_bound - options.lower_bound)
        return DistanceExponential(epsilon, domain)
    parts = (options.upper_bound - options.lower_bound + 1) // options.partition_num
    prt, ner = options.epsilon_prt, options.epsilon_ner
    scale = 1.0 if whole is None else adjusting_scale(prt, ner, parts, domain.value, whole)
    return AdjustedDistanceExponential(scale * prt, scale * ner, parts, domain)


@functools.lru_cache(maxsize=256)
def adjusting_scale(prt: float, ner: float, parts: int, domain: tuple[int, int], whole: float) -> float:
    """Factor of both parameters at which one value loses at most ``whole`` over the domain, and hardly less."""
    ends = Public(domain, because="lower_bound and upper_bound are settings")

    def within_budget(scale: float) -> bool:
        return AdjustedDistanceExponential(scale * prt, scale * ner, parts, ends).epsilon_pure <= whole

    low = high = whole / AdjustedDistanceExponential(prt, ner, parts, ends).epsilon_pure
    while not within_budget(low):
        low /= 2
    while within_budget(high):
        high *= 2
    return bisect(within_budget, low, high, gap=GAP * low)[0]


def _bins(column: TreeColumn, options: GatheringOptions) -> int:
    """Number of bins of a column."""
    return int(options.n_bins or 0) if options.edges == "quantile" else len(public_cuts(column, options).value) + 1


def _check_ends(column: TreeColumn, options: GatheringOptions) -> None:
    if options.extremes == "declared" and column.bounds is None:
        raise CertificationError(
            f"bounds of column {column.name!r} are not declared: the map onto integers needs them; declare them with "
            "the data, or use extremes 'sample', of which nothing is proved."
        )
