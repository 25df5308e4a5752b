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
from .columns import numbers_of, values
from .csv import TextTable
from .labels import class_labels
from .matching import match_ids
from .persons import first_rows, number_persons, of_persons
from .plausible import check_column, check_label
from .records.load import complete, open_table, record_names
from .table_files import OwnTables, TableFile

LOG = logging.getLogger("partywise")


@dataclass(frozen=True)
class Rows:
    """The ids of one file in its order, and the place of each."""

    name: str
    ids: list[str]


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


def read_records(settings: OwnTables, contents: tuple[tuple[str, bytes], ...]) -> tuple[Records, dict[str, str]]:
    """The records that all tables have, of every person as many as count, and the digest of every file."""
    texts = dict(contents)
    digests = {file: hashlib.sha256(content).hexdigest() for file, content in contents}
    records = load(settings, texts)
    LOG.info("records: %d", len(records.ids))
    return records, digests


def load(settings: OwnTables, texts: Mapping[str, bytes]) -> Records:
    """Read all tables and keep the records that all of them have, of every person as many as count."""
    files = settings.tables
    tables = [open_table(settings, one, texts) for one in files]
    names = [record_ids(settings, one, table) for one, table in zip(files, tables, strict=True)]
    ids = match_ids({str(k): one for k, one in enumerate(names)}, settings.match, settings.id)
    tables = [complete(table, read_columns(settings, one), settings) for one, table in zip(files, tables, strict=True)]
    rows = [record_ids(settings, one, table) for one, table in zip(files, tables, strict=True)]
    whole = set.intersection(*(set(one.ids) for one in rows))
    ids = [one for one in ids if one in whole]
    persons = None
    if settings.user is not None and settings.rows_per_user is not None:
        persons = persons_of(settings, ids, tables, rows, settings.user)
        kept = first_rows(persons, settings.rows_per_user, settings.user)
        ids, persons = [ids[i] for i in kept], [persons[i] for i in kept]
    if len(ids) < settings.min_records:
        raise DataMissing(
            f"{len(ids)} records are in all files{of_persons(settings.rows_per_user)} where min_records is "
            f"{settings.min_records}: bring more records, or lower min_records."
        )
    columns, labels = [], []
    for one, table, own in zip(files, tables, rows, strict=True):
        place = {name: i for i, name in enumerate(own.ids)}
        order = [place[name] for name in ids]
        for column in one.columns:
            found = values(table, column)
            check_column(found, column, table)
            columns.append(found[order])
        if settings.response_of(one) is not None:
            labels.append(label_values(settings, table, settings.response)[order])
    person = None if persons is None else number_persons(persons)
    return Records(np.array(ids), np.column_stack(columns), labels[0], person)


def label_values(settings: OwnTables, table: TextTable, name: str) -> np.ndarray:
    """(rows,) labels: 0 and 1 of two classes, or numbers in their declared range."""
    if settings.binary_labels:
        return class_labels(table, name, settings.positive)
    found = numbers_of(table, name)
    check_label(found, table, name, getattr(settings, "response_bounds", None))
    return found


def read_columns(settings: OwnTables, one: TableFile) -> list[str]:
    """Columns of a file that are read, besides its ids."""
    response = settings.response_of(one)
    more = [response, settings.user if response is not None else None]
    more += [getattr(one, key, None) for key in ("weights", "offset")]
    return [*(column.name for column in one.columns), *(name for name in more if name is not None)]


def persons_of(
    settings: OwnTables, ids: Sequence[str], tables: Sequence[TextTable], rows: Sequence[Rows], user: str
) -> list[str]:
    """The person behind each record, by the file with the response."""
    active = settings.response_holder
    person = dict(zip(rows[active].ids, tables[active].column(user), strict=True))
    return [person[one] for one in ids]


def record_ids(settings: OwnTables, one: TableFile, table: TextTable) -> Rows:
    """The ids of the rows of a file."""
    return Rows(f"{one.party} ({one.file})", record_names(table, settings.id_of(one), several=True))
