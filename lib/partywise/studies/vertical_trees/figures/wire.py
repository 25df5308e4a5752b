"""Figure of vertical trees: what crosses the wire and what encryption costs."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.plotting.select import title
from ....experiment.plotting.series import methods_of
from ....experiment.plotting.style import BLACK, BLUE, GREEN, ORANGE, RED, empty, legend_below, panels

# Operations on ciphertexts: variable, words, colour, marker.
OPERATIONS = {
    "encryptions": ("encryptions", BLUE, "o"),
    "additions": ("additions", GREEN, "s"),
    "decryptions": ("decryptions", RED, "^"),
}


def bytes_and_operations(cube: xr.Dataset) -> Figure:
    """Bytes of all messages and operations on ciphertexts, a row of panels for each case that encrypts."""
    cases = [case for case in map(str, cube["case"].values) if _encrypts(cube, case)]
    if not cases:
        return empty("No case with ciphertexts in this configuration.")
    height = 1.3 + 0.34 * max(len(methods_of(cube, case)) for case in cases)
    figure, axes = panels(len(cases), 2, 4.6, height, sharey="row")
    for number, case in enumerate(cases):
        left, right = axes[2 * number : 2 * number + 2]
        methods = methods_of(cube, case)
        _bytes(left, cube, case, methods)
        _operations(right, cube, case, methods)
        left.set_title(title(cube, "case", case))
        left.set_yticks(range(len(methods)), [title(cube, "method", method) for method in methods])
        left.set_ylim(len(methods) - 0.5, -0.5)
    axes[-2].set_xlabel("bytes of all messages")
    axes[-1].set_xlabel("operations on ciphertexts")
    legend_below(figure, axes, 4)
    figure.suptitle("What crosses between the parties, and what encryption costs", fontsize=9.5)
    return figure


def mean_of(cube: xr.Dataset, name: str, case: str, method: str) -> float:
    """Mean of a variable over the cells of a method at its fewest parties; NaN where it has none."""
    if name not in cube:
        return np.nan
    values = cube[name].sel({"case": case, "method": method})
    there = values.notnull().any(["replicate", "fold", "epsilon"]).values
    return float(values.isel(parties=int(np.flatnonzero(there)[0])).mean()) if there.any() else np.nan


def _encrypts(cube: xr.Dataset, case: str) -> bool:
    return any(mean_of(cube, "encryptions", case, method) > 0 for method in methods_of(cube, case))


def _bytes(ax: Axes, cube: xr.Dataset, case: str, methods: list[str]) -> None:
    measured, formula = (
        [mean_of(cube, name, case, method) for method in methods] for name in ("bytes_measured", "bytes_formula")
    )
    places = np.arange(len(methods))
    ax.barh(places, np.maximum(measured, 1), height=0.55, color=ORANGE, label="bytes, measured")
    if np.isfinite(formula).any():
        ax.plot(
            formula,
            places,
            marker="|",
            markersize=12,
            color=BLACK,
            linestyle="none",
            label="bytes of the training, by formula",
        )
    ax.set(xscale="log", xlim=(1, None))


def _operations(ax: Axes, cube: xr.Dataset, case: str, methods: list[str]) -> None:
    for name, (words, color, marker) in OPERATIONS.items():
        counts = np.array([mean_of(cube, name, case, method) for method in methods])
        counts[counts == 0] = np.nan
        ax.plot(counts, range(len(methods)), marker=marker, color=color, linestyle="none", label=words)
    ax.set(xscale="log")
