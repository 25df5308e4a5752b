"""A person's own tables for splits of columns: one CSV file a party, rows matched by their ids.

Nothing is guessed: what cannot be read as described ends in one sentence with the file, the row and what to do.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import DataMissing
from .csv import TextTable, nearest, numbers, read_bytes, read_table
from .files import MARKS
from .matching import match_ids
from .persons import first_rows, number_persons, of_persons
from .plausible import check_classes, check_column, check_label
from .table_files import ColumnBlock, Matching, TableFile

LISTED = 3
LOG = logging.getLogger("partywise")


@dataclass(frozen=True)
class Rows:
    """The ids of one file in its order, and the place of each."""

    name: str
    ids: list[str]


def read_files(files: Sequence[TableFile]) -> tuple[tuple[str, bytes], ...]:
    """Name and content of every file, each once."""
    return tuple((file, read_bytes(file)) for file in dict.fromkeys(one.file for one in files))


@dataclass(frozen=True)
class Records:
    """What all files tell of the records that they share.

    ids : (N,) str, in the order of the first file; person : (N,) int, who is behind each, None if each is one
    X : (N, d) float64, columns of the files in order; y : (N,) float64, labels
    """

    ids: np.ndarray
    X: np.ndarray
    y: np.ndarray
    person: np.ndarray | None = None


def read_records(
    files: Sequence[TableFile], matching: Matching, contents: tuple[tuple[str, bytes], ...]
) -> tuple[Records, dict[str, str]]:
    """Records as `load` reads them, and the digest of every file; a log tells which files they were."""
    digests = {file: hashlib.sha256(content).hexdigest() for file, content in contents}
    for file, digest in digests.items():
        LOG.info("%s: sha256 %s", file, digest)
    records = load(files, matching, dict(contents))
    LOG.info("records: %d", len(records.ids))
    return records, digests


def load(files: Sequence[TableFile], matching: Matching, contents: Mapping[str, bytes]) -> Records:
    """Read all tables and keep the records that all of them have, of every person as many as count."""
    tables = [read_table(contents[one.file], one.file, one.delimiter, one.encoding) for one in files]
    rows = [_ids(one, table, matching) for one, table in zip(files, tables, strict=True)]
    ids = match_ids({str(k): one for k, one in enumerate(rows)}, matching.match, matching.id)
    persons = None
    if matching.user is not None and matching.rows_per_user is not None:
        persons = persons_of(ids, files, tables, rows, matching.user)
        kept = first_rows(persons, matching.rows_per_user, matching.user)
        ids, persons = [ids[i] for i in kept], [persons[i] for i in kept]
    if len(ids) < matching.min_records:
        raise DataMissing(
            f"{len(ids)} records are in all files{of_persons(matching.rows_per_user)} where min_records is "
            f"{matching.min_records}: bring more records, or lower min_records."
        )
    columns, labels = [], []
    for one, table, own in zip(files, tables, rows, strict=True):
        place = {name: i for i, name in enumerate(own.ids)}
        order = [place[name] for name in ids]
        for column in one.columns:
            found = values(table, column)
            check_column(found, column, table)
            columns.append(found[order])
        if one.label is not None:
            found = numbers_of(table, one.label)
            if matching.classes:
                check_classes(found, table, one.label)
            check_label(found, table, one.label, None if matching.classes else matching.label_bounds)
            labels.append(found[order])
    person = None if persons is None else number_persons(persons)
    return Records(np.array(ids), np.column_stack(columns), labels[0], person)


def persons_of(
    ids: Sequence[str], files: Sequence[TableFile], tables: Sequence[TextTable], rows: Sequence[Rows], user: str
) -> list[str]:
    """The person behind each record, by the file with the label."""
    active = next(k for k, one in enumerate(files) if one.label is not None)
    person = dict(zip(rows[active].ids, present(tables[active], user), strict=True))
    return [person[one] for one in ids]


def _ids(one: TableFile, table: TextTable, matching: Matching) -> Rows:
    name = one.id or matching.id
    ids, seen = table.column(name), dict[str, int]()
    for text, line in zip(ids, table.lines, strict=True):
        if not text:
            raise DataMissing(f"{one.file} has no {name} in row {line}: every row needs the id of its record.")
        if text in seen:
            raise DataMissing(f"{one.file} has the {name} {text!r} in row {seen[text]} and row {line}: keep one.")
        seen[text] = line
    return Rows(f"{one.party} ({one.file})", ids)


def values(table: TextTable, column: ColumnBlock) -> np.ndarray:
    """(rows,) numbers, or numbers of levels."""
    if column.levels is None:
        return numbers_of(table, column.name)
    number = {level: float(k) for k, level in enumerate(column.levels)}
    texts = present(table, column.name)
    for text, line in zip(texts, table.lines, strict=True):
        if text not in number:
            raise DataMissing(
                f"{table.file}: {column.name} is {text!r} in row {line}: {nearest(text, number, 'its levels are')}; "
                "correct it, or add the level."
            )
    return np.array([number[text] for text in texts])


def numbers_of(table: TextTable, name: str) -> np.ndarray:
    """(rows,) numbers of a column, none of which is missing."""
    places = [f"row {line}" for line in table.lines]
    return numbers(present(table, name), f"{table.file}: {name}", places.__getitem__)


def present(table: TextTable, name: str) -> list[str]:
    """Entries of a column, none of which is missing."""
    texts = table.column(name)
    missing = [line for text, line in zip(texts, table.lines, strict=True) if text in MARKS]
    if missing:
        shown = ", ".join(map(str, missing[:LISTED])) + (", ..." if len(missing) > LISTED else "")
        raise DataMissing(
            f"{table.file}: {name} is missing in {len(missing)} of {len(texts)} rows (row {shown}): fill it in, or "
            "leave these records or the column out."
        )
    return texts
