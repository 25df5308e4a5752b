"""Tables 1 to 4 of the source as rows: ours, theirs, the difference with its standard error, and the verdict.

Lines under a table: the rule of verdicts, how many reproduce, what was fitted, what an epsilon promises.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from ....experiment.plotting.select import plan_behind, title
from ....experiment.plotting.style import look
from ....experiment.tables.templates import TypesetTable
from ....methods.inverse_regression.options import FITTED_FACTOR
from .marks import AGREES, FEWEST, NEAR, PRINTED_REPLICATES, TableMark, counts, entries, source_methods

RULE = (
    f"Verdict: agrees where |z| is at most {AGREES:g}, z being the difference over its standard error; within "
    f"{NEAR:.0%} where the ratio is; saturated where one of both holds and the printed loss is so large that nearly "
    "every choice matches it, which is not evidence; else not reproduced. The standard error joins ours, theirs (the "
    f"bracket, which has the size of a standard deviation, over the root of {PRINTED_REPLICATES}) and rounding. Below "
    f"{FEWEST} replicates the bracket stands for our own standard deviation: the verdict is whether our mean could be "
    "one of so many draws of the source."
)


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


def remarks(cube: xr.Dataset, cells: Sequence[TableMark], high: bool) -> list[str]:
    """Lines under a table."""
    lines = [RULE]
    for method in source_methods(cells):
        for of_part, part in _parts([entry for entry in cells if entry.method == method], high):
            number_of = counts(part)
            text = ", ".join(f"{value} {verdict}" for verdict, value in number_of.items())
            lines.append(f"{look(cube, method).label}{of_part}: {text}, of {sum(number_of.values())} cells.")
    if sizes := sorted({entry.n for entry in cells if entry.delta_at_least_1_over_n}):
        lines.append(
            f"Claimed δ of at least 1/n: the deltas of all releases of a client add up to it (n = "
            f"{', '.join(map(str, sizes))}). Publishing a random record meets that, so that this ε promises nothing."
        )
    lines.append(fitted_options(cube, cells, high))
    lines += screening_notes(cube, cells)
    lines.append(
        "The published methods have no finite certified ε: slice edges, c_R, singular vectors behind the noise"
        + (" and index sets" if high else "")
        + " come from the data. Their rows show what was claimed, not what holds."
    )
    return lines


def screening_notes(cube: xr.Dataset, cells: Sequence[TableMark]) -> list[str]:
    """Return what screening with a proof keeps, at most clients; nothing for tables without screening."""
    if "support_kept" not in cube:
        return []
    most = max(entry.clients for entry in cells)
    cases = sorted({entry.case for entry in cells})
    shares = []
    for method in dict.fromkeys(entry.method for entry in cells):
        share = float(cube["support_kept"].sel(case=cases, method_label=method, parties=most).mean())
        if np.isfinite(share):
            shares.append(f"{look(cube, method).label} {100 * share:.0f} %")
    return [f"Share of the true support that screening keeps at K = {most}: {', '.join(shares)}."] if shares else []


def _parts(cells: Sequence[TableMark], high: bool) -> list[tuple[str, list[TableMark]]]:
    """The row that has two readings is counted once in each."""
    readings = {(e.model, e.row) for e in cells if e.n != e.row and not high}
    if not readings:
        return [("", list(cells))]
    plain = [e for e in cells if e.n == e.row]
    other = [e for e in cells if e.n != e.row or (e.model, e.row) not in readings]
    sizes = sorted({(e.row, e.n) for e in cells if e.n != e.row})
    words = ", ".join(f"row {row} read as n = {n}" for row, n in sizes)
    return [(", rows as printed", plain), (f", {words}", other)]


def fitted_options(cube: xr.Dataset, cells: Sequence[TableMark], high: bool) -> str:
    """The options in force that were fitted to the tables."""
    parts = []
    for method in source_methods(cells):
        options = plan_behind(cube).methods[method].options
        parts.append(f"{look(cube, method).label}: aggregation {options.chosen_aggregation}")
        if options.mechanism == "iid" and options.iid_variance == "fitted":
            parts[-1] += f", variance {FITTED_FACTOR:g} log(1.25/δ)/(nε) in place of proposition 2"
        parts[-1] += f", covariance noise {options.cov_scale:g} × lemma 1 on clipped records"
    screen = " Screening keeps the best s columns of each slice: the source states no threshold." if high else ""
    others = sorted({(entry.row, entry.n) for entry in cells if not high and entry.row != entry.n})
    origin = "".join(f"; the row {row} read as n = {n} is an inference, too" for row, n in others)
    return f"Fitted to these cells: {'; '.join(parts)}{origin}.{screen}"
