"""Rows of a person's CSV files as records: which are complete, what each is called, whose they are, and who holds them.

Nothing is guessed: what cannot be read as described ends in one sentence with the file, the row and what to do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from ...core.errors import DataMissing
from ...core.notes import cached_reader, note_left_out
from ..column_facts import INDICATOR, ColumnFacts
from ..division import training_rows
from ..tables import Table
from .columns import class_labels, indicators, level_numbers, numbers_of, values
from .csv import TextTable, nearest, read_bytes, read_table
from .grammar import FileBlock, OwnFiles, twice, whole_id
from .plausible import check_column, check_label
from .settings import OwnClients, OwnRecords, OwnTables, TableFile

LOG = logging.getLogger("partywise")
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


def check_count(n_records: int, settings: OwnFiles, where: str = "left", hint: str = "") -> None:
    """DataMissing for fewer records than the settings ask for; the hint names what else would bring more."""
    if n_records < settings.min_records:
        raise DataMissing(
            f"{n_records} records are {where} where min_records is {settings.min_records}: bring more records{hint}, "
            "or lower min_records."
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


def first_rows(persons: Sequence[str], most: int, what: str) -> list[int]:
    """Places of the first ``most`` rows of every person, in order; the log counts the others.

    Which rows of a person stay depends on the order of rows alone, so that a neighbour, whose person has other entries,
    differs in at most so many rows.

    what : the file, for the log
    """
    seen, places = dict[str, int](), list[int]()
    for place, person in enumerate(persons):
        seen[person] = seen.get(person, 0) + 1
        if seen[person] <= most:
            places.append(place)
    why = f"which are beyond rows_per_user {most} of {len(seen)} persons"
    note_left_out(what, len(persons), len(persons) - len(places), why)
    return places


def number_persons(persons: Sequence[str]) -> np.ndarray:
    """(n,) numbers of the persons, in the order in which they appear."""
    place = {person: k for k, person in enumerate(dict.fromkeys(persons))}
    return np.array([place[person] for person in persons], dtype=int)


def bounded(table: TextTable, settings: OwnRecords) -> TextTable:
    """The first ``rows_per_user`` rows of every person, in the order of the file (see `first_rows`)."""
    if settings.user is None or settings.rows_per_user is None:
        return table
    return select_rows(table, first_rows(table.column(settings.user), settings.rows_per_user, table.file))


def one_client_each(persons: Sequence[Sequence[str]], places: Sequence[str], user: str) -> None:
    """DataMissing if a person has rows at two clients: their guarantees would compose, not hold side by side."""
    home = dict[str, str]()
    for names, place in zip(persons, places, strict=True):
        for person in dict.fromkeys(names):
            if person in home:
                raise DataMissing(
                    f"{user} {person!r} has rows at {home[person]} and at {place}: what is certified for a person "
                    "needs all their rows at one client; move them to one, or give namesakes different names."
                )
            home[person] = place


def training_persons(person: Sequence[str], test_share: float, rng: np.random.Generator) -> np.ndarray:
    """(n,) bool: the rows of a random share of the persons train; no person is on both sides."""
    return np.asarray(training_rows(len(set(person)), test_share, rng)[number_persons(person)])


def client_rows(settings: OwnClients, texts: Mapping[str, bytes]) -> list[TextTable]:
    """Complete rows of every client, at most so many a person.

    DataMissing for a file of two clients: at machines of their own they may have files of one name.
    """
    if (file := twice([block.file for block in settings.tables])) is not None:
        raise DataMissing(f"tables has the file {file!r} twice: its records would count at two clients.")
    whole = []
    for block in settings.tables or (None,):
        id = settings.id_of(block)
        table = complete(open_table(settings, block, texts, settings.file), settings.columns_read(id), settings)
        record_names(table, id, several=False)
        whole.append(table)
    clients = whole if settings.tables else _split_by_party(whole[0], settings)
    if settings.user is not None:
        one_client_each([client.column(settings.user) for client in clients], settings.party_names, settings.user)
    return [bounded(client, settings) for client in clients]


def count_rows(clients: Sequence[TextTable], settings: OwnClients) -> None:
    """DataMissing for fewer records of all clients than the settings ask for; the log has their number."""
    total = sum(len(client.rows) for client in clients)
    LOG.info("records: %d of %d clients", total, len(clients))
    check_count(total, settings)


def client_ids(clients: Sequence[TextTable], settings: OwnClients) -> list[str]:
    """Names of the records, after the name of the client if two clients use one name."""
    keys, several = settings.id_names, len(settings.files) > 1
    names = [record_names(client, id, several=several) for client, id in zip(clients, keys, strict=True)]
    ids = [text for part in names for text in part]
    if len(set(ids)) == len(ids):
        return ids
    return [f"{name}: {text}" for name, part in zip(settings.party_names, names, strict=True) for text in part]


def _split_by_party(whole: TextTable, settings: OwnClients) -> list[TextTable]:
    """The rows of each client of one file."""
    assert settings.party is not None
    texts = whole.column(settings.party)
    check_parties(whole, texts, settings)
    return [select_rows(whole, [i for i, text in enumerate(texts) if text == name]) for name in settings.parties]


def check_parties(table: TextTable, texts: Sequence[str], settings: OwnClients) -> None:
    """DataMissing for a row of a client that is not listed."""
    for text, line in zip(texts, table.lines, strict=True):
        if text not in settings.parties:
            raise DataMissing(
                f"{table.file}: {settings.party} is {text!r} in row {line}: "
                f"{nearest(text, settings.parties, 'parties are')}; correct it, or list it under parties."
            )


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
    check_common(len(ids), settings)
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


def check_common(n_records: int, settings: OwnTables, hint: str = "") -> None:
    """DataMissing if too few records are in all files; the log has their number."""
    LOG.info("records in all files: %d", n_records)
    most = settings.rows_per_user
    of_persons = "" if most is None else f", at most {most} of a person (rows_per_user),"
    check_count(n_records, settings, f"in all files{of_persons}", hint)


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


class WithIds(Protocol):
    """A curve or table with ids in the order of its file, and a name for messages."""

    @property
    def name(self) -> str: ...
    @property
    def ids(self) -> list[str]: ...


def match_ids(measured: Mapping[str, WithIds], match: str, column: str) -> list[str]:
    """Ids that every curve or table has, in the order of the first one."""
    curves = list(measured.values())
    sets = [set(curve.ids) for curve in curves]
    common = set.intersection(*sets)
    hint = digits_hint([curve.ids for curve in curves])
    if not common:
        examples = "; ".join(f"{curve.name} has {', '.join(curve.ids[:2]) or 'none'}" for curve in curves)
        raise DataMissing(f"no {column} is in all files ({examples}): write the ids in the same way everywhere{hint}.")
    for curve, ids in zip(curves[1:], sets[1:], strict=True):
        here = [name for name in curves[0].ids if name not in ids]
        there = [name for name in curve.ids if name not in sets[0]]
        if match == "refuse" and (here or there):
            raise DataMissing(
                f"{curve.name} and {curves[0].name} have different ids: {_some(there)} only in the former, "
                f"{_some(here)} only in the latter; correct them, or set match to common to use the {len(common)} that "
                f"all files share{hint}."
            )
    for curve, ids in zip(curves, sets, strict=True):
        note_left_out(curve.name, len(ids), len(ids - common), "which are not in all files", "records")
    return [name for name in curves[0].ids if name in common]


def digits_hint(lists: Sequence[Sequence[str]]) -> str:
    """Suggest an ``id_as_text`` with which more ids agree (100 and 000100), as the end of a sentence; else empty."""
    whole = [{number for text in ids if (number := whole_id(text)) is not None} for ids in lists]
    if len(set.intersection(*whole)) <= len(set.intersection(*map(set, lists))):
        return ""
    longest = max(len(text) for ids in lists for text in ids if text.isdecimal())
    if not any(text.startswith("0") for ids in lists for text in ids):
        return "; id_as_text: d makes whole numbers of them"
    return f"; id_as_text: 0{longest}d makes numbers of {longest} digits of them"


def _some(ids: list[str]) -> str:
    """Number of ids, with up to three examples."""
    examples = f" ({', '.join(ids[:3])}{', ...' if len(ids) > 3 else ''})" if ids else ""
    return f"{len(ids)}{examples}"
