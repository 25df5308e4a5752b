"""Items of a question set after its checks: public variables, tables of counts, moments of columns.

Levels, edges and ranges are public and fixed before any record is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from ...federation.parties import Party

# Level of a record whose value is empty or not among the declared levels.
MISSING = "missing"
# Name of the variable that states which party holds a record.
PARTY = "party"
Columns = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Variable:
    """A public variable of one column.

    name : in tables, and of the column if ``column`` does not name another
    levels : labels in order, the last of them `MISSING` if ``missing``
    values : what the column holds for each declared level; empty for bands
    edges : ends of the bands, one more than there are; empty for categories
    whole : whether the column holds whole numbers
    """

    name: str
    levels: tuple[str, ...]
    values: tuple[object, ...] = ()
    edges: tuple[float, ...] = ()
    whole: bool = False
    missing: bool = False
    column: str = ""

    @property
    def known_levels(self) -> int:
        """Number of levels without `MISSING`."""
        return len(self.levels) - self.missing

    @property
    def has_quantiles(self) -> bool:
        """Whether it has bands, all of them finite."""
        return bool(self.edges) and bool(np.isfinite(self.edges).all())

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that decide the level of a record."""
        return (self.column or self.name,)

    def declared_codes(self, columns: Columns) -> np.ndarray:
        """Number (n,) of each record's level, -1 where its value is empty or not declared.

        A band holds its lower edge; values outside of all bands count in the nearest.
        """
        column = np.asarray(columns[self.columns[0]])
        if self.edges:
            numbers = column.astype(float)
            inside = np.clip(np.searchsorted(self.edges, numbers, side="right") - 1, 0, self.known_levels - 1)
            return np.where(np.isnan(numbers), -1, inside)
        codes = np.full(len(column), -1, dtype=np.int16)
        for code, value in enumerate(self.values):
            equal = np.asarray(column == _comparable(value, column.dtype.kind))
            # Ten times faster than an assignment where the values agree.
            np.maximum(codes, equal * np.int16(code + 1) - np.int16(1), out=codes)
        return codes

    def codes(self, columns: Columns) -> np.ndarray:
        """Number (n,) of each record's level; -1 for a record in none, where no level `MISSING` is declared."""
        codes = self.declared_codes(columns)
        return np.where(codes < 0, self.known_levels, codes) if self.missing else codes

    def draw(self, codes: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw columns of records with these levels (n,), numbers uniformly in their bands."""
        column = self.columns[0]
        if self.edges:
            if self.column:
                return {}
            numbers = _in_bands(self.edges, np.minimum(codes, self.known_levels - 1), rng)
            return {column: np.where(codes < self.known_levels, numbers, np.nan)}
        texts = np.array([*map(str, self.values), ""])
        return {column: texts[codes]}

    @property
    def canonical_order(self) -> np.ndarray:
        """Numbers of the levels in sorted order; bands keep theirs."""
        return np.arange(len(self.levels)) if self.edges else np.argsort(self.levels)

    def facts(self) -> list[object]:
        """Return what identifies the variable, the same for every order of its levels."""
        levels = [self.levels[code] for code in self.canonical_order]
        return [self.name, *self.columns, *levels, list(map(repr, self.edges)), self.whole]


def _comparable(value: object, kind: str) -> object:
    """Return a declared value as a column of this kind of numbers, texts or objects holds it."""
    if kind in "US":
        return str(value)
    if kind in "iuf" and isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return float("nan")
    return value


def _in_bands(edges: Sequence[float], bands: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers (n,) that are uniform in bands; of a band without an end its other end."""
    low, high = np.array(edges[:-1])[bands], np.array(edges[1:])[bands]
    low, high = np.where(np.isfinite(low), low, high), np.where(np.isfinite(high), high, low)
    return low + (high - low) * rng.random(len(bands))


@dataclass(frozen=True)
class ExitVariable(Variable):
    """The bin and the cause by which a record leaves: cause by cause its J bins, censored in J bins, followed.

    A bin holds its upper edge.  A record without a time is censored in the first bin, and every value of the column
    of causes that is not a declared cause is a censoring.
    """

    time: str = ""
    cause: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of time and cause."""
        return (self.time, self.cause)

    @property
    def bins(self) -> int:
        """Number of bins J."""
        return len(self.edges) - 1

    def declared_codes(self, columns: Columns) -> np.ndarray:
        """Number (n,) of each record's way to leave."""
        times = np.nan_to_num(np.asarray(columns[self.time], dtype=float), nan=0.0)
        cause = Variable(self.cause, tuple(map(str, self.values)), self.values).declared_codes(columns)
        bins = np.clip(np.searchsorted(self.edges, times, side="left") - 1, 0, self.bins - 1)
        block = np.where(cause < 0, len(self.values), cause)
        followed = (times > self.edges[-1]) | ((times == self.edges[-1]) & (cause < 0))
        return np.where(followed, len(self.levels) - 1, block * self.bins + bins)

    def draw(self, codes: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw times and causes of records that leave so, uniformly in their bins."""
        followed = codes == len(self.levels) - 1
        block = np.where(followed, len(self.values), codes // self.bins)
        times = np.where(followed, self.edges[-1], _in_bands(self.edges, codes % self.bins, rng))
        return {self.time: times, self.cause: np.array([*map(str, self.values), ""])[block]}


@dataclass(frozen=True)
class Table:
    """Counts of records by the levels of a few variables."""

    variables: tuple[Variable, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    @property
    def name(self) -> str:
        """Name in weights and messages, as ``arm x died``."""
        return " x ".join(self.names) or "records"

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of levels."""
        return tuple(len(variable.levels) for variable in self.variables)

    @property
    def entries(self) -> int:
        """Number of cells."""
        return prod(self.shape)

    def canonical_entries(self) -> np.ndarray:
        """Cells (entries,) in the order of sorted variables with sorted levels."""
        numbers = np.arange(self.entries).reshape(self.shape)
        for axis, variable in enumerate(self.variables):
            numbers = numbers.take(variable.canonical_order, axis=axis)
        return numbers.transpose(np.argsort(self.names)).ravel()

    def facts(self) -> list[object]:
        """Return what identifies the table, the same for every order of variables and levels."""
        return ["table", sorted(json.dumps(variable.facts()) for variable in self.variables)]


@dataclass(frozen=True)
class Moments:
    """Sums of a numeric column and, with ``squares``, of its squares, by group.

    low, high : public range, outside of which values are clipped
    group : by which records are added; without it all together
    may_be_missing : whether an empty value adds nothing; otherwise it counts as the lower end of the range
    """

    column: str
    low: float
    high: float
    group: Variable | None
    squares: bool
    may_be_missing: bool

    @property
    def name(self) -> str:
        """Name in weights and messages, as ``age by arm``."""
        return self.column if self.group is None else f"{self.column} by {self.group.name}"

    @property
    def groups(self) -> int:
        """Number of groups."""
        return 1 if self.group is None else len(self.group.levels)

    @property
    def entries(self) -> int:
        """Number of sums: of all groups, then those of squares."""
        return self.groups * (1 + self.squares)

    @property
    def centre(self) -> float:
        """Middle of the range."""
        return (self.low + self.high) / 2

    @property
    def half(self) -> float:
        """Half of the width of the range."""
        return (self.high - self.low) / 2

    def canonical_entries(self) -> np.ndarray:
        """Entries in the order of sorted groups."""
        order = np.arange(1) if self.group is None else self.group.canonical_order
        return (order + self.groups * np.arange(1 + self.squares)[:, None]).ravel()

    def facts(self) -> list[object]:
        """Return what identifies the sums, the same for every order of groups."""
        group = None if self.group is None else self.group.facts()
        return ["moments", self.column, repr(self.low), repr(self.high), group, self.squares, self.may_be_missing]


Item = Table | Moments


@dataclass(frozen=True)
class Layout:
    """All items of a question set, in the order of the entries of its release.

    by : the variable of groups
    table_one : names of the variables that are described by group
    cross : names of the tables that were asked for; incidence : names of the exit variables with their person-time
    subset : (variable, codes) that a record must have to be counted at all
    impossible : combinations of levels, as (name, code) pairs, in which a record cannot be
    """

    by: str | None
    tables: tuple[Table, ...]
    moments: tuple[Moments, ...]
    table_one: tuple[str, ...] = ()
    cross: tuple[tuple[str, ...], ...] = ()
    incidence: tuple[str, ...] = ()
    subset: tuple[tuple[Variable, tuple[int, ...]], ...] = ()
    impossible: tuple[tuple[tuple[str, int], ...], ...] = ()

    @property
    def items(self) -> tuple[Item, ...]:
        """Tables, then moments."""
        return (*self.tables, *self.moments)

    @property
    def entries(self) -> int:
        """Numbers that are released."""
        return sum(item.entries for item in self.items)

    @cached_property
    def variables(self) -> dict[str, Variable]:
        """Variables of all tables, by name."""
        return {variable.name: variable for table in self.tables for variable in table.variables}

    @property
    def read_variables(self) -> tuple[Variable, ...]:
        """Variables of tables and of the subset, without `PARTY`."""
        variables = self.variables | {variable.name: variable for variable, _ in self.subset}
        return tuple(variable for name, variable in variables.items() if name != PARTY)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read, without `PARTY`."""
        names = [name for variable in self.read_variables for name in variable.columns]
        return tuple(dict.fromkeys([*names, *(moments.column for moments in self.moments)]))

    def known_variable(self, column: str) -> Variable | None:
        """Variable of a table that states whether a column of means has a value; None without one."""
        return self.variables.get(f"{column} known", self.variables.get(column))

    def split(self, entries: np.ndarray) -> list[np.ndarray]:
        """Entries (d,) of a release by item, tables with their shapes."""
        parts = np.split(entries, np.cumsum([item.entries for item in self.items])[:-1])
        shapes = [item.shape if isinstance(item, Table) else (-1, item.groups) for item in self.items]
        return [part.reshape(shape) for part, shape in zip(parts[: len(shapes)], shapes, strict=True)]

    def canonical(self) -> tuple[str, np.ndarray]:
        """Text that is the same for every order of items and levels, and the entries (d,) in that text's order."""
        parts = zip(self.items, self.split(np.arange(self.entries)), strict=True)
        rows = [(json.dumps(item.facts()), part.ravel()[item.canonical_entries()]) for item, part in parts]
        rows.sort(key=lambda row: row[0])
        subset = sorted([variable.name, sorted(variable.levels[c] for c in codes)] for variable, codes in self.subset)
        return json.dumps([[text for text, _ in rows], subset]), np.concatenate([entries for _, entries in rows])


def columns_of(frame: Mapping[str, object], layout: Layout) -> dict[str, np.ndarray]:
    """Columns (n,) of a frame that the layout reads: numbers, or text with empty cells as ""; ValueError for others."""
    columns = dict[str, np.ndarray]()
    for name in layout.columns:
        if name not in frame:
            raise ValueError(f"frame has no column {name!r}, which the questions read: add it, or rename a column.")
        column = np.asarray(frame[name])
        if column.ndim != 1 or not len(column):
            raise ValueError(f"frame has a column {name!r} of shape {column.shape}: give (n,), one value per record.")
        columns[name] = _column_values(name, column)
    if len(set(map(len, columns.values()))) > 1:
        raise ValueError(f"frame has columns of {sorted(set(map(len, columns.values())))} records: give one length.")
    numeric = {item.column for item in layout.moments}
    numeric |= {variable.columns[0] for variable in layout.variables.values() if variable.edges}
    for name in sorted(numeric):
        if columns[name].dtype.kind != "f":
            raise ValueError(f"frame has text in {name!r}, of which the questions take bands or means: give numbers.")
    return columns


def organisations_of(columns: Columns, layout: Layout, groups: Mapping[str, Sequence[str]]) -> list[Party]:
    """Organisations with columns (n,) of the same records, numbered as in the layout.

    groups : names of columns by organisation, of which those that are not read are left out
    """
    numbers = {
        name: [k for k, column in enumerate(layout.columns) if column in group] for name, group in groups.items()
    }
    return [
        Party(name, "passive", {layout.columns[k]: columns[layout.columns[k]] for k in places}, tuple(places))
        for name, places in numbers.items()
    ]


def _column_values(name: str, column: np.ndarray) -> np.ndarray:
    """Numbers as floats, anything else as text, in which an empty cell is "" and a whole number has no point."""
    if column.dtype.kind in "biuf":
        return column.astype(float)
    if column.dtype.kind in "mM":
        raise ValueError(f"frame holds dates in {name!r}: give numbers, such as days since a public date.")
    values = [None if value is None or value != value else value for value in column.tolist()]
    if all(value is None or isinstance(value, int | float) for value in values):
        return np.array([np.nan if value is None else float(value) for value in values])
    return np.array(["" if value is None else str(value) for value in values])
