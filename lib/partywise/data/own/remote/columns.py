"""Tables of columns, a file a party: the records are those of the own file, which all must have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ....core.errors import DataMissing
from ..columns import indicators, values
from ..csv import ELSEWHERE, TextTable, read_table
from ..grammar import PLAIN
from ..plausible import check_entries
from ..records import complete
from ..settings import OwnTables, TableFile
from .placeholders import (
    PartyFiles,
    ascending,
    check_count,
    column_of,
    in_turn,
    labels_of,
    own_content,
    placeholder_ids,
    text_of,
)


def placeholders(settings: OwnTables, me: str, rows: Mapping[str, int], folder: Path) -> PartyFiles:
    """The own file of a party, and one in the place of each other."""
    ids, users, common, contents = placeholder_ids(rows, settings.min_records), None, list[tuple[str, ...]](), {}
    mine = next((block for block in settings.tables if block.party == me), None)
    if mine is not None:
        contents[mine.file] = own_content(mine.file, folder)
        table = read_table(contents[mine.file], mine.file, settings.text_of(mine))
        name = mine.id or settings.id
        ids = table.ids(name, stripped=False)
        users = None if settings.user is None else shared_column(table, settings.user, "user")
        if getattr(settings, "aligned", True):
            ascending(table.ids(name), mine.file, name)
            check_count(len(ids), me, mine.file, rows)
            common = [tuple(table.ids(name)), *([] if users is None else [tuple(users)])]
    tables = []
    for block in settings.tables:
        if block is not mine:
            block = replace(block, file=f"{ELSEWHERE}{block.party})", **PLAIN)
            contents[block.file] = _text(block, settings, ids, users)
        tables.append(block)
    return PartyFiles(replace(settings, tables=tuple(tables)), contents, tuple(common))


def new_records(
    settings: OwnTables, me: str, file: str, folder: Path, rows: Mapping[str, int]
) -> tuple[tuple[str, ...], np.ndarray]:
    """Ids and columns (n, p_k) of records that are scored, from a party's file: a response is neither needed nor read.

    DataMissing for what training would refuse but a column without variation, which a few records may have.
    """
    mine = replace(next(block for block in settings.tables if block.party == me), file=file)
    table = read_table(own_content(file, folder), file, settings.text_of(mine))
    name = mine.id or settings.id
    ascending(table.ids(name), file, name)
    check_count(len(table.rows), me, file, rows)
    table = complete(table, [column.name for column in mine.columns], replace(settings, missing="refuse"))
    columns = list[np.ndarray]()
    for column in mine.columns:
        entries = values(table, column)
        check_entries(entries, column, table)
        columns += indicators(entries, column) if settings.indicators else [entries]
    return tuple(table.ids(name)), np.column_stack(columns)


def shared_column(table: TextTable, name: str, key: str) -> list[str]:
    """A column that identifies the records that belong together: every party's file must have it."""
    if name not in table.header:
        raise DataMissing(
            f"{table.file} has no column {name!r} ({key}): it decides which records are held out together, so in a "
            "distributed run every file needs it; add it, or leave the key out."
        )
    return table.column(name)


def _text(block: TableFile, settings: OwnTables, ids: Sequence[str], users: Sequence[str] | None) -> bytes:
    """A file with these ids that follows the settings."""
    n = len(ids)
    columns: dict[str, Sequence[str]] = {block.id or settings.id: ids}
    columns |= {column.name: column_of(column, n) for column in block.columns}
    if settings.response_of(block) is not None:
        arguments = settings.binary_labels, settings.positive, n, settings.class_names
        columns[settings.response] = labels_of(*arguments)
        if settings.user is not None:
            columns[settings.user] = ids if users is None else users
    columns |= {name: in_turn((1, 2), n) for name in block.label_columns.values()}
    return text_of(columns)
