"""A person's Parquet or Arrow file as columns of text, as a CSV file with the same content has them.

pyarrow is imported when a file is read: no other part of the package needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import TYPE_CHECKING

from ...core.errors import DataMissing
from ...core.project import IN_CLONE
from .entries import hour_of, split_stamp
from .grammar import EITHER, ISO, TextForm

if TYPE_CHECKING:
    import pyarrow as pa

INSTALL = "pip install 'partywise[arrow]'" + (
    ", in a clone .venv/bin/python -m pip install pyarrow, as its lock holds what a run of CSV files needs"
    if IN_CLONE
    else ""
)
# Whole numbers that a float tells apart.
MOST_WHOLE = 2**53


class UnreadableColumn(Exception):
    """A column whose type is not text, numbers or times; the text states why and what to do."""


@dataclass(frozen=True)
class ArrowColumns:
    """Columns of a file in its order: names, text of every row, and of a column that cannot be read why not."""

    header: tuple[str, ...]
    texts: tuple[list[str], ...]
    refusals: dict[str, str]


def read_columns(content: bytes, file: str, form: TextForm) -> ArrowColumns:
    """All columns of a Parquet, Feather or Arrow file; DataMissing where it is none, or pyarrow is not there.

    form : its ``time_format`` is that of the text of dates and time stamps, whose default is ISO 8601
    """
    table = _open(content, file)
    texts, refusals = list[list[str]](), dict[str, str]()
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            texts.append(_texts(column, form.time_format or ISO))
        except UnreadableColumn as reason:
            refusals[name.strip()] = str(reason)
            texts.append([""] * table.num_rows)
    return ArrowColumns(tuple(name.strip() for name in table.column_names), tuple(texts), refusals)


def _open(content: bytes, file: str) -> pa.Table:
    try:
        import pyarrow as pa
        from pyarrow import feather, ipc, parquet
    except ImportError:
        raise DataMissing(f"{file} needs the package pyarrow: {INSTALL}; or save it as CSV in UTF-8.") from None
    source = pa.BufferReader(content)
    try:
        if content.startswith(b"PAR1"):
            return parquet.ParquetFile(source).read()
        if content.startswith(b"ARROW1"):
            return ipc.open_file(source).read_all()
        if content.startswith(b"FEA1"):
            return feather.read_table(source)
        return ipc.open_stream(source).read_all()
    except (pa.ArrowException, OSError, ValueError) as error:
        why = str(error).partition("\n")[0].rstrip(".")
        raise DataMissing(
            f"{file} cannot be read as a Parquet or Arrow file ({why}): write it anew, or give text a name that ends "
            "in .csv."
        ) from None


def _texts(column: pa.ChunkedArray, time_format: str) -> list[str]:
    """Text of every entry, empty where there is none; UnreadableColumn for a type that has none."""
    import pyarrow as pa
    from pyarrow import compute, types

    kind = column.type
    if types.is_dictionary(kind):
        return _texts(column.cast(kind.value_type), time_format)
    try:
        if types.is_timestamp(kind):
            # What a clock on the wall shows.
            local = compute.local_timestamp(column) if kind.tz else column
            return _stamp_texts(_in_microseconds(local, pa.timestamp("us")).to_pylist(), time_format)
        if types.is_date(kind):
            return _stamp_texts(column.to_pylist(), time_format)
        if types.is_time(kind):
            return [_hour_text(entry) for entry in _in_microseconds(column, pa.time64("us")).to_pylist()]
    except (pa.ArrowException, ValueError, OverflowError) as error:
        raise UnreadableColumn(f"has times that no calendar has ({error}): correct them") from None
    if types.is_boolean(kind):
        return ["" if entry is None else str(int(entry)) for entry in column.to_pylist()]
    if types.is_floating(kind):
        return [_float_text(entry) for entry in column.to_pylist()]
    if types.is_decimal(kind):
        return ["" if entry is None else format(entry, "f") for entry in column.to_pylist()]
    if types.is_integer(kind) or types.is_null(kind) or _is_text(kind):
        return ["" if entry is None else str(entry) for entry in column.to_pylist()]
    if types.is_nested(kind):
        raise UnreadableColumn(f"holds several values in one entry ({kind}): give each a column of its own")
    raise UnreadableColumn(f"is of the type {kind}: write it as numbers, text or time stamps")


def _in_microseconds(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Times as Python has them; what is finer is cut off, and what is out of reach an error."""
    from pyarrow import compute

    return column.cast(options=compute.CastOptions(kind, allow_time_truncate=True))


def _is_text(kind: pa.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _float_text(value: float | None) -> str:
    """Digits that read as the same number; whole ones, which a gap turns into floats, without a point."""
    if value is None or value != value:
        return ""
    return str(int(value)) if abs(value) < MOST_WHOLE and value == int(value) else repr(value)


def _hour_text(value: time | None) -> str:
    return "" if value is None else _float_text(hour_of(datetime.combine(date.min, value)))


def _stamp_texts(values: Sequence[date | None], time_format: str) -> list[str]:
    """Dates and times in one form; in ISO a column without times of day has dates alone."""
    stamps = [
        stamp if stamp is None or isinstance(stamp, datetime) else datetime.combine(stamp, time()) for stamp in values
    ]
    if time_format == ISO:
        dates = all(stamp is None or stamp.time() == time() for stamp in stamps)
        return ["" if stamp is None else stamp.date().isoformat() if dates else stamp.isoformat() for stamp in stamps]
    time_format = time_format.partition(EITHER)[0]
    form, texts = TextForm(time_format=time_format), list[str]()
    for stamp in stamps:
        text = "" if stamp is None else stamp.strftime(time_format)
        if stamp is not None and split_stamp(text, form) != stamp:
            raise UnreadableColumn(
                f"has {stamp.isoformat()}, of which time_format {time_format!r} loses a part: leave it out"
            )
        texts.append(text)
    return texts
