"""The register as a CSV file, and its counts."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ...errors import DataMissing
from ..tables.rows import write_csv
from .register import COLUMNS, Row
from .verdict import STATUSES

NAME = "claims.csv"


def write(path: Path, rows: Sequence[Row]) -> None:
    """One line an entry."""
    write_csv(path, map(asdict, rows), COLUMNS)


def read(path: Path) -> list[Row]:
    """The rows of a file."""
    with path.open(encoding="utf-8", newline="") as handle:
        lines = csv.DictReader(handle)
        if tuple(lines.fieldnames or ()) != COLUMNS:
            raise DataMissing(f"{path} has other columns than a register: write it anew with ./run claims.")
        return [Row(**line) for line in lines]


def counts(rows: Sequence[Row]) -> dict[str, int]:
    """Entries of each status, in the order of the rule."""
    found = Counter(row.status for row in rows)
    return {status: found[status] for status in STATUSES}
