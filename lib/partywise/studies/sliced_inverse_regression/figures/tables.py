"""Tables 1 to 4 of the source as rows: ours, theirs, the difference with its standard error, and the verdict."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ....experiment.plotting.select import title
from ....experiment.tables.templates import TypesetTable
from .marks import TableMark, entries, source_methods
from .notes import remarks


def table_1(cube: xr.Dataset) -> TypesetTable:
    """Table 1 of the source (ten columns, epsilon 1 per release): means over {replicates} next to the printed ones."""
    return table(cube, 1, 1.0, high=False)


def table_2(cube: xr.Dataset) -> TypesetTable:
    """Table 2 of the source (ten columns, epsilon 2 per release): means over {replicates} next to the printed ones."""
    return table(cube, 2, 2.0, high=False)


def table_3(cube: xr.Dataset) -> TypesetTable:
    """Table 3 of the source (many columns, epsilon 1 per release): means over {replicates} next to the printed ones."""
    return table(cube, 3, 1.0, high=True)


def table_4(cube: xr.Dataset) -> TypesetTable:
    """Table 4 of the source (many columns, epsilon 2 per release): means over {replicates} next to the printed ones."""
    return table(cube, 4, 2.0, high=True)


def table(cube: xr.Dataset, number: int, epsilon: float, *, high: bool) -> TypesetTable:
    """One table: a row per model, size, method and number of clients; printed cells first, then our own methods."""
    cells = entries(cube, epsilon, high)
    known = source_methods(cells)
    if not known:
        return TypesetTable(f"Table {number}", (), (f"No case of table {number} in this configuration.",))
    order = sorted(cells, key=lambda entry: (entry.method not in known, entry.model, entry.row, entry.n))
    rows = [_row(cube, entry, "p" if high else "n") for entry in order]
    heading = f"Table {number}: projection loss at ε = {epsilon:g} for each of the two releases"
    return TypesetTable(heading, rows, remarks(cube, cells, high))


def _row(cube: xr.Dataset, entry: TableMark, label: str) -> dict[str, object]:
    """One cell of the source; blank where it prints nothing."""
    compared = np.isfinite(entry.paper)
    row: dict[str, object] = {"method": title(cube, "method", entry.method), "model": entry.model}
    row |= {f"row ({label})": entry.row, "records per client": entry.n, "clients K": entry.clients}
    row |= {"ours": _table_value(entry.mean), "SE of ours": _table_value(entry.se), "replicates": entry.replicates}
    theirs = {"theirs": entry.paper, "bracket of theirs": entry.bracket}
    theirs |= {"difference": entry.difference, "SE of difference": entry.error, "z": entry.z}
    row |= {name: _table_value(value) if compared else "" for name, value in theirs.items()}
    row |= {"verdict": entry.verdict, "claimed ε": entry.epsilon_claimed, "certified ε": entry.epsilon_certified}
    return row | {"claimed δ": "at least 1/n" if entry.delta_at_least_1_over_n else ""}


def _table_value(value: float) -> float | str:
    """Four decimals, one more than the source prints; blank without a number."""
    return round(value, 4) if np.isfinite(value) else ""
