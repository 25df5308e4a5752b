"""Rows of a person's CSV files as records: which are complete, what each is called, whose they are, and who holds them.

Nothing is guessed: what cannot be read as described ends in one sentence with the file, the row and what to do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from ...core.errors import DataMissing
from ...core.notes import cached_reader, note_left_out
from ...core.randomness import Rng
from ..columns.replicate import deal_table
from ..tables import Table
from .columns import class_labels, data_columns, level_numbers, numbers_of
from .csv import TextTable, nearest, read_bytes, read_table
from .grammar import OwnFiles, twice, whole_id
from .plausible import check_column, check_label
from .settings import FileHolder, LearnedTables, OwnClients, OwnRecords, OwnTables, RecordTable

LOG = logging.getLogger("partywise")
LISTED = 3


class NamesFiles(Protocol):
    """Settings that name files by their keys in the configuration."""

    @property
    def files(self) -> dict[str, str]: ...


SettingsT = TypeVar("SettingsT", bound=NamesFiles)
ReadT = TypeVar("ReadT")


def reader_of_files(read: Callable[[SettingsT, Mapping[str, bytes]], ReadT]) -> Callable[[SettingsT], ReadT]:
    """Return a reader of settings that reads their files, and keeps what it made of these contents last."""

    @cached_reader
    def of_contents(settings: SettingsT, contents: tuple[tuple[str, bytes], ...]) -> ReadT:
        return read(settings, dict(contents))

    def of_settings(settings: SettingsT) -> ReadT:
        return of_contents(settings, tuple((file, read_bytes(file)) for file in dict.fromkeys(settings.files.values())))

    return of_settings


def open_table(settings: RecordTable, holder: FileHolder, texts: Mapping[str, bytes]) -> TextTable:
    """Header and rows of the file of a party; a log, which is passed on, has no digest of it."""
    return read_table(texts[holder.file], holder.file, settings.text_of(holder.block))


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


def client_rows(settings: OwnClients, texts: Mapping[str, bytes]) -> list[TextTable]:
    """Complete rows of every client, at most so many a person.

    DataMissing for a file of two clients: at machines of their own they may have files of one name.
    """
    if (file := twice([block.file for block in settings.tables])) is not None:
        raise DataMissing(f"tables has the file {file!r} twice: its records would count at two clients.")
    whole = dict[str, TextTable]()
    for holder in settings.holders:
        if holder.file not in whole:
            table = complete(open_table(settings, holder, texts), holder.names, settings)
            record_names(table, holder.roles.get("id"), several=False)
            whole[holder.file] = table
    clients = list(whole.values())
    if settings.party is not None:
        clients = _split_by_party(clients[0], settings)
    if settings.user is not None:
        one_client_each([client.column(settings.user) for client in clients], settings.party_names, settings.user)
    return [bounded(client, settings) for client in clients]


class RecordIds(NamedTuple):
    """Records of all clients, one client after another: how many each has, names (N,), and persons (N,) or none."""

    sizes: np.ndarray
    ids: np.ndarray
    person: np.ndarray


def client_records(clients: Sequence[TextTable], settings: OwnClients) -> RecordIds:
    """Sizes, names and persons of the records; DataMissing for fewer than the settings ask for."""
    sizes = np.array([len(client.rows) for client in clients])
    LOG.info("records: %d of %d clients", sizes.sum(), len(clients))
    check_count(int(sizes.sum()), settings)
    persons = [] if settings.user is None else [text for client in clients for text in client.column(settings.user)]
    return RecordIds(sizes, np.array(_client_ids(clients, settings), dtype=str), number_persons(persons))


def _client_ids(clients: Sequence[TextTable], settings: OwnClients) -> list[str]:
    """Names of the records, after the name of the client if two clients use one name."""
    several = len(settings.files) > 1
    names = [
        record_names(client, holder.roles.get("id"), several)
        for client, holder in zip(clients, settings.holders, strict=True)
    ]
    ids = [text for part in names for text in part]
    if len(set(ids)) == len(ids):
        return ids
    return [f"{name}: {text}" for name, part in zip(settings.party_names, names, strict=True) for text in part]


def _split_by_party(whole: TextTable, settings: OwnClients) -> list[TextTable]:
    """The rows of each client of one file."""
    texts = client_names(whole, settings)
    return [select_rows(whole, [i for i, text in enumerate(texts) if text == name]) for name in settings.parties]


def client_names(table: TextTable, settings: OwnClients) -> list[str]:
    """The client of every row of a file with a column of them; DataMissing for one that is not listed."""
    assert settings.party is not None
    texts = table.column(settings.party)
    for text, line in zip(texts, table.lines, strict=True):
        if text not in settings.parties:
            raise DataMissing(
                f"{table.file}: {settings.party} is {text!r} in row {line}: "
                f"{nearest(text, settings.parties, 'parties are')}; correct it, or list it under parties."
            )
    return texts


class NamedIds(NamedTuple):
    """The ids of one file in its order, and its name for messages."""

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

    holder: FileHolder
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
Identify = Callable[[TextTable, FileHolder], tuple[list[str], np.ndarray]]


@reader_of_files
def read_own_table(settings: OwnTables, texts: Mapping[str, bytes]) -> Table:
    """The records that all files have, with what is declared of their columns."""
    read = match_records(settings, read_files(settings, texts))
    names, facts = np.array(settings.column_names), settings.column_facts
    return Table(read.X, read.labels["y"], names, facts, ids=read.ids, person=read.person)


def draw_rows(settings: LearnedTables, spec: object, rng_for: Rng, resources: Path) -> dict[str, np.ndarray]:
    """Draw what replicates differ in: the split of the records."""
    return deal_table(read_own_table(settings), settings, rng_for)


def read_files(settings: OwnTables, texts: Mapping[str, bytes], identify: Identify | None = None) -> list[FileRecords]:
    """The records of each file; by default every row has an id of its own."""

    def own_ids(table: TextTable, holder: FileHolder) -> tuple[list[str], np.ndarray]:
        return record_names(table, settings.id_of(holder.block), several=True), np.arange(len(table.rows))

    return [
        _read_file(settings, holder, open_table(settings, holder, texts), identify or own_ids)
        for holder in settings.holders
    ]


def _read_file(settings: OwnTables, holder: FileHolder, whole: TextTable, identify: Identify) -> FileRecords:
    all_ids, _ = identify(whole, holder)
    table = complete(whole, holder.names, settings)
    ids, rows = identify(table, holder)
    X = np.column_stack(data_columns(table, holder.columns, check_column, settings.indicators))[rows]
    labels, persons = dict[str, np.ndarray](), dict[str, str]()
    for role, name in holder.roles.items():
        if role == "user":
            whose = table.column(name)
            persons = {id: whose[row] for id, row in zip(ids, rows.tolist(), strict=True)}
        elif role == "response":
            labels["y"] = label_values(settings, table, name)[rows]
        else:
            labels[role] = numbers_of(table, name)[rows]
    return FileRecords(holder, ids, [table.lines[row] for row in rows.tolist()], all_ids, X, labels, persons)


def match_records(settings: OwnTables, files: Sequence[FileRecords]) -> OwnRows:
    """The records that all files have, in the order of the first, of every person as many as count."""
    named = [NamedIds(records.holder.label, records.all_ids) for records in files]
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
    check_label(labels, table, name, settings.response_bounds)
    return labels


def match_ids(files: Sequence[NamedIds], match: str, column: str) -> list[str]:
    """Ids that every file has, in the order of the first one."""
    sets, first = [set(file.ids) for file in files], files[0]
    shared = set.intersection(*sets)
    hint = digits_hint([file.ids for file in files])
    if not shared:
        examples = "; ".join(f"{file.name} has {', '.join(file.ids[:2]) or 'none'}" for file in files)
        raise DataMissing(f"no {column} is in all files ({examples}): write the ids in the same way everywhere{hint}.")
    for file, ids in zip(files[1:], sets[1:], strict=True):
        here = [name for name in first.ids if name not in ids]
        there = [name for name in file.ids if name not in sets[0]]
        if match == "refuse" and (here or there):
            raise DataMissing(
                f"{file.name} and {first.name} have different ids: {_some(there)} only in the former, "
                f"{_some(here)} only in the latter; correct them, or set match to common to use the {len(shared)} that "
                f"all files share{hint}."
            )
    for file, ids in zip(files, sets, strict=True):
        note_left_out(file.name, len(ids), len(ids - shared), "which are not in all files", "records")
    return [name for name in first.ids if name in shared]


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
