"""The data of one party in a distributed run: its own files from the disk, and placeholders for all others.

Placeholders are made from the public settings alone. With them, the same code makes the same public facts, names and
folds as if all files were in one place; no line of a program reads them, and the party's run does not get them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import TypeVar

import numpy as np

from ...core.errors import DataMissing
from ...core.files import READ_POLICY
from ..shipped_table import ShippedTable
from .columns import data_columns
from .csv import ELSEWHERE, PLACEHOLDERS, TextTable, read_bytes, read_table
from .curves.reader import Reader
from .curves.settings import CurveFile, OwnCurves
from .grammar import PLAIN, ColumnBlock, FileBlock
from .plausible import check_entries
from .records import bounded, client_names, complete
from .settings import FileHolder, OwnClients, OwnTables, RecordTable

CurveT = TypeVar("CurveT", bound=CurveFile)


@dataclass(frozen=True)
class PartyFiles:
    """The settings and files from which a party makes its data.

    settings : as the configuration has them, except the form of files that are elsewhere
    contents : of every file that these settings name
    common : what all parties must have alike, ids in order, and the group or person of each; empty where rows are split
    """

    settings: object
    contents: Mapping[str, bytes]
    common: tuple[tuple[str, ...], ...] = ()

    @contextmanager
    def read(self) -> Iterator[None]:
        """Readers of own files get these contents inside, and nothing from the disk."""
        token = PLACEHOLDERS.set(self.contents)
        try:
            yield
        finally:
            PLACEHOLDERS.reset(token)


def own_content(file: str, folder: Path) -> bytes:
    """Content of a party's own file; DataMissing where it cannot be read."""
    READ_POLICY.get().check_file(file)
    return read_bytes(str(folder / file))


def placeholders(settings: RecordTable, me: str, rows: Mapping[str, int], folder: Path) -> PartyFiles:
    """The own table of a party, and one in the place of each other.

    rows : records of every party that count; one file with a column of clients holds the own rows only
    """
    contents, common = dict[str, bytes](), tuple[tuple[str, ...], ...]()
    ids, users = placeholder_ids(rows, settings.min_records), None
    mine = next((holder for holder in settings.holders if holder.party == me), None)
    if mine is not None:
        contents[mine.file] = own_content(mine.file, folder)
        table = read_table(contents[mine.file], mine.file, settings.text_of(mine.block))
        if isinstance(settings, OwnClients):
            _check_own_rows(settings, mine, table, rows)
            if settings.same_records:
                ids = table.ids(mine.roles["id"])
                common = (tuple(ids),)
        else:
            name = settings.id_of(mine.block) or ""
            ids = table.ids(name, stripped=False)
            if getattr(settings, "aligned", True):
                ascending(table.ids(name), mine.file, name)
                check_rows(len(ids), me, mine.file, rows)
            users = None if settings.user is None else shared_column(table, settings.user, "user")
            if getattr(settings, "aligned", True):
                common = (tuple(table.ids(name)), *(() if users is None else (tuple(users),)))
    local_settings = _settings_apart(settings, me)
    for holder in local_settings.holders:
        if holder.party != me:
            shared = {"id": ids, "user": ids if users is None else users}
            if not settings.same_records:
                shared = {role: [f"{holder.party}, {role} {k}" for k in range(rows[holder.party])] for role in shared}
            contents[holder.file] = _text(local_settings, holder, shared)
    return PartyFiles(local_settings, contents, common)


def public_table(settings: ShippedTable, me: str, rows: Mapping[str, int], folder: Path) -> PartyFiles:
    """A shipped table, which is public: every party reads all of it, and its run gets its own columns."""
    return PartyFiles(settings, {})


def _settings_apart(settings: RecordTable, me: str) -> RecordTable:
    """Settings with a file of each party, of which those that are elsewhere have one form."""
    blocks = settings.tables or tuple(FileBlock(party=holder.party, file=holder.file) for holder in settings.holders)
    # Records of clients are not matched: their ids need no name in a placeholder but that of the case.
    plain = PLAIN | ({} if settings.same_records else {"id": None})
    tables = tuple(
        block if block.party == me else replace(block, file=f"{ELSEWHERE}{block.party})", **plain) for block in blocks
    )
    if isinstance(settings, OwnClients):
        return replace(settings, tables=tables, file=None, party=None, parties=())
    return replace(settings, tables=tables)


def _check_own_rows(settings: OwnClients, mine: FileHolder, table: TextTable, rows: Mapping[str, int]) -> None:
    """DataMissing for a row of another client, or for another number of records than is public."""
    if settings.party is not None:
        for text, line in zip(client_names(table, settings), table.lines, strict=True):
            if text != mine.party:
                raise DataMissing(
                    f"{settings.file}: {settings.party} is {text!r} in row {line}, and this is the file of "
                    f"{mine.party!r}: in a distributed run, each party has its own rows only; leave the others out."
                )
    check_rows(len(bounded(complete(table, mine.names, settings), settings).rows), mine.party, mine.file, rows)


def _text(settings: RecordTable, holder: FileHolder, shared: Mapping[str, Sequence[str]]) -> bytes:
    """A file that follows the settings, with these ids and persons."""
    n, name = len(shared["id"]), settings.id_of(holder.block)
    columns: dict[str, Sequence[str]] = {} if name is None else {name: shared["id"]}
    columns |= {column.name: column_of(column, n) for column in holder.columns}
    for role, name in holder.roles.items():
        columns[name] = shared[role] if role in shared else in_turn(settings.role_entries[role], n)
    return text_of(columns)


def shared_column(table: TextTable, name: str, key: str) -> list[str]:
    """A column that identifies the records that belong together: every party's file must have it."""
    if name not in table.header:
        raise DataMissing(
            f"{table.file} has no column {name!r} ({key}): it decides which records are held out together, so in a "
            "distributed run every file needs it; add it, or leave the key out."
        )
    return table.column(name)


def new_records(
    settings: OwnTables, me: str, file: str, folder: Path, rows: Mapping[str, int]
) -> tuple[tuple[str, ...], np.ndarray]:
    """Ids and columns (n, p_k) of records that are scored, from a party's file: a response is neither needed nor read.

    DataMissing for what training would refuse but a column without variation, which a few records may have.
    """
    mine = next(block for block in settings.tables if block.party == me)
    table = read_table(own_content(file, folder), file, settings.text_of(replace(mine, file=file)))
    name = mine.id or settings.id
    ascending(table.ids(name), file, name)
    check_rows(len(table.rows), me, file, rows)
    table = complete(table, [column.name for column in mine.columns], replace(settings, missing="refuse"))
    columns = data_columns(table, mine.columns, check_entries, settings.indicators)
    return tuple(table.ids(name)), np.column_stack(columns)


def curve_placeholders(settings: OwnCurves, me: str, rows: Mapping[str, int], folder: Path) -> PartyFiles:
    """The own files of a party, and one in the place of each curve elsewhere; as `placeholders` of tables."""
    keys = settings.by_party(len(settings.predictors)).get(me, ())
    mine = {key: curve for key, curve in settings.curves.items() if f"{key}.file" in keys}
    contents = {curve.file: own_content(curve.file, folder) for curve in mine.values()}
    ids, groups, common = placeholder_ids(rows, settings.min_records), None, list[tuple[str, ...]]()
    for key, curve in list(mine.items())[:1]:
        reader = Reader(settings, contents)
        ids = reader.measurements(key, curve).ids
        ascending(ids, curve.file, settings.id_of(curve))
        check_rows(len(ids), me, curve.file, rows)
        groups = None if settings.fold_block is None else _groups(reader, settings, curve, ids)
        common = [tuple(ids), *([] if groups is None else [tuple(groups)])]

    def own_or_elsewhere(key: str, curve: CurveT) -> CurveT:
        if key in mine:
            return curve
        placeholder, content = _elsewhere(settings, key, curve, ids, groups)
        contents[placeholder.file] = content
        return placeholder

    response = own_or_elsewhere("response", settings.response)
    predictors = tuple(own_or_elsewhere(f"predictors[{j}]", curve) for j, curve in enumerate(settings.predictors))
    return PartyFiles(replace(settings, response=response, predictors=predictors), contents, tuple(common))


def _groups(reader: Reader, settings: OwnCurves, curve: CurveFile, ids: Sequence[str]) -> list[str]:
    """The group of every record, as the own file has it."""
    name, column = settings.id_of(curve), settings.fold_block
    assert column is not None
    if curve.format != "netcdf":
        shared_column(reader.table(curve), column, "fold_block")
    of: dict[str, str] = {}
    for record, group in reader.groups(curve, column):
        if of.setdefault(record, group) != group:
            raise DataMissing(
                f"{curve.file}: {column} (fold_block) of {name} {record!r} is {of[record]!r} and {group!r}: a record "
                "belongs to one group; correct it."
            )
    return [of[record] for record in ids]


def _elsewhere(
    settings: OwnCurves, key: str, curve: CurveT, ids: Sequence[str], groups: Sequence[str] | None
) -> tuple[CurveT, bytes]:
    """A curve elsewhere in wide form, on its public scale already: half of its radius, up and down in turn."""
    n, (start, end) = len(ids), settings.domain_of(curve)
    low, high = settings.domain_of(curve) if key == "response" else settings.domain
    count = 2 * max(settings.n_basis_x, settings.n_basis_y) + settings.min_points
    if settings.max_gap is not None:
        count = max(count, ceil((high - low) / settings.max_gap) + 2)
    names = tuple(f"value {k}" for k in range(count))
    radius = settings.response_radius if key == "response" else getattr(curve, "radius", None) or settings.radius
    columns: dict[str, Sequence[str]] = {"record": ids} | dict.fromkeys(names, in_turn((radius / 2, -radius / 2), n))
    if key == "response" and settings.fold_block is not None:
        columns[settings.fold_block] = ids if groups is None else groups
    placeholder = replace(
        curve,
        file=f"{ELSEWHERE}{key})",
        format="wide",
        id="record",
        columns=names,
        time=None,
        value=None,
        times=tuple(np.linspace(start, end, count).tolist()),
        outside="refuse",
        period="day",
        **PLAIN,
        unit="",
        range=None,
        transform="none",
        centre=0.0,
        scale=1.0,
    )
    return placeholder, text_of(columns)


def check_rows(n: int, me: str, file: str, rows: Mapping[str, int]) -> None:
    """DataMissing if the own file has another number of records than the configuration of the run gives."""
    if rows.get(me, n) != n:
        raise DataMissing(
            f"{file} has {n} records that count, and rows of {me!r} is {rows[me]} in the configuration that all share: "
            "bring the file that was meant, or have all correct rows."
        )


def placeholder_ids(rows: Mapping[str, int], least: int) -> list[str]:
    """Ids of the records for a place without data: as many as the configuration gives, else as few as count."""
    return [str(k) for k in range(max(rows.values(), default=least))]


def text_of(columns: Mapping[str, Sequence[str]]) -> bytes:
    """Columns of text as a CSV file in the form `PLAIN`."""
    handle = io.StringIO(newline="")
    writer = csv.writer(handle, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return handle.getvalue().encode()


def ascending(ids: Sequence[str], file: str, column: str) -> None:
    """DataMissing for ids that do not ascend, as whole numbers where all are: their order would depend on the data."""
    keys, whole = order_keys(ids), all(text.isdecimal() for text in ids)
    for place in range(1, len(keys)):
        if keys[place] <= keys[place - 1]:
            raise DataMissing(
                f"{file}: {column} {ids[place]!r} follows {ids[place - 1]!r}: in a distributed run, the ids "
                f"of every file ascend, as {'whole numbers' if whole else 'text'}, so that all have one order; sort it."
            )


def order_keys(ids: Sequence[str]) -> list[tuple[int, str]]:
    """Keys by which ids ascend: whole numbers, where all are, by their size, and texts by their letters."""
    whole = all(text.isdecimal() for text in ids)
    return [(int(text), "") if whole else (0, text) for text in ids]


def in_turn(entries: Sequence[object], n: int) -> list[str]:
    """(n,) entries in turn, as text."""
    return [str(entries[i % len(entries)]) for i in range(n)]


def column_of(column: ColumnBlock, n: int) -> list[str]:
    """Entries of a column that pass the checks of one: levels in turn, or two numbers."""
    if column.levels is not None:
        return in_turn(column.levels, n)
    low, high = column.bounds or (0.0, 1.0)
    if column.edges is None:
        return in_turn((low, high), n)
    cuts = column.edges
    if column.bounds is not None and np.ptp(np.searchsorted(cuts, (low, high))):
        return in_turn((low, high), n)
    # Bounds between two edges: at most every second entry lies outside them, the first inside.
    inside = low if column.bounds is not None else cuts[0] - 1.0
    return in_turn((inside, cuts[0] - 1.0 if inside > cuts[0] else cuts[-1] + 1.0), n)
