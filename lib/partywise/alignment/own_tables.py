"""Own tables whose columns are split: the ids of one party, and its file of the records that all parties have."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..core.errors import DataMissing
from ..data.own.csv import TextTable, read_table
from ..data.own.grammar import is_typed
from ..data.own.remote import order_keys, own_content
from ..data.own.settings import OwnTables
from ..federation.parties import Party
from ..federation.places import PerPlace
from ..federation.run import Run
from .identifiers import prepare_identifiers
from .options import IdentifierRules
from .rows import matched_rows


@dataclass(frozen=True)
class PartyTable:
    """One party's table and its ids as they are compared, in the order of the rows; place : of their column."""

    table: TextTable
    place: int
    ids: Sequence[str]

    def write(self, path: Path, rows: np.ndarray) -> None:
        """Write these rows in the ascending order of their ids, as a fit asks for them."""
        keys = order_keys([self.ids[row] for row in rows])
        with path.open("w", newline="", encoding=self.table.form.encoding) as handle:
            writer = csv.writer(handle, delimiter=self.table.form.delimiter, lineterminator="\n")
            writer.writerow(self.table.header)
            for place in sorted(range(len(rows)), key=keys.__getitem__):
                cells = list(self.table.rows[rows[place]])
                # In the form in which ids were compared: letters and their marks are composed alike everywhere.
                cells[self.place] = self.ids[rows[place]]
                writer.writerow(cells)


def has_tables(settings: object) -> bool:
    """Whether settings of a case are those of tables whose columns are split."""
    return isinstance(settings, OwnTables)


def file_of(settings: OwnTables, me: str) -> str | None:
    """The file of a party; None for a place without data."""
    return next((table.file for table in settings.tables if table.party == me), None)


def own_records(settings: OwnTables, me: str, folder: Path) -> PartyTable:
    """A party's own table with its ids; DataMissing counts ids that are missing or double."""
    entry = next(entry for entry in settings.tables if entry.party == me)
    form = settings.text_of(entry)
    if is_typed(entry.file) or max(form.lines_above, form.lines_below, form.header_rows - 1):
        raise DataMissing(
            f"{entry.file}: the common records are written as CSV text with one row of names; give the table as such."
        )
    table, name = read_table(own_content(entry.file, folder), entry.file, form), entry.id or settings.id
    try:
        ids, _ = prepare_identifiers(table.ids(name), IdentifierRules(), me, f"in {entry.file}")
    except ValueError as error:
        # An alignment has no rules for double and missing ids: such records are corrected in the file.
        raise DataMissing(f"{entry.file}: {str(error).partition(':')[0]}: correct the column {name!r}.") from None
    return PartyTable(table, table.header.index(name), ids)


def parties_with(settings: OwnTables, me: str, ids: Sequence[str]) -> list[Party]:
    """The data holders in their order, with the ids of one of them."""
    return [
        Party(
            table.party,
            "active" if table.party == settings.response_party else "passive",
            {"ids": np.array(ids)} if table.party == me else {},
        )
        for table in settings.tables
    ]


def common_rows_at(run: Run, matcher: str) -> PerPlace[np.ndarray]:
    """Positions of the common records at each party, by private set intersection."""
    return matched_rows(run, "psi", matcher)[0]
