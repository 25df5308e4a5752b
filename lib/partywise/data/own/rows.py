"""A person's own tables for splits of columns: one CSV file a party, rows matched by their ids.

Nothing is guessed: what cannot be read as described ends in one sentence with the file, the row and what to do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...core.errors import DataMissing
from ...core.notes import cached_reader
from ..column_facts import INDICATOR, ColumnFacts
from ..tables import Table
from .columns import level_numbers, numbers_of, values
from .csv import TextTable
from .indicators import indicators
from .labels import class_labels
from .matching import match_ids
from .persons import first_rows, number_persons, of_persons
from .plausible import check_column, check_label
from .records.load import complete, contents, open_table, record_names
from .table_files import OwnTables, TableFile

LOG = logging.getLogger("partywise")


@dataclass(frozen=True)
class Rows:
    """The ids of one file in its order, and the place of each."""

    name: str
    ids: list[str]


@dataclass(frozen=True)
class FileRecords:
    """Content of one file: its complete records.

    ids, lines : what each is called, and its row of the file; all_ids : also those of incomplete rows
    X : (n, p_k) float64, columns of the data
    labels : of the file with the response, ``y`` and the columns next to it, each (n,) float64
    persons : who is behind each record, by its id, where one may have several
    """

    block: TableFile
    ids: list[str]
    lines: list[int]
    all_ids: list[str]
    X: np.ndarray
    labels: dict[str, np.ndarray] = field(default_factory=dict)
    persons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class OwnRows:
    """Content of all files for some records; an entry that no file has is NaN.

    ids : (N,) str; person : (N,) int, who is behind each, None if each is one
    X : (N, d) float64, columns of the files in order; labels : ``y`` and the columns next to it, each (N,) float64
    files : places of the records of each file, in its order
    """

    ids: np.ndarray
    X: np.ndarray
    labels: dict[str, np.ndarray]
    files: tuple[np.ndarray, ...]
    person: np.ndarray | None = None


# Ids of the rows of a file, and which rows have one.
Identify = Callable[[TextTable, TableFile], tuple[list[str], np.ndarray]]


def read_contents(settings: OwnTables) -> tuple[tuple[str, bytes], ...]:
    """Name and content of every file."""
    return contents(settings.files.values())


def read_own_table(settings: OwnTables) -> Table:
    """The records that all files have, with what is declared of their columns."""
    return _table(settings, read_contents(settings))


@cached_reader
def _table(settings: OwnTables, files: tuple[tuple[str, bytes], ...]) -> Table:
    """Build the table that all replicates share."""
    read = match_records(settings, read_files(settings, dict(files)))
    facts = list[ColumnFacts]()
    for column in settings.columns:
        indicator = settings.indicators and column.levels is not None
        facts += [replace(INDICATOR, because=column.because)] * settings.width(column) if indicator else [column.facts]
    names = data_names(settings)
    return Table(read.X, read.labels["y"], names, tuple(facts), ids=read.ids, person=read.person)


def data_names(settings: OwnTables) -> np.ndarray:
    """(d,) names of the columns of the data."""
    return np.array(settings.column_names)


def read_files(settings: OwnTables, texts: Mapping[str, bytes], identify: Identify | None = None) -> list[FileRecords]:
    """The records of each file; by default every row has an id of its own."""

    def own_ids(table: TextTable, block: TableFile) -> tuple[list[str], np.ndarray]:
        return record_names(table, settings.id_of(block), several=True), np.arange(len(table.rows))

    return [
        _read_file(settings, block, open_table(settings, block, texts), identify or own_ids)
        for block in settings.tables
    ]


def _read_file(settings: OwnTables, block: TableFile, whole: TextTable, identify: Identify) -> FileRecords:
    all_ids, _ = identify(whole, block)
    table = complete(whole, _columns_read(settings, block), settings)
    ids, rows = identify(table, block)
    columns, labels, persons = list[np.ndarray](), dict[str, np.ndarray](), dict[str, str]()
    for column in block.columns:
        entries = values(table, column)
        check_column(entries, column, table)
        columns += indicators(entries, column) if settings.indicators else [entries]
    if settings.response_of(block) is not None:
        labels = {"y": label_values(settings, table, settings.response)}
        labels |= {key: numbers_of(table, name) for key, name in block.label_columns.items()}
        if settings.user is not None:
            whose = table.column(settings.user)
            persons = {name: whose[row] for name, row in zip(ids, rows.tolist(), strict=True)}
    lines, labels = [table.lines[row] for row in rows.tolist()], {key: column[rows] for key, column in labels.items()}
    return FileRecords(block, ids, lines, all_ids, np.column_stack(columns)[rows], labels, persons)


def match_records(settings: OwnTables, files: Sequence[FileRecords]) -> OwnRows:
    """The records that all files have, in the order of the first, of every person as many as count."""
    named = {
        str(k): Rows(f"{records.block.party} ({records.block.file})", records.all_ids)
        for k, records in enumerate(files)
    }
    whole = common([records.ids for records in files])
    ids = [name for name in match_ids(named, settings.match, settings.id) if name in whole]
    persons = files[settings.response_holder].persons
    if settings.user is not None and settings.rows_per_user is not None:
        ids = [ids[i] for i in first_rows([persons[name] for name in ids], settings.rows_per_user, settings.user)]
    check_count(settings, len(ids))
    return merge_records(ids, files, persons)


def merge_records(ids: Sequence[str], files: Sequence[FileRecords], persons: Mapping[str, str]) -> OwnRows:
    """Merge the content of the files for the records with these ids."""
    place, start = {name: i for i, name in enumerate(ids)}, 0
    X, labels = np.full((len(ids), sum(records.X.shape[1] for records in files)), np.nan), dict[str, np.ndarray]()
    places = list[np.ndarray]()
    for records in files:
        known = np.array([name in place for name in records.ids])
        rows = np.array([place[name] for name in records.ids if name in place], dtype=int)
        X[rows, start : start + records.X.shape[1]] = records.X[known]
        start += records.X.shape[1]
        for key, column in records.labels.items():
            labels[key] = np.full(len(ids), np.nan)
            labels[key][rows] = column[known]
        places.append(rows)
    person = number_persons([persons[name] for name in ids]) if persons else None
    return OwnRows(np.array(ids), X, labels, tuple(places), person)


def common(lists: Sequence[Sequence[str]]) -> set[str]:
    """Return the entries that are in all lists."""
    return set.intersection(*map(set, lists))


def check_count(settings: OwnTables, n_records: int, hint: str = "") -> None:
    """DataMissing if too few records are in all files; the hint names what would bring more."""
    LOG.info("records in all files: %d", n_records)
    if n_records < settings.min_records:
        raise DataMissing(
            f"{n_records} records are in all files{of_persons(settings.rows_per_user)} where min_records is "
            f"{settings.min_records}: bring more records{hint}, or lower min_records."
        )


def label_values(settings: OwnTables, table: TextTable, name: str) -> np.ndarray:
    """(rows,) labels: 0 and 1 of two classes, the numbers of more, or numbers in their declared range."""
    if settings.class_names:
        return level_numbers(table, name, settings.class_names)
    if settings.binary_labels:
        return class_labels(table, name, settings.positive)
    labels = numbers_of(table, name)
    check_label(labels, table, name, getattr(settings, "response_bounds", None))
    return labels


def _columns_read(settings: OwnTables, block: TableFile) -> list[str]:
    """Columns of a file that are read, besides its ids."""
    names = [column.name for column in block.columns]
    if settings.response_of(block) is None:
        return names
    return [*names, settings.response, *([settings.user] if settings.user else []), *block.label_columns.values()]
