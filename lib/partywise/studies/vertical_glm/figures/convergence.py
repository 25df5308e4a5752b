"""Figures of vertical GLM: how many iterations a solver takes, and how the objective falls."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ....experiment.plotting.select import title, told
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of, series
from ....experiment.plotting.style import empty, legend_below, look, panels
from .shared import FAMILIES, MISSING, by_title

# Below this the objective is the least one, up to rounding.
FLOOR = 1e-12


def iterations_by_correlation(cube: xr.Dataset) -> Figure:
    """Iterations against the correlation of any two columns: one panel a family, thicker lines for more parties."""
    found: dict[str, list[tuple[float, str]]] = {}
    for case in cases_of(cube, "iterations"):
        rho = told(cube, "case", case, "rho")
        if rho is not None:
            found.setdefault(str(told(cube, "case", case, "family") or "gaussian"), []).append((float(rho), case))
    families = [family for family in FAMILIES if len({rho for rho, _ in found.get(family, [])}) > 1]
    if not families:
        return empty("No family with several correlations of the columns in this configuration.")
    figure, axes = panels(1, len(families), 4.6 if len(families) < 3 else 3.2, 3.2, sharey=True)
    counts = [int(k) for k in cube["parties"].values]
    for ax, family in zip(axes, families, strict=True):
        cases = sorted(found[family])
        for method in by_title(cube, [m for _, case in cases for m in methods_of(cube, case)]):
            for place, parties in enumerate(counts):
                points = [(rho, _at(cube, case, method, parties)) for rho, case in cases]
                kept = [(rho, value) for rho, value in points if np.isfinite(value)]
                if kept:
                    style = look(cube, method)
                    width = 0.9 + 1.4 * place / max(1, len(counts) - 1)
                    marks = {"color": style.color, "marker": style.marker, "linestyle": style.line}
                    ax.plot(*zip(*kept, strict=True), **marks, linewidth=width, label=style.label)
        ax.set(yscale="log", xlabel="correlation ρ of any two columns", title=FAMILIES[family])
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.set_xticks([rho for rho, _ in cases])
    axes[0].set_ylabel("iterations or sweeps")
    legend_below(figure, axes, 3)
    widths = ", ".join(map(str, counts))
    figure.suptitle(f"Iterations until the tolerance; thin to thick lines: {widths} parties", fontsize=9.5)
    return figure


def _at(cube: xr.Dataset, case: str, method: str, parties: int) -> float:
    """Mean number of iterations; nan where none converged."""
    line = series(cube, "iterations", case, method, "parties")
    at = np.flatnonzero(line.x == parties)
    return float(line.mean[at[0]]) if len(at) else float("nan")


def objective_by_iteration(cube: xr.Dataset) -> Figure:
    """Objective above the least deviance, in what all columns explain, by iteration: the first fit of each case."""
    shown = {}
    for case in cases_of(cube, "path_excess"):
        lines = _paths(cube, case)
        if len(lines) > 1:
            shown[case] = lines
    if not shown:
        return empty("No case with the objective of several solvers in this configuration.")
    columns = min(3, len(shown))
    figure, axes = panels(-(-len(shown) // columns), columns, 3.6, 2.9, sharey=True)
    for ax in axes[len(shown) :]:
        ax.set_axis_off()
    for ax, (case, lines) in zip(axes, shown.items(), strict=False):
        for method, x, y in lines:
            style = look(cube, method)
            ax.plot(x + 1, np.maximum(y, FLOOR), color=style.color, linestyle=style.line, label=style.label)
            ax.plot(x[-1] + 1, max(y[-1], FLOOR), color=style.color, marker=style.marker)
        ax.set(xscale="log", yscale="log", ylim=(FLOOR / 3, None), title=title(cube, "case", case))
        ax.set_xlabel("1 + iterations or sweeps")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for ax in axes[::columns]:
        ax.set_ylabel("objective above the pooled fit\n(1: no column used)")
    legend_below(figure, axes[: len(shown)], 3)
    words = "first replicate and fold, fewest parties; the last point of each line is marked"
    figure.suptitle(f"How the objective falls ({words})", fontsize=9.5)
    return figure


def _paths(cube: xr.Dataset, case: str) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Method, iterations and objective of the example fits without a target."""
    shown, found = example_fits_of(cube, case), []
    for method in methods_of(cube, case):
        try:
            x, y = (example_fit(shown, name, method) for name in ("path_iteration", "path_excess"))
        except MISSING:
            continue
        kept = np.isfinite(x) & np.isfinite(y)
        if kept.sum() > 1:
            found.append((method, x[kept], y[kept]))
    return found
