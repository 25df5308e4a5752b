"""The layout of a table in the text of a file: its encoding, delimiter, rows of names, and the lines around it."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..csv import header_of
from ..grammar import MARKS, TextForm

NUMBER_LIKE = re.compile(r"[-+<>=]{0,3} ?\d[\d.,' \u00a0]*( ?%)?")
# Lines at the beginning of a text by which its delimiter is judged.
MOST_HEAD = 30
LISTED = 3
# Words that stand for a missing value in files of others.
WORDS = {
    "k.a.",
    "k. a.",
    "ka",
    "n/a",
    "n.a.",
    "#n/a",
    "#na",
    "none",
    "-",
    "--",
    ".",
    "?",
    "missing",
    "unknown",
    "fehlt",
}
WORDS |= {"keine angabe", "unbekannt", "nicht bekannt", "not available", "#value!", "#wert!", "#div/0!", "inf", "-inf"}


def encoding_of(content: bytes) -> str:
    """The encoding of a text, by its bytes: UTF-8 where it can be read so, else one byte a letter."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        content.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError:
        return "cp1252" if any(0x80 <= byte < 0xA0 for byte in content) else "latin-1"


def delimiter_of(text: str) -> str:
    """The mark between the names, in the first row that is not a comment and is not much shorter than most."""
    marks = ";\t|,"

    def fields_of(row: str) -> dict[str, int]:
        return {mark: len(next(csv.reader([row], delimiter=mark), [])) for mark in marks}

    rows = [fields_of(row) for row in text.splitlines()[:MOST_HEAD] if row.strip() and not row.startswith("#")]
    usual = Counter(max(row.values()) for row in rows).most_common(1)[0][0] if rows else 0
    header = next(
        (row for row in rows if 2 * max(row.values()) >= usual and max(row.values()) > 1), rows[0] if rows else {}
    )
    return max(marks, key=lambda mark: header.get(mark, 0))


@dataclass(frozen=True)
class TextLayout:
    """The layout of a table in its text: header, rows with their lines, faults, and the form with the lines around."""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    faults: list[str]
    form: TextForm


def layout(text: str, delimiter: str, file: str) -> TextLayout:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    faults, rows, lines = list[str](), list[list[str]](), list[int]()
    try:
        for row in reader:
            if row:
                rows.append([entry.strip() for entry in row])
                lines.append(reader.line_num)
    except csv.Error as error:
        faults.append(f"{file} cannot be read as CSV (row {reader.line_num}: {error}): correct that row.")
    start = _start(rows)
    if start:
        faults.append(
            f"{file} has {rows_text(lines[:start])} above the names of its columns, such as "
            f"{delimiter.join(rows[0])!r}: the draft leaves {'it' if start == 1 else 'them'} out (lines_above)."
        )
    above = lines[start] - 1 if rows else 0
    rows, lines = rows[start:], lines[start:]
    if below := _rows_below(rows):
        note = delimiter.join(rows[-below]).strip(delimiter)
        faults.append(
            f"{file} has {rows_text(lines[-below:])} below the table, such as {note!r}: the draft leaves "
            f"{'it' if below == 1 else 'them'} out (lines_below)."
        )
        rows, lines = rows[:-below], lines[:-below]
    if (heads := _header_rows(rows)) > 1:
        faults.append(f"{file} has {heads} rows of names: the draft reads them together (header_rows).")
    names = header_of(rows[:heads] or [[]], TextForm())
    equal = any(name and names.count(name) > 1 for name in names)
    form = TextForm(
        lines_above=above, lines_below=below, header_rows=heads, equal_names="number" if equal else "refuse"
    )
    header = list(header_of(rows[:heads] or [[]], form))
    rows, lines = rows[heads:], lines[heads:]
    return _even(TextLayout(header, rows, lines, faults, form), names, delimiter, file)


def _even(text_layout: TextLayout, names: Sequence[str], delimiter: str, file: str) -> TextLayout:
    """The rows that have as many fields as the header, and what is wrong with the others and with the names."""
    header, rows, lines, faults = text_layout.header, text_layout.rows, text_layout.lines, list(text_layout.faults)
    lengths: dict[int, list[int]] = {}
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            lengths.setdefault(len(row), []).append(line)
    for length, places in lengths.items():
        if length == len(header) + 1 and len(places) == len(rows) and not any(row[-1] for row in rows):
            faults.append(
                f"{file} has rows that all end in {delimiter!r}: take it off, or end the header with one too."
            )
            header = [*header, ""]
            break
        faults.append(
            f"{file} has {length} fields in {rows_text(places)} where the header names {len(header)} columns: correct "
            "them (a quote or a delimiter inside a value, an open quote?)."
        )
    even = [k for k, row in enumerate(rows) if len(row) == len(header)]
    rows, lines = [rows[k] for k in even], [lines[k] for k in even]
    # What a delimiter at the end of every row leaves is no column.
    width = len(header) - (bool(header) and not header[-1] and not any(row[-1] for row in rows))
    faults += header_faults(names[:width], len(rows), file)
    return TextLayout(header[:width], [row[:width] for row in rows], lines, faults, text_layout.form)


def _rows_below(rows: Sequence[Sequence[str]]) -> int:
    """Number of rows at the end with one entry at most, such as a source, where a table has three columns or more."""
    if not rows or len(rows[0]) < 3:
        return 0
    alone = next((k for k, row in enumerate(reversed(rows)) if sum(map(bool, row)) > 1), 0)
    return alone if alone < len(rows) - 1 else 0


def _header_rows(rows: Sequence[Sequence[str]]) -> int:
    """2 where the second row has names or units, not numbers, above columns of numbers; else 1."""
    even = [row for row in rows[2:] if len(row) == len(rows[0])]
    if len(even) < 3 or len(rows[1]) != len(rows[0]):
        return 1
    columns = list(zip(*even, strict=True))
    shares = [sum(bool(NUMBER_LIKE.fullmatch(text)) for text in column) / len(column) for column in columns]
    numeric = [k for k, share in enumerate(shares) if share >= 0.8]
    words = [k for k in numeric if rows[1][k] and rows[1][k].lower() not in WORDS and rows[1][k] not in MARKS]
    words = [k for k in words if not NUMBER_LIKE.fullmatch(rows[1][k])]
    repeated = any(rows[1][k] and rows[1][k] in column for k, column in enumerate(columns) if k not in numeric)
    return 2 if words and 2 * len(words) >= len(numeric) and not repeated else 1


def _start(rows: Sequence[Sequence[str]]) -> int:
    """Number of rows above the header: comments, and titles shorter than all that follows."""
    start = next((k for k, row in enumerate(rows) if not row[0].startswith("#")), 0)
    usual = Counter(map(len, rows[start:])).most_common(1)[0][0] if rows else 0
    titles = next((k for k, row in enumerate(rows[start:]) if len(row) >= usual - 1 and sum(map(bool, row)) > 1), 0)
    return start + (titles if usual > 2 else 0)


def rows_text(lines: Sequence[int]) -> str:
    numbers = ", ".join(map(str, lines[:LISTED])) + (", ..." if len(lines) > LISTED else "")
    return f"row {numbers}" if len(lines) == 1 else f"{len(lines)} rows ({numbers})"


def header_faults(header: Sequence[str], n_rows: int, file: str) -> list[str]:
    faults = list[str]()
    for name, count in Counter(header).items():
        if not name:
            faults.append(f"{file} has {count} columns without a name: name them, or leave them out.")
        elif count > 1:
            faults.append(
                f"{file} has {count} columns called {name!r}: the draft numbers them (equal_names), {name}, {name} 2."
            )
    if not n_rows:
        faults.append(f"{file} has a header and no rows: nothing was measured.")
    return faults
