"""A report of a table without fitting: how it is written, what its columns are, and all that is wrong with it.

Everything here is for the owner of the file only. Nothing of it is a public constant: bounds are never drafted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from ..arrow import read_columns
from ..csv import foreign
from ..entries import LIMIT, LOOKS, PERCENT, is_number, plain_number, split_stamp
from ..grammar import EITHER, ISO, MARKS, TextForm, is_typed
from ..plausible import MARKS as NUMBER_MARKS
from .layout import LISTED, WORDS, delimiter_of, encoding_of, header_faults, layout, rows_text

Kind = Literal["numbers", "levels", "time stamps", "text", "constant", "empty"]
WHOLE = re.compile(r"[-+]?\d+")
# Names of columns that say which record a row is.
IDS = re.compile(
    r"(?i)(.*[\W_])?(ids?|nr|no|number|nummer|key|code|case|fall|record|visit|patient|kunde|name|index)|.*(nr|nummer)"
    r"|.*[a-z](?-i:I[dD])"
)
# Kinds of columns that a draft reads.
READ = ("numbers", "levels", "time stamps")
CLOCK = ("%H:%M", "%H:%M:%S")
TIME_FORMATS = (
    *(f"{date}{time}" for date in ("%Y-%m-%d", "%d.%m.%Y", "%d.%m.%y", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y")
      for time in ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S")),
    *CLOCK,
    ISO,
)  # fmt: skip
MOST_LEVELS = 20


@dataclass(frozen=True)
class ColumnSurvey:
    """A column of a table.

    name, kind : of it; entries : text of every row; missing : how often each entry that stands for none does
    levels : how often every entry of a category occurs; time_format : of time stamps
    limits : how often each entry under or above a limit of detection does; percents : number of percentages
    zones : number of time stamps that name a time zone, where these do not agree
    faults : sentences, by what is wrong
    """

    name: str
    kind: Kind
    entries: tuple[str, ...]
    missing: Mapping[str, int]
    levels: Mapping[str, int]
    time_format: str = ""
    limits: Mapping[str, int] = field(default_factory=dict)
    percents: int = 0
    zones: int = 0
    faults: Mapping[str, str] = field(default_factory=dict)

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
        """Whether it may identify the record of a row."""
        return self.unique and (self.kind == "text" or all(text.isdecimal() for text in self.entries))

    @property
    def likely_id(self) -> bool:
        """Whether it may identify the record of a row, and has such a name or is text."""
        return self.is_id and (self.kind == "text" or IDS.fullmatch(self.name) is not None)

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
        return next((column for column in self.columns if column.name == name), None)

    @property
    def marks(self) -> list[str]:
        """Entries that stand for a missing value and are not among the usual ones, so that settings must list them."""
        return [
            text for text in dict.fromkeys(m for column in self.columns for m in column.missing) if text not in MARKS
        ]

    @cached_property
    def incomplete(self) -> int:
        """Number of rows that lack an entry of a column that a draft reads."""
        gaps = [column for column in self.columns if column.missing and column.kind in READ]
        return sum(
            any(text in column.missing for column, text in zip(gaps, row, strict=True))
            for row in zip(*(column.entries for column in gaps), strict=True)
        )

    @property
    def gaps_text(self) -> str:
        """Number of rows that lack an entry, and the columns with gaps, as text."""
        counts = [
            f"{column.name} {sum(column.missing.values())}"
            for column in self.columns
            if column.missing and column.kind in READ
        ]
        share = self.incomplete / max(1, self.n_rows)
        return f"{self.file}: {self.incomplete} of {self.n_rows} rows ({share:.1%}: {', '.join(counts)})"


def canonical(text: str) -> str:
    """An id without zeros before it."""
    return str(int(text)) if text.isdecimal() else text


def survey(content: bytes, file: str) -> TableSurvey:
    """Survey a file."""
    if is_typed(file):
        return _typed_survey(content, file)
    encoding = encoding_of(content)
    if what := foreign(content, file, encoding):
        return TableSurvey(file, TextForm(), (), 0, (f"{file} is {what}.",))
    text = content.decode(encoding, errors="replace").removeprefix("\ufeff")
    if "\0" in text or not text.strip():
        why = (
            "contains zero bytes and is not CSV text: save it as CSV in UTF-8"
            if text.strip()
            else "is empty: export it"
        )
        return TableSurvey(file, TextForm(), (), 0, (f"{file} {why}.",))
    delimiter = delimiter_of(text)
    text_layout = layout(text, delimiter, file)
    columns = {name: [row[k] for row in text_layout.rows] for k, name in enumerate(text_layout.header) if name}
    decimal, thousands = number_form(columns, text_layout.faults, file)
    form = replace(text_layout.form, delimiter=delimiter, encoding=encoding, decimal=decimal, thousands=thousands)
    return _columns_survey(columns, text_layout.lines, form, text_layout.faults, file)


def _typed_survey(content: bytes, file: str) -> TableSurvey:
    """Survey a Parquet or Arrow file; DataMissing if it cannot be read."""
    typed, faults = read_columns(content, file, TextForm()), list[str]()
    rows = max(map(len, typed.texts), default=0)
    faults += [f"{file}: {name} {why}, or leave the column out." for name, why in typed.refusals.items()]
    faults += header_faults(typed.header, rows, file)
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
    """Survey the columns of a file; ``lines`` are those of its rows, ``form`` is that of its numbers."""
    notes = _notes(columns, lines, faults, file)
    read = replace(form, percent="number", below="half")
    surveys = tuple(_column(name, entries, lines, notes, read, file) for name, entries in columns.items())
    stamps = Counter(column.time_format for column in surveys if column.time_format)
    form = replace(
        form,
        time_format=stamps.most_common(1)[0][0] if stamps else "",
        percent="number" if any(column.percents for column in surveys) else "refuse",
        below="half" if any(column.limits for column in surveys) else "refuse",
    )
    return TableSurvey(file, form, surveys, len(lines), (*faults, *_by_kind(surveys)))


def _by_kind(columns: Sequence[ColumnSurvey]) -> Iterator[str]:
    """One sentence for each kind of fault: of its first column in full, and the names of the others."""
    for kind in dict.fromkeys(kind for column in columns for kind in column.faults):
        first, *others = (column for column in columns if kind in column.faults)
        names = ", ".join(column.name for column in others[:LISTED]) + (", ..." if len(others) > LISTED else "")
        more = f" Alike in {len(others)} more ({names})." if others else ""
        yield f"{first.faults[kind]}{more}"


def _notes(columns: Mapping[str, Sequence[str]], lines: Sequence[int], faults: list[str], file: str) -> set[str]:
    """Texts that are alone in a row of several columns, such as a source beneath a table, and in no other row."""
    notes = set[str]()
    for line, *row in zip(lines, *columns.values(), strict=True):
        entries = [text for text in row if text]
        if (
            len(row) > 2
            and len(entries) == 1
            and sum(list(column).count(entries[0]) for column in columns.values()) == 1
        ):
            notes.add(entries[0])
            faults.append(
                f"{file} has {entries[0]!r} alone in row {line}: take the row out if it is a note; until then it "
                "counts as one without entries (marks and missing in the draft)."
            )
    return notes


def number_form(columns: Mapping[str, Sequence[str]], faults: list[str], file: str) -> tuple[str, str]:
    """Decimal mark and thousands separator, by the columns whose entries are mostly numbers."""
    forms = [TextForm(), TextForm(decimal=","), *(TextForm(decimal=",", thousands=mark) for mark in ". '")]
    forms += [TextForm(thousands=mark) for mark in ", '"]
    forms = [replace(form, percent="number", below="half") for form in forms]
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
            f"{file}: {name} has entries such as {next(text for text in columns[name] if not WHOLE.fullmatch(text))!r},"
            f" which may be thousands or decimals: the draft takes decimal {form.decimal!r}; look whether it is so."
            for name, form in unsure.items()
        ]
    used = looks or unsure
    decimals = {form.decimal: name for name, form in used.items()}
    if len(decimals) > 1:
        examples = ", ".join(f"{name!r} has {decimal!r}" for decimal, name in decimals.items())
        faults.append(f"{file} has two decimal marks ({examples}): decimal takes one a file; write them alike.")
    decimal = "," if "," in decimals else "."
    return decimal, next((form.thousands for form in used.values() if form.decimal == decimal and form.thousands), "")


def _column(
    name: str, entries: Sequence[str], lines: Sequence[int], notes: set[str], form: TextForm, file: str
) -> ColumnSurvey:
    faults = dict[str, str]()

    def lines_of(*texts: str) -> str:
        return rows_text([line for line, entry in zip(lines, entries, strict=True) if entry in texts])

    missing = Counter(text for text in entries if text in (*MARKS, *notes) or text.lower() in WORDS)
    known = [text for text in entries if text not in missing]
    numeric = [text for text in known if is_number(plain_number(text, form))]
    odd = Counter(text for text in known if not is_number(plain_number(text, form)))
    if known and numeric and len(numeric) >= 0.8 * len(known) and len(odd) <= LISTED:
        for text in odd:
            faults[f"odd {text}"] = (
                f"{file}: {name} is {text!r} in {lines_of(text)}, and a number elsewhere: correct it, or list it under "
                "marks (the draft does)."
            )
        missing.update(odd)
        values = np.array([float(plain_number(text, form)) for text in numeric])
        missing.update(_number_marks(numeric, values))
        known = [text for text in entries if text not in missing]
    kind, time_format, levels = _kind(known, (ISO, *TIME_FORMATS) if is_typed(file) else TIME_FORMATS, form)
    limits = Counter(text for text in known if kind == "numbers" and LIMIT.fullmatch(text))
    percents = sum(kind == "numbers" and PERCENT.fullmatch(text) is not None for text in known)
    if limits:
        faults["limit"] = (
            f"{file}: {name} is under or above a limit in {lines_of(*limits)}, such as {next(iter(limits))!r}: the "
            "draft counts half of a lower limit (below); look whether that suits."
        )
    if kind == "levels":
        faults |= _level_faults(name, levels, file)
    if kind == "text" and len(set(known)) < len(entries):
        faults |= _look_faults(name, known, lines_of, file)
    gaps = sum(missing.values())
    if kind not in ("empty", "constant") and 4 * gaps > len(entries):
        words = [text for text in missing if text not in MARKS] if kind == "levels" else []
        level = f", or make {words[0]!r} one of its levels and no mark" if words else ""
        faults["missing"] = (
            f"{file}: {name} is missing in {gaps} of {len(entries)} rows, which are left out whole if missing is drop: "
            f"take the column out{level}."
        )
    if kind == "constant" and known:
        faults["constant"] = (
            f"{file}: {name} is {known[0]!r} wherever it is known: it has no information; the draft leaves it out."
        )
    if kind in ("text", "numbers") and 0.9 * len(known) < len(set(known)) < len(known) and not _decimals(known):
        twice = [text for text, count in Counter(known).items() if count > 1]
        faults["twice"] = (
            f"{file}: {name} is {twice[0]!r} in {lines_of(twice[0])}, and {len(twice)} of its entries stand more than "
            "once: as an id each may stand once."
        )
    zones = 0
    if kind == "time stamps":
        if other := _second_format(known, time_format):
            faults["order"] = (
                f"{file}: {name} can be read as {time_format!r} and as {other!r}: the draft takes the first; look "
                "whether the day or the month comes first."
            )
        zones = _zone_count(known, time_format)
        if zones:
            faults["zones"] = (
                f"{file}: {name} names a time zone in {zones} of {len(known)} time stamps and none in "
                f"{len(known) - zones}, or several zones: state time_zone (the draft asks for it)."
            )
    return ColumnSurvey(name, kind, tuple(entries), missing, levels, time_format, limits, percents, zones, faults)


def _zone_count(known: Sequence[str], time_format: str) -> int:
    """Number of time stamps that name a zone, where others name another one or none; else 0."""
    stamps = [split_stamp(text, TextForm(time_format=time_format)) for text in known]
    offsets = [stamp.utcoffset() for stamp in stamps if stamp is not None]
    return sum(offset is not None for offset in offsets) if len(set(offsets)) > 1 else 0


def _look_faults(name: str, known: Sequence[str], lines_of: Callable[..., str], file: str) -> dict[str, str]:
    """Fault of a column of text if most of its entries look like one kind of number, time or word; else empty."""
    for look, what, remedy in LOOKS:
        alike = [text for text in known if look.match(text)]
        if len(alike) >= 0.8 * len(known):
            return {
                f"look {what}": f"{file}: {name} is {alike[0]!r} and alike in {lines_of(*alike)}, {what}: {remedy}."
            }
    return {}


def _decimals(texts: Sequence[str]) -> bool:
    return any("." in text or "," in text for text in texts)


def _number_marks(texts: Sequence[str], values: np.ndarray) -> Counter[str]:
    """Numbers such as -9999 that are far from all others."""
    counts = Counter[str]()
    for mark in NUMBER_MARKS:
        others = values[~np.isin(values, NUMBER_MARKS)]
        if others.size and np.any(values == mark) and np.min(np.abs(others - mark)) > np.ptp(others):
            counts.update(text for text, value in zip(texts, values, strict=True) if value == mark)
    return counts


def _kind(known: Sequence[str], time_formats: Sequence[str], form: TextForm) -> tuple[Kind, str, dict[str, int]]:
    counts = Counter(known)
    if not known:
        return "empty", "", {}
    if len(counts) == 1:
        return "constant", "", {}
    if all(is_number(plain_number(text, form)) for text in known):
        return "numbers", "", {}
    if time_format := _time_format(list(counts), time_formats):
        return "time stamps", time_format, {}
    if len(counts) <= min(MOST_LEVELS, max(2, len(known) // 2)):
        return "levels", "", dict(sorted(counts.items()))
    return "text", "", {}


def _time_format(known: Sequence[str], time_formats: Sequence[str]) -> str:
    """The form of all time stamps, or up to three dates that together fit all; empty where other text is among them."""

    def fitting(texts: Sequence[str], form: str) -> list[str]:
        return [text for text in texts if split_stamp(text, TextForm(time_format=form))]

    for time_format in time_formats:
        if split_stamp(known[0], TextForm(time_format=time_format)) and len(fitting(known, time_format)) == len(known):
            return time_format
    left, chosen = list(known), list[str]()
    if not all(LOOKS[2][0].match(text) for text in left):
        return ""
    dates = [time_format for time_format in time_formats if time_format not in CLOCK]
    while left and len(chosen) < LISTED:
        best = max(dates, key=lambda time_format: len(fitting(left, time_format)))
        read = set(fitting(left, best))
        if not read:
            return ""
        chosen.append(best)
        left = [text for text in left if text not in read]
    return "" if left else EITHER.join(chosen)


def _second_format(known: Sequence[str], first: str) -> str:
    later = () if first == ISO or EITHER in first else TIME_FORMATS[TIME_FORMATS.index(first) + 1 : -1]
    return next((form for form in later if all(split_stamp(text, TextForm(time_format=form)) for text in known)), "")


def _level_faults(name: str, levels: Mapping[str, int], file: str) -> dict[str, str]:
    """Levels that differ by blanks or case alone."""
    alike: dict[str, list[str]] = {}
    for level in levels:
        alike.setdefault("".join(level.casefold().split()), []).append(level)
    several = {key: " and ".join(map(repr, same)) for key, same in alike.items() if len(same) > 1}
    return {
        f"alike {key}": f"{file}: {name} has the levels {same}: write them alike if they are one."
        for key, same in several.items()
    }


def description(table: TableSurvey) -> list[str]:
    """Lines about a file and each of its columns, for its owner."""
    form = table.form
    form_text = [form.encoding, f"delimiter {form.delimiter!r}", f"decimal {form.decimal!r}"]
    form_text = ["columns with types"] if is_typed(table.file) else form_text
    form_text += [f"thousands {form.thousands!r}"] if form.thousands else []
    lines = [f"{table.file}: {table.n_rows} rows, {len(table.columns)} columns, {', '.join(form_text)}"]
    for column in table.columns:
        parts: list[str] = [column.kind]
        if column.is_id:
            parts = ["unique: may be the id"]
            zeros = sum(text.isdecimal() and text != canonical(text) for text in column.entries)
            parts += [f"whole numbers, {zeros} with zeros before them"] if zeros else []
        elif column.kind == "time stamps":
            parts.append(f"time_format {column.time_format!r}")
        elif column.kind == "levels" or (column.kind == "numbers" and column.two_entries):
            counts = column.levels or Counter(column.values)
            parts.append(", ".join(f"{level!r} {count}" for level, count in counts.items()))
        if column.limits:
            parts.append("under or above a limit: " + ", ".join(f"{text!r} {n}" for text, n in column.limits.items()))
        if column.missing:
            parts.append("missing: " + ", ".join(f"{text!r} {count}" for text, count in column.missing.items()))
        lines.append(f"  {column.name}: {'; '.join(parts)}")
    if table.incomplete:
        lines.append(f"  rows that lack an entry: {table.gaps_text.partition(': ')[2]}; the other rows are complete")
    return lines
