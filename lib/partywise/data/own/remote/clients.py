"""Records of clients, a file each: how many the others have is public and is in the configuration of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

# Any: settings of a study, which the data sets do not know.
from typing import Any

from ....core.errors import DataMissing
from ..csv import ELSEWHERE, TextTable, read_table
from ..grammar import PLAIN, FileBlock
from ..records import bounded, check_parties, complete
from .placeholders import PartyFiles, check_count, column_of, in_turn, own_content, text_of


def placeholders(settings: Any, me: str, rows: Mapping[str, int], folder: Path) -> PartyFiles:
    """The own file of a client, and one in the place of each other; as `columns.placeholders`.

    rows : records of every client that count; one file with a column of clients holds the own rows only
    """
    mine = next((table for table in settings.tables if table.party == me), None)
    own_file = settings.file or "" if mine is None else mine.file
    files, contents = [], dict[str, bytes]()
    for name in settings.party_names:
        file = own_file if name == me else f"{ELSEWHERE}{name})"
        block = FileBlock(party=name, file=file) if name == me else FileBlock(party=name, file=file, **PLAIN)
        files.append(mine if mine is not None and name == me else block)
        contents[file] = _own(settings, mine, me, rows, folder) if name == me else _text(settings, name, rows[name])
    form = {"tables": tuple(files), "file": None, "party": None, "parties": ()}
    return PartyFiles(replace(settings, **form), contents)


def _own(settings: Any, mine: FileBlock | None, me: str, rows: Mapping[str, int], folder: Path) -> bytes:
    """The own file; DataMissing if it has rows of others, or another number of records than is public."""
    file = settings.file if mine is None else mine.file
    content = own_content(file, folder)
    table = read_table(content, file, settings.text_of(mine))
    if settings.party is not None:
        _check_own_rows(settings, table, me)
    wanted = settings.columns_read(settings.id_of(mine))
    check_count(len(bounded(complete(table, wanted, settings), settings).rows), me, file, rows)
    return content


def _check_own_rows(settings: Any, table: TextTable, me: str) -> None:
    """DataMissing for a row of another client."""
    texts = table.column(settings.party)
    check_parties(table, texts, settings)
    for text, line in zip(texts, table.lines, strict=True):
        if text != me:
            raise DataMissing(
                f"{settings.file}: {settings.party} is {text!r} in row {line}, and this is the file of {me!r}: in a "
                "distributed run, each party has its own rows only; leave the others out."
            )


def _text(settings: Any, name: str, n: int) -> bytes:
    """A file of so many records that follows the settings."""
    columns: dict[str, Sequence[str]] = {}
    for key in ("id", "user"):
        if (column := getattr(settings, key)) is not None:
            columns[column] = [f"{name}, {key} {k}" for k in range(n)]
    columns |= {column.name: column_of(column, n) for column in settings.columns}
    columns |= {name: in_turn(entries, n) for name, entries in settings.response_entries.items()}
    return text_of(columns)
