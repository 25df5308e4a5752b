"""The data of one party in a distributed run: its own files from the disk, and placeholders for all others.

Placeholders are made from the public settings alone. With them, the same code makes the same public facts, names and
folds as if all files were in one place; no line of a program reads them, and the party's run does not get them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ....core.errors import DataMissing
from ....core.files import READ_POLICY
from ..columns import entries_of_classes
from ..csv import PLACEHOLDERS, read_bytes
from ..grammar import ColumnBlock


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


def check_count(n: int, me: str, file: str, rows: Mapping[str, int]) -> None:
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


def labels_of(classes: bool, positive: str | float | None, n: int, names: Sequence[str] = ()) -> list[str]:
    """Labels of all classes in turn; 1 and 2 where they are numbers, which every family of responses takes."""
    return in_turn(names or (entries_of_classes(positive) if classes else (1, 2)), n)
