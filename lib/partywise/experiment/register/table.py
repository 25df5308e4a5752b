"""Rows of the register, the CSV file that holds them, and their counts."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from ...core.errors import DataMissing
from ...core.project import command
from ..tables.rows import write_csv
from .verdict import STATUSES

NAME = "claims.csv"


@dataclass(frozen=True)
class RegisterRow:
    """A line of the register; its fields are texts as in ``claims.csv``, except one flag.

    spread : of the source, as printed
    resolution : smallest difference that the comparison would have called one, as a share of the printed number
    saturated : whether nearly every choice gives the printed number
    certified : epsilon by the ledger, for claims of privacy
    cpu_minutes : of all fits of that case and method, all parties and epsilons together
    """

    id: str
    source: str
    place: str
    quantity: str
    kind: str
    printed: str
    spread: str
    reproduction: str
    se: str
    replicates: str
    z: str
    within_5_percent: str
    resolution: str
    saturated: bool
    certified: str
    status: str
    because: str
    study: str
    case: str
    method: str
    parties: str
    epsilon: str
    variable: str
    reduction: str
    configuration: str
    command: str
    cpu_minutes: str


COLUMNS = tuple(entry.name for entry in fields(RegisterRow))


def write(path: Path, rows: Sequence[RegisterRow]) -> None:
    """One line an entry."""
    write_csv(path, ({**asdict(row), "saturated": "yes" if row.saturated else ""} for row in rows), COLUMNS)


def read(path: Path) -> list[RegisterRow]:
    """The rows of a file."""
    with path.open(encoding="utf-8", newline="") as handle:
        lines = csv.DictReader(handle)
        if tuple(lines.fieldnames or ()) != COLUMNS:
            raise DataMissing(f"{path} has other columns than a register: write it anew with {command('claims')}.")
        return [_row(line) for line in lines]


def _row(line: Mapping[str, str]) -> RegisterRow:
    return RegisterRow(
        **{name: text for name, text in line.items() if name != "saturated"}, saturated=line["saturated"] == "yes"
    )


def counts(rows: Sequence[RegisterRow]) -> dict[str, int]:
    """Entries of each status, in the order of the rule."""
    by_status = Counter(row.status for row in rows)
    return {status: by_status[status] for status in STATUSES}
