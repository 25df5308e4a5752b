"""A draft for clients who hold different rows of the same columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .parts import (
    BOUNDS,
    Ask,
    Draft,
    Needs,
    NotSuited,
    Remark,
    column_blocks,
    file_keys,
    gap_keys,
    levels_key,
    party_names,
    person_keys,
    response_key,
    response_of,
)
from .survey import ColumnSurvey, TableSurvey

# Names of columns that say where a row is from.
PLACES = re.compile(r"(?i)clinic|hospital|site|cent(re|er)|klinik|spital|party|client|bank|branch|filiale|region|land")
LEAST = "public: every client has at least so many records; it sets delta"


@dataclass(frozen=True)
class Clients:
    """Clients that files suggest: the widest file, keys of files and clients, the names of clients and their column."""

    whole: TableSurvey
    settings: dict[str, object]
    names: tuple[str, ...]
    column: str = ""


def clients_of(tables: Sequence[TableSurvey], wanted: Sequence[str] = ()) -> Clients:
    """A file each, or one with a column of clients, where the file has all wanted columns; NotSuited for others."""
    alike = [one for one in tables if {c.name for c in one.columns} == {c.name for c in tables[0].columns}]
    if len(tables) > 1 and len(alike) == len(tables):
        names = party_names(tables)
        blocks = [{"party": name, "file": one.file, **file_keys(one)} for name, one in zip(names, tables, strict=True)]
        return Clients(tables[0], {"tables": blocks, **gap_keys(tables)}, tuple(names))
    suited = [one for one in tables if _clients(one, wanted) is not None and len(column_blocks(one, ())) > 2]
    suited = [one for one in suited if all(one.column(name) is not None for name in wanted)]
    if not suited:
        raise NotSuited("it needs files with the same columns, or one with a column that names the client of a row")
    whole = max(suited, key=lambda one: len(column_blocks(one, ())))
    column = _clients(whole, wanted)
    assert column is not None
    settings: dict[str, object] = {"file": whole.file}
    settings |= {"party": Remark(column.name, "a guess: the column that names the client of a row")}
    settings |= {
        "parties": Remark(list(column.levels), "its entries, which are public"),
        **file_keys(whole),
        **gap_keys((whole,)),
    }
    ids = [one.name for one in whole.columns if one.is_id]
    return Clients(whole, settings | ({"id": ids[0]} if ids else {}), tuple(column.levels), column.name)


def draft(tables: Sequence[TableSurvey], response: str | None, needs: Needs) -> Draft:
    """Directions of clients who hold different rows of the same columns: a file each, or one with a column of them."""
    found = clients_of(tables, [] if response is None else [response])
    whole, settings = found.whole, found.settings
    _, target = response_of((whole,), response, classes=None if response else False)
    settings["response"] = response_key(target, response)
    if target.kind == "numbers":
        settings |= {"response_bounds": Ask(BOUNDS), "n_slices": 5}
    else:
        settings["levels"] = levels_key(target)
    settings |= person_keys(whole)
    settings |= {"least": Ask(LEAST), "columns": column_blocks(whole, (target.name, found.column))}
    return Draft(settings, len(found.names))


def _clients(table: TableSurvey, but: Sequence[str]) -> ColumnSurvey | None:
    """The column that may name clients: of the categories without gaps one with such a name, else the evenest one."""
    found = [one for one in table.columns if one.kind == "levels" and not one.missing and len(one.levels) > 1]
    found = [one for one in found if one.name not in but]
    return max(found, key=lambda one: (bool(PLACES.search(one.name)), min(one.levels.values())), default=None)
