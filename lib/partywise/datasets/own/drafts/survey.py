"""What stands in a table, told without fitting: how it is written, what its columns are, and all that is wrong with it.

Everything here is for the eyes of who owns the file. Nothing of it is a public constant: bounds are never drafted.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ..arrow import read_columns
from ..entries import LOOKS, is_number, plain_number, split_stamp
from ..foreign import foreign
from ..grammar import ISO, MARKS, TextForm, is_typed
from ..plausible import MARKS as NUMBER_MARKS

Kind = Literal["numbers", "levels", "time stamps", "text", "constant", "empty"]
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
WHOLE = re.compile(r"[-+]?\d+")
LIMIT = re.compile(r"[<>]=? ?[-+]?[\d.,]+")
CLOCK = ("%H:%M", "%H:%M:%S")
TIME_FORMATS = (
    *(f"{date}{time}" for date in ("%Y-%m-%d", "%d.%m.%Y", "%d.%m.%y", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y")
      for time in ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S")),
    *CLOCK,
    ISO,
)  # fmt: skip
MOST_LEVELS = 20
LISTED = 3


@dataclass(frozen=True)
class ColumnSurvey:
    """A column of a table.

    name, kind : of it; entries : text of every row; missing : how often each entry that stands for none does
    levels : how often every entry of a category stands; time_format : of time stamps; faults : sentences, all of them
    """

    name: str
    kind: Kind
    entries: tuple[str, ...]
    missing: Mapping[str, int]
    levels: Mapping[str, int]
    time_format: str = ""
    faults: tuple[str, ...] = ()

    @cached_property
    def values(self) -> list[str]:
        """Entries that stand for no missing value."""
        return [text for text in self.entries if text not in self.missing]

    @cached_property
    def unique(self) -> bool:
        """Whether every row has an entry of its own."""
        return not self.missing and len(set(self.entries)) == len(self.entries)

    @cached_property
    def whole(self) -> set[str]:
        """Entries with whole numbers as they are without zeros before them: 100 of 000100."""
        return {canonical(text) for text in self.entries}

    @property
    def is_id(self) -> bool:
        """Whether it may say which record a row is."""
        return self.unique and (self.kind == "text" or all(text.isdecimal() for text in self.entries))

    @property
    def two_entries(self) -> bool:
        """Whether it may be a label of two classes."""
        return len(set(self.values)) == 2


@dataclass(frozen=True)
class TableSurvey:
    """A file: how it is written, its columns, and all that is wrong with it."""

    file: str
    form: TextForm
    columns: tuple[ColumnSurvey, ...]
    n_rows: int
    faults: tuple[str, ...] = ()

    def column(self, name: str) -> ColumnSurvey | None:
        """The column of that name."""
        return next((one for one in self.columns if one.name == name), None)

    @property
    def marks(self) -> list[str]:
        """Entries that stand for a missing value, and that nobody knows without being told."""
        return [text for text in dict.fromkeys(m for one in self.columns for m in one.missing) if text not in MARKS]

    @property
    def has_gaps(self) -> bool:
        """Whether an entry is missing."""
        return any(one.missing for one in self.columns)


def canonical(text: str) -> str:
    """An id without zeros before it."""
    return str(int(text)) if text.isdecimal() else text


def survey(content: bytes, file: str) -> TableSurvey:
    """What stands in a file."""
    if is_typed(file):
        return _typed_survey(content, file)
    encoding = encoding_of(content)
    if what := foreign(content, file, encoding):
        return TableSurvey(file, TextForm(), (), 0, (f"{file} is {what}.",))
    text = content.decode(encoding, errors="replace").removeprefix("\ufeff")
    if "\0" in text or not text.strip():
        why = "holds zero bytes and is no CSV text: save it as CSV in UTF-8" if text.strip() else "is empty"
        return TableSurvey(file, TextForm(), (), 0, (f"{file} {why}.",))
    delimiter = delimiter_of(text)
    header, rows, lines, faults = _rows(text, delimiter, file)
    columns = {name: [row[k] for row in rows] for k, name in enumerate(header) if name}
    decimal, thousands = number_form(columns, faults, file)
    form = TextForm(delimiter=delimiter, encoding=encoding, decimal=decimal, thousands=thousands)
    return _columns_survey(columns, lines, form, faults, file)


def _typed_survey(content: bytes, file: str) -> TableSurvey:
    """What stands in a Parquet or Arrow file; DataMissing where it cannot be read."""
    typed, faults = read_columns(content, file, TextForm()), list[str]()
    rows = max(map(len, typed.texts), default=0)
    faults += [f"{file}: {name} {why}, or leave the column out." for name, why in typed.refusals.items()]
    faults += _header_faults(typed.header, rows, file)
    named = zip(typed.header, typed.texts, strict=True)
    columns = {name: [text.strip() for text in texts] for name, texts in named if name and name not in typed.refusals}
    for name, texts in columns.items():
        if number_form({name: texts}, [], file) != (".", ""):
            faults.append(
                f"{file}: {name} is text with marks inside numbers, as in {max(texts, key=len)!r}: write it as numbers."
            )
    return _columns_survey(columns, range(1, rows + 1), TextForm(), faults, file)


def _columns_survey(
    columns: Mapping[str, Sequence[str]], lines: Sequence[int], form: TextForm, faults: list[str], file: str
) -> TableSurvey:
    """What the columns of a file are; ``lines`` are those of its rows, ``form`` is that of its numbers."""
    notes = _notes(columns, lines, faults, file)
    found = tuple(_column(name, entries, lines, notes, form, file) for name, entries in columns.items())
    stamps = Counter(one.time_format for one in found if one.time_format)
    form = replace(form, time_format=stamps.most_common(1)[0][0] if stamps else "")
    return TableSurvey(file, form, found, len(lines), (*faults, *(fault for one in found for fault in one.faults)))


def _notes(columns: Mapping[str, Sequence[str]], lines: Sequence[int], faults: list[str], file: str) -> set[str]:
    """Texts that stand alone in a row of several columns, such as a source beneath a table, and in no other row."""
    found = set[str]()
    for line, *row in zip(lines, *columns.values(), strict=True):
        entries = [text for text in row if text]
        if len(row) > 2 and len(entries) == 1 and sum(list(one).count(entries[0]) for one in columns.values()) == 1:
            found.add(entries[0])
            faults.append(
                f"{file} has {entries[0]!r} alone in row {line}: take the row out if it is a note; until then it "
                "counts as one without entries (marks and missing in the draft)."
            )
    return found


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
    """What stands between the names of the first row that is no comment and has something between."""
    marks = ";\t|,"
    rows = (row for row in text.splitlines() if not row.startswith("#") and any(mark in row for mark in marks))
    header = next(rows, "")
    return max(marks, key=lambda mark: len(next(csv.reader([header], delimiter=mark), [])))


def _rows(text: str, delimiter: str, file: str) -> tuple[list[str], list[list[str]], list[int], list[str]]:
    """Header, rows of its length, their lines, and what is wrong with others."""
    reader, faults, rows = (
        csv.reader(io.StringIO(text, newline=""), delimiter=delimiter),
        list[str](),
        list[list[str]](),
    )
    lines = list[int]()
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
            f"{file} has {_rows_text(lines[:start])} above the names of its columns, such as "
            f"{delimiter.join(rows[0])!r}: take {'it' if start == 1 else 'them'} out."
        )
    header, rows, lines = rows[start] if rows else [], rows[start + 1 :], lines[start + 1 :]
    lengths: dict[int, list[int]] = {}
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            lengths.setdefault(len(row), []).append(line)
    for length, places in lengths.items():
        if length == len(header) + 1 and len(places) == len(rows) and not any(row[-1] for row in rows):
            faults.append(
                f"{file} has rows that all end in {delimiter!r}: take it off, or end the header with one too."
            )
            header, lengths = [*header, ""], {}
            break
        faults.append(
            f"{file} has {length} fields in {_rows_text(places)} where the header names {len(header)} columns: correct "
            "them (a quote or a delimiter inside a value, an open quote?)."
        )
    kept = [k for k, row in enumerate(rows) if len(row) == len(header)]
    rows, lines = [rows[k] for k in kept], [lines[k] for k in kept]
    # What a delimiter at the end of every row leaves is no column.
    width = len(header) - (bool(header) and not header[-1] and not any(row[-1] for row in rows))
    return (
        header[:width],
        [row[:width] for row in rows],
        lines,
        faults + _header_faults(header[:width], len(rows), file),
    )


def _start(rows: Sequence[Sequence[str]]) -> int:
    """Number of rows above the header: comments, and titles shorter than all that follows."""
    start = next((k for k, row in enumerate(rows) if not row[0].startswith("#")), 0)
    usual = Counter(map(len, rows[start:])).most_common(1)[0][0] if rows else 0
    titles = next((k for k, row in enumerate(rows[start:]) if len(row) >= usual - 1 and sum(map(bool, row)) > 1), 0)
    return start + (titles if usual > 2 else 0)


def _rows_text(lines: Sequence[int]) -> str:
    shown = ", ".join(map(str, lines[:LISTED])) + (", ..." if len(lines) > LISTED else "")
    return f"row {shown}" if len(lines) == 1 else f"{len(lines)} rows ({shown})"


def _header_faults(header: Sequence[str], n_rows: int, file: str) -> list[str]:
    faults = list[str]()
    for name, count in Counter(header).items():
        if not name:
            faults.append(f"{file} has {count} columns without a name: name them, or leave them out.")
        elif count > 1:
            faults.append(f"{file} has {count} columns called {name!r}: give each its own name.")
    if not n_rows:
        faults.append(f"{file} has a header and no rows: nothing was measured.")
    return faults


def number_form(columns: Mapping[str, Sequence[str]], faults: list[str], file: str) -> tuple[str, str]:
    """Decimal mark and what stands between thousands, by the columns whose entries are mostly numbers."""
    forms = [TextForm(), TextForm(decimal=","), *(TextForm(decimal=",", thousands=mark) for mark in ". '")]
    forms += [TextForm(thousands=mark) for mark in ", '"]
    looks, unsure = dict[str, TextForm](), dict[str, TextForm]()
    for name, entries in columns.items():
        texts = [text for text in entries if any(letter.isdigit() for letter in text)]
        fits = [sum(is_number(plain_number(text, form)) for text in texts) for form in forms]
        form = forms[fits.index(max(fits))]
        fitting = [text for text in texts if is_number(plain_number(text, form))]
        if not texts or len(fitting) < 0.8 * len(texts) or all(WHOLE.fullmatch(text) for text in fitting):
            continue
        marked = [text for text in fitting if "," in text or "." in text]
        # 1,234 may be both, and 1.234 too: other columns tell.
        grouped = all(re.fullmatch(r"[-+]?[1-9]\d{0,2}[.,]\d{3}", text) for text in marked)
        (unsure if marked and grouped else looks)[name] = form
    if not looks:
        faults += [
            f"{file}: {name} has entries such as {next(one for one in columns[name] if not WHOLE.fullmatch(one))!r}, "
            f"which may be thousands or decimals: the draft takes decimal {form.decimal!r}; look whether it is so."
            for name, form in unsure.items()
        ]
    used = looks or unsure
    decimals = {form.decimal: name for name, form in used.items()}
    if len(decimals) > 1:
        shown = ", ".join(f"{name!r} has {decimal!r}" for decimal, name in decimals.items())
        faults.append(f"{file} has two decimal marks ({shown}): decimal takes one a file; write them alike.")
    decimal = "," if "," in decimals else "."
    return decimal, next((form.thousands for form in used.values() if form.decimal == decimal and form.thousands), "")


def _column(
    name: str, entries: Sequence[str], lines: Sequence[int], notes: set[str], form: TextForm, file: str
) -> ColumnSurvey:
    faults = list[str]()

    def lines_of(text: str) -> str:
        return _rows_text([line for line, entry in zip(lines, entries, strict=True) if entry == text])

    missing = Counter(
        text for text in entries if text in (*MARKS, *notes) or text.lower() in WORDS or LIMIT.fullmatch(text)
    )
    known = [text for text in entries if text not in missing]
    numeric = [text for text in known if is_number(plain_number(text, form))]
    odd = Counter(text for text in known if not is_number(plain_number(text, form)))
    if known and numeric and len(numeric) >= 0.8 * len(known) and len(odd) <= LISTED:
        for text in odd:
            unit = " (a row of units beneath the header?)" if entries[0] == text and odd[text] == 1 else ""
            faults.append(
                f"{file}: {name} is {text!r} in {lines_of(text)}, and a number elsewhere{unit}: correct it, or list it "
                "under marks (the draft does)."
            )
        missing.update(odd)
        values = np.array([float(plain_number(text, form)) for text in numeric])
        missing.update(_number_marks(numeric, values))
        known = [text for text in entries if text not in missing]
    kind, time_format, levels = _kind(known, (ISO, *TIME_FORMATS) if is_typed(file) else TIME_FORMATS, form)
    if kind == "levels":
        faults += _level_faults(name, levels, file)
    if kind == "text" and len(set(known)) < len(entries):
        faults += _look_faults(name, known, lines_of, file)
    gaps = sum(missing.values())
    if kind not in ("empty", "constant") and 4 * gaps > len(entries):
        words = [text for text in missing if text not in MARKS] if kind == "levels" else []
        level = f", or make {words[0]!r} one of its levels and no mark" if words else ""
        faults.append(
            f"{file}: {name} is missing in {gaps} of {len(entries)} rows, which the draft leaves out whole: take the "
            f"column out{level}."
        )
    if kind == "constant" and known:
        faults.append(
            f"{file}: {name} is {known[0]!r} wherever it is known: it tells nothing; the draft leaves it out."
        )
    if kind in ("text", "numbers") and 0.9 * len(known) < len(set(known)) < len(known) and not _decimals(known):
        twice = [text for text, count in Counter(known).items() if count > 1]
        faults.append(
            f"{file}: {name} is {twice[0]!r} in {lines_of(twice[0])}, and {len(twice)} of its entries stand more than "
            "once: as an id each may stand once."
        )
    if kind == "time stamps" and (other := _second_format(known, time_format)):
        faults.append(
            f"{file}: {name} can be read as {time_format!r} and as {other!r}: the draft takes the first; look "
            "whether the day or the month comes first."
        )
    return ColumnSurvey(name, kind, tuple(entries), missing, levels, time_format, tuple(faults))


def _look_faults(name: str, known: Sequence[str], lines_of: Callable[[str], str], file: str) -> list[str]:
    """What most entries of a column of text look like, if somebody meant them as numbers."""
    for look, what, remedy in LOOKS:
        alike = [text for text in known if look.match(text)]
        if len(alike) >= 0.8 * len(known):
            return [f"{file}: {name} is {alike[0]!r} in {lines_of(alike[0])}, {what}: {remedy}."]
    return []


def _decimals(texts: Sequence[str]) -> bool:
    return any("." in text or "," in text for text in texts)


def _number_marks(texts: Sequence[str], values: np.ndarray) -> Counter[str]:
    """Numbers such as -9999 that stand far from all others."""
    found = Counter[str]()
    for mark in NUMBER_MARKS:
        others = values[~np.isin(values, NUMBER_MARKS)]
        if others.size and np.any(values == mark) and np.min(np.abs(others - mark)) > np.ptp(others):
            found.update(text for text, value in zip(texts, values, strict=True) if value == mark)
    return found


def _kind(known: Sequence[str], time_formats: Sequence[str], form: TextForm) -> tuple[Kind, str, dict[str, int]]:
    counts = Counter(known)
    if not known:
        return "empty", "", {}
    if len(counts) == 1:
        return "constant", "", {}
    if all(is_number(plain_number(text, form)) for text in known):
        return "numbers", "", {}
    for time_format in time_formats:
        if all(split_stamp(text, TextForm(time_format=time_format)) for text in known):
            return "time stamps", time_format, {}
    if len(counts) <= min(MOST_LEVELS, max(2, len(known) // 2)):
        return "levels", "", dict(sorted(counts.items()))
    return "text", "", {}


def _second_format(known: Sequence[str], first: str) -> str:
    later = () if first == ISO else TIME_FORMATS[TIME_FORMATS.index(first) + 1 :]
    return next((one for one in later if all(split_stamp(text, TextForm(time_format=one)) for text in known)), "")


def _level_faults(name: str, levels: Mapping[str, int], file: str) -> list[str]:
    """Levels that differ by blanks or case alone."""
    alike: dict[str, list[str]] = {}
    for level in levels:
        alike.setdefault("".join(level.casefold().split()), []).append(level)
    return [
        f"{file}: {name} has the levels {' and '.join(map(repr, same))}: write them alike if they are one."
        for same in alike.values()
        if len(same) > 1
    ]


def description(table: TableSurvey) -> list[str]:
    """Lines about a file and each of its columns, for its owner."""
    form = table.form
    form_text = [form.encoding, f"delimiter {form.delimiter!r}", f"decimal {form.decimal!r}"]
    form_text = ["columns with types"] if is_typed(table.file) else form_text
    form_text += [f"thousands {form.thousands!r}"] if form.thousands else []
    lines = [f"{table.file}: {table.n_rows} rows, {len(table.columns)} columns, {', '.join(form_text)}"]
    for one in table.columns:
        parts: list[str] = [one.kind]
        if one.is_id:
            parts = ["unique: may be the id"]
            zeros = sum(text.isdecimal() and text != canonical(text) for text in one.entries)
            parts += [f"whole numbers, {zeros} with zeros before them"] if zeros else []
        elif one.kind == "time stamps":
            parts.append(f"time_format {one.time_format!r}")
        elif one.kind == "levels" or (one.kind == "numbers" and one.two_entries):
            counts = one.levels or Counter(one.values)
            parts.append(", ".join(f"{level!r} {count}" for level, count in counts.items()))
        if one.missing:
            parts.append("missing: " + ", ".join(f"{text!r} {count}" for text, count in one.missing.items()))
        lines.append(f"  {one.name}: {'; '.join(parts)}")
    return lines
