"""Rows of a person's CSV files as records: opened, which of them are complete, and what each is called.

Nothing is guessed: what cannot be read as described ends in one sentence with the file, the row and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ....core.errors import DataMissing
from ....core.notes import note_left_out
from ..csv import TextTable, read_bytes, read_table
from ..grammar import FileBlock, OwnFiles

LISTED = 3


def contents(files: Iterable[str]) -> tuple[tuple[str, bytes], ...]:
    """Name and content of every file, each once."""
    return tuple((file, read_bytes(file)) for file in dict.fromkeys(files))


def open_table(
    settings: OwnFiles, block: FileBlock | None, texts: Mapping[str, bytes], file: str | None = None
) -> TextTable:
    """Header and rows of the file of a block, or of one without; a log, which is passed on, has no digest of it."""
    name = file or (block.file if block else "")
    return read_table(texts[name], name, settings.text_of(block))


def complete(table: TextTable, names: Sequence[str], settings: OwnFiles) -> TextTable:
    """The rows that have an entry in all of these columns; the others are an error unless they are to be left out."""
    marks = settings.missing_marks
    absent = {name: np.array([text in marks for text in table.column(name)], dtype=bool) for name in names}
    if settings.missing == "refuse":
        for name, gaps in absent.items():
            if gaps.any():
                rows = [table.lines[i] for i in np.flatnonzero(gaps)]
                lines = ", ".join(map(str, rows[:LISTED])) + (", ..." if len(rows) > LISTED else "")
                raise DataMissing(
                    f"{table.file}: {name} is missing in {len(rows)} of {len(gaps)} rows (row {lines}): fill it in, "
                    "set missing to drop to leave these rows out, or take the column out."
                )
    places = np.flatnonzero(~np.any(list(absent.values()), axis=0)).tolist()
    if not places:
        raise DataMissing(
            f"{table.file} has no row with an entry in all of {', '.join(names)}: take out the column that is empty."
        )
    counts = ", ".join(f"{name} {int(gaps.sum())}" for name, gaps in absent.items() if gaps.any())
    note_left_out(table.file, len(table.rows), len(table.rows) - len(places), f"which lack an entry ({counts})")
    return select_rows(table, places)


def check_count(n_records: int, settings: OwnFiles) -> None:
    """DataMissing for fewer records than the settings ask for."""
    if n_records < settings.min_records:
        raise DataMissing(
            f"{n_records} records are left where min_records is {settings.min_records}: bring more records, or lower "
            "min_records."
        )


def select_rows(table: TextTable, places: Sequence[int]) -> TextTable:
    """Some rows of a table, in the order of these places."""
    return replace(table, rows=[table.rows[i] for i in places], lines=[table.lines[i] for i in places])


def record_names(table: TextTable, id: str | None, several: bool) -> list[str]:
    """Name of every row: its id, or else its row number, after the file if there are several."""
    if id is None:
        return [f"{table.file} row {line}" if several else f"row {line}" for line in table.lines]
    ids, seen = table.ids(id), dict[str, int]()
    for text, line in zip(ids, table.lines, strict=True):
        if not text:
            raise DataMissing(f"{table.file} has no {id} in row {line}: every row needs the id of its record.")
        if text in seen:
            raise DataMissing(
                f"{table.file} has the {id} {text!r} in row {seen[text]} and row {line}: keep one; where rows of one "
                "person may be several, name that column under user."
            )
        seen[text] = line
    return ids
