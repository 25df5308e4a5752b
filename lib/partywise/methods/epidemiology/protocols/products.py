"""Protocol: one noisy release of a question set by organisations that hold different columns of the same records.

An organisation makes one indicator column per combination of its own levels of a table, and values times those of its
groups; every count or sum of a group is a sum of products of two such columns.  Those of two organisations are
multiplied under the key of one, and each adds all of the noise (`partywise.federation.exchanges.private_products`), so
that no organisation knows it: these numbers have twice the variance of those whose columns are at one organisation.

Public, fixed before data are seen: the question set, who holds which column, and the number of records, which are
aligned.  A table has columns of at most two organisations, those of ``where`` included.

Formal guarantee: (epsilon_certified, delta)-DP for replacing one record at all organisations together, by the exact
profile of one or two Gaussian releases.  Columns are whole numbers of at most W = 2^15 steps: a record adds W W to one
cell of a table, and W times the W-fold rounded moments of its group (`value_grid`).  So it moves the sums of item T, in
weights w_T, by at most w_T^2 W^2 `largest_square`(T, W) in square, and all of them by the sum over T, which is exact.
Noise is calibrated to the sum: in counts its deviation is sqrt(2 sum w^2) / (mu w_T), and sqrt(2) times that where two
organisations add it.  Trust: all organisations but one, and the analyst, may join what they know.

Message            from, to               payload, bytes (w: of a ciphertext; p_k columns of crossing items)
public key         key holder, others     Public         3 w / 2 + 8
closed columns     key holder, others     Cipher         n ceil(p_k / slots) w
masked products    others, key holder     Cipher         p_j ceil(p_k / slots) w, k: the key holder
noisy words        every party, analyst   Cipher         8 per number that it has columns of
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np

from ....core.errors import PartyError
from ....federation.exchanges.column_sums.layout import SumGroup, SumLayout
from ....federation.exchanges.column_sums.openings import Chunk, NoisySum, only_release
from ....federation.exchanges.homomorphic.column_products import LARGEST
from ....federation.exchanges.noisy_sums import mu_of
from ....federation.exchanges.private_products import Encryption, private_products
from ....federation.parties import Participant, Party
from ....federation.places import per_place
from ....federation.roles import ANALYST, check_holders
from ....federation.run import Run
from ....privacy.mechanisms.release import Release
from ....privacy.statistics.whole import Whole, whole
from ..contributions import Contributions, cells_of, contributions, grid_places, largest_square, subset_mask, value_grid
from ..layout import PARTY, Item, Layout, Moments, Table, Variable
from ..model import EpidemiologyEstimate, EpidemiologyFacts
from ..options import ProductsOptions
from .common import TABLES, local_clip_counts, names_of, server_estimate

SOURCE = "the largest squared move of products of whole columns, over all values on their grid"
# Name of the release of numbers whose columns are all at one organisation.
OF_ONE = "tables of one organisation"


@dataclass(frozen=True)
class Factor:
    """Columns of an organisation for an item: indicators of the levels of its variables, or values times them.

    moments : whose values, without and with their squares, are multiplied with the indicators; None of indicators
    """

    variables: tuple[Variable, ...]
    moments: Moments | None = None

    @property
    def columns(self) -> int:
        """Number of columns."""
        powers = 1 if self.moments is None else 1 + self.moments.squares
        return powers * math.prod(len(variable.levels) for variable in self.variables)

    def places(self, item: Item) -> np.ndarray:
        """Column (entries,) that each entry of an item is a product of."""
        if isinstance(item, Table):
            axes = dict(zip(item.names, np.indices(item.shape), strict=True))
            places = np.zeros(item.shape, dtype=int)
        else:
            powers, groups = np.indices((1 + item.squares, item.groups))
            axes = {} if item.group is None else {item.group.name: groups}
            places = powers if self.moments is not None else np.zeros_like(powers)
        for variable in self.variables:
            places = places * len(variable.levels) + axes[variable.name]
        return places.ravel()


Sides = tuple[tuple[str, Factor], tuple[str, Factor]]


@dataclass(frozen=True)
class ProductRelease:
    """One release: of the items that cross two organisations, or of those of one.

    items : their numbers; factors : of every organisation in it; total : as all know it, whose integers are not read
    """

    name: str
    items: tuple[int, ...]
    factors: Mapping[str, tuple[Factor, ...]]
    layout: SumLayout
    total: Whole


def sides_of(item: Item, layout: Layout, holders: Mapping[str, str]) -> Sides:
    """Organisations of an item and the factors that they make for it; twice the same one where it holds all columns."""
    variables: Sequence[Variable] = item.variables if isinstance(item, Table) else [item.group] if item.group else []
    variables_of: dict[str, list[Variable]] = {}
    for variable in variables:
        variables_of.setdefault(_holder(variable, holders), []).append(variable)
    of_values = None if isinstance(item, Table) else holders[item.column]
    others = [_holder(variable, holders) for variable, _ in layout.subset]
    names = list(dict.fromkeys([*variables_of, *([of_values] if of_values else []), *others]))
    if len(names) > 2:
        where = ", those of where included" if set(others) - {*variables_of, of_values} else ""
        raise ValueError(
            f"{item.name!r} has columns of {', '.join(names[:-1])} and {names[-1]}{where}: a table or mean crosses at "
            "most two organisations; ask for columns of two, or let one that holds two of the variables make a column "
            "of their joint levels."
        )
    factors = [
        (
            name,
            Factor(
                tuple(variables_of.get(name, ())), item if isinstance(item, Moments) and name == of_values else None
            ),
        )
        for name in names
    ]
    return (factors[0], factors[1] if len(factors) == 2 else (names[0], Factor(())))


def _holder(variable: Variable, holders: Mapping[str, str]) -> str:
    """The organisation of a variable; ValueError where its columns are at two."""
    names = list(dict.fromkeys(holders[column] for column in variable.columns))
    if len(names) > 1:
        raise ValueError(
            f"{variable.name!r} reads {' and '.join(map(repr, variable.columns))} of {' and '.join(names)}: one "
            "organisation must hold both; let it have the other column, or leave the incidence out."
        )
    return names[0]


def items_by_party(layout: Layout, groups: Mapping[str, Sequence[str]]) -> list[Sides]:
    """Sides of every item, from the columns of each party; ValueError for items that cannot be released."""
    if any(item.names[-1:] == (PARTY,) for item in layout.tables):
        raise ValueError("by_party is True: the parties hold columns of the same records; leave by_party out.")
    for column in layout.columns:
        names = [name for name, group in groups.items() if column in group]
        if len(names) != 1:
            raise ValueError(
                f"the column {column!r} is held by {' and '.join(names) or 'none'}: one party holds each column that "
                "the questions read."
            )
    holders = {column: name for name, group in groups.items() for column in group}
    return [sides_of(item, layout, holders) for item in layout.items]


def product_releases(terms: Contributions, parties: Sequence[Participant]) -> tuple[ProductRelease, ...]:
    """Releases of a question set, those of crossing items first; ValueError for items that cannot be released."""
    check_holders(parties)
    columns = terms.layout.columns
    sides = items_by_party(terms.layout, {party.name: [columns[k] for k in party.columns] for party in parties})
    names = [party.name for party in parties]
    releases = []
    for name, crosses in ((TABLES, True), (OF_ONE, False)):
        numbers = tuple(number for number, (first, second) in enumerate(sides) if (first[0] != second[0]) == crosses)
        if numbers:
            releases.append(_release(name, numbers, terms, sides, names))
    return tuple(releases)


def _release(
    name: str, numbers: tuple[int, ...], terms: Contributions, sides: Sequence[Sides], names: Sequence[str]
) -> ProductRelease:
    """The release of some items."""
    pairs = [pair for number in numbers for pair in sides[number]]
    factors = {
        party: tuple(dict.fromkeys(factor for holder, factor in pairs if holder == party))
        for party in names
        if any(holder == party for holder, _ in pairs)
    }
    flat = [(party, factor) for party, row in factors.items() for factor in row]
    starts = dict(zip(flat, accumulate((factor.columns for _, factor in flat), initial=0), strict=False))
    ends = accumulate((sum(factor.columns for factor in row) for row in factors.values()), initial=0)
    columns = tuple(tuple(range(*pair)) for pair in pairwise(ends))
    first, second = list[np.ndarray](), list[np.ndarray]()
    weights, squares = list[np.ndarray](), Fraction(0)
    for number in numbers:
        item, weight = terms.layout.items[number], terms.weights[number]
        for places, (party, factor) in zip((first, second), sides[number], strict=True):
            places.append(starts[party, factor] + factor.places(item))
        weights.append(np.full(item.entries, weight**2, dtype=np.int64))
        squares += (weight * LARGEST) ** 2 * largest_square(item, LARGEST)
    layout = SumLayout(tuple(factors), columns, (SumGroup(np.concatenate(first), np.concatenate(second)),))
    zeros = np.zeros(sum(map(len, weights)), dtype=np.int64)
    total = whole(zeros, squares, LARGEST**-2, SOURCE, weights=np.concatenate(weights))
    return ProductRelease(name, numbers, factors, layout, total)


def local_columns(party: Party, factors: Sequence[Factor], layout: Layout) -> np.ndarray:
    """Whole columns (n, p) of the party's factors."""
    inside, columns = subset_mask(layout, party.block), []
    for factor in factors:
        codes = {variable.name: variable.codes(party.block) for variable in factor.variables}
        cells, counted = cells_of(factor.variables, codes, inside)
        levels = math.prod(len(variable.levels) for variable in factor.variables)
        indicators = (cells[:, None] == np.arange(levels)) & counted[:, None]
        if factor.moments is None:
            columns.append(LARGEST * indicators.astype(np.int64))
            continue
        places, known = grid_places(factor.moments, party.block)
        values = value_grid(LARGEST, factor.moments.squares)[places] * known[:, None]
        columns.append((values[:, :, None] * indicators[:, None, :]).reshape(len(values), -1))
    return np.concatenate(columns, axis=1)


def local_check(party: Party, records: int, layout: Layout) -> None:
    """PartyError unless the party has the public number of records; its values beyond public ranges are counted."""
    if any(len(party.block[layout.columns[number]]) != records for number in party.columns):
        raise PartyError(f"{party.name!r} has another number of records than is public: align the records first.")
    local_clip_counts(party, layout)


def joined_sums(layout: Layout, items: Sequence[tuple[int, ...]], *released: tuple[Release, ...]) -> np.ndarray:
    """Sums (d,) of all items in steps of their contributions, from the releases of some each."""
    parts = dict[int, np.ndarray]()
    for numbers, releases in zip(items, released, strict=True):
        ends = np.cumsum([layout.items[number].entries for number in numbers])[:-1]
        parts |= zip(numbers, np.split(only_release(releases).value, ends), strict=True)
    return np.concatenate([parts[number] for number in range(len(layout.items))])


def fit(run: Run) -> EpidemiologyEstimate:
    """Make joint indicators, multiply those of two organisations, open every number once with noise."""
    facts: EpidemiologyFacts = run.spec.public
    options: ProductsOptions = run.spec.options
    names = names_of(run)
    terms = contributions(facts.questions.layout(names), options.weights)
    releases = product_releases(terms, run.parties)
    run.each(run.parties, local_check, facts.records, terms.layout)
    encryption = Encryption(options.cipher, options.key_size)
    squares = sum(release.total.squares for release in releases)
    mu, deviations, released = mu_of(run), [0.0] * len(terms.layout.items), []
    for release in releases:
        columns = {
            party.name: run.at(party, local_columns, release.factors[party.name], terms.layout)
            for party in run.parties
            if party.name in release.factors
        }
        # Below the target by what a sum of two squares may be rounded.
        part = mu * math.sqrt(release.total.squares / squares) * (1 - 1e-15)
        chunk = Chunk(slice(0, facts.records), (NoisySum(release.name, release.total, part),))
        released.append(private_products(run, encryption, per_place(columns), [chunk], release.layout, ANALYST))
        copies = 2 if release.layout.crossing else 1
        for number in release.items:
            deviations[number] = math.sqrt(copies * squares) / (LARGEST**2 * mu)
    sums = run.at(ANALYST, joined_sums, terms.layout, [release.items for release in releases], *released)
    public = EpidemiologyEstimate(run.epsilon, names, (facts.records,), weights=options.weights)
    return run.at(ANALYST, server_estimate, sums, replace(public, noise_sd=tuple(deviations)))
