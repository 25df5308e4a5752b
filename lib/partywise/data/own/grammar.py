"""The keys that the settings of every source of own files share: one name, one place, one default, one sentence.

Standard library only, checked before any job starts; the files themselves are read by the jobs.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, tzinfo
from fnmatch import fnmatchcase
from math import isfinite
from typing import Annotated, Literal

from ...core.checks import Count, Natural, Range, check_fields, check_name
from ...models.kinds import KindName
from ..column_facts import ColumnFacts, check_kind, levels

# Entries that stand for a missing value in every file.
MARKS = ("", "NA", "NaN", "nan", "null")
# The value of ``time_format`` for dates and times of ISO 8601 in any of its forms.
ISO = "iso"
# How the names of files end whose columns have types, and the keys that such a file leaves nothing to say for.
TYPED = (".parquet", ".pq", ".arrow", ".feather")
TEXT_ONLY = ("delimiter", "encoding", "decimal", "thousands", "lines_above", "lines_below", "header_rows")
# What separates the forms of a time stamp in ``time_format``, and the names of columns that are read as one.
EITHER, JOINED = "|", " + "


def is_typed(file: str) -> bool:
    """Whether a file is a Parquet or Arrow one, by how its name ends."""
    return file.lower().endswith(TYPED)


@dataclass(frozen=True, kw_only=True)
class TextKeys:
    """The keys for how the entries of a file are written."""

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    thousands: str = ""
    time_format: str = ""
    id_as_text: str = ""
    time_zone: str = ""
    lines_above: Natural = 0
    lines_below: Natural = 0
    header_rows: Count = 1
    equal_names: Literal["refuse", "number"] = "refuse"
    percent: Literal["refuse", "number", "share"] = "refuse"
    below: Literal["refuse", "half", "limit", "zero"] = "refuse"


@dataclass(frozen=True, kw_only=True)
class TextForm(TextKeys):
    """The form of the entries of a file, with all defaults in force; ValueError for a form that no text has."""

    def __post_init__(self) -> None:
        if len(self.delimiter) != 1:
            raise ValueError(f"delimiter is {self.delimiter!r}: it must be one character, such as ';' or '\\t'.")
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            raise ValueError(
                f"encoding is {self.encoding!r}: it must be one that Python knows, such as utf-8 or latin-1."
            ) from None
        if self.decimal not in (".", ","):
            raise ValueError(f"decimal is {self.decimal!r}: it must be '.' or ','.")
        if self.thousands not in ("", ".", ",", " ", "'", "_"):
            raise ValueError(f"thousands is {self.thousands!r}: it must be one of . , ' _ or a blank, in quotes.")
        if self.thousands == self.decimal:
            raise ValueError(
                f"thousands is {self.thousands!r}, and so is decimal: they must differ, as '.' and ',' do in 1.234,5."
            )
        if self.time_format and not is_time_format(self.time_format):
            raise ValueError(
                f"time_format is {self.time_format!r}: write the parts of a time stamp as Python does, as in "
                "'%Y-%m-%d %H:%M' or '%d.%m.%Y', or iso; of several forms with | between them."
            )
        if self.time_zone and zone_of(self.time_zone) is None:
            raise ValueError(
                f"time_zone is {self.time_zone!r}: it must be UTC or an offset such as '+01:00', since the clocks of a "
                "place show one hour twice in October."
            )
        if self.id_as_text and not re.fullmatch(r"(0[1-9][0-9]?)?d", self.id_as_text):
            raise ValueError(f"id_as_text is {self.id_as_text!r}: it must be 'd', or '06d' for six digits.")

    def id_text(self, text: str) -> str:
        """An id as it is compared: with ``id_as_text`` a whole number in its digits, so that 100 is 000100."""
        whole = whole_id(text) if self.id_as_text else None
        return text if whole is None else format(whole, self.id_as_text)


# A file that this program writes itself, whatever the case says of the files of others.
PLAIN = asdict(TextForm())


def whole_id(text: str) -> int | None:
    """The whole number that an id is, with zeros before it or as a spreadsheet writes it, 100.0; None for others."""
    match = re.fullmatch(r"\s*(\d+)(?:[.,]0+)?\s*", text)
    return int(match[1]) if match else None


def zone_of(text: str) -> tzinfo | None:
    """The time zone of ``time_zone``, which has one offset all year; None for other text."""
    if text.upper() in ("UTC", "Z"):
        return UTC
    try:
        return datetime.strptime(text, "%z").tzinfo
    except ValueError:
        return None


def is_time_format(text: str) -> bool:
    """Whether the parts of a time stamp can be read by it, or by each of several forms."""
    if EITHER in text:
        return all(map(is_time_format, text.split(EITHER)))
    if text == ISO:
        return True
    try:
        return "%" in text and bool(datetime.strptime(datetime(2001, 2, 3, 4, 5, 6).strftime(text), text))
    except ValueError:
        return False


@dataclass(frozen=True, kw_only=True)
class FileBlock:
    """The file of one party.

    party : who holds it; file : path from the folder in which the run starts
    id : name of the column of ids, where it is not that of the case
    delimiter, encoding, decimal, thousands, time_format, id_as_text, time_zone, lines_above, lines_below, header_rows,
        equal_names, percent, below : how its text is written, if not as in the case
    """

    party: str
    file: str
    id: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    time_format: str | None = None
    id_as_text: str | None = None
    time_zone: str | None = None
    lines_above: Natural | None = None
    lines_below: Natural | None = None
    header_rows: Count | None = None
    equal_names: Literal["refuse", "number"] | None = None
    percent: Literal["refuse", "number", "share"] | None = None
    below: Literal["refuse", "half", "limit", "zero"] | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_name("party", self.party)
        check_name("file", self.file)
        _form_of(self)
        if is_typed(self.file):
            check_untold(self, self.file)


def check_untold(keys: FileBlock | OwnFiles, file: str) -> None:
    """Raise a named error for a key of text that is given for a file that has types."""
    for name in TEXT_ONLY:
        if (value := getattr(keys, name)) not in (None, getattr(TextKeys, name)):
            raise ValueError(
                f"{name} is {value!r}: {file} is a Parquet or Arrow file, whose columns have types; leave it out, and "
                "write numbers that are text in it as numbers."
            )


def _form_of(*blocks: FileBlock | OwnFiles | None) -> TextForm:
    """Combine the keys of text of these blocks, of which a later one overrides the earlier ones."""
    names = [entry.name for entry in fields(TextForm)]
    keys = {name: value for block in blocks for name in names if (value := getattr(block, name, None)) is not None}
    return TextForm(**keys)


@dataclass(frozen=True, kw_only=True)
class OwnFiles(TextKeys):
    """Keys that every source of own files may have.

    id : name of the column of ids, the same in every file unless the file's block has another
    id_as_text : format of ids that are whole numbers, such as ``06d``: 100 and 000100 are one then; without it ids are
        compared as text
    missing : what a record without a value that is read means, ``refuse`` (an error) or ``drop``
    marks : entries that stand for a missing value, besides empty ones, NA, NaN, nan and null
    min_records : fewest records that must be left
    delimiter, encoding : of the text of all files whose block has no other
    decimal, thousands : marks inside numbers, ``.`` or ``,``, and the mark between thousands
    time_format : of time stamps, such as ``%d.%m.%Y %H:%M`` or ``iso``: of a column of times of curves it makes the
        record and the time in it, of a column of a table a number (years, such as 2024.5; without a date hours); of
        several forms with ``|`` between them
    time_zone : of time stamps, ``UTC`` or an offset such as ``+01:00``: those that name another zone are converted
    lines_above, lines_below : lines above the names of the columns and rows below the table that are not part of it
    header_rows : rows that name the columns; an empty name of an upper row is that of its left neighbour
    equal_names : columns of one name are an error (``refuse``), or the later ones get a number (``number``: b, b 2)
    percent : of ``12 %`` the ``number`` 12 or the ``share`` 0.12
    below : of a value under a limit of detection, such as ``<5``, ``half`` of the limit, the ``limit`` or ``zero``; of
        one above a limit, such as ``>90``, the limit
    """

    id: str | None = None
    missing: Literal["refuse", "drop"] = "refuse"
    marks: tuple[str, ...] = ()
    min_records: Annotated[int, Range(2)] = 20

    def check_files(self, blocks: Iterable[FileBlock] = (), file: str | None = None) -> None:
        """Raise a named error for keys of text that no file has, or that contradict those of a file's block.

        blocks : of the files; file : of all records, if blocks are absent
        """
        blocks = tuple(blocks)
        if self.id is not None:
            check_name("id", self.id)
        for block in (None, *blocks):
            self.text_of(block)
        files = [*(block.file for block in blocks), *([] if file is None else [file])]
        if files and all(map(is_typed, files)):
            check_untold(self, files[0])

    def id_of(self, block: FileBlock | None) -> str | None:
        """Name of the column of ids of a file."""
        return self.id if block is None or block.id is None else block.id

    def text_of(self, block: FileBlock | None) -> TextForm:
        """The form of the entries of a file."""
        return _form_of(self, block)

    @property
    def missing_marks(self) -> frozenset[str]:
        """All entries that stand for a missing value."""
        return frozenset((*MARKS, *self.marks))


@dataclass(frozen=True, kw_only=True)
class ColumnBlock:
    """A column of a file, and what is known of it before the data are seen.

    name : of the column in the file; with ``*`` that of several which follow, for what they have in common
    levels : of a category, whose entries are numbered in this order; each level is a bin of its own
    edges : public cuts; bounds : public range; because : where all of them come from; unit : of numbers, next to the
        name in figures
    kind : distribution by the meaning of the column, for intervals of private fits: ``normal``, ``uniform`` on its
        bounds, ``binary`` with its bounds as values, or ``lognormal`` above 0; a category of two levels is binary
    time_format : of its time stamps, where it is not that of the file
    """

    name: str
    levels: tuple[str, ...] | None = None
    edges: tuple[Annotated[float, Range()], ...] | None = None
    bounds: tuple[float, float] | None = None
    kind: KindName | None = None
    because: str = "declared in the configuration"
    unit: str = ""
    time_format: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        check_name("name", self.name)
        TextForm(time_format=self.time_format)
        if self.levels is not None and self.unit:
            raise ValueError(f"unit is {self.unit!r}: levels have none; leave it out.")
        check_name("because", self.because)
        increasing("bounds", self.bounds)
        check_kind(self.kind, self.bounds)
        if self.edges is not None and (not self.edges or list(self.edges) != sorted(set(self.edges))):
            raise ValueError(f"edges is {list(self.edges)}: give at least one, in increasing order.")
        if self.levels is None:
            return
        if len(set(self.levels)) < max(2, len(self.levels)):
            raise ValueError(f"levels is {list(self.levels)}: give at least two and none twice.")
        if self.time_format:
            raise ValueError(f"time_format is {self.time_format!r}: levels are not times; leave it out.")
        if self.kind is not None:
            raise ValueError(
                f"kind is {self.kind!r}: how a category is distributed follows from its levels; leave it out."
            )
        for key in ("edges", "bounds"):
            if getattr(self, key) is not None:
                raise ValueError(f"{key} is {list(getattr(self, key))}: levels are bins by themselves; leave it out.")

    @property
    def label(self) -> str:
        """Its name, with the unit where there is one."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of numbers that it becomes."""
        return (self.label,) if self.levels is None else tuple(f"{self.name} = {level}" for level in self.levels[1:])

    @property
    def width(self) -> int:
        """Columns of numbers that it becomes: of a category an indicator of each level but the first."""
        return 1 if self.levels is None else len(self.levels) - 1

    @property
    def facts(self) -> ColumnFacts:
        """Public declarations about the column; for a category, about the numbers of its levels."""
        if self.levels is not None:
            return levels(len(self.levels), self.because)
        return ColumnFacts(self.edges, self.bounds, self.because, self.kind)


def without_patterns(columns: tuple[ColumnBlock, ...]) -> tuple[ColumnBlock, ...]:
    """Columns by their whole names, with what a block such as ``lab_*`` declares for those that declare nothing.

    ValueError for a block that fits none of them.
    """
    patterns = [block for block in columns if "*" in block.name]
    named = [block for block in columns if "*" not in block.name]
    for block in patterns:
        if not any(fnmatchcase(column.name, block.name) for column in named):
            raise ValueError(f"columns has {block.name!r}: it fits no other column of the list; list them by name too.")
    return tuple(_with_pattern(column, patterns) for column in named)


def _with_pattern(column: ColumnBlock, patterns: list[ColumnBlock]) -> ColumnBlock:
    """A column with the declarations of the first block that fits it, unless it has its own."""
    if (column.levels, column.bounds, column.edges, column.kind) != (None,) * 4:
        return column
    fitting = next((block for block in patterns if fnmatchcase(column.name, block.name)), None)
    return column if fitting is None else replace(fitting, name=column.name)


def increasing(name: str, bounds: tuple[float, float] | None) -> None:
    """Raise a named error for a pair of numbers that is given and is not finite and increasing."""
    if bounds is not None and not (isfinite(bounds[0]) and isfinite(bounds[1]) and bounds[0] < bounds[1]):
        raise ValueError(f"{name} is {list(bounds)}: it must be finite and increasing.")


def check_persons(user: str | None, rows_per_user: int | None) -> None:
    """Raise a named error for a column of persons without a bound on the rows of one, or the other way round."""
    if (user is None) != (rows_per_user is None):
        raise ValueError(
            f"user is {user!r} and rows_per_user is {rows_per_user!r}: give both, the column that names a person and "
            "the public bound on the rows of one, or neither."
        )


def check_apart(match: str) -> None:
    """Raise a named error for a key that a distributed run cannot have, since no party knows the records of all.

    Files of several parties may have one name: each is at another machine.
    """
    if match != "refuse":
        raise ValueError(
            f"match is {match!r}: in a distributed run, no party sees the ids of another; bring the same records in "
            "all files and leave it out."
        )


def check_party_names(key: str, names: tuple[str, ...], reserved: tuple[str, ...]) -> None:
    """Raise a named error for names of parties that appear twice, or that a protocol uses itself."""
    for name in names:
        check_name(key, name)
        if name in reserved:
            raise ValueError(f"{key} has the name {name!r}: it belongs to a protocol; choose another.")
    if (again := twice(names)) is not None:
        raise ValueError(f"{key} has the name {again!r} twice: give each party its own.")


def twice(names: tuple[str, ...] | list[str]) -> str | None:
    """The first name that appears twice; None if there is none."""
    return next((name for place, name in enumerate(names) if name in names[:place]), None)
