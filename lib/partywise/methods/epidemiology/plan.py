"""Expected release of a question set before any record is read, for the widths of its answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod, sqrt

import numpy as np

from .consistency import ReleasedTables, consistent_tables, marginal
from .contributions import TableNoise
from .layout import PARTY, ExitVariable, Layout, Moments, Table, Variable

# Expected shares of a variable or of the cells of a table, or (mean, standard deviation) of a column of means.
Expected = Mapping[str | tuple[str, ...], float | Sequence[float] | np.ndarray]


def expected_tables(chosen: TableNoise, records: int, expected: Expected) -> ReleasedTables:
    """Release that is as expected, with the noise of its law in every entry.

    expected : shares by variable, in the order of its levels (of two levels that of the last alone), or by the names of
        a table with its shape; without an entry all levels are equally likely, and variables are independent. By column
        of means its mean and standard deviation; without an entry the middle of its range and a quarter of its width
    """
    terms, layout = chosen.terms, chosen.terms.layout
    shares = _Shares(layout, expected)
    parts = []
    for item, weight in zip(layout.items, terms.weights, strict=True):
        sums = shares.of_table(item).ravel() if isinstance(item, Table) else shares.of_moments(item)
        parts.append(records * weight * sums)
    size = records if not layout.subset else None
    party = layout.variables.get(PARTY)
    party_sizes = None if party is None else records * shares.of_variable(party)
    return consistent_tables(terms, np.concatenate(parts), chosen.sd, size, party_sizes, excess=chosen.excess)


def draw_expected(layout: Layout, expected: Expected, n: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw columns (n,) of records that are as expected.

    Variables of a declared table are drawn together, the largest table first, and others on their own; numbers are
    uniform in bands and bins, and normal in the range of means where no variable is in their bands.
    """
    shares, codes = _Shares(layout, expected), dict[str, np.ndarray]()
    for names, known, conditional in shares.factors(tuple(layout.variables)):
        shape = conditional.shape[len(known) :]
        edges = np.cumsum(conditional.reshape(-1, prod(shape)), axis=1)
        group = np.zeros(n, dtype=int)
        if known:
            group = np.ravel_multi_index(tuple(codes[name] for name in known), conditional.shape[: len(known)])
        places = np.minimum((rng.random(n)[:, None] > edges[group]).sum(axis=1), prod(shape) - 1)
        codes |= dict(zip(names[len(known) :], np.unravel_index(places, shape), strict=True))
    columns = dict[str, np.ndarray]()
    for name, code in codes.items():
        columns |= layout.variables[name].draw(code, rng)
    for item in layout.moments:
        if item.column not in columns:
            mean, deviation = shares.moments.get(item.column, (item.centre, item.half / 2))
            columns[item.column] = np.clip(rng.normal(mean, deviation, n), item.low, item.high)
    return columns


class _Shares:
    """Expected shares of the cells of tables, and expected moments."""

    def __init__(self, layout: Layout, expected: Expected) -> None:
        self.layout = layout
        self.tables: dict[tuple[str, ...], np.ndarray] = {}
        self.moments: dict[str, tuple[float, float]] = {}
        columns = {moments.column for moments in layout.moments}
        for key, value in expected.items():
            names = (key,) if isinstance(key, str) else tuple(key)
            absent = [name for name in names if name not in layout.variables]
            if names[0] in columns and len(names) == 1 and np.size(value) == 2:
                mean, deviation = np.asarray(value, dtype=float)
                self.moments[names[0]] = (float(mean), float(deviation))
            elif absent:
                known = ", ".join([*layout.variables, *columns])
                raise ValueError(f"expected has {key!r}: no question is about it; take names of {known}.")
            else:
                self.tables[names] = _checked_shares(key, value, [layout.variables[name] for name in names])

    def factors(self, names: Sequence[str]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], np.ndarray]]:
        """Yield names of variables, those of them that are known before, and shares of the others given these.

        Declared tables come first, the largest before others; a variable of none is independent of all.
        """
        before: list[str] = []
        declared = sorted(self.tables, key=len, reverse=True)
        for holder in [*declared, *((name,) for name in names)]:
            known = tuple(name for name in holder if name in before)
            new = tuple(name for name in holder if name in names and name not in before)
            if new and (len(known + new) > 1 or len(holder) == 1):
                if len(holder) > 1:
                    shares = marginal(self.tables[holder], holder, known + new)
                else:
                    shares = self.of_variable(self.layout.variables[holder[0]])
                total = shares.sum(axis=tuple(range(len(known), len(known + new))), keepdims=True)
                before += new
                yield known + new, known, shares / np.maximum(total, 1e-300)

    def of_table(self, table: Table) -> np.ndarray:
        """Shares of the cells of a table, as declared tables have its variables, which else are independent.

        Every party is expected to have the same shares.
        """
        if table.names[-1:] == (PARTY,):
            return np.multiply.outer(self.of_table(Table(table.variables[:-1])), self.of_variable(table.variables[-1]))
        product = np.ones(table.shape)
        for names, _, shares in self.factors(table.names):
            axes = [table.names.index(name) for name in names]
            places = tuple(slice(None) if axis in axes else None for axis in range(len(table.shape)))
            product = product * shares.transpose(np.argsort(axes))[places]
        return product

    def of_variable(self, variable: Variable) -> np.ndarray:
        """Shares of the levels of a variable, from the smallest table that is declared with it."""
        holders = sorted((names for names in self.tables if variable.name in names), key=len)
        if holders:
            return marginal(self.tables[holders[0]], holders[0], (variable.name,))
        return np.full(len(variable.levels), 1 / len(variable.levels))

    def of_moments(self, item: Moments) -> np.ndarray:
        """Expected contributions of moments, of weight 1, by group."""
        groups = np.ones(1) if item.group is None else self.of_variable(item.group)
        mean, deviation = self._mean(item)
        z, v = (mean - item.centre) / item.half, (deviation / item.half) ** 2
        rows = [groups * z / sqrt(2), groups * (v + z**2 - 0.5)][: 1 + item.squares]
        known = self.layout.known_variable(item.column)
        if item.may_be_missing and known is not None:
            rows = [row * self.of_variable(known)[: known.known_levels].sum() for row in rows]
        return np.concatenate(rows)

    def _mean(self, item: Moments) -> tuple[np.ndarray, float]:
        """Mean by group and standard deviation of a column; of person-time by the expected exits."""
        ones = np.ones(item.groups)
        for name in self.layout.incidence:
            variable = self.layout.variables[name]
            assert isinstance(variable, ExitVariable)
            if variable.time == item.column:
                middles = (np.asarray(variable.edges[1:]) + np.asarray(variable.edges[:-1])) / 2
                times = np.append(np.tile(middles, len(variable.values) + 1), variable.edges[-1])
                group = () if item.group is None else (item.group,)
                shares = self.of_table(Table((*group, variable))).reshape(item.groups, -1)
                return shares @ times / np.maximum(shares.sum(axis=1), 1e-12), 0.0
        mean, deviation = self.moments.get(item.column, (item.centre, item.half / 2))
        return mean * ones, deviation


def _checked_shares(key: object, value: object, variables: Sequence[Variable]) -> np.ndarray:
    """Shares with the shape of the variables; ValueError where they have another shape or are not shares."""
    shape = tuple(len(variable.levels) for variable in variables)
    shares = np.asarray(value, dtype=float)
    if shares.ndim == 0 and shape == (2,):
        shares = np.array([1 - shares, shares])
    if shares.size != prod(shape) or not (shares >= 0).all() or not abs(float(shares.sum()) - 1) < 1e-6:
        raise ValueError(
            f"expected has {value!r} for {key!r}: give shares of the shape {shape} that add to 1"
            + (", or that of the last level alone." if shape == (2,) else ".")
        )
    return shares.reshape(shape)
