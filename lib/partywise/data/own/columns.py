"""Columns of complete rows as numbers, on their public scales and back in the units of the file; labels of classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...core.errors import DataMissing
from ...core.files import READ_POLICY, bin_names
from .csv import ELSEWHERE, TextTable, nearest, numbers
from .grammar import ColumnBlock
from .plausible import check_bounds, check_varies


def values(table: TextTable, column: ColumnBlock) -> np.ndarray:
    """(rows,) numbers, or numbers of levels."""
    if column.levels is not None:
        entries = level_numbers(table, column.name, column.levels)
    elif column.time_format:
        entries = numbers_of(replace(table, form=replace(table.form, time_format=column.time_format)), column.name)
    else:
        entries = numbers_of(table, column.name)
    used = entries if column.bounds is None else np.clip(entries, *column.bounds)
    READ_POLICY.get().check_cells(table.file, column.name, used, column.levels or ())
    if column.edges is not None:
        bins = np.searchsorted(column.edges, used)
        READ_POLICY.get().check_cells(table.file, column.name, bins, bin_names(column.edges))
    return entries


def level_numbers(table: TextTable, name: str, levels: Sequence[str]) -> np.ndarray:
    """(rows,) numbers of the levels of a column of complete rows; DataMissing for an entry that is none of them."""
    number = {level: float(k) for k, level in enumerate(levels)}
    texts = table.column(name)
    for text, line in zip(texts, table.lines, strict=True):
        if text not in number:
            raise DataMissing(
                f"{table.file}: {name} is {text!r} in row {line}: {nearest(text, number, 'its levels are')}; "
                "correct it, or add the level."
            )
    return np.array([number[text] for text in texts])


def numbers_of(table: TextTable, name: str) -> np.ndarray:
    """(rows,) numbers of a column of complete rows."""
    places = [f"row {line}" for line in table.lines]
    return numbers(table.column(name), f"{table.file}: {name}", places.__getitem__, table.form)


def class_labels(table: TextTable, name: str, positive: str | float | None) -> np.ndarray:
    """Labels (N,), 0 or 1; DataMissing for other entries, or one class only."""
    texts = table.column(name)
    if positive is None:
        for text, line in zip(texts, table.lines, strict=True):
            if _number(text) not in (0.0, 1.0):
                raise DataMissing(
                    f"{table.file}: {name} is {text!r} in row {line}: labels are 0 and 1; correct it, or name the "
                    "entry that counts as 1 under positive."
                )
        y = np.array([float(text) for text in texts])
    else:
        y = np.array([_is(text, positive) for text in texts], dtype=float)
        entries = list(dict.fromkeys(texts))
        if not y.any():
            raise DataMissing(
                f"{table.file}: {name} has no entry {positive!r}, which positive names: its entries are "
                f"{', '.join(entries[:5])}{', ...' if len(entries) > 5 else ''}; write it as in the file."
            )
        others = [text for text in entries if not _is(text, positive)]
        if len(others) > 1:
            line = table.lines[texts.index(others[1])]
            raise DataMissing(
                f"{table.file}: {name} has the entries {', '.join(entries[:5])}{', ...' if len(entries) > 5 else ''} "
                f"({others[1]!r} in row {line}): a label has two; correct them, or bring a column of two classes."
            )
    if y.all() or not y.any():
        raise DataMissing(
            f"{table.file}: {name} is {texts[0]!r} in all {len(texts)} rows: both classes are needed; bring rows of "
            "the other one, or check that the column is the right one."
        )
    return y


def _is(text: str, positive: str | float) -> bool:
    return text == positive if isinstance(positive, str) else _number(text) == positive


def _number(text: str) -> float | None:
    """The number that an entry is; None for a word."""
    try:
        return float(text)
    except ValueError:
        return None


def indicators(values: np.ndarray, column: ColumnBlock) -> list[np.ndarray]:
    """The columns (n,) that one becomes, from its numbers or the numbers of its levels (n,)."""
    if column.levels is None:
        return [values]
    return [(values == number).astype(float) for number in range(1, len(column.levels))]


def data_columns(
    table: TextTable,
    columns: Sequence[ColumnBlock],
    check: Callable[[np.ndarray, ColumnBlock, TextTable], None],
    divided: bool,
) -> list[np.ndarray]:
    """Columns of the data (n,) that declared columns become; ``divided`` is whether levels become indicators."""
    parts = list[np.ndarray]()
    for column in columns:
        entries = values(table, column)
        check(entries, column, table)
        parts += indicators(entries, column) if divided else [entries]
    return parts


def features(tables: Sequence[TextTable], columns: Sequence[ColumnBlock], low: float, *, clip: bool) -> np.ndarray:
    """Columns (N, d) of all tables: bounds become [low, 1], a category indicators ``low`` or 1 of all levels but one.

    ``clip`` is whether values outside their bounds are clipped here, instead of in a protocol. DataMissing for an entry
    that is not a finite number or not a level, and for a column with most values outside its bounds or all the same.
    """
    parts = []
    for column in columns:
        raw = [values(table, column) for table in tables]
        whole = np.concatenate(raw)
        check_varies(whole, tables[0], column.name)
        if column.bounds is not None:
            least, most = column.bounds
            inside = clip_to_bounds(raw, column.bounds, tables, column.name, "bounds")
            whole = ((inside if clip else whole) - least) / (most - least)
        parts += [low + (1 - low) * part for part in indicators(whole, column)]
    return np.column_stack(parts)


def clip_to_bounds(
    raw: Sequence[np.ndarray], bounds: tuple[float, float], tables: Sequence[TextTable], name: str, key: str
) -> np.ndarray:
    """Values (N,) clipped to their public bounds; DataMissing and lines of each file as in `check_bounds`."""
    files = dict[str, list[int]]()
    for k, table in enumerate(tables):
        if not table.file.startswith(ELSEWHERE):
            files.setdefault(table.file, []).append(k)
    for file, parts in files.items():
        places = [(file, line) for k in parts for line in tables[k].lines]
        check_bounds(np.concatenate([raw[k] for k in parts]), bounds, name, key, places.__getitem__)
    return np.asarray(np.clip(np.concatenate(raw), *bounds))


def feature_names(columns: Sequence[ColumnBlock]) -> list[str]:
    """Names of the columns that `features` makes."""
    return [name for column in columns for name in column.names]


class FeatureScale(NamedTuple):
    """Scale of every feature, (d,) each: the fitted one is ``slope`` times the one in the file, plus ``shift``."""

    slope: np.ndarray
    shift: np.ndarray

    def coefficients(self, fitted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients (d, ...) of features in the files, and what the constant gains (...,), from the fitted ones."""
        return (fitted.T * self.slope).T, self.shift @ fitted


def scale_of(columns: Sequence[ColumnBlock], low: float) -> FeatureScale:
    """Scale of columns whose bounds, and whose indicators of levels, became [low, 1]."""
    slope, shift = list[float](), list[float]()
    for column in columns:
        least, width, times = 0.0, 1.0, 1
        if column.levels is not None:
            times = len(column.levels) - 1
        elif column.bounds is not None:
            least, width = column.bounds[0], column.bounds[1] - column.bounds[0]
        else:
            raise ValueError(f"column {column.name!r} has neither bounds nor levels: it has no public scale.")
        slope += [(1 - low) / width] * times
        shift += [low - (1 - low) * least / width] * times
    return FeatureScale(np.array(slope), np.array(shift))


def feature_rows(columns: Sequence[ColumnBlock], **numbers: Iterable[object] | None) -> list[dict[str, object]]:
    """Source of each feature, the column of the file and its bounds or the level for which it is 1, and its numbers.

    numbers : one of each feature, by the names of their keys; None for what is unknown
    """
    rows = list[dict[str, object]]()
    for column in columns:
        if column.levels is None:
            rows.append({"column": column.name, "bounds": column.bounds})
        else:
            rows += [{"column": column.name, "level": level} for level in column.levels[1:]]
    for key, entries in numbers.items():
        if entries is not None:
            for row, entry in zip(rows, entries, strict=True):
                row[key] = entry
    return rows
