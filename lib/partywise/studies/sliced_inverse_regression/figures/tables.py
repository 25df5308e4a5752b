"""Tables 1 to 4 of the source, typeset with its own numbers beside ours, the certified methods below."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import NamedTuple

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ....experiment.plotting.style import empty, heading, look, panels
from .marks import MARKS, Entry, entries, printed
from .notes import VAIN, remarks

# Inches of a column of losses, of a column of epsilons, of the labels, of a line of text, and of a narrow table.
LOSS, PRICE, LABEL, LINE, LEAST = 0.94, 0.74, 1.32, 0.14, 5.6
# Inches of the head of a band: names of the methods, numbers of clients.
HEAD = 0.72
# Methods side by side: more would make the letters too small on a page.
ABREAST = 2
SIGNS = {"agrees": "=", "within 12 %": "≈", "saturated": "s", "not reproduced": "≠"}
Z_SHOWN = 10
# Light fills that differ in lightness as well as in hue; the sign says the same without colour.
FILLS = {"agrees": "#D6ECF7", "within 12 %": "#EEF6DD", "saturated": "#EFEFEF", "not reproduced": "#F9CFA8"}
# Letters of a note on an inch.
INCH = 17
# Points of what is secondary, and of all else.
SMALL, SIZE = 7, 8


class Row(NamedTuple):
    """A row of a table: model, label of the row, records of a client; in the order of the source."""

    model: str
    label: int
    n: int


class Band(NamedTuple):
    """Methods side by side: their rows, lines of text of a cell, and inches from the top."""

    methods: list[str]
    rows: list[Row]
    lines: int
    top: float

    @property
    def height(self) -> float:
        """Inches of a row."""
        return (self.lines + 0.35) * LINE

    @property
    def bottom(self) -> float:
        """Inches from the top to the end."""
        return self.top + HEAD + self.height * len(self.rows)


def table_1(cube: xr.Dataset) -> Figure:
    """Table 1 of the source (ten columns, epsilon 1): ours beside the printed ones, judged from 30 replicates on."""
    return table(cube, 1, 1.0, high=False)


def table_2(cube: xr.Dataset) -> Figure:
    """Table 2 of the source (ten columns, epsilon 2): ours beside the printed ones, judged from 30 replicates on."""
    return table(cube, 2, 2.0, high=False)


def table_3(cube: xr.Dataset) -> Figure:
    """Table 3 of the source (many columns, epsilon 1): ours beside the printed ones, judged from 30 replicates on."""
    return table(cube, 3, 1.0, high=True)


def table_4(cube: xr.Dataset) -> Figure:
    """Table 4 of the source (many columns, epsilon 2): ours beside the printed ones, judged from 30 replicates on."""
    return table(cube, 4, 2.0, high=True)


def table(cube: xr.Dataset, number: int, epsilon: float, *, high: bool) -> Figure:
    """One table: a row for each model and size, a block of columns for each method, two methods side by side."""
    found = entries(cube, epsilon, high)
    if not printed(found):
        return empty(f"No case of table {number} in this configuration.")
    clients = sorted({entry.clients for entry in found})
    own = bands(found)
    width = _left(max(len(band.methods) for band in own), clients)
    wide = int(max(width, LEAST) * INCH)
    notes = [line for remark in remarks(cube, found, high) for line in wrap(remark, wide, subsequent_indent="    ")]
    figure, (ax,) = panels(1, 1, max(width, LEAST) + 0.3, own[-1].bottom + 0.17 * len(notes) + 0.7)
    ax.set_axis_off()
    ax.grid(False)
    ax.set(xlim=(0, max(width, LEAST)), ylim=(own[-1].bottom, 0))
    place = {(Row(e.model, e.row, e.n), e.method, e.clients): e for e in found}
    for band in own:
        titles = [look(cube, method).label for method in band.methods]
        _head(ax, band.top, titles, clients, "p" if high else "n")
        for line in range(len(band.rows)):
            _label(ax, band, line, _left(len(band.methods), clients), high=high)
            _row(ax, band, line, clients, place)
    heading(figure, f"Table {number}: projection loss at ε = {epsilon:g} for each of the two releases")
    figure.supxlabel("\n".join(notes), fontsize=7.5, x=0.01, ha="left")
    return figure


def bands(found: Sequence[Entry]) -> list[Band]:
    """Methods that stand for a column of the source first, the others below, where a cell has one line."""
    known = printed(found)
    others = [method for method in dict.fromkeys(entry.method for entry in found) if method not in known]
    made = list[Band]()
    for methods, lines in ((known, 3), (others, 1)):
        for start in range(0, len(methods), ABREAST):
            own = methods[start : start + ABREAST]
            rows = sorted({Row(entry.model, entry.row, entry.n) for entry in found if entry.method in own})
            made.append(Band(own, rows, lines, made[-1].bottom + LINE if made else 0.0))
    return made


def _left(block: int, clients: Sequence[int]) -> float:
    return LABEL + block * (len(clients) * LOSS + PRICE)


def _head(ax: Axes, top: float, titles: Sequence[str], clients: Sequence[int], label: str) -> None:
    names, rule, counts, end = (top + share * HEAD for share in (0.25, 0.48, 0.74, 0.98))
    ax.text(0.1, counts, f"model, {label}", fontsize=SIZE, weight="bold", va="center")
    for block, title in enumerate(titles):
        left, right = _left(block, clients), _left(block + 1, clients)
        ax.text((left + right) / 2, names, title, fontsize=SIZE, weight="bold", ha="center", va="center")
        ax.plot([left + 0.06, right - 0.06], [rule] * 2, color="black", linewidth=0.7)
        for place, count in enumerate(clients):
            ax.text(left + (place + 0.5) * LOSS, counts, f"K = {count}", fontsize=SIZE, ha="center", va="center")
        ax.text(right - PRICE / 2, counts, "ε claimed /\ncertified", fontsize=SMALL, ha="center", va="center")
    ax.plot([0, _left(len(titles), clients)], [end] * 2, color="black", linewidth=0.9)


def _label(ax: Axes, band: Band, line: int, right: float, *, high: bool) -> None:
    """Model and size of a row, and a line where another model begins."""
    row, top = band.rows[line], band.top + HEAD + line * band.height
    middle = top + band.height / 2
    if line == 0 or band.rows[line - 1].model != row.model:
        if line:
            ax.plot([0, right], [top] * 2, color="grey", linewidth=0.4)
        ax.text(0.1, middle, row.model, fontsize=9, weight="bold", va="center")
    words = f"{row.label}" if high or row.n == row.label else f"{row.label} (n = {row.n})"
    ax.text(LABEL - 0.1, middle, words, fontsize=SMALL, ha="right", va="center")


def _row(ax: Axes, band: Band, line: int, clients: Sequence[int], place: dict) -> None:
    row, top = band.rows[line], band.top + HEAD + line * band.height
    for block, method in enumerate(band.methods):
        left = _left(block, clients)
        shown = [place.get((row, method, count)) for count in clients]
        for column, entry in enumerate(shown):
            if entry is not None:
                _cell(ax, left + column * LOSS, top, band.height, entry)
        known = next((entry for entry in shown if entry is not None), None)
        if known is not None:
            certified = "∞" if np.isinf(known.certified) else f"{known.certified:.3g}"
            price = f"{known.claimed:.3g}{VAIN if known.vain else ''} / {certified}"
            at = left + len(clients) * LOSS + PRICE / 2
            ax.text(at, top + band.height / 2, price, fontsize=SMALL, ha="center", va="center")


def _cell(ax: Axes, left: float, top: float, height: float, entry: Entry) -> None:
    """Our mean; below, what the source prints, and the difference with its mark where the cell is judged."""
    centre, mark = left + LOSS / 2, entry.mark
    if mark:
        box = (left + 0.012, top + 0.012)
        ax.add_patch(Rectangle(box, LOSS - 0.024, height - 0.024, facecolor=FILLS[mark], edgecolor="none"))
    error = f" ({_error(entry.se)})" if entry.judged else ""
    lines = [(f"{entry.mean:.3f}{error}", "black", "normal")]
    if np.isfinite(entry.paper):
        lines.append((f"{entry.paper:.3f} ({entry.bracket:.2f})", "#444444", "normal"))
        lines.append((difference(entry), "black", "bold" if mark == MARKS[3] else "normal"))
    for number, (words, color, weight) in enumerate(lines):
        y = top + height / 2 + (number - (len(lines) - 1) / 2) * LINE
        ax.text(centre, y, words, fontsize=SMALL, color=color, weight=weight, ha="center", va="center")


def difference(entry: Entry) -> str:
    """z and mark of a judged cell (beyond 10 its size says nothing more); of another, brackets of the source."""
    about = "≈" if entry.approximate else "="
    if not entry.judged:
        return f"{'≈' if entry.approximate else ''}{_signed(entry.brackets)} b"
    sign = SIGNS[entry.mark] + (f"{entry.ratio:.2f}×" if entry.mark == MARKS[3] else "")
    if abs(entry.z) >= Z_SHOWN:
        return f"z{'>+' if entry.z > 0 else '<−'}{Z_SHOWN} {sign}"
    return f"z{about}{_signed(entry.z)} {sign}"


def _signed(value: float) -> str:
    return f"{round(value, 1) + 0:+.1f}".replace("-", "−")


def _error(value: float) -> str:
    return f"{value:.3f}".lstrip("0") if value < 1 else f"{value:.2f}"
