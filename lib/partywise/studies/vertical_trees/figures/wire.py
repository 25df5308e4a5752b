"""Figure of vertical trees: what crosses the wire and what encryption costs."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from ....experiment.plotting.layout import plain_ticks
from ....experiment.plotting.select import title
from ....experiment.plotting.series import methods_of, over
from ....experiment.plotting.style import BLACK, BLUE, GREEN, GREY, ORANGE, RED, empty, heading, legend_below, panels

# Operations on ciphertexts: variable, words, colour, marker.
OPERATIONS = {
    "encryptions": ("encryptions", BLUE, "o"),
    "additions": ("additions", GREEN, "s"),
    "decryptions": ("decryptions", RED, "^"),
}


def bytes_and_operations(cube: xr.Dataset) -> Figure:
    """Bytes of all messages and operations on ciphertexts of every method that sends something, case by case.

    Means over {replicates}, at the fewest parties.
    """
    rows = [
        (case, method) for case in _encrypting(cube) for method in methods_of(cube, case) if _sends(cube, case, method)
    ]
    if not rows:
        return empty("No case with ciphertexts in this configuration.")
    figure, (left, right) = panels(1, 2, 4.8, max(2.0, 1.2 + 0.21 * len(rows)), sharey=True)
    _bytes(left, cube, rows)
    _operations(right, cube, rows)
    words = [f"{title(cube, 'case', case)}: {title(cube, 'method', method)}" for case, method in rows]
    left.set_yticks(range(len(rows)), words)
    left.set_ylim(len(rows) - 0.5, -0.5)
    for place in range(1, len(rows)):
        if rows[place][0] != rows[place - 1][0]:
            for ax in (left, right):
                ax.axhline(place - 0.5, color=GREY, linewidth=0.8)
    left.set_xlabel("bytes of all messages")
    right.set_xlabel("number of operations on ciphertexts")
    legend_below(figure, [left, right], 3)
    caption = f"{over(cube, list(dict.fromkeys(case for case, _ in rows)))}, fewest parties"
    heading(figure, f"What crosses between the parties, and what encryption costs\n{caption}")
    return figure


def mean_of(cube: xr.Dataset, name: str, case: str, method: str) -> float:
    """Mean of a variable over the cells of a method at its fewest parties; NaN where it has none."""
    if name not in cube:
        return np.nan
    values = cube[name].sel(case=case, method_label=method)
    there = values.notnull().any(["replicate", "fold", "epsilon"]).values
    return float(values.isel(parties=int(np.flatnonzero(there)[0])).mean()) if there.any() else np.nan


def _encrypting(cube: xr.Dataset) -> list[str]:
    """Cases in which some method encrypts."""
    cases = map(str, cube["case"].values)
    return [c for c in cases if any(mean_of(cube, "encryptions", c, method) > 0 for method in methods_of(cube, c))]


def _sends(cube: xr.Dataset, case: str, method: str) -> bool:
    return mean_of(cube, "bytes_measured", case, method) > 0


def _bytes(ax: Axes, cube: xr.Dataset, rows: list[tuple[str, str]]) -> None:
    measured, formula = (
        np.array([mean_of(cube, name, *row) for row in rows]) for name in ("bytes_measured", "bytes_formula")
    )
    places = np.arange(len(rows))
    ax.plot(measured, places, marker="o", color=ORANGE, linestyle="none", label="bytes, measured")
    if np.isfinite(formula).any():
        words = "bytes of the training, by formula"
        ax.plot(formula, places, label=words, marker="|", markersize=11, color=BLACK, linestyle="none")
    plain_ticks(ax, words=EngFormatter(unit="B"))


def _operations(ax: Axes, cube: xr.Dataset, rows: list[tuple[str, str]]) -> None:
    for name, (words, color, marker) in OPERATIONS.items():
        counts = np.array([mean_of(cube, name, *row) for row in rows])
        counts[counts == 0] = np.nan
        ax.plot(counts, range(len(rows)), marker=marker, color=color, linestyle="none", label=words)
    plain_ticks(ax, words=EngFormatter())
