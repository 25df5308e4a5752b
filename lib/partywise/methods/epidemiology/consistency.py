"""Tables of one release that agree on their common margins, by generalised least squares in closed form.

Noise of equal variance in all cells of a table is uncorrelated between its interactions: the component of a subset A
of the variables is the table, summed over the other variables and centred along each of A.  Components of A are pooled
over all tables that have one, weighted by their precision; a public margin replaces its component, without a variance.
This is post-processing and costs no privacy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from math import prod, sqrt

import numpy as np

from .contributions import Contributions
from .layout import PARTY, Item, Layout, Table, Variable

Subset = tuple[str, ...]
# Why an item that was asked for is absent.
REFUSED = "a party refuses it for a small count; give fewer levels, or take protocol 'tables'"


@dataclass(frozen=True, eq=False)
class Counts:
    """Consistent counts of one table, and the law of their noise.

    variables : of the axes; values : counts, without rounding
    variances : variance of the pooled component of every subset of the variables, as sorted names
    records : their sum, where it is public
    """

    variables: tuple[Variable, ...]
    values: np.ndarray
    variances: Mapping[Subset, float]
    records: int | None

    def margin(self, *names: str) -> Counts:
        """Counts by some of the variables, in the order of the names: consistent as they are."""
        by_name = {variable.name: variable for variable in self.variables}
        variances = {subset: v for subset, v in self.variances.items() if set(subset) <= set(names)}
        values = marginal(self.values, list(by_name), names)
        return Counts(tuple(by_name[name] for name in names), values, variances, self.records)

    @property
    def size(self) -> float:
        """Number of records: public, or as released."""
        return float(self.values.sum()) if self.records is None else float(self.records)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Covariance (c, c) of the noise of the cells, in C order."""
        cells = self.values.size
        total = np.zeros((cells, cells))
        for subset, variance in self.variances.items():
            if variance:
                factors = [_covariance_factor(variable, variable.name in subset) for variable in self.variables]
                # The number of all records has no variables.
                total += variance * reduce(np.kron, factors or [np.eye(1)])
        return total


@dataclass(frozen=True, eq=False)
class MomentSums:
    """Released sums of a column in [-1, 1] by group.

    sums : (G,) of z; variance : of the noise of each
    squares : (G,) of z^2 - 1/2, or None; squares_variance : of the noise of each
    """

    sums: np.ndarray
    variance: float
    squares: np.ndarray | None
    squares_variance: float


@dataclass(frozen=True, eq=False)
class ReleasedTables:
    """A release after consistency: what every estimate reads.

    layout : of the items; tables : counts by sorted names of the variables; moments : sums by column
    step_squares : sum of the squared weights of all items, for the cost of further ones
    excess : excess kurtosis of the noise of a cell; refusals : items that a party did not show
    radius : half-width of the box around all cells from which published regions are read, 0 without one
    """

    layout: Layout
    tables: Mapping[Subset, Counts]
    moments: Mapping[str, MomentSums]
    records: int | None
    step_squares: float
    excess: float = 0.0
    radius: float = 0.0
    refusals: tuple[Item, ...] = ()

    def table(self, *names: str) -> Counts:
        """Counts by variables, in the order of their names, from the smallest table that has all of them.

        KeyError names the table that would be needed and what it would cost.
        """
        if not names and self.tables:
            return next(iter(self.tables.values())).margin()
        holders = [counts for subset, counts in self.tables.items() if set(names) <= set(subset)]
        if not holders:
            raise KeyError(self._remedy(names))
        return min(holders, key=lambda counts: counts.values.size).margin(*names)

    def variable(self, name: str) -> Variable:
        """Variable of a released table; KeyError for what no table has."""
        if name not in self.layout.variables:
            raise KeyError(self._remedy([name]))
        return self.layout.variables[name]

    def _remedy(self, names: Sequence[str]) -> str:
        """Sentence on the table that would be needed."""
        variables = self.layout.variables
        absent = [name for name in names if name not in variables]
        head = f"no table of {', '.join(names)} was released" if names else "no table was released"
        if any(isinstance(item, Table) and set(names) <= set(item.names) for item in self.refusals):
            return f"{head}: {REFUSED}."
        if absent or not names:
            return f"{head}: ask for {repr(absent[0]) if absent else 'one'} in the question set."
        table = Table(tuple(variables[name] for name in names))
        increase = sqrt(1 + sqrt(table.entries / 8) / self.step_squares) - 1
        return (
            f"{head}: add {tuple(names)!r} to cross; its {table.entries} cells widen the noise of all numbers by "
            f"{100 * increase:.1f} %."
        )


def marginal(values: np.ndarray, names: Sequence[str], wanted: Sequence[str]) -> np.ndarray:
    """Values with an axis per name, summed to the axes of the wanted names, in their order."""
    axes = [list(names).index(name) for name in wanted]
    rest = tuple(axis for axis in range(len(names)) if axis not in axes)
    # After the sum the axes that are left keep their order.
    return values.sum(axis=rest).transpose(np.argsort(np.argsort(axes)))


def consistent_tables(
    contributions: Contributions,
    steps: np.ndarray,
    sd: float | Sequence[float],
    records: int | None,
    party_sizes: Sequence[float] | np.ndarray | None = None,
    *,
    excess: float = 0.0,
) -> ReleasedTables:
    """Tables and moments of a release, made consistent.

    steps : (d,) released sums, in steps of the contributions
    sd : of the noise of an entry in steps: one number, or one per item
    records : n of all parties, None where it is not public, as with a subset
    party_sizes : records by party, where the tables are by party
    excess : excess kurtosis of the noise of an entry, 0 of Gaussian noise
    """
    layout = contributions.layout
    records = None if layout.subset else records
    weights = np.asarray(contributions.weights, dtype=float)
    variances = (np.asarray(sd, dtype=float) / weights) ** 2
    parts = [part / weight for part, weight in zip(layout.split(np.asarray(steps, dtype=float)), weights, strict=True)]
    first = len(layout.tables)
    noisy = {
        table: (part, float(variance))
        for table, part, variance in zip(layout.tables, parts[:first], variances[:first], strict=True)
    }
    known: dict[Subset, np.ndarray] = {}
    if records is not None:
        known[()] = np.array(float(records))
        if party_sizes is not None:
            sizes = np.asarray(party_sizes, dtype=float)
            known[(PARTY,)] = sizes - sizes.mean()
    pooled = _pooled_components(noisy, known)
    tables = {tuple(sorted(table.names)): _counts(table, pooled, records) for table in layout.tables}
    if not variances.any():
        # Tables without noise stay as they are: whole, and each as its party rounded it.
        tables = {
            names: replace(counts, values=part) for (names, counts), part in zip(tables.items(), parts, strict=False)
        }
    moments = {}
    for item, part, variance in zip(layout.moments, parts[first:], variances[first:], strict=True):
        squares = part[1] if item.squares else None
        moments[item.column] = MomentSums(sqrt(2) * part[0], 2 * float(variance), squares, float(variance))
    step_squares = float(((weights * float(contributions.step)) ** 2).sum())
    return ReleasedTables(layout, tables, moments, records, step_squares, excess)


def _subsets(names: Sequence[str]) -> list[Subset]:
    """All subsets of names, each sorted."""
    ordered = sorted(names)
    return [subset for size in range(len(ordered) + 1) for subset in combinations(ordered, size)]


def _pooled_components(
    noisy: Mapping[Table, tuple[np.ndarray, float]], known: Mapping[Subset, np.ndarray]
) -> dict[Subset, tuple[np.ndarray, float]]:
    """Pooled component, with axes in sorted order, and its variance, of every subset of the variables of a table."""
    sums: dict[Subset, tuple[np.ndarray, float]] = {}
    for table, (values, variance) in noisy.items():
        ordered = values.transpose(np.argsort(table.names))
        levels = dict(zip(table.names, table.shape, strict=True))
        names = sorted(table.names)
        for subset in _subsets(names):
            if subset in known:
                continue
            component = ordered.sum(axis=tuple(axis for axis, name in enumerate(names) if name not in subset))
            for axis in range(len(subset)):
                component = component - component.mean(axis=axis, keepdims=True)
            # Without noise every table has the same component, and any weights do.
            precision = 1 / (max(variance, 1e-300) * prod(levels[name] for name in names if name not in subset))
            total, precisions = sums.get(subset, (0.0, 0.0))
            sums[subset] = (total + precision * component, precisions + precision)
    exact = not any(variance for _, variance in noisy.values())
    pooled = {
        subset: (total / precision, 0.0 if exact else 1 / precision) for subset, (total, precision) in sums.items()
    }
    return {**pooled, **{subset: (component, 0.0) for subset, component in known.items()}}


def _counts(table: Table, pooled: Mapping[Subset, tuple[np.ndarray, float]], records: int | None) -> Counts:
    """Counts of one table from the pooled components of all."""
    names = sorted(table.names)
    levels = dict(zip(table.names, table.shape, strict=True))
    values = np.zeros([levels[name] for name in names])
    variances = {}
    for subset in _subsets(names):
        component, variances[subset] = pooled[subset]
        shape = [levels[name] if name in subset else 1 for name in names]
        values += component.reshape(shape) / prod(levels[name] for name in names if name not in subset)
    order = np.argsort(np.argsort(table.names))
    return Counts(table.variables, values.transpose(order), variances, records)


def _covariance_factor(variable: Variable, centred: bool) -> np.ndarray:
    """Factor of one axis: I - J / k where the subset has the variable, J / k^2 otherwise."""
    k = len(variable.levels)
    return np.eye(k) - 1 / k if centred else np.full((k, k), 1 / k**2)
