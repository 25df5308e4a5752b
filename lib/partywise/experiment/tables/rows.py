"""Rows as CSV files, and other text files: written in one step, one row after the other."""

from __future__ import annotations

import csv
import io
import tempfile
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, TypeVar

import numpy as np

from ...core.checks import FORMULA
from ...core.files import replacing

T = TypeVar("T")


def write_text(path: Path | str, text: str) -> None:
    """Write a text file in one step."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_csv(
    path: Path | str, rows: Iterable[Mapping[str, object]], names: Sequence[str] = (), join_columns: Sequence[str] = ()
) -> None:
    """Write rows that share their keys, one by one; an empty table keeps the names, without any an empty file.

    join_columns : columns by which others join the table, from whose entries the quote of `quote` can be taken off
    """
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as handle:
        writer: csv.DictWriter[str] | None = None
        if names:
            writer = csv.DictWriter(handle, list(names), lineterminator="\n")
            writer.writeheader()
        for row in rows:
            if writer is None:
                writer = csv.DictWriter(handle, list(row), lineterminator="\n")
                writer.writeheader()
            writer.writerow(
                {key: quote(str(value)) if key in join_columns else inert(value) for key, value in row.items()}
            )


class SortedRows:
    """Rows of a CSV file that come in groups out of order; what waits for its turn lies on the disk, in ``folder``.

    The rows of ``add`` reach the binary ``handle`` of the file at the next ``flush``, in the order of their keys.
    """

    def __init__(self, handle: IO[bytes], folder: Path) -> None:
        self._handle, self._begun = handle, False
        self._waiting = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed with the tables
        self._keys, self._lengths = array("d"), array("q")

    def add(self, key: tuple[float, float, float], rows: Sequence[Mapping[str, object]]) -> None:
        """The rows of one group."""
        if not rows:
            return
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not self._begun:
            writer.writerow(rows[0])
            self._handle.write(text.getvalue().encode())
            text.seek(0)
            text.truncate()
            self._begun = True
        # Rows of a ledger share their keys and the order of these; there may be a million.
        writer.writerows(
            [_inert_text(value) if isinstance(value, str) else value for value in row.values()] for row in rows
        )
        self._keys.extend(key)
        self._lengths.append(self._waiting.write(text.getvalue().encode()))

    def flush(self) -> None:
        """Write what waits."""
        keys, lengths = np.array(self._keys).reshape(-1, 3), np.array(self._lengths)
        starts = np.cumsum(lengths) - lengths
        for i in np.lexsort(keys.T[::-1]).tolist():
            self._waiting.seek(starts[i])
            self._handle.write(self._waiting.read(lengths[i]))
        self._waiting.seek(0)
        self._waiting.truncate()
        self._keys, self._lengths = array("d"), array("q")

    def close(self) -> None:
        """Write what waits and let go of the disk."""
        self.flush()
        self._waiting.close()


def inert(value: T) -> T | str:
    """Text on one line, and behind a quote what a spreadsheet would take for a formula; numbers stay numbers."""
    return _inert_text(value) if isinstance(value, str) else value


def quote(value: str) -> str:
    """A key as it is, behind one quote where a spreadsheet would take it for a formula or it begins with a quote.

    Who takes one quote off the begin of every entry has all keys back.
    """
    return f"'{value}" if value.startswith((*FORMULA, "'", "\t", "\r")) and not _is_number(value) else value


@lru_cache(maxsize=10_000)
def _inert_text(value: str) -> str:
    """Cached, since most texts of a ledger appear in many rows."""
    value = value if value.isprintable() else " ".join(value.split())
    return f"'{value}" if value.startswith(FORMULA) and not _is_number(value) else value


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
