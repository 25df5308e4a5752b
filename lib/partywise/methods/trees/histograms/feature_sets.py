"""Released features of each record: public random sets, drawn before any record is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ....core.errors import CertificationError
from ....federation.roles import records_together
from ....privacy.accounted_values import AccountedValue
from ....privacy.mechanisms.mixed_response import grouped_epsilon
from ....privacy.strata import cell_of
from ..model import ColumnGroups, TreeColumn, TreeSpec
from ..options import LocalTablesOptions


@dataclass(frozen=True)
class Stratum:
    """Records of which every party releases the same number of features.

    name : for the ledger; ``"*"`` where all records are alike
    rows : (m,) the records
    counts : by party
    """

    name: str
    rows: np.ndarray
    counts: dict[str, int]

    @property
    def cell(self) -> str:
        """The counts as text; empty where all records are alike."""
        return self.name.partition("/")[2]


@dataclass(frozen=True)
class FeatureSets:
    """Public facts of the codes before they are sent.

    columns : global numbers of all passive columns, increasing
    edges : declared cuts of each
    released_features : (n, d) bool, those of each record, as many of every record
    missing : columns whose cells may be missing, which have a code of their own, the last
    strata : the records by how many features each party releases of them
    epsilon : of one code
    """

    columns: tuple[int, ...]
    edges: tuple[AccountedValue, ...]
    released_features: np.ndarray
    strata: tuple[Stratum, ...]
    epsilon: float
    missing: tuple[bool, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bins of each column."""
        return tuple(len(cuts.value) + 1 + may_miss for cuts, may_miss in zip(self.edges, self.missing, strict=True))

    @property
    def per_record(self) -> int:
        """Features of a record that are released."""
        return int(self.released_features[0].sum())

    @property
    def code_type(self) -> np.dtype:
        """Smallest type of whole numbers that holds all codes."""
        return np.min_scalar_type(max(self.sizes) - 1)

    def places(self, columns: Sequence[int]) -> list[int]:
        """Positions of a party's columns among all."""
        return [self.columns.index(column) for column in columns]

    def of(self, columns: Sequence[int]) -> np.ndarray:
        """(n, d_k) bool, what a party releases, in the order of its columns."""
        return self.released_features[:, self.places(columns)]


def feature_sets(
    spec: TreeSpec[LocalTablesOptions], groups: ColumnGroups, n: int, epsilon: float, rng_for: Callable
) -> FeatureSets:
    """The sets of n records, from settings, declared facts and public randomness.

    Formal guarantee: a record moves at most ``m`` codes, m = epsilon over ``epsilon_per_feature``, whole, at least one
    and at most all. The epsilon of one is epsilon / m, raised by what delta allows, so that the composition of m of
    them is (epsilon, delta).  Where a person has g records, m follows from epsilon / g, and the g codes of one place
    are pure, of g times the epsilon of one: as many in every stratum, so a person may have records in several.
    """
    options, facts = spec.options, spec.public
    columns = tuple(sorted(column for _, members in groups for column in members))
    edges = {column: _declaration(facts.columns[column]) for column in columns}
    group = records_together(spec)
    released = drawn_features(n, len(columns), features_of(options, epsilon / group, len(columns)), rng_for)
    parts = strata(released, [(name, [columns.index(column) for column in members]) for name, members in groups])
    missing = {column: spec.public.columns[column].missing for column in columns}
    least = {
        name: min(len(edges[column].value) + 1 + missing[column] for column in members) for name, members in groups
    }
    code_epsilon = _code_epsilon(parts, least, epsilon, spec.study.delta, group)
    return FeatureSets(columns, tuple(edges.values()), released, parts, code_epsilon, tuple(missing.values()))


def drawn_features(n: int, d: int, m: int, rng_for: Callable) -> np.ndarray:
    """(n, d) bool, a set of m of d features for every record."""
    order = np.argsort(rng_for("released features").random((n, d)), axis=1)
    released = np.zeros((n, d), dtype=bool)
    np.put_along_axis(released, order[:, :m], True, axis=1)
    return released


def features_of(options: LocalTablesOptions, epsilon: float, d: int) -> int:
    """Number of features of a record that are released, of d."""
    # A quotient such as .3 / .1 must not lose a feature to rounding.
    share = epsilon / options.epsilon_per_feature + 1e-9
    return d if share >= d else max(1, int(share))


def strata(released: np.ndarray, places: Sequence[tuple[str, Sequence[int]]]) -> tuple[Stratum, ...]:
    """The records by how many features each party releases of them: public, disjoint, far fewer than the sets.

    Inside a stratum the codes of all parties add up to as many as every record releases.

    released : (n, d) bool; places : name and positions of the columns of every party
    """
    names = [name for name, _ in places]
    counts = np.column_stack([released[:, positions].sum(1) for _, positions in places])
    kinds, kind = np.unique(counts, axis=0, return_inverse=True)
    if len(kinds) == 1:
        return (Stratum("*", np.arange(len(counts)), dict(zip(names, kinds[0].tolist(), strict=True))),)
    return tuple(
        Stratum(
            cell_of("released features", "+".join(map(str, party_counts))),
            np.flatnonzero(kind.ravel() == k),
            dict(zip(names, party_counts, strict=True)),
        )
        for k, party_counts in enumerate(kinds.tolist())
    )


def _code_epsilon(parts: Sequence[Stratum], least: dict[str, int], epsilon: float, delta: float, group: int) -> float:
    """Epsilon of one code at which the records of every stratum keep (epsilon, delta).

    least : fewest bins of a party's columns, whose noise covers that of the others (`MixedResponse`)
    """
    if math.isinf(epsilon):
        return math.inf
    releases = {tuple((least[name], count) for name, count in part.counts.items() if count) for part in parts}
    return min(grouped_epsilon(release, epsilon, delta, group) for release in releases)


def _declaration(column: TreeColumn) -> AccountedValue:
    if column.edges is None:
        raise CertificationError(
            f"edges of column {column.name!r} are not declared: certified histograms need public bins; declare the "
            "edges of every passive column, or give the column to the active party."
        )
    if not len(column.edges.value):
        raise ValueError(f"edges of column {column.name!r} are empty: a table needs at least two bins, give a cut.")
    return column.edges
