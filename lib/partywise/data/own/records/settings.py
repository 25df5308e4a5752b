"""Settings of own tables whose rows are records of one party, or of clients: public columns, persons.

Standard library only, checked before any job starts; the files themselves are read by the jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ....core.checks import Count, check_name
from ..grammar import (
    ColumnBlock,
    FileBlock,
    OwnFiles,
    check_party_names,
    check_persons,
    increasing,
    twice,
    without_patterns,
)

# Places without data, whose names no client may have.
RESERVED = ("server", "aggregator")


@dataclass(frozen=True, kw_only=True)
class OwnRecords(OwnFiles):
    """Settings that every source of records shares: all of them are public and fixed before data are seen.

    file : of all rows, or tables : the file of each party
    columns : that are used, each with ``bounds`` (values outside are clipped) or the ``levels`` of a category
    user, rows_per_user : column that names the person behind a row, and the public bound m on the rows of one: those
        after the first m in the order of the file are left out
    """

    file: str | None = None
    tables: tuple[FileBlock, ...] = ()
    columns: tuple[ColumnBlock, ...]
    user: str | None = None
    rows_per_user: Count | None = None

    # Whether at least one column is needed beside those that are explained.
    needs_columns: ClassVar[bool] = True

    @property
    def response_columns(self) -> dict[str, str]:
        """Columns that are explained, by the keys that name them."""
        raise NotImplementedError

    def check_records(self, **taken: str | None) -> None:
        """Raise a named error for files and columns that contradict each other; ``taken`` are other columns."""
        object.__setattr__(self, "columns", without_patterns(self.columns))
        self.check_files(self.tables, self.file)
        if (self.file is None) == (not self.tables):
            raise ValueError(
                f"file is {self.file!r} and tables has {len(self.tables)} entries: give one file, or a table of each "
                "party."
            )
        if self.file is not None:
            check_name("file", self.file)
        if self.needs_columns and not self.columns:
            raise ValueError("columns is empty: list at least one.")
        names = [column.name for column in self.columns]
        if (again := twice(names)) is not None:
            raise ValueError(f"columns has {again!r} twice: list it once.")
        roles = dict[str, str]()
        for key, other in (self.response_columns | {"id": self.id, "user": self.user} | taken).items():
            if other is None:
                continue
            check_name(key, other)
            if other in names:
                raise ValueError(f"columns has {other!r}, which is the {key}: take it out of one of them.")
            if roles.setdefault(other, key) != key:
                raise ValueError(f"{key} is {other!r}, which is the {roles[other]} too: give another column.")
        for place, column in enumerate(self.columns):
            _check_column(f"columns[{place}]", column)
        check_persons(self.user, self.rows_per_user)

    @property
    def files(self) -> dict[str, str]:
        """Files that the data are made from, by their keys in the configuration."""
        if self.file is not None:
            return {"file": self.file}
        return {f"tables[{k}].file": table.file for k, table in enumerate(self.tables)}


@dataclass(frozen=True, kw_only=True)
class OwnClients(OwnRecords):
    """Own records of several clients, who hold different records of the same columns.

    party, parties : of one file, the column that names the client of a row, and the entries of that column, in the
        order in which clients take part
    """

    party: str | None = None
    parties: tuple[str, ...] = ()

    # How many records a client has is public, and another number at each.
    rows_differ: ClassVar[bool] = True

    @property
    def response_entries(self) -> Mapping[str, Sequence[object]]:
        """Entries that columns that are explained may have, from public settings, for placeholders of other clients."""
        raise NotImplementedError

    def check_clients(self) -> None:
        """Raise a named error for files, columns and clients that contradict each other."""
        self.check_records(party=self.party)
        if self.tables:
            for key in ("party", "parties"):
                if getattr(self, key):
                    value = getattr(self, key)
                    raise ValueError(f"{key} is {value!r}: every table has its own party; leave it out.")
        elif self.party is None or not self.parties:
            raise ValueError(
                f"party is {self.party!r} and parties is {list(self.parties)}: name the column of the client, and "
                "list its entries, which are public."
            )
        check_party_names("tables" if self.tables else "parties", self.party_names, RESERVED)

    @property
    def id_names(self) -> tuple[str | None, ...]:
        """Name of the column of ids of every client."""
        return tuple(self.id_of(table) for table in self.tables) or (self.id,) * len(self.parties)

    @property
    def party_names(self) -> tuple[str, ...]:
        """The clients, in the order in which they take part."""
        return tuple(table.party for table in self.tables) or self.parties

    def by_party(self, n_parties: int) -> dict[str, tuple[str, ...]]:
        """Keys of the files of the clients that take part, in a distributed run; of one file, each has its own rows."""
        keys = [f"tables[{k}].file" for k in range(len(self.tables))] or ["file"] * len(self.parties)
        return {name: (key,) for name, key in list(zip(self.party_names, keys, strict=True))[:n_parties]}

    @property
    def clients(self) -> int:
        """Number of clients."""
        return len(self.party_names)

    def columns_read(self, id: str | None) -> list[str]:
        """Names of all columns that are read, of a file with this column of ids."""
        more = [*self.response_columns.values(), self.party, id, self.user]
        return [*(column.name for column in self.columns), *(name for name in more if name is not None)]


def _check_column(where: str, column: ColumnBlock) -> None:
    increasing(f"{where}.bounds", column.bounds)
    if column.edges is not None:
        raise ValueError(f"{where}.edges is {list(column.edges)}: they are read by trees only; leave them out.")
    if column.bounds is None and column.levels is None:
        raise ValueError(
            f"{where} ({column.name}) has neither bounds nor levels: a column is scaled by its public range; declare "
            "bounds: [low, high], or the levels of a category."
        )
