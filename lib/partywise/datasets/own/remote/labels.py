"""A table of features and one of labels: the records are those of the own file, which both must have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..csv import read_table
from .columns import shared_column
from .placeholders import PartyFiles, ascending, check_count, column_of, in_turn, own_content, placeholder_ids, text_of


def placeholders(settings: Any, me: str, rows: Mapping[str, int], folder: Path) -> PartyFiles:
    """The own file of a party, and one in the place of the other; as `columns.placeholders`."""
    ids, users, common, contents = placeholder_ids(rows, settings.min_records), None, list[tuple[str, ...]](), {}
    own = next((one for one in settings.tables if one.party == me), None)
    if own is not None:
        contents[own.file] = own_content(own.file, folder)
        table = read_table(contents[own.file], own.file, settings.delimiter, settings.encoding)
        ids = table.column(settings.id)
        ascending(ids, own.file, settings.id)
        check_count(len(ids), me, own.file, rows)
        users = None if settings.user is None else shared_column(table, settings.user, "user")
        common = [tuple(ids), *([] if users is None else [tuple(users)])]
    tables = []
    for one in settings.tables:
        if one is not own:
            one = replace(one, file=f"(elsewhere, {one.party})")
            contents[one.file] = _text(settings, one.holds, ids, users)
        tables.append(one)
    return PartyFiles(replace(settings, tables=tuple(tables)), contents, tuple(common))


def _text(settings: Any, holds: str, ids: Sequence[str], users: Sequence[str] | None) -> bytes:
    """A file with these ids that is as the settings say."""
    columns: dict[str, Sequence[str]] = {settings.id: ids}
    if holds == "labels":
        columns[settings.label] = in_turn(_classes(settings.positive), len(ids))
    else:
        columns |= {column.name: column_of(column, len(ids)) for column in settings.columns}
        if settings.user is not None:
            columns[settings.user] = ids if users is None else users
    return text_of(columns, settings.delimiter, settings.encoding)


def _classes(positive: str | float | None) -> tuple[object, object]:
    """An entry of each class."""
    if positive is None:
        return 0, 1
    return (f"not {positive}" if isinstance(positive, str) else positive + 1), positive
