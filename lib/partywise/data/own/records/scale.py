"""Columns of records on their public scales: no number here is computed from the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....core.errors import DataMissing
from ..columns import values
from ..csv import ELSEWHERE, TextTable
from ..grammar import ColumnBlock
from ..indicators import indicators
from ..plausible import check_bounds


def features(tables: Sequence[TextTable], columns: Sequence[ColumnBlock], low: float, *, clip: bool) -> np.ndarray:
    """Columns (N, d) of all tables: bounds become [low, 1], a category indicators ``low`` or 1 of all levels but one.

    ``clip`` is whether values outside their bounds are clipped here, instead of in a protocol. DataMissing for an entry
    that is not a finite number or not a level, and for a column with most values outside its bounds or all the same.
    """
    parts = []
    for column in columns:
        raw = [values(table, column) for table in tables]
        whole = np.concatenate(raw)
        if np.all(whole == whole[0]):
            raise DataMissing(
                f"{tables[0].file}: {column.name} is {tables[0].column(column.name)[0]!r} in all {len(whole)} rows: it "
                "has no information; take it out, or check that its column is the right one."
            )
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
