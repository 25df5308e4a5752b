"""A person's file as columns of text, and text as numbers; errors name the file and the row."""

from __future__ import annotations

import csv
import difflib
import io
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import accumulate
from pathlib import Path, PurePath

import numpy as np

from ...core.errors import DataMissing
from ...core.files import READ_POLICY, nearest_file
from .arrow import read_columns
from .entries import is_number, plain_number, stamps_as_numbers, trouble
from .grammar import ISO, JOINED, MARKS, TextForm, is_typed

LISTED = 12
# What stands in place of files, where a party has its own alone (`partywise.data.own.remote`); None: nothing.
PLACEHOLDERS: ContextVar[Mapping[str, bytes] | None] = ContextVar("IN_PLACE", default=None)
# How the names of files begin whose rows only hold the place of another party's.
ELSEWHERE = "(elsewhere, "


@dataclass(frozen=True)
class TextTable:
    """The rows of a file: ``rows[i]`` is line ``lines[i]`` of the file, ``form`` how their entries are written.

    refusals : columns that cannot be read as text, each with the end of a sentence that gives the reason
    """

    file: str
    header: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]
    form: TextForm
    refusals: Mapping[str, str] = field(default_factory=dict)

    def column(self, name: str, *, stripped: bool = True) -> list[str]:
        """Entries of a column, without blanks around them unless they count; an absent one raises ``DataMissing``."""
        if name not in self.header and (parts := self._parts(name)):
            texts = [self.column(part, stripped=stripped) for part in parts]
            return ["" if set(row) & set(MARKS) else " ".join(row) for row in zip(*texts, strict=True)]
        if name not in self.header:
            hint = f"{nearest(name, self.header, 'its columns are')}{self._no_name(name)}"
            raise DataMissing(f"{self.file} has no column {name!r}: {hint}.")
        READ_POLICY.get().check_column(self.file, name)
        if name in self.refusals:
            raise DataMissing(f"{self.file}: {name} {self.refusals[name]}, or take the column out.")
        place = self.header.index(name)
        return [row[place].strip() if stripped else row[place] for row in self.rows]

    def ids(self, name: str, *, stripped: bool = True) -> list[str]:
        """Entries of a column of ids, as they are compared."""
        return [self.form.id_text(text) for text in self.column(name, stripped=stripped)]

    def _parts(self, name: str) -> list[str]:
        """Columns of a name such as ``date + time``, whose entries are read one after the other."""
        parts = name.split(JOINED)
        return parts if len(parts) > 1 and all(part in self.header for part in parts) else []

    def _no_name(self, name: str) -> str:
        """Why the header may lack a name: R and pandas leave out that of the first column, or a header is missing."""
        if len(self.header) == 1 and name in self.header[0].split():
            return "; set delimiter to ' ', which separates its names"
        if len(self.header) == 1 and name in self.header[0].split(self.form.delimiter):
            return "; whole rows are in quotes: write quotes around single entries only"
        if any(is_number(text) for text in self.header):
            return "; these look like entries: the first row must name the columns"
        if self.header[0]:
            return ""
        return (
            "; the first column has no name (row names of R, an index of pandas): write the name of the id "
            "there, or leave the column out (row.names = FALSE, index=False)"
        )

    def match(self, patterns: Sequence[str], but: str) -> list[str]:
        """Columns that fit one of the patterns, in the order of the header, without the column ``but``."""
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in self.header if name != but):
                raise DataMissing(
                    f"{self.file} has no column like {pattern!r}: {nearest(pattern, self.header, 'its columns are')}."
                )
        return [n for n in self.header if n != but and any(fnmatchcase(n, pattern) for pattern in patterns)]


def read_bytes(file: str) -> bytes:
    """Content of a file, or ``DataMissing`` with the reason why it cannot be read."""
    in_place = PLACEHOLDERS.get()
    if in_place is not None:
        return in_place[file]
    try:
        return Path(file).read_bytes()
    except IsADirectoryError:
        raise DataMissing(f"{file} is a folder: name a file in it.") from None
    except OSError as error:
        near = nearest_file(Path(file))
        hint = f"did you mean {near}? " if near else ""
        raise DataMissing(
            f"{file} cannot be read ({error.strerror or error}): {hint}paths begin in the folder in which the "
            "run starts."
        ) from None


def read_table(content: bytes, file: str, form: TextForm) -> TextTable:
    """Header and rows of a file: of a Parquet or Arrow one by its types, of CSV text without blank lines."""
    if is_typed(file):
        typed = read_columns(content, file, form)
        rows = [list(row) for row in zip(*typed.texts, strict=True)]
        _check_header(typed.header, rows, file)
        keys = {name: getattr(form, name) for name in ("id_as_text", "time_zone", "percent", "below")}
        typed_form = TextForm(time_format=form.time_format or ISO, **keys)
        return TextTable(file, typed.header, rows, list(range(1, len(rows) + 1)), typed_form, typed.refusals)
    if what := foreign(content, file, form.encoding):
        raise DataMissing(f"{file} is {what}.")
    text, delimiter = _decode(content, file, form.encoding), form.delimiter
    source, above = io.StringIO(text, newline=""), form.lines_above
    for _ in range(above):
        source.readline()
    reader = csv.reader(source, delimiter=delimiter)
    rows, lines = [], []
    try:
        header = header_of([next(reader, []) for _ in range(form.header_rows)], form)
        before = reader.line_num + above
        for row in reader:
            if reader.line_num + above > before + 1:
                raise DataMissing(
                    f"{file} has an entry that begins in row {before + 1} and ends in row {reader.line_num + above}: "
                    "close its quote, and write every record of the file in one row."
                )
            before = reader.line_num + above
            if row:
                rows.append(row)
                lines.append(before)
    except csv.Error as error:
        raise DataMissing(
            f"{file} cannot be read as CSV (row {reader.line_num + above}: {error}): correct that row."
        ) from None
    end = max(0, len(rows) - form.lines_below)
    rows, lines = rows[:end], lines[:end]
    if not any(header):
        raise DataMissing(f"{file} is empty: its first row must name the columns.")
    _check_delimiter(header, file, delimiter)
    _check_header(header, rows, file)
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            raise DataMissing(
                f"{file} has {len(row)} fields in row {line} where the header names {len(header)} columns: "
                f"{_explain_lengths(rows, header)}."
            )
    return TextTable(file, header, rows, lines, form)


def header_of(rows: Sequence[Sequence[str]], form: TextForm) -> tuple[str, ...]:
    """Names of columns: of several rows their parts, an empty one of an upper row being that of its left neighbour."""
    width, parts = max(map(len, rows)), list[list[str]]()
    for number, row in enumerate(rows):
        names = [name.strip() for name in row] + [""] * (width - len(row))
        parts.append(names if number == len(rows) - 1 else list(accumulate(names, _right_or_left)))
    header = [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*parts, strict=True)]
    if form.equal_names == "number":
        before = [header[:place].count(name) for place, name in enumerate(header)]
        header = [f"{name} {count + 1}" if name and count else name for name, count in zip(header, before, strict=True)]
    return tuple(header)


def _right_or_left(left: str, right: str) -> str:
    return right or left


def _check_header(header: Sequence[str], rows: Sequence[Sequence[str]], file: str) -> None:
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise DataMissing(
            f"{file} has several columns called {twice[0]!r}: give each its own name, or set equal_names to number."
        )
    if not rows:
        raise DataMissing(f"{file} has a header and no rows: nothing was measured.")


def _decode(content: bytes, file: str, encoding: str) -> str:
    try:
        text = content.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except UnicodeDecodeError as error:
        row = content[: error.start].count(b"\n") + 1
        raise DataMissing(
            f"{file} is not {encoding} text (byte 0x{content[error.start]:02x} in row {row}): save it as UTF-8 or give "
            "its encoding, such as latin-1 or utf-16."
        ) from None
    if "\0" in text:
        raise DataMissing(f"{file} contains zero bytes and is not CSV text: save it as CSV in UTF-8.")
    return text


def _explain_lengths(rows: Sequence[Sequence[str]], header: Sequence[str]) -> str:
    """Why rows have another number of fields than the header has names, and the remedy."""
    if len(header) == 1 or header[0].startswith("#"):
        return "the first row must name the columns; set lines_above to the number of lines before it, such as a title"
    more = len(rows) > 1 and all(len(row) == len(header) + 1 for row in rows)
    if more and not any(row[-1] for row in rows):
        return "all rows end in a delimiter; take it off, or end the header with one too"
    if more:
        return (
            "all rows have one field more (row names of write.table in R?); name that column, or write the file with "
            "row.names = FALSE"
        )
    return "correct the row (a quote or a delimiter inside a value?)"


def _check_delimiter(header: tuple[str, ...], file: str, delimiter: str) -> None:
    if len(header) == 1:
        marks = [mark for mark in ",;\t|" if mark != delimiter and mark in header[0]]
        if marks:
            raise DataMissing(
                f"{file} has the one column {header[0]!r} when it is split at {delimiter!r}: set delimiter to "
                f"{marks[0]!r}, which separates its names."
            )


def nearest(name: str, allowed: Collection[str], lead: str) -> str:
    """List the allowed names, after a hint at the nearest one if the name looks like a misspelling of it."""
    near = [candidate for candidate in allowed if candidate.casefold() == name.casefold()]
    near = near or difflib.get_close_matches(name, allowed, 1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    names = list(allowed)
    rest = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return f"{hint}{lead} {', '.join(names[:LISTED])}{rest}"


def numbers(
    texts: Sequence[str],
    what: str,
    place: Callable[[int], str],
    form: TextForm,
    marks: Collection[str] = (),
    *,
    markable: bool = True,
) -> np.ndarray:
    """Text to float (T,); marks of missing values become NaN, and without them no value may be missing.

    DataMissing for the first entry that is not a finite number: ``what`` names file and column, ``place(i)`` its
    place, ``markable`` is whether it may stand for a missing value.
    """
    missing = set(marks)
    named = np.array([text in missing for text in texts], dtype=bool)
    if (stamps := stamps_as_numbers(texts, named, form, what)) is not None:
        return stamps
    cleaned = ["nan" if text in missing else plain_number(text, form) for text in texts]
    try:
        if any("_" in text for text in cleaned):
            raise ValueError
        values = np.array(cleaned, dtype=float)
    except ValueError:
        values = np.array([float(text) if is_number(text) else np.inf for text in cleaned])
    for i in np.flatnonzero(~np.isfinite(values) & ~named)[:1]:
        raise DataMissing(f"{what} is {texts[i]!r} in {place(i)}, {trouble(texts[i], form, markable)}.")
    return values


CSV = "save it as CSV in UTF-8"
SHEET = f"open it and {CSV}, one sheet a file"
IN_R = "in R write it with write.csv(x, file, row.names = FALSE)"
UNPACK = "unpack it and name what is inside"
NETCDF = "own curves read it with format netcdf; otherwise write its columns as CSV"
# First bytes, what begins so, and the remedy; longer ones before those that they begin with.
KINDS: tuple[tuple[bytes, str, str], ...] = (
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook (.xls) or another Office file", SHEET),
    (b"PAR1", "a Parquet file", "give it a name that ends in .parquet"),
    (b"ARROW1", "a Feather or Arrow file", "give it a name that ends in .arrow"),
    (b"FEA1", "a Feather or Arrow file", "give it a name that ends in .arrow"),
    (b"$FL", "an SPSS file (.sav)", f"in SPSS {CSV}, or read it with haven::read_sav in R"),
    (b"<stata_dta>", "a Stata file (.dta)", "in Stata write it with export delimited"),
    (b"\x00" * 12 + b"\xc2\xea\x81\x60", "a SAS file (.sas7bdat)", "in SAS write it with proc export, dbms=csv"),
    (b"RDX", "a file of R (.RData)", IN_R),
    (b"RDA", "a file of R (.RData)", IN_R),
    (b"X\n\x00", "a file of R (.rds)", IN_R),
    (b"\x1f\x8b", "compressed by gzip", UNPACK),
    (b"BZh", "compressed by bzip2", UNPACK),
    (b"\xfd7zXZ\x00", "compressed by xz", UNPACK),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", UNPACK),
    (b"7z\xbc\xaf", "a 7z archive", UNPACK),
    (b"\x89HDF", "a NetCDF or HDF5 file", NETCDF),
    (b"CDF\x01", "a NetCDF file", NETCDF),
    (b"CDF\x02", "a NetCDF file", NETCDF),
    (b"\x93NUMPY", "an array of NumPy (.npy)", "write it with numpy.savetxt, with a header and a column of ids"),
    (b"\x80\x04", "a pickle of Python", "write its table with to_csv(file, index=False)"),
    (b"\x80\x05", "a pickle of Python", "write its table with to_csv(file, index=False)"),
    (b"SQLite format 3", "a database of SQLite", "export the table as CSV"),
    (b"%PDF", "a PDF", "copy its table into a CSV file"),
    (b"{", "JSON", "write a row a record as CSV"),
    (b"[{", "JSON", "write a row a record as CSV"),
    (b"<!doctype html", "a web page", "download the table itself, not the page that shows it"),
    (b"<html", "a web page", "download the table itself, not the page that shows it"),
    (b"<?xml", "XML", "write a row a record as CSV"),
)
# R compresses what it writes.
OF_R = (".rds", ".rdata", ".rda")


def foreign(content: bytes, file: str, encoding: str) -> str:
    """Describe a file that is not text and the remedy, as the end of a sentence with its name; empty for text.

    encoding : that the file is to be read in
    """
    head, suffix = content[:512], PurePath(file).suffix.lower()
    if head.startswith(b"PK\x03\x04"):
        return _archive_format(content, suffix)
    if head.startswith(b"\x1f\x8b") and suffix in OF_R:
        return f"a file of R ({suffix}): {IN_R}"
    for start, what, remedy in KINDS:
        if head.lstrip().lower().startswith(start) if start[:1] in b"<{[" else head.startswith(start):
            return f"{what}: {remedy}"
    wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    if wide and not encoding.lower().replace("_", "-").startswith(("utf-16", "utf16", "utf-32", "utf32")):
        return "UTF-16 text, as Windows writes it: set encoding to utf-16, or save it as UTF-8"
    return ""


def _archive_format(content: bytes, suffix: str) -> str:
    """The format of an archive, by its first entries: current spreadsheets are archives."""
    if b"opendocument.spreadsheet" in content[:512] or suffix == ".ods":
        return f"an OpenDocument spreadsheet (.ods): {SHEET}"
    if b"[Content_Types].xml" in content[:4096] or b"xl/" in content[:4096] or suffix in (".xlsx", ".xlsm"):
        return f"an Excel workbook (.xlsx): {SHEET}"
    return f"a zip archive: {UNPACK}"
