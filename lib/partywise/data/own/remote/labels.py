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
    mine = next((block for block in settings.tables if block.party == me), None)
    if mine is not None:
        contents[mine.file] = own_content(mine.file, folder)
        table = read_table(contents[mine.file], mine.file, settings.text_of(mine))
        name = settings.id_of(mine)
        ids = table.ids(name)
        ascending(ids, mine.file, name)
        check_count(len(ids), me, mine.file, rows)
        users = None if settings.user is None else shared_column(table, settings.user, "user")
        common = [tuple(ids), *([] if users is None else [tuple(users)])]
    tables = []
    for block in settings.tables:
        if block is not mine:
            block = replace(block, file=f"{ELSEWHERE}{block.party})", **PLAIN)
            contents[block.file] = _text(settings, block, ids, users)
        tables.append(block)
    return PartyFiles(replace(settings, tables=tuple(tables)), contents, tuple(common))


def _text(settings: Any, block: FileBlock, ids: Sequence[str], users: Sequence[str] | None) -> bytes:
    """A file with these ids that follows the settings."""
    columns: dict[str, Sequence[str]] = {settings.id_of(block): ids}
    if block.party == settings.response_party:
        columns[settings.response] = labels_of(True, settings.positive, len(ids))
    else:
        columns |= {column.name: column_of(column, len(ids)) for column in settings.columns}
        if settings.user is not None:
            columns[settings.user] = ids if users is None else users
    return text_of(columns)
