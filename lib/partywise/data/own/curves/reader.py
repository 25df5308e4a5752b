"""Curves out of CSV and NetCDF files: the three forms, the times of their values, and the checks that reveal a unit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from ....core.errors import DataMissing
from ..csv import TextTable, numbers, read_table
from ..entries import hour_of, is_number, on_one_clock, split_stamp, trouble
from ..grammar import TextForm
from .measurements import Measurements
from .netcdf import read_groups, read_variable

if TYPE_CHECKING:
    from .settings import CurveFile, OwnCurves

NUMBER = re.compile(r"\d+(?:\.\d+)?")
TRANSFORM: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "none": lambda values: values,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
}
# With a good scale curves lie between -1 and 1.
MOST_SCALES = 20
# The values that a transform takes begin here: at 0 or above -1, and log takes no 0.
LOWEST = {"none": -np.inf, "log": 0.0, "log1p": -1.0, "sqrt": 0.0}
# Of a time stamp: how its period is called, and the time in it.
PERIODS: dict[str, tuple[str, Callable[[datetime], float]]] = {
    "hour": ("%Y-%m-%d %H", lambda stamp: stamp.minute + stamp.second / 60),
    "day": ("%Y-%m-%d", hour_of),
    "week": ("%G-W%V", lambda stamp: stamp.weekday() + hour_of(stamp) / 24),
    "month": ("%Y-%m", lambda stamp: stamp.day - 1 + hour_of(stamp) / 24),
    "year": ("%Y", lambda stamp: stamp.timetuple().tm_yday - 1 + hour_of(stamp) / 24),
}


class Reader:
    """Curves of files that are each parsed once."""

    def __init__(self, settings: OwnCurves, contents: Mapping[str, bytes]) -> None:
        self.settings, self.contents = settings, contents
        self._tables: dict[tuple[str, TextForm], TextTable] = {}
        self._columns: dict[str, tuple[str, set[str]]] = {}

    def table(self, curve: CurveFile) -> TextTable:
        """The CSV file of a curve."""
        key = (curve.file, self.settings.text_of(curve))
        if key not in self._tables:
            self._tables[key] = read_table(self.contents[curve.file], *key)
        return self._tables[key]

    def measurements(self, key: str, curve: CurveFile) -> Measurements:
        """All measurements of a curve, checked and scaled, on the domain where the study has it."""
        name = f"{getattr(curve, 'name', 'response')} ({curve.file})"
        domain = self.settings.domain_of(curve)
        reads = {"long": self._long, "wide": self._wide, "netcdf": self._netcdf}
        raw = reads[curve.format](key, curve, name, domain)
        raw.check_ids(self.settings.id_of(curve))
        raw = raw.within(domain, curve.outside == "ignore")
        raw.check_once(self.settings.id_of(curve))
        shared = domain if key == "response" else self.settings.domain
        time = shared[0] + (raw.time - domain[0]) * ((shared[1] - shared[0]) / (domain[1] - domain[0]))
        return raw.with_values(np.clip(time, *shared), _scale(raw, curve), shared)

    def check_shared_columns(self) -> None:
        """No column of the response is a column of a wide predictor."""
        file, columns = self._columns.get("response", ("", set()))
        for key, (other, mine) in self._columns.items():
            both = sorted(columns & mine)
            if key != "response" and file == other and both:
                raise DataMissing(
                    f"{file}: column {both[0]!r} is part of the response and of {key}: the response cannot predict "
                    "itself; give them different columns."
                )

    def _long(self, key: str, curve: CurveFile, name: str, domain: tuple[float, float]) -> Measurements:
        table, marks = self.table(curve), self.settings.missing_marks
        assert curve.time is not None and curve.value is not None
        places = [f"row {line}" for line in table.lines]
        texts, time = self.record_times(curve, table, name)
        ids, record = _number_ids(texts)
        value = numbers(table.column(curve.value), f"{name}: {curve.value}", places.__getitem__, table.form, marks)
        return Measurements(name, ids, record, time, value, places.__getitem__, domain)

    def ids(self, curve: CurveFile) -> list[str]:
        """The id of the record of every row of a CSV file."""
        id_column, table = self.settings.id_of(curve), self.table(curve)
        return self.record_times(curve, table, curve.file)[0] if id_column == curve.time else table.ids(id_column)

    def groups(self, curve: CurveFile, column: str) -> Iterator[tuple[str, str]]:
        """Pairs of a record's id and its entry of a column, of every row, or of every record of a NetCDF file."""
        if curve.format != "netcdf":
            return zip(self.ids(curve), self.table(curve).column(column), strict=True)
        id_column, content = self.settings.id_of(curve), self.contents[curve.file]
        names, groups = (read_groups(content, curve.file, name, id_column) for name in (id_column, column))
        return zip(names, groups, strict=True)

    def record_times(self, curve: CurveFile, table: TextTable, name: str) -> tuple[list[str], np.ndarray]:
        """Ids and times (T,) of a long file: a time stamp is split into its period, which may name it, and the time."""
        id_column, places = self.settings.id_of(curve), [f"row {line}" for line in table.lines]
        assert curve.time is not None
        texts, what = table.column(curve.time), f"{name}: time {curve.time}"
        if not table.form.time_format or all(is_number(text) for text in texts):
            if id_column == curve.time:
                raise DataMissing(
                    f"{table.file}: {id_column} is the id and the time: set time_format, which splits a time stamp "
                    "into both, or give each its own column."
                )
            return table.ids(id_column), numbers(texts, what, places.__getitem__, table.form, markable=False)
        stamps = [split_stamp(text, table.form) for text in texts]
        for text, stamp, place in zip(texts, stamps, places, strict=True):
            if stamp is None:
                raise DataMissing(f"{what} is {text!r} in {place}, {trouble(text, table.form, False)}.")
        name_of, time_in = PERIODS[curve.period]
        known = [stamp for stamp in on_one_clock(stamps, table.form, what) if stamp is not None]
        ids = [stamp.strftime(name_of) for stamp in known] if id_column == curve.time else table.ids(id_column)
        return ids, np.array([time_in(stamp) for stamp in known])

    def _wide(self, key: str, curve: CurveFile, name: str, domain: tuple[float, float]) -> Measurements:
        table, id_column = self.table(curve), self.settings.id_of(curve)
        columns = table.match(curve.patterns, id_column)
        self._columns[key] = (curve.file, set(columns))
        ids, record = _number_ids(table.ids(id_column))
        width = len(columns)

        def place(i: int) -> str:
            return f"row {table.lines[i // width]}, column {columns[i % width]}"

        texts = np.array([table.column(column) for column in columns]).T.ravel().tolist()
        value = numbers(texts, name, place, table.form, self.settings.missing_marks)
        times = np.tile(_times(curve, columns, name, domain), len(table.rows))
        return Measurements(name, ids, np.repeat(record, width), times, value, place, domain)

    def _netcdf(self, key: str, curve: CurveFile, name: str, domain: tuple[float, float]) -> Measurements:
        assert curve.time is not None and curve.value is not None
        dims = (self.settings.id_of(curve), curve.time)
        texts, times, values, unit = read_variable(self.contents[curve.file], curve.file, curve.value, dims)
        ids, record = _number_ids([self.settings.text_of(curve).id_text(text) for text in texts])
        width = len(times)

        def place(i: int) -> str:
            since = f" ({unit})" if unit else ""
            return f"record {i // width + 1} ({texts[i // width]}), {curve.time} {times[i % width]:g}{since}"

        raw = Measurements(
            name, ids, np.repeat(record, width), np.tile(times, len(texts)), values.ravel(), place, domain
        )
        raw.check_finite()
        return raw


def _number_ids(texts: list[str]) -> tuple[list[str], np.ndarray]:
    """Distinct ids in their order, and the number of each row's id (T,)."""
    place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return list(place), np.array([place[text] for text in texts], dtype=int)


def _times(curve: CurveFile, columns: list[str], name: str, domain: tuple[float, float]) -> np.ndarray:
    """Times of the columns of a wide file, (width,)."""
    if curve.times == "middles":
        edges = np.linspace(*domain, len(columns) + 1)
        return (edges[:-1] + edges[1:]) / 2
    if curve.times == "names":
        digits = [NUMBER.findall(column) for column in columns]
        for column, parts in zip(columns, digits, strict=True):
            if not parts:
                raise DataMissing(f"{name}: column {column!r} has no number in its name: list the times instead.")
        return np.array([float(parts[-1]) for parts in digits])
    if len(curve.times) != len(columns):
        raise DataMissing(
            f"{name}: times lists {len(curve.times)} times for {len(columns)} columns ({columns[0]} to {columns[-1]}): "
            "give one for each."
        )
    return np.array(curve.times, dtype=float)


def _scale(raw: Measurements, curve: CurveFile) -> np.ndarray:
    """Values on their public scale, after the checks that reveal a wrong unit."""
    value, unit = raw.value, f" {curve.unit}" if curve.unit else ""
    if curve.range is not None:
        low, high = curve.range
        raw.refuse(
            (value < low) | (value > high),
            f"is {{value:g}}{unit}, outside its range [{low:g}, {high:g}]: is it in another unit? correct it, or the "
            "range",
        )
    lowest = LOWEST[curve.transform]
    bad = value <= lowest if curve.transform in ("log", "log1p") else value < lowest
    raw.refuse(bad, f"is {{value:g}}{unit}, which has no {curve.transform}: correct it, or choose another transform")
    scaled = (TRANSFORM[curve.transform](value) - curve.centre) / curve.scale
    if curve.range is None:
        raw.refuse(
            np.abs(scaled) > MOST_SCALES,
            f"is {{value:g}}{unit}, more than {MOST_SCALES} times its scale {curve.scale:g} from its centre "
            f"{curve.centre:g}: does it stand for a missing value (list it under marks), or is it in another "
            "unit? correct it, or centre and scale, or give the range",
        )
    return scaled
