"""Settings of own tables whose rows are records of one party, or of clients: public columns, persons.

Standard library only, checked before any job starts; the files themselves are read by the jobs.
"""

from __future__ import annotations

from dataclasses import dataclass

from ....checks import Count, check_name
from ..grammar import ColumnBlock, FileBlock, OwnFiles, check_persons, increasing, twice


@dataclass(frozen=True, kw_only=True)
class OwnRecords(OwnFiles):
    """What the settings of every source of records share: everything here is public and fixed before data are seen.

    response : column that is explained; file : of all rows, or tables : the file of each party
    columns : that are used, each with ``bounds`` (values outside are clipped) or the ``levels`` of a category
    user, rows_per_user : column that names the person behind a row, and the public bound m on the rows of one: those
        after the first m in the order of the file are left out
    """

    response: str
    file: str | None = None
    tables: tuple[FileBlock, ...] = ()
    columns: tuple[ColumnBlock, ...]
    user: str | None = None
    rows_per_user: Count | None = None

    def check_records(self, **taken: str | None) -> None:
        """Raise a named error for files and columns that contradict each other; ``taken`` are other columns."""
        self.check_files(self.tables, self.file)
        if (self.file is None) == (not self.tables):
            raise ValueError(
                f"file is {self.file!r} and tables has {len(self.tables)} entries: give one file, or a table of each "
                "party."
            )
        if self.file is not None:
            check_name("file", self.file)
        if not self.columns:
            raise ValueError("columns is empty: list at least one.")
        names = [column.name for column in self.columns]
        if (again := twice(names)) is not None:
            raise ValueError(f"columns has {again!r} twice: list it once.")
        roles = dict[str, str]()
        for key, other in ({"response": self.response, "id": self.id, "user": self.user} | taken).items():
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
        return {f"tables[{k}].file": one.file for k, one in enumerate(self.tables)}


def _check_column(where: str, column: ColumnBlock) -> None:
    increasing(f"{where}.bounds", column.bounds)
    if column.edges is not None:
        raise ValueError(f"{where}.edges is {list(column.edges)}: they are read by trees only; leave them out.")
    if column.bounds is None and column.levels is None:
        raise ValueError(
            f"{where} ({column.name}) has neither bounds nor levels: a column is scaled by its public range; declare "
            "bounds: [low, high], or the levels of a category."
        )
