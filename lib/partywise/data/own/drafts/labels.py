"""A draft for a table with private labels, alone or next to the table of the features."""

from __future__ import annotations

from collections.abc import Sequence

from .parts import (
    Ask,
    Draft,
    Needs,
    NotSuited,
    Roles,
    column_blocks,
    file_keys,
    gap_keys,
    id_of,
    other_entry,
    party_names,
    person_keys,
    positive_key,
    response_key,
    response_of,
    response_part,
    shared_ids,
)
from .survey import TableSurvey


def draft(tables: Sequence[TableSurvey], roles: Roles, needs: Needs) -> Draft:
    """A model of labels that are private: in one file with the features, or matched with those of another."""
    if roles.me is not None:
        return _part(tables[0], roles, roles.me)
    response = roles.response
    place, label = response_of(tables, response, classes=True)
    label_table = tables[place]
    others = [
        table for k, table in enumerate(tables) if k != place and shared_ids((table, label_table), roles.id) is not None
    ]
    settings: dict[str, object] = {"response": response_key(label, response), **positive_key(label)}
    if others:
        features = max(others, key=lambda table: len(column_blocks(table, ())))
        shared = shared_ids((features, label_table), roles.id)
        assert shared is not None
        names, pair = party_names((features, label_table)), (features, label_table)
        settings |= {"id": shared.ids[0], **shared.keys, **gap_keys(pair), "response_party": names[1]}
        settings["tables"] = [
            {
                "party": name,
                "file": table.file,
                **({"id": id_column} if id_column != shared.ids[0] else {}),
                **file_keys(table),
            }
            for name, table, id_column in zip(names, pair, shared.ids, strict=True)
        ]
        settings["columns"] = column_blocks(features, (shared.ids[0],))
        settings |= person_keys(features, roles)
    else:
        ids = id_of(label_table, roles)
        settings |= {
            "file": label_table.file,
            **({"id": ids} if ids else {}),
            **file_keys(label_table),
            **gap_keys((label_table,)),
        }
        persons = person_keys(label_table, roles)
        named = (label.name, *([ids] if ids else []), *([roles.person] if roles.person else []))
        settings["columns"] = column_blocks(label_table, named)
        settings |= persons
    if not settings["columns"]:
        raise NotSuited("no column of numbers or levels is in the file next to the labels")
    return Draft(settings, 2)


def _part(table: TableSurvey, roles: Roles, me: str) -> Draft:
    """The entry of one party from its own file: of the labels, where --response names them, or of the features."""
    ids = id_of(table, roles)
    if ids is None:
        raise NotSuited("it needs a column of ids by which rows are matched (name it with --id)")
    label = None if roles.response is None else response_of((table,), roles.response, classes=True)[1]
    settings: dict[str, object] = {"id": ids, **response_part(label, roles, me), **gap_keys((table,))}
    settings["tables"] = [{"party": me, "file": table.file, **file_keys(table)}, other_entry("file")]
    if label is not None:
        return Draft(settings | {"columns": Ask("the columns of the party with the features")}, 2)
    return Draft(settings | {"columns": column_blocks(table, (ids,)), **person_keys(table, roles)}, 2)
