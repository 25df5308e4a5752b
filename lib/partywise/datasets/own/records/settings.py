"""Settings of own tables whose rows are records: files, public columns, what names a record and a person.

Standard library only, checked before any job starts; the files themselves are read by the jobs.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Annotated, Literal

from ....checks import Count, Range, check_fields, check_name
from ..files import check_persons, increasing
from ..table_files import ColumnBlock


@dataclass(frozen=True, kw_only=True)
class HeldFile:
    """A file and who holds it. file : path from the folder in which the run starts"""

    party: str
    file: str

    def __post_init__(self) -> None:
        check_fields(self)
        check_name("party", self.party)
        check_name("file", self.file)


@dataclass(frozen=True, kw_only=True)
class OwnRecords:
    """What the settings of every source of records share: everything here is public and fixed before data are seen.

    columns : that are used, each with ``bounds`` (values outside are clipped) or the ``levels`` of a category
    id : column that names a record; without it a record is called by its row
    user, rows_per_user : column that names the person behind a row, and the public bound m on the rows of one: those
        after the first m in the order of the file are left out
    missing : what a row without an entry in a column that is read means, ``refuse`` (an error) or ``drop``
    marks : entries that stand for a missing value, besides empty ones, NA, NaN, nan and null
    min_records : fewest records that must be left; delimiter, encoding : of the files
    """

    columns: tuple[ColumnBlock, ...]
    id: str | None = None
    user: str | None = None
    rows_per_user: Count | None = None
    missing: Literal["refuse", "drop"] = "refuse"
    marks: tuple[str, ...] = ()
    min_records: Annotated[int, Range(2)] = 20
    delimiter: str = ","
    encoding: str = "utf-8"

    def check_records(self, taken: dict[str, str | None]) -> None:
        """Raise a named error for columns and persons that contradict each other; ``taken`` are other columns."""
        if not self.columns:
            raise ValueError("columns is empty: list at least one.")
        names = [column.name for column in self.columns]
        if (again := twice(names)) is not None:
            raise ValueError(f"columns has {again!r} twice: list it once.")
        for key, other in ({"id": self.id, "user": self.user} | taken).items():
            if other is None:
                continue
            check_name(key, other)
            if other in names:
                raise ValueError(f"columns has {other!r}, which is the {key}: take it out of one of them.")
        for place, column in enumerate(self.columns):
            _check_column(f"columns[{place}]", column)
        check_persons(self.user, self.rows_per_user)
        if len(self.delimiter) != 1:
            raise ValueError(f"delimiter is {self.delimiter!r}: it must be one character, such as ';' or '\\t'.")
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise ValueError(
                f"encoding is {self.encoding!r}: it must be one that Python knows, such as utf-8 or latin-1."
            ) from None


def _check_column(where: str, column: ColumnBlock) -> None:
    increasing(f"{where}.bounds", column.bounds)
    if column.edges is not None:
        raise ValueError(f"{where}.edges is {list(column.edges)}: they are read by trees only; leave them out.")
    if column.bounds is None and column.levels is None:
        raise ValueError(
            f"{where} ({column.name}) has neither bounds nor levels: a column is scaled by its public range; declare "
            "bounds: [low, high], or the levels of a category."
        )


def check_party_names(key: str, names: tuple[str, ...], reserved: tuple[str, ...]) -> None:
    """Raise a named error for names of parties that stand twice, or that a protocol uses itself."""
    for name in names:
        check_name(key, name)
        if name in reserved:
            raise ValueError(f"{key} has the name {name!r}: it belongs to a protocol; choose another.")
    if (again := twice(names)) is not None:
        raise ValueError(f"{key} has the name {again!r} twice: give each party its own.")


def twice(names: tuple[str, ...] | list[str]) -> str | None:
    """The first name that stands twice; None if there is none."""
    return next((name for place, name in enumerate(names) if name in names[:place]), None)
