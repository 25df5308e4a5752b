"""Figure and tables of docs/scaling.md from what tests/benchmarks/scaling.py measured: ``python docs/_scaling.py``.

A test compares the page and the figure with `docs/measured/scaling.csv`.
"""

from __future__ import annotations

import csv
import hashlib
import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from partywise.experiment.tables.templates import pipe_table

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "docs" / "measured" / "scaling.csv"
RUNS = ROOT / "docs" / "measured" / "requirements.csv"
PAGE, FIGURE = ROOT / "docs" / "scaling.md", ROOT / "docs" / "images" / "scaling.svg"
BLOCK = re.compile(r"(<!-- made: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
MILLION = 1_000_000
# What a panel shows: its title, the axis below it, and the curves by the beginning of their names.
PANELS = (
    ("clients of one fit", "clients", "parties"),
    ("records of one fit", "records", "records/"),
    ("columns of one fit", "columns", "columns/"),
    ("cells of one study", "cells", "cells/"),
    ("messages of one channel", "messages", "messages/"),
    ("rows of one ledger", "rows", "ledger/10000"),
)
SHORT = {
    "public messages": "public values",
    "release messages": "releases, with their rows",
    "rows made and appended": "made and appended",
    "total of one view": "total of one view",
    "worst of all default views": "worst of all views",
    "hash chain": "hash chain",
    "planning": "planned",
    "gathering": "gathered, with tables",
}
Row = Mapping[str, str]


def rows_of(path: Path = MEASURED) -> list[dict[str, str]]:
    """Rows of a table of measurements."""
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def digest(path: Path = MEASURED) -> str:
    """Return the SHA-256 of the table, which a figure drawn from it carries."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def number(value: float) -> str:
    """Three digits, thousands with commas."""
    if not value:
        return "0"
    places = 2 - math.floor(math.log10(value))
    return f"{round(value, places):,.{max(0, places)}f}"


def power(rows: Sequence[Row]) -> str:
    """Exponent of CPU time between the last size and the one that is about ten times smaller."""
    last = rows[-1]
    few = min(rows, key=lambda row: abs(math.log(10 * int(row["size"]) / int(last["size"]))))
    if few is last or float(few["cpu_seconds"]) == 0:
        return ""
    grown = math.log(float(last["cpu_seconds"]) / float(few["cpu_seconds"]))
    return f"{grown / math.log(int(last['size']) / int(few['size'])):.2f}"


def curves(rows: Iterable[Row], begin: str) -> dict[tuple[str, str], list[Row]]:
    """Rows by curve and by what was done, in order."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["curve"].startswith(begin):
            groups.setdefault((row["curve"], row["what"]), []).append(row)
    return groups


def ends(rows: Iterable[Row], begin: str, heads: Sequence[str] = ("study",), wire: bool = True) -> str:
    """Return one line per curve that begins so: its smallest and its largest size; ``heads`` name curve and step."""
    lines = []
    for (curve, what), points in curves(rows, begin).items():
        few, many = points[0], points[-1]
        named = [f"`{curve}`", SHORT.get(what, what)] if len(heads) > 1 else [f"`{what}`"]
        line = [*named, f"{int(few['size']):,}", f"{int(many['size']):,}"]
        for key in ("cpu_seconds", "peak_mb", "wire_mb") if wire else ("cpu_seconds", "peak_mb"):
            pair = [row[key] if key == "peak_mb" else number(float(row[key])) for row in (few, many)]
            line.append(", ".join(pair))
        lines.append([*line, power(points)])
    costs = ["CPU s", "peak MB", *(["MB on the wire"] if wire else []), "exponent"]
    return pipe_table([*heads, "from", "to", *costs], lines)


def slope(points: Sequence[Row], key: str) -> float:
    """Return the cost of one more unit, from the last two sizes."""
    few, many = points[-2:]
    return (float(many[key]) - float(few[key])) / (int(many["size"]) - int(few["size"]))


def million_clients(rows: Iterable[Row]) -> str:
    """A fit of a million clients by the slopes of the measured curve."""
    ((_, points),) = curves(rows, "parties").items()
    last, more = points[-1], MILLION - int(points[-1]["size"])
    lines = []
    for what, key, unit in (
        ("CPU time of data, fit and totals", "cpu_seconds", "s"),
        ("peak memory", "peak_mb", "MB"),
        ("on the wire", "wire_mb", "MB"),
    ):
        each, whole = slope(points, key), float(last[key]) + more * slope(points, key)
        per = {"s": f"{number(1e3 * each)} ms", "MB": f"{number(1e3 * each)} kB"}[unit]
        total = {"s": f"{number(whole / 60)} minutes", "MB": f"{number(whole / 1000)} GB"}[unit]
        lines.append([what, f"{number(float(last[key]))} {unit}", per, total])
    return pipe_table(["", f"{int(last['size']):,} clients, measured", "one more client", "1,000,000 clients"], lines)


def million_cells(rows: Iterable[Row]) -> str:
    """A million cells of each study of the default run, by what its cells took, in blocks of five minutes."""
    lines = []
    for row in csv.DictReader(RUNS.read_text(encoding="utf-8").splitlines()):
        fits = int(row["fits"])
        if row["configuration"] != "default" or not fits:
            continue
        each, disk = float(row["cpu_seconds"]) / fits, float(row["disk_megabytes"]) / fits
        lines.append(
            [
                f"`{row['study']}`",
                f"{number(1e3 * each)} ms",
                f"{math.ceil(MILLION * each / 300):,}",
                number(MILLION * each / 3600),
                number(MILLION * each / 3600 / 100),
                number(MILLION * disk / 1e3),
            ]
        )
    heads = [
        "study",
        "a cell, with its share of a job",
        "jobs of 300 s",
        "CPU hours",
        "hours on 100 cores",
        "GB on disk",
    ]
    return pipe_table(heads, lines)


def whole_cells(rows: Iterable[Row]) -> str:
    """Return the table of the steps that hold all cells at once: their plan, and the job that gathers them."""
    lines = []
    for (_, what), points in curves(rows, "cells/").items():
        last = points[-1]
        more = MILLION - int(last["size"])
        spent = float(last["cpu_seconds"]) + more * slope(points, "cpu_seconds")
        peak = float(last["peak_mb"]) + more * slope(points, "peak_mb")
        measured = f"{number(float(last['cpu_seconds']))} s, {number(float(last['peak_mb']))} MB"
        lines.append([SHORT[what], f"{int(last['size']):,}", measured, f"{number(spent)} s", f"{number(peak)} MB"])
    heads = ["", "cells, measured", "CPU time, peak memory", "1,000,000 cells: CPU time", "peak memory"]
    return pipe_table(heads, lines)


BOTH = ("curve", "what")
MADE: dict[str, Any] = {
    "parties": lambda rows: ends(rows, "parties", BOTH),
    "ledger": lambda rows: ends(rows, "ledger/", BOTH, wire=False),
    "messages": lambda rows: ends(rows, "messages/", BOTH),
    "cells": lambda rows: ends(rows, "cells/", BOTH, wire=False),
    "records": lambda rows: ends(rows, "records/"),
    "columns": lambda rows: ends(rows, "columns/"),
    "million_clients": million_clients,
    "whole_cells": whole_cells,
    "million_cells": million_cells,
}


def filled(page: str, rows: Sequence[Row]) -> str:
    """The page with its tables made anew."""
    return BLOCK.sub(lambda block: f"{block[1]}\n{MADE[block[2]](rows)}\n\n{block[3]}", page)


def draw(rows: Sequence[Row], path: Path = FIGURE) -> None:
    """CPU time above memory, one column of panels an axis."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    from partywise.experiment.plotting import style

    figure, axes = style.panels(4, 3, 3.0, 2.25)
    colors = (*style.COLORS, *style.NEUTRALS)
    for place, (title, below, begin) in enumerate(PANELS):
        first = place % 3 + 6 * (place // 3)
        time, memory = axes[first], axes[first + 3]
        plotted = curves(rows, begin)
        for k, ((_, what), points) in enumerate(plotted.items()):
            number = studies_of(rows).index(what) if what in studies_of(rows) else k
            look: dict[str, Any] = {"color": colors[number], "marker": style.MARKERS[number]}
            look |= {"ls": style.DASHES[number % 4], "label": SHORT.get(what, what.replace("_", " "))}
            sizes = [int(row["size"]) for row in points]
            time.plot(sizes, [float(row["cpu_seconds"]) for row in points], **look)
            if begin == "ledger/10000":
                # One process made, totalled and hashed the rows.
                look |= {"color": style.BLACK, "marker": "", "ls": "-"}
            memory.plot(sizes, [float(row["peak_mb"]) for row in points], **look)
        time.set_title(title)
        memory.set_xlabel(below)
        proportional(time, plotted.values())
        scales(time, memory, sizes if begin == "columns/" else (), top=40 if place < 3 else 800)
        if place % 3 == 0:
            time.set_ylabel("CPU time, s")
            memory.set_ylabel("peak memory, MB")
        if place > 2:
            time.legend(loc="upper left", fontsize=7)
    axes[3].legend(*axes[1].get_legend_handles_labels(), loc="upper left", fontsize=6, labelspacing=0.3)
    with mpl.rc_context({"svg.hashsalt": "scaling"}):
        figure.savefig(path, metadata={"Date": None, "Description": digest()})
    plt.close(figure)


def studies_of(rows: Iterable[Row]) -> list[str]:
    """Studies in the order of their colours."""
    return [what for _, what in curves(rows, "records/")]


def scales(time: Any, memory: Any, sizes: Sequence[int], top: float) -> None:
    """Set equal scales in all panels of a row, with plain numbers at the ticks."""
    for ax, ticks, ends in (
        (time, (0.1, 1, 10, 100), (0.01, top)),
        (memory, (50, 100, 200, 500, 1000), (45, 1500)),
    ):
        ax.set(xscale="log", yscale="log", ylim=ends)
        ax.set_yticks([tick for tick in ticks if tick < ends[1]], [f"{tick:g}" for tick in ticks if tick < ends[1]])
        ax.minorticks_off()
        if sizes:
            ax.set_xticks(sizes, list(map(str, sizes)))


def proportional(ax: Any, plotted: Iterable[Sequence[Row]]) -> None:
    """A dotted line of slope 1 through the measurement that took longest."""
    from partywise.experiment.plotting.style import GREY

    rows = [row for points in plotted for row in points]
    last = max(rows, key=lambda row: float(row["cpu_seconds"]))
    few, large, spent = min(int(row["size"]) for row in rows), int(last["size"]), float(last["cpu_seconds"])
    ax.plot([few, large], [spent * few / large, spent], color=GREY, ls=":", lw=1, zorder=0)


def main() -> None:
    """Draw the figure and fill the tables of the page."""
    rows = rows_of()
    draw(rows)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "lib"))
    main()
