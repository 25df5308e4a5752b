"""Figure of vertical trees: what crosses the wire and what encryption costs."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from ....experiment.plotting.layout import plain_ticks
from ....experiment.plotting.select import title
from ....experiment.plotting.series import methods_of
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
    # The title of a case has a line of its own above its methods.
    cases = list(dict.fromkeys(case for case, _ in rows))
    places = np.array([place + 1 + cases.index(case) for place, (case, _) in enumerate(rows)])
    heads = [int(places[next(at for at, row in enumerate(rows) if row[0] == case)]) - 1 for case in cases]
    figure, (left, right) = panels(1, 2, 4.8, max(2.0, 1.3 + 0.2 * (len(rows) + len(cases))), sharey=True)
    _bytes(left, cube, rows, places)
    _operations(right, cube, rows, places)
    words = [title(cube, "method", method) for _, method in rows] + [title(cube, "case", case) for case in cases]
    left.set_yticks([*places, *heads], words)
    for label in left.get_yticklabels()[len(rows) :]:
        label.set_fontweight("bold")
    left.set_ylim(places[-1] + 0.5, -0.5)
    for ax in (left, right):
        ax.tick_params(axis="y", length=0)
        for head in heads[1:]:
            ax.axhline(head - 0.5, color=GREY, linewidth=0.8)
    left.set_xlabel("bytes of all messages")
    right.set_xlabel("operations on ciphertexts")
    legend_below(figure, [left, right], 3)
    heading(figure, _finding(cube, rows))
    return figure


def _finding(cube: xr.Dataset, rows: list[tuple[str, str]]) -> str:
    """Return which method sends most, and how many operations on ciphertexts it needs."""
    case, method = max(rows, key=lambda row: mean_of(cube, "bytes_measured", *row))
    count = np.nansum([mean_of(cube, name, case, method) for name in OPERATIONS])
    sent = EngFormatter(unit="B", places=0)(mean_of(cube, "bytes_measured", case, method))
    operations = f" and need {EngFormatter(places=0, sep='')(count)} operations on ciphertexts" if count > 0 else ""
    name = title(cube, "method", method)
    return f"{name[:1].upper()}{name[1:]} send most: {sent}{operations} ({title(cube, 'case', case)})"


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


def _bytes(ax: Axes, cube: xr.Dataset, rows: list[tuple[str, str]], places: np.ndarray) -> None:
    measured, formula = (
        np.array([mean_of(cube, name, *row) for row in rows]) for name in ("bytes_measured", "bytes_formula")
    )
    ax.plot(measured, places, marker="o", color=ORANGE, linestyle="none", label="bytes, measured")
    if np.isfinite(formula).any():
        words = "bytes of the training, by formula"
        ax.plot(formula, places, label=words, marker="|", markersize=11, color=BLACK, linestyle="none")
    plain_ticks(ax, words=EngFormatter(unit="B"))


def _operations(ax: Axes, cube: xr.Dataset, rows: list[tuple[str, str]], places: np.ndarray) -> None:
    for name, (words, color, marker) in OPERATIONS.items():
        counts = np.array([mean_of(cube, name, *row) for row in rows])
        counts[counts == 0] = np.nan
        ax.plot(counts, places, marker=marker, color=color, linestyle="none", label=words)
    plain_ticks(ax, words=EngFormatter())
