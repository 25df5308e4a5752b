"""Tables 1 to 4 of the source, typeset with its own numbers, z-scores and marks, the certified method beside them."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ....experiment.plotting.select import plan_behind
from ....experiment.plotting.style import empty, look, panels
from ....inverse_regression.options import FITTED_FACTOR
from .marks import MARKS, PRINTED_REPLICATES, Entry, counts, entries

# Inches of a column of losses, of a column of epsilons, of the labels, and of a row.
LOSS, PRICE, LABEL, ROW = 0.80, 0.55, 0.95, 0.40
SIGNS = {"agrees": "=", "within 12 %": "≈", "saturated": "s", "not reproduced": "≠"}
Z_SHOWN = 10
# Behind an epsilon at a delta of 1/n or more.
VAIN = "†"
# Light fills that differ in lightness as well as in hue; the sign says the same without colour.
FILLS = {"agrees": "#D6ECF7", "within 12 %": "#EEF6DD", "saturated": "#EFEFEF", "not reproduced": "#F9CFA8"}
# Letters of a note on an inch.
INCH = 16


def table_1(cube: xr.Dataset) -> Figure:
    """Table 1 of the source (ten columns, epsilon 1): our mean (error) beside the printed one, z and mark."""
    return table(cube, 1, 1.0, high=False)


def table_2(cube: xr.Dataset) -> Figure:
    """Table 2 of the source (ten columns, epsilon 2): our mean (error) beside the printed one, z and mark."""
    return table(cube, 2, 2.0, high=False)


def table_3(cube: xr.Dataset) -> Figure:
    """Table 3 of the source (many columns, epsilon 1): our mean (error) beside the printed one, z and mark."""
    return table(cube, 3, 1.0, high=True)


def table_4(cube: xr.Dataset) -> Figure:
    """Table 4 of the source (many columns, epsilon 2): our mean (error) beside the printed one, z and mark."""
    return table(cube, 4, 2.0, high=True)


def table(cube: xr.Dataset, number: int, epsilon: float, *, high: bool) -> Figure:
    """One table: a row for each model and size, a block of columns for each method."""
    found = entries(cube, epsilon, high)
    methods = [m for m in map(str, cube["method"].values) if any(entry.method == m for entry in found)]
    known = printed(found)
    methods = known + [m for m in methods if m not in known]
    if not known:
        return empty(f"No case of table {number} in this configuration.")
    clients = sorted({entry.clients for entry in found})
    rows = sorted({(entry.model, entry.row, entry.n) for entry in found})
    width = LABEL + len(methods) * (len(clients) * LOSS + PRICE)
    wide = int(width * INCH)
    notes = [line for remark in remarks(cube, found, high) for line in wrap(remark, wide, subsequent_indent="    ")]
    figure, (ax,) = panels(1, 1, width + 0.3, (len(rows) + 2.2) * ROW + 0.17 * len(notes) + 0.5)
    _frame(ax, width, (len(rows) + 2.2) * ROW)
    _head(ax, [look(cube, method).label for method in methods], clients, "p" if high else "n")
    place = {(e.model, e.row, e.n, e.method, e.clients): e for e in found}
    for line, key in enumerate(rows):
        _row(ax, line, key, methods, clients, place, high=high, first=line == 0 or rows[line - 1][0] != key[0])
    figure.suptitle(f"Table {number}: projection loss at ε = {epsilon:g} for each of the two releases", fontsize=10)
    figure.supxlabel("\n".join(notes), fontsize=7.5, x=0.01, ha="left")
    return figure


def _frame(ax: Axes, width: float, height: float) -> None:
    """Axes in inches, downwards."""
    ax.set_axis_off()
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.grid(False)


def _left(block: int, clients: Sequence[int]) -> float:
    return LABEL + block * (len(clients) * LOSS + PRICE)


def printed(found: Sequence[Entry]) -> list[str]:
    """Methods that stand for a column of the source, in the order of the cube."""
    return list(dict.fromkeys(entry.method for entry in found if np.isfinite(entry.paper)))


def _head(ax: Axes, titles: Sequence[str], clients: Sequence[int], label: str) -> None:
    ax.text(0.1, 1.75 * ROW, f"model, {label}", fontsize=8, weight="bold", va="center")
    for block, title in enumerate(titles):
        left = _left(block, clients)
        right = left + len(clients) * LOSS + PRICE
        ax.text((left + right) / 2, 0.75 * ROW, title, fontsize=8, weight="bold", ha="center", va="center")
        ax.plot([left + 0.06, right - 0.06], [1.2 * ROW] * 2, color="black", linewidth=0.7)
        for place, count in enumerate(clients):
            ax.text(left + (place + 0.5) * LOSS, 1.75 * ROW, f"K = {count}", fontsize=8, ha="center", va="center")
        ax.text(right - PRICE / 2, 1.75 * ROW, "ε: claim\ncertified", fontsize=6.5, ha="center", va="center")
    ax.plot([0, _left(len(titles), clients)], [2.15 * ROW] * 2, color="black", linewidth=0.9)


def _row(ax: Axes, line: int, key, methods, clients, place, *, high: bool, first: bool) -> None:
    model, row, n = key
    top = (line + 2.2) * ROW
    middle = top + ROW / 2
    if first and line:
        ax.plot([0, _left(len(methods), clients)], [top] * 2, color="grey", linewidth=0.4)
    if first:
        ax.text(0.1, middle, model, fontsize=9, weight="bold", va="center")
    other = not high and n != row
    ax.text(LABEL - 0.1, middle, f"{row}\n(n = {n})" if other else f"{row}", fontsize=7.5, ha="right", va="center")
    for block, method in enumerate(methods):
        left = _left(block, clients)
        shown = [place.get((*key, method, count)) for count in clients]
        for column, entry in enumerate(shown):
            if entry is not None:
                _cell(ax, left + column * LOSS, top, entry)
        known = next((entry for entry in shown if entry is not None), None)
        if known is not None:
            certified = "∞" if np.isinf(known.certified) else f"{known.certified:.3g}"
            price = f"{known.claimed:.3g}{VAIN if known.vain else ''}\n{certified}"
            at = left + len(clients) * LOSS + PRICE / 2
            ax.text(at, middle, price, fontsize=7, ha="center", va="center")


def _cell(ax: Axes, left: float, top: float, entry: Entry) -> None:
    """Our mean and its standard error; below, the printed mean, z, and the mark or the ratio."""
    centre, mark = left + LOSS / 2, entry.mark
    if mark:
        box = (left + 0.012, top + 0.012)
        ax.add_patch(Rectangle(box, LOSS - 0.024, ROW - 0.024, facecolor=FILLS[mark], edgecolor="none"))
    error = f" ({_error(entry.se)})" if np.isfinite(entry.se) else ""
    height = 0.2 if mark else 0.5
    ax.text(centre, top + height * ROW, f"{entry.mean:.3f}{error}", fontsize=7, ha="center", va="center")
    if not mark:
        return
    ax.text(
        centre,
        top + 0.5 * ROW,
        f"{entry.paper:.3f} ({entry.bracket:.2f})",
        fontsize=6,
        ha="center",
        va="center",
        color="#444444",
    )
    z = _z(entry)
    sign = f"{SIGNS[mark]}{entry.ratio:.2f}×" if mark == MARKS[3] else SIGNS[mark]
    bold = "bold" if mark == MARKS[3] else "normal"
    ax.text(centre, top + 0.79 * ROW, f"{z}  {sign}", fontsize=6, ha="center", va="center", weight=bold)


def _z(entry: Entry) -> str:
    """z of a cell; beyond 10 its size says nothing more, and few replicates give absurd ones."""
    if not np.isfinite(entry.z):
        return ""
    if abs(entry.z) >= Z_SHOWN:
        return f"z{'>+' if entry.z > 0 else '<-'}{Z_SHOWN}"
    return f"z{'≈' if entry.approximate else '='}{entry.z:+.1f}"


def _error(value: float) -> str:
    return f"{value:.3f}".lstrip("0") if value < 1 else f"{value:.2f}"


def remarks(cube: xr.Dataset, found: Sequence[Entry], high: bool) -> list[str]:
    """Lines under a table: how to read it, how many cells reproduce, and what was fitted."""
    used = {entry.replicates for entry in found}
    replicates = f"{min(used)}" if len(used) == 1 else f"{min(used)} to {max(used)}"
    lines = [
        f"First line of a cell: our mean over {replicates} replicates (standard error). Second: the source's mean "
        f"(its bracket, of the size of a standard deviation over {PRINTED_REPLICATES} replicates). Third: z of the "
        "difference, and the mark.",
        "Marks: = |z| at most 2;  ≈ ratio within 12 %;  s saturated, where nearly every choice matches: no evidence;  "
        "≠ not reproduced, with ours / theirs.  z≈: the bracket has two decimals and is at most 0.02."
        + (" With few replicates a cell agrees easily." if max(used) < PRINTED_REPLICATES // 4 else ""),
    ]
    for method in printed(found):
        own = [entry for entry in found if entry.method == method]
        for title, part in _parts(own, high):
            number_of = counts(part)
            text = ", ".join(f"{value} {mark}" for mark, value in number_of.items())
            lines.append(f"{look(cube, method).label}{title}: {text}, of {sum(number_of.values())} cells.")
    if sizes := sorted({entry.n for entry in found if entry.vain}):
        lines.append(
            f"{VAIN} The deltas of all releases of a client add up to 1/n or more (n = {', '.join(map(str, sizes))}): "
            "publishing a random record meets that, so that this ε promises nothing, whatever the mechanism."
        )
    lines.append(fitted(cube, printed(found), high))
    lines += kept(cube, found)
    lines.append(
        "The published methods have no finite certified ε: slice edges, c_R, singular vectors behind the noise"
        + (" and index sets" if high else "")
        + " come from the data. Their columns show what was claimed, not what holds."
    )
    return lines


def kept(cube: xr.Dataset, found: Sequence[Entry]) -> list[str]:
    """What screening with a proof keeps, at most clients; nothing for tables without screening."""
    if "support_kept" not in cube:
        return []
    most = max(entry.clients for entry in found)
    cases = sorted({entry.case for entry in found})
    told = []
    for method in dict.fromkeys(entry.method for entry in found):
        share = float(cube["support_kept"].sel({"case": cases, "method": method, "parties": most}).mean())
        if np.isfinite(share):
            told.append(f"{look(cube, method).label} {100 * share:.0f} %")
    return [f"Share of the true support that screening keeps at K = {most}: {', '.join(told)}."] if told else []


def _parts(own: Sequence[Entry], high: bool) -> list[tuple[str, list[Entry]]]:
    """The row that has two readings is counted once in each."""
    readings = {(e.model, e.row) for e in own if e.n != e.row and not high}
    if not readings:
        return [("", list(own))]
    plain = [e for e in own if e.n == e.row]
    other = [e for e in own if e.n != e.row or (e.model, e.row) not in readings]
    sizes = sorted({(e.row, e.n) for e in own if e.n != e.row})
    said = ", ".join(f"row {row} read as n = {n}" for row, n in sizes)
    return [(", rows as printed", plain), (f", {said}", other)]


def fitted(cube: xr.Dataset, methods: Sequence[str], high: bool) -> str:
    """The options in force that were fitted to the tables."""
    parts = []
    for method in methods:
        options = plan_behind(cube).methods[method].options
        parts.append(f"{look(cube, method).label}: aggregation {options.chosen_aggregation}")
        if options.mechanism == "iid" and options.iid_variance == "fitted":
            parts[-1] += f", variance {FITTED_FACTOR:g} log(1.25/δ)/(nε) in place of proposition 2"
        parts[-1] += f", covariance noise {options.cov_scale:g} × lemma 1 on clipped records"
    screen = " Screening keeps the best s columns of each slice: the source states no threshold." if high else ""
    origin = "" if high else "; the row 1000 read as 1500 is an inference, too"
    return f"Fitted to these cells: {'; '.join(parts)}{origin}.{screen}"
