"""A table of features and one of labels: the records are those of the own file, which both must have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

# Any: settings of a study, which the data sets do not know.
from typing import Any

from ..csv import ELSEWHERE, read_table
from ..grammar import PLAIN, FileBlock
from .columns import shared_column
from .placeholders import (
    PartyFiles,
    ascending,
    check_count,
    column_of,
    labels_of,
    own_content,
    placeholder_ids,
    text_of,
)


def placeholders(settings: Any, me: str, rows: Mapping[str, int], folder: Path) -> PartyFiles:
    """The own file of a party, and one in the place of the other; as `columns.placeholders`."""
    ids, users, common, contents = placeholder_ids(rows, settings.min_records), None, list[tuple[str, ...]](), {}
    own = next((one for one in settings.tables if one.party == me), None)
    if own is not None:
        contents[own.file] = own_content(own.file, folder)
        table = read_table(contents[own.file], own.file, settings.text_of(own))
        name = settings.id_of(own)
        ids = table.ids(name)
        ascending(ids, own.file, name)
        check_count(len(ids), me, own.file, rows)
        users = None if settings.user is None else shared_column(table, settings.user, "user")
        common = [tuple(ids), *([] if users is None else [tuple(users)])]
    tables = []
    for one in settings.tables:
        if one is not own:
            one = replace(one, file=f"{ELSEWHERE}{one.party})", **PLAIN)
            contents[one.file] = _text(settings, one, ids, users)
        tables.append(one)
    return PartyFiles(replace(settings, tables=tuple(tables)), contents, tuple(common))


def _text(settings: Any, one: FileBlock, ids: Sequence[str], users: Sequence[str] | None) -> bytes:
    """A file with these ids that follows the settings."""
    columns: dict[str, Sequence[str]] = {settings.id_of(one): ids}
    if one.party == settings.response_party:
        columns[settings.response] = labels_of(True, settings.positive, len(ids))
    else:
        columns |= {column.name: column_of(column, len(ids)) for column in settings.columns}
        if settings.user is not None:
            columns[settings.user] = ids if users is None else users
    return text_of(columns)
