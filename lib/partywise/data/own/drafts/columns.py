"""A draft for tables whose columns lie at several parties, a file each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
    other_entry,
    party_names,
    positive_key,
    response_key,
    response_of,
    response_part,
    shared_ids,
)
from .survey import TableSurvey


def draft(tables: Sequence[TableSurvey], roles: Roles, needs: Needs) -> Draft:
    """Every file that has the records of the one with the response is a party.

    Numbers of passive parties are asked for ``edges`` where the study wants cuts, else all for ``bounds``.
    """
    if roles.me is not None:
        return _part(tables[0], roles, roles.me, needs)
    named = roles.response
    holder, response = response_of(tables, named)
    tables = [table for table in tables if table is tables[holder] or shared_ids((tables[holder], table), roles.id)]
    if len(tables) < 2 or (shared := shared_ids(tables, roles.id)) is None:
        raise NotSuited("it needs the files of two parties at least, with unique ids by which their rows are matched")
    holder = next(k for k, table in enumerate(tables) if response in table.columns)
    names, blocks = party_names(tables), list[dict[str, object]]()
    for k, table in enumerate(tables):
        block: dict[str, object] = {"party": names[k], "file": table.file}
        block |= {"id": shared.ids[k]} if shared.ids[k] != shared.ids[0] else {}
        question = "bounds" if not needs.edges else None if k == holder else "edges"
        columns = column_blocks(table, (shared.ids[k], response.name), question)
        if not columns:
            raise NotSuited(f"{table.file} has no column of numbers or levels apart from the ids and the response")
        blocks.append({**block, **file_keys(table), "columns": columns})
    settings: dict[str, object] = {"id": shared.ids[0], **shared.keys, **gap_keys(tables)}
    settings |= {"response": response_key(response, named), "response_party": names[holder]}
    settings |= positive_key(response) if response.two_entries else {}
    settings |= questions(needs.for_classes if response.two_entries else needs.for_numbers)
    return Draft(settings | {"tables": blocks}, len(tables), not response.two_entries)


def _part(table: TableSurvey, roles: Roles, me: str, needs: Needs) -> Draft:
    """The entry of one party from its own file; a response that --response does not name is of another party."""
    ids = roles.column(table, "id") or next((column for column in table.columns if column.is_id), None)
    if ids is None:
        raise NotSuited("it needs a column of unique ids by which rows are matched (name it with --id)")
    response = None if roles.response is None else response_of((table,), roles.response)[1]
    question = "bounds" if not needs.edges else None if response else "edges"
    columns = column_blocks(table, (ids.name, response.name if response else ""), question)
    if not columns:
        raise NotSuited(f"{table.file} has no column of numbers or levels apart from the ids and the response")
    entry = {"party": me, "file": table.file, **file_keys(table), "columns": columns}
    settings: dict[str, object] = {"id": Remark(ids.name, "a party that calls it otherwise has an id in its entry")}
    settings |= gap_keys((table,)) | response_part(response, roles, me)
    if response is not None:
        settings |= questions(needs.for_classes if response.two_entries else needs.for_numbers)
    settings |= {"tables": [entry, other_entry("file", "columns")]}
    return Draft(settings, 2, response is not None and not response.two_entries)


def questions(keys: Mapping[str, object]) -> dict[str, object]:
    """Keys of a study, with a question where it has one."""
    return {key: Ask(BOUNDS) if value == "?" else value for key, value in keys.items()}
