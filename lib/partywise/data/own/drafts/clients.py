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
    Roles,
    column_blocks,
    file_keys,
    gap_keys,
    id_of,
    levels_key,
    other_entry,
    party_names,
    person_keys,
    response_key,
    response_of,
)
from .survey import ColumnSurvey, TableSurvey

# Names of columns that say where a row is from.
PLACES = re.compile(
    r"(?i)(.*[\W_])?(clinic|hospital|site|cent(re|er)|zentrum|klinik|spital|krankenhaus|party|client|bank|branch|filiale"
    r"|region|land)s?([\W_]*(id|nr|no|name|key|code))?"
)
# Clients of a file at most.
MOST = 100
LEAST = "public: every client has at least so many records; it sets delta"


@dataclass(frozen=True)
class Clients:
    """Clients that files suggest: the widest file, keys of files and clients, the names of clients and their column."""

    whole: TableSurvey
    settings: dict[str, object]
    names: tuple[str, ...]
    column: str = ""


def clients_of(tables: Sequence[TableSurvey], roles: Roles, wanted: Sequence[str] = ()) -> Clients:
    """A file each, or one with a column of clients, where the file has all wanted columns; NotSuited for others."""
    if roles.me is not None:
        entry = {"party": roles.me, "file": tables[0].file, **file_keys(tables[0])}
        return Clients(tables[0], {"tables": [entry, other_entry("file")], **gap_keys(tables)}, (roles.me,))
    alike = [table for table in tables if {c.name for c in table.columns} == {c.name for c in tables[0].columns}]
    if roles.party is None and len(tables) > 1 and len(alike) == len(tables):
        names = party_names(tables)
        blocks = [
            {"party": name, "file": table.file, **file_keys(table)} for name, table in zip(names, tables, strict=True)
        ]
        return Clients(tables[0], {"tables": blocks, **gap_keys(tables)}, tuple(names))
    suited = [
        table for table in tables if _clients(table, wanted, roles) is not None and len(column_blocks(table, ())) > 2
    ]
    suited = [table for table in suited if all(table.column(name) is not None for name in wanted)]
    if not suited:
        raise NotSuited(
            "it needs files with the same columns, or one with a column that names the client of a row (--party)"
        )
    whole = max(suited, key=lambda table: len(column_blocks(table, ())))
    column = _clients(whole, wanted, roles)
    assert column is not None
    names = sorted(set(column.values))
    settings: dict[str, object] = {"file": whole.file, **_party_keys(column, names, roles)}
    settings |= {**file_keys(whole), **gap_keys((whole,))}
    ids = id_of(whole, roles)
    return Clients(whole, settings | ({"id": ids} if ids else {}), tuple(names), column.name)


def _party_keys(column: ColumnSurvey, names: Sequence[str], roles: Roles) -> dict[str, object]:
    """The column of clients and its entries: questions unless a person or its name identifies it."""
    parties = Remark(list(names), "its entries, which are public")
    if roles.party:
        return {"party": column.name, "parties": parties}
    if PLACES.fullmatch(column.name):
        return {"party": Remark(column.name, "by its name: the client of a row"), "parties": parties}
    asked = f"the column that names the client of a row: {column.name}? --party NAME drafts another"
    return {"party": Ask(asked), "parties": Ask(f"its entries, which are public; {column.name} has {list(names)}")}


def draft(tables: Sequence[TableSurvey], roles: Roles, needs: Needs) -> Draft:
    """Directions of clients who hold different rows of the same columns: a file each, or one with a column of them."""
    response = roles.response
    clients = clients_of(tables, roles, [] if response is None else [response])
    whole, settings = clients.whole, clients.settings
    _, target = response_of((whole,), response, classes=None if response else False)
    settings["response"] = response_key(target, response)
    if target.kind == "numbers":
        settings |= {"response_bounds": Ask(BOUNDS), "n_slices": 5}
    else:
        settings["levels"] = levels_key(target)
    settings |= person_keys(whole, roles)
    settings |= {"least": Ask(LEAST), "columns": column_blocks(whole, (target.name, clients.column))}
    return Draft(settings, len(clients.names))


def _clients(table: TableSurvey, but: Sequence[str], roles: Roles) -> ColumnSurvey | None:
    """The column of clients: the named one, or of the categories without gaps one with such a name or the evenest."""
    if roles.party is not None:
        named = table.column(roles.party)
        if named is not None and (named.kind in ("constant", "empty", "time stamps") or len(set(named.values)) > MOST):
            raise NotSuited(
                f"--party names {named.name!r}, which is {named.kind}: a client has a name, of {MOST} at most"
            )
        return named
    candidates = [
        column for column in table.columns if column.kind == "levels" and not column.missing and len(column.levels) > 1
    ]
    candidates = [column for column in candidates if column.name not in but]
    return max(
        candidates, key=lambda column: (bool(PLACES.fullmatch(column.name)), min(column.levels.values())), default=None
    )
