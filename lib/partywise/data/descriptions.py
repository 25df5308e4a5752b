"""The shipped tables: who holds which columns, and what is public of them before any record is seen.

Every fact is in ``catalogue.toml`` next to the pin of the table's file, with its source.  Private fits scale columns
by constants that follow from a column's meaning; the tables were visible while they were chosen.  Any study
whose split fits can name a table.  Standard library only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, log

# Any: blocks of a TOML file.
from typing import TYPE_CHECKING, Any, Literal

from ..models.criteria import CLASSES, NUMBERS, Criterion
from ..models.family_facts import FACTS
from ..models.kinds import LEVELS
from .catalogue import ENTRIES
from .column_facts import ColumnFacts, check_kind, levels


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table; it has edges and a range, or the levels of a category, or a location and a scale.

    edges, bounds : public cuts and range; levels : of a category, numbered in this order
    location, scale : by which private fits centre and scale it; because : where all of them come from
    kind : distribution by its meaning, as of `partywise.data.column_facts.ColumnFacts`; an indicator is binary
    source : column of the file, where its name is another one; log1p : whether log(1 + entry) is used
    binary : whether it is an indicator, of 0 and 1; positive : entries of the file that count as 1
    """

    name: str
    because: str
    edges: tuple[float, ...] | None = None
    bounds: tuple[float, float] | None = None
    levels: tuple[str, ...] = ()
    location: float | None = None
    scale: float | None = None
    source: str | None = None
    log1p: bool = False
    binary: bool = False
    positive: tuple[str, ...] = ()
    kind: str | None = None

    def __post_init__(self) -> None:
        check_kind(self.kind, self.bounds)

    @property
    def read_from(self) -> str:
        """Column of the file."""
        return self.source or self.name

    @property
    def facts(self) -> ColumnFacts:
        """Cuts and range: of a location and a scale, cuts half a scale apart and three scales on each side."""
        if self.levels or self.binary:
            facts = levels(len(self.levels) or 2, self.because)
            return replace(facts, kind=self.kind or facts.kind)
        if self.location is None or self.scale is None:
            return ColumnFacts(self.edges, self.bounds, self.because, self.kind)
        low, high = self.location - 3 * self.scale, self.location + 3 * self.scale
        cuts = tuple(self.location + k * self.scale / 2 for k in range(-3, 4))
        return ColumnFacts(cuts, (low, high), self.because, self.kind)

    @property
    def moments(self) -> tuple[float, float] | None:
        """Location and scale: those that are declared, or else of a column that is uniform on its range."""
        if self.location is None or self.scale is None:
            return self.facts.moments
        return self.location, self.scale


@dataclass(frozen=True, kw_only=True)
class Holder:
    """A party with its columns; ``radius`` of its scaled block, where it is not the default one."""

    name: str
    columns: tuple[Column, ...]
    radius: float | None = None


@dataclass(frozen=True, kw_only=True)
class Response:
    """A column that may be explained.

    families : of its models, the usual one first; levels : its classes, where there are more than two and no family
    bounds : public range of the entries; edges : cuts of slices, by default of equal ones
    start : mean at which noisy iterations start; because : where all of them come from
    rows : records that have it and all columns
    source, positive : as of a column; above : the label is 1 above this entry
    log : whether the logarithm of the entry is the response
    above_zero : whether only records above 0 have it
    status : of follow-up times, the column that is 1 where an event ended them
    """

    name: str
    families: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    bounds: tuple[float, float] = (0.0, 1.0)
    start: float = 0.5
    rows: int
    because: str
    edges: tuple[float, ...] = ()
    source: str | None = None
    positive: tuple[str, ...] = ()
    above: float | None = None
    log: bool = False
    above_zero: bool = False
    status: str | None = None

    @property
    def read_from(self) -> str:
        """Column of the file."""
        return self.source or self.name

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 of a response that is a number."""
        return len(self.levels) or 2 * (self.families[0] == "binomial")

    @property
    def criterion(self) -> Criterion:
        """The loss that fits it: for classes or for numbers."""
        return CLASSES if self.n_classes else NUMBERS

    @property
    def response_bounds(self) -> tuple[float, float] | None:
        """Public range of a response that is a number; None for classes."""
        if self.criterion == CLASSES:
            return None
        low, high = self.statistic
        return (exp(low), exp(high)) if FACTS[self.families[0]].is_positive else (low, high)

    @property
    def statistic(self) -> tuple[float, float]:
        """Public range of the response, of its logarithm where the family is Gamma or inverse Gaussian."""
        low, high = self.bounds
        return (log(low), log(high)) if self.log or FACTS[self.families[0]].is_positive else (low, high)

    @property
    def eta_start(self) -> float:
        """Linear predictor at which noisy iterations start."""
        link = FACTS[self.families[0]].link
        if link == "logit":
            return log(self.start / (1 - self.start))
        return self.start if link == "identity" and not self.log else log(self.start)


@dataclass(frozen=True, kw_only=True)
class TableDescription:
    """A table, its parties and its responses, the active party and the usual response first.

    resource : data set of the catalogue; file : of its members, where it has several
    holders : natural parties; columns_in_runs : the columns, where there are none and columns are dealt in runs
    signals : of recordings, where there are none and the loader makes columns of these
    clients : natural clients; least : records that each of them has at least
    rows_per_user : records that each of them has at most, where clients are persons
    record : what a record of the privacy unit is; because : where the constants of the columns come from
    divided : whether the table comes with its own test rows
    training : column of numbers that divides it, and the largest of a record that trains
    indicators : whether each level of a category is a column of 0 and 1
    """

    name: str
    resource: str
    responses: tuple[Response, ...]
    record: str
    holders: tuple[Holder, ...] = ()
    columns_in_runs: tuple[Column, ...] = ()
    signals: tuple[Column, ...] = ()
    clients: tuple[str, ...] = ()
    least: int = 0
    rows_per_user: int | None = None
    file: str = ""
    because: str = ""
    divided: bool = False
    training: tuple[str, int] | None = None
    indicators: bool = False

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Columns of all parties, in order."""
        return self.columns_in_runs or tuple(column for holder in self.holders for column in holder.columns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def column_facts(self) -> tuple[ColumnFacts, ...]:
        """Public declarations about each column."""
        return tuple(column.facts for column in self.columns)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the columns of each natural party."""
        owner = [k for k, holder in enumerate(self.holders) for _ in holder.columns]
        return tuple(tuple(j for j, k in enumerate(owner) if k == party) for party in range(len(self.holders)))

    def column(self, name: str) -> Column:
        """The column of that name."""
        return self.columns[self.names.index(name)]

    def response(self, name: str | None) -> Response:
        """The response of that name, the usual one for None."""
        by_name = {response.name: response for response in self.responses}
        if name is None:
            return self.responses[0]
        if name not in by_name:
            raise ValueError(f"response is {name!r}: table {self.name!r} has {', '.join(by_name)}.")
        return by_name[name]


def _blocks(kind: type[Any], entries: list[dict[str, Any]]) -> tuple[Any, ...]:
    """Dataclasses from blocks of the catalogue; an unknown key ends in a TypeError."""
    return tuple(kind(**{key: tuple(x) if isinstance(x, list) else x for key, x in block.items()}) for block in entries)


def _columns(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Columns of an entry; a bare name is one of the table ``columns_of``, or else of a column with no public range."""
    of = entry.get("columns_of")
    known = {column["name"]: column for column in ENTRIES[of]["tables"][of]["columns"]} if of else {}
    columns: list[dict[str, Any]] = []
    for column in entry.get("columns", known):
        if isinstance(column, str):
            column = known[column] if of else {"name": column, "because": entry["because"]}
        if "levels" not in column or not entry.get("indicators"):
            columns.append(column)
            continue
        name, because = column["name"], column["because"]
        columns += (
            {
                "name": f"{name}_{level}",
                "source": name,
                "positive": [level],
                "binary": True,
                "kind": LEVELS,
                "because": because,
            }
            for level in column["levels"]
        )
    return columns


def _table(name: str, resource: str, entry: dict[str, Any]) -> TableDescription:
    values: dict[str, Any] = {key: value for key, value in entry.items() if key not in ("columns", "columns_of")}
    holders = [holder | {"columns": _blocks(Column, holder["columns"])} for holder in entry.get("holders", ())]
    values |= {"holders": _blocks(Holder, holders), "columns_in_runs": _blocks(Column, _columns(entry))}
    values |= {"signals": _blocks(Column, entry.get("signals", ())), "responses": _blocks(Response, entry["responses"])}
    if training := entry.get("training"):
        values |= {"training": (training["column"], training["last"]), "divided": True}
    description: TableDescription = _blocks(TableDescription, [values | {"name": name, "resource": resource}])[0]
    return description


TABLES = {
    name: _table(name, resource, entry)
    for resource, pinned in ENTRIES.items()
    for name, entry in pinned.get("tables", {}).items()
}
# The names in the grammar of settings are those of the catalogue.
if TYPE_CHECKING:
    Name = str
else:
    Name = Literal[tuple(sorted(TABLES))]
