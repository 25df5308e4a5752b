"""The keys that the settings of every source of own files share: one name, one place, one default, one sentence.

Standard library only, checked before any job starts; the files themselves are read by the jobs.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Literal

from ...checks import Range, check_fields, check_name
from ..column_facts import ColumnFacts, levels

# Entries that stand for a missing value in every file.
MARKS = ("", "NA", "NaN", "nan", "null")


@dataclass(frozen=True, kw_only=True)
class FileBlock:
    """The file of one party.

    party : who holds it; file : path from the folder in which the run starts
    id : name of the column of ids; delimiter, encoding : of the text, where they are not those of the case
    """

    party: str
    file: str
    id: str | None = None
    delimiter: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_name("party", self.party)
        check_name("file", self.file)
        check_text(self.delimiter, self.encoding)


@dataclass(frozen=True, kw_only=True)
class OwnFiles:
    """What the settings of every source of own files may say of them.

    id : name of the column of ids, the same in every file unless the file's block says otherwise
    missing : what a record without a value that is read means, ``refuse`` (an error) or ``drop``
    marks : entries that stand for a missing value, besides empty ones, NA, NaN, nan and null
    min_records : fewest records that must be left
    delimiter, encoding : of the text of all files whose block says nothing else
    """

    id: str | None = None
    missing: Literal["refuse", "drop"] = "refuse"
    marks: tuple[str, ...] = ()
    min_records: Annotated[int, Range(2)] = 20
    delimiter: str = ","
    encoding: str = "utf-8"

    def check_files(self) -> None:
        """Raise a named error for keys of text that no file has."""
        if self.id is not None:
            check_name("id", self.id)
        check_text(self.delimiter, self.encoding)

    def id_of(self, block: FileBlock | None) -> str | None:
        """Name of the column of ids of a file."""
        return self.id if block is None or block.id is None else block.id

    def text_of(self, block: FileBlock | None) -> tuple[str, str]:
        """Delimiter and encoding of a file."""
        if block is None:
            return self.delimiter, self.encoding
        return block.delimiter or self.delimiter, block.encoding or self.encoding

    @property
    def missing_marks(self) -> frozenset[str]:
        """All entries that stand for a missing value."""
        return frozenset((*MARKS, *self.marks))


@dataclass(frozen=True, kw_only=True)
class ColumnBlock:
    """A column of a file, and what is known of it before the data are seen.

    name : of the column in the file
    levels : of a category, whose entries are numbered in this order; each level is a bin of its own
    edges : public cuts; bounds : public range; because : where both come from
    """

    name: str
    levels: tuple[str, ...] | None = None
    edges: tuple[Annotated[float, Range()], ...] | None = None
    bounds: tuple[float, float] | None = None
    because: str = "declared in the configuration"

    def __post_init__(self) -> None:
        check_fields(self)
        check_name("name", self.name)
        check_name("because", self.because)
        increasing("bounds", self.bounds)
        if self.edges is not None and (not self.edges or list(self.edges) != sorted(set(self.edges))):
            raise ValueError(f"edges is {list(self.edges)}: give at least one, in increasing order.")
        if self.levels is None:
            return
        if len(set(self.levels)) < max(2, len(self.levels)):
            raise ValueError(f"levels is {list(self.levels)}: give at least two and none twice.")
        for key in ("edges", "bounds"):
            if getattr(self, key) is not None:
                raise ValueError(f"{key} is {list(getattr(self, key))}: levels are bins by themselves; leave it out.")

    @property
    def width(self) -> int:
        """Columns of numbers that it becomes: of a category an indicator of each level but the first."""
        return 1 if self.levels is None else len(self.levels) - 1

    @property
    def facts(self) -> ColumnFacts:
        """What is declared of the column; of a category, of the numbers of its levels."""
        if self.levels is not None:
            return levels(len(self.levels), self.because)
        return ColumnFacts(self.edges, self.bounds, self.because)


def increasing(name: str, bounds: tuple[float, float] | None) -> None:
    """Raise a named error for a pair of numbers that is given and is not finite and increasing."""
    if bounds is not None and not (isfinite(bounds[0]) and isfinite(bounds[1]) and bounds[0] < bounds[1]):
        raise ValueError(f"{name} is {list(bounds)}: it must be finite and increasing.")


def check_text(delimiter: str | None, encoding: str | None) -> None:
    """Raise a named error for a delimiter or an encoding that no text has."""
    if delimiter is not None and len(delimiter) != 1:
        raise ValueError(f"delimiter is {delimiter!r}: it must be one character, such as ';' or '\\t'.")
    try:
        codecs.lookup(encoding or "utf-8")
    except LookupError:
        raise ValueError(
            f"encoding is {encoding!r}: it must be one that Python knows, such as utf-8 or latin-1."
        ) from None


def check_persons(user: str | None, rows_per_user: int | None) -> None:
    """Raise a named error for a column of persons without a bound on the rows of one, or the other way round."""
    if (user is None) != (rows_per_user is None):
        raise ValueError(
            f"user is {user!r} and rows_per_user is {rows_per_user!r}: give both, the column that names a person and "
            "the public bound on the rows of one, or neither."
        )


def check_apart(files: Mapping[str, str], match: str) -> None:
    """Raise a named error for parties that cannot run apart: two with one file, or records that none knows alone.

    files : of every party, by its name
    """
    holder: dict[str, str] = {}
    for party, file in files.items():
        if holder.setdefault(file, party) != party:
            raise ValueError(
                f"file {file!r} has columns of {holder[file]!r} and of {party!r}: where parties run apart, each reads "
                "its own file alone; give each a file with its columns and the ids."
            )
    if match != "refuse":
        raise ValueError(
            f"match is {match!r}: where parties run apart, none sees the ids of another; bring the same records in all "
            "files and leave it out."
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
