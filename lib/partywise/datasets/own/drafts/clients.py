"""A draft for clients who hold different rows of the same columns."""

from __future__ import annotations

from collections.abc import Sequence

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

LEAST = "public: every client has at least so many records; it sets delta"


def draft(tables: Sequence[TableSurvey], response: str | None, needs: Needs) -> Draft:
    """Directions of clients who hold different rows of the same columns: a file each, or one with a column of them."""
    alike = [one for one in tables if {c.name for c in one.columns} == {c.name for c in tables[0].columns}]
    settings: dict[str, object] = {}
    if len(tables) > 1 and len(alike) == len(tables):
        whole, names = tables[0], party_names(tables)
        blocks = [{"party": name, "file": one.file, **file_keys(one)} for name, one in zip(names, tables, strict=True)]
        settings |= {"tables": blocks, **gap_keys(tables)}
        client = ""
    else:
        suited = [one for one in tables if _clients(one) is not None and len(column_blocks(one, ())) > 2]
        if response is not None:
            suited = [one for one in suited if one.column(response) is not None]
        if not suited:
            raise NotSuited("it needs files with the same columns, or one with a column that names the client of a row")
        whole = max(suited, key=lambda one: len(column_blocks(one, ())))
        column = _clients(whole)
        assert column is not None
        client, names = column.name, list(column.levels)
        settings |= {"file": whole.file, "party": Remark(client, "a guess: the column that names the client of a row")}
        settings |= {
            "parties": Remark(names, "its entries, which are public"),
            **file_keys(whole),
            **gap_keys((whole,)),
        }
    _, target = response_of((whole,), response, classes=None if response else False)
    ids = [one.name for one in whole.columns if one.is_id]
    settings |= {"id": ids[0]} if ids and len(alike) < 2 else {}
    settings["response"] = response_key(target, response)
    if target.kind == "numbers":
        settings |= {"response_bounds": Ask(BOUNDS), "n_slices": 5}
    else:
        settings["levels"] = levels_key(target)
    settings |= person_keys(whole)
    settings |= {"least": Ask(LEAST), "columns": column_blocks(whole, (target.name, client, *ids))}
    return Draft(settings, len(names))


def _clients(table: TableSurvey) -> ColumnSurvey | None:
    """The column that may name clients: of the categories without gaps the one whose rarest entry is most frequent."""
    found = [one for one in table.columns if one.kind == "levels" and not one.missing and len(one.levels) > 1]
    return max(found, key=lambda one: min(one.levels.values()), default=None)
