"""Figures of vertical GLM: how many iterations a solver takes, and how the objective falls."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from ....experiment.plotting.replicates import over
from ....experiment.plotting.select import coordinate_of, title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of, series
from ....experiment.plotting.shade import shade
from ....experiment.plotting.style import empty, heading, legend_below
from .shared import FAMILIES, MISSING, by_title, ends, grid_of, parties_of, setting_of

# Below this the objective is the least one, up to rounding.
FLOOR = 1e-12
# Numbers of an axis stand upright where two are nearer than this share of it.
NEAR = 0.12


def iterations_by_correlation(cube: xr.Dataset) -> Figure:
    """Iterations against the correlation of any two columns: one panel per family, thicker lines for more parties.

    Means over {replicates}. Where lines lie on each other, the marks of the later one are smaller.
    """
    found: dict[tuple[str, str], dict[float, str]] = {}
    for case in cases_of(cube, "iterations"):
        rho, family = setting_of(cube, case, "rho"), setting_of(cube, case, "model")
        if rho is not None:
            found.setdefault((str(coordinate_of(cube, "case", case, "group")), family), {})[float(rho)] = case
    shown = [(family, cases) for (_, family), cases in found.items() if len(cases) > 1]
    if not shown:
        return empty("No family with several correlations of the columns in this configuration.")
    figure, axes, left = grid_of(len(shown), 5, (6.4, 4.6, 3.0)[min(len(shown), 3) - 1], 3.4, sharey=True)
    counts = sorted({k for _, cases in shown for case in cases.values() for k in parties_of(cube, case)})
    for ax, (family, cases) in zip(axes, shown, strict=True):
        for number, method in enumerate(by_title(cube, [m for case in cases.values() for m in methods_of(cube, case)])):
            for place, parties in enumerate(counts):
                points = [(rho, _at(cube, cases[rho], method, parties)) for rho in sorted(cases)]
                kept = [(rho, value) for rho, value in points if np.isfinite(value)]
                if kept:
                    style = shade(cube, method)
                    width = 0.9 + 1.4 * place / max(1, len(counts) - 1)
                    marks = {"color": style.color, "marker": style.marker, "linestyle": style.line}
                    # Lines that lie on each other: the marks of later ones are smaller.
                    size = max(10 - 1.8 * number, 3)
                    ax.plot(*zip(*kept, strict=True), **marks, linewidth=width, markersize=size, label=style.label)
        ax.set(yscale="log", xlabel="correlation ρ of any two columns", title=FAMILIES[family])
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.yaxis.set_minor_locator(NullLocator())
        near = np.diff(sorted(cases)).min() < NEAR * np.ptp(list(cases))
        ax.set_xticks(sorted(cases), [f"{rho:g}" for rho in sorted(cases)], rotation=90 if near else 0)
    left[0].set_ylabel("iterations or sweeps")
    legend_below(figure, axes, min(3, 1 + len(shown)))
    widths = f"; thin to thick lines: {', '.join(map(str, counts))} parties" if len(counts) > 1 else ""
    words = over(cube, [case for _, cases in shown for case in cases.values()])
    heading(figure, f"Iterations until the tolerance: {words}{widths}")
    return figure


def _at(cube: xr.Dataset, case: str, method: str, parties: int) -> float:
    """Mean number of iterations; nan where none converged."""
    line = series(cube, "iterations", case, method, "parties")
    at = np.flatnonzero(line.x == parties)
    return float(line.mean[at[0]]) if len(at) else float("nan")


def objective_by_iteration(cube: xr.Dataset) -> Figure:
    """Objective above the least deviance, in what all columns explain, by iteration; first replicate of each case."""
    cases = [case for case in cases_of(cube, "path_excess") if len(_paths(cube, case)) > 1]
    shown = {case: _paths(cube, case) for case in ends(cube, cases, 6)}
    if not shown:
        return empty("No case with the objective of several solvers in this configuration.")
    figure, axes, left = grid_of(len(shown), 3, 3.6, 2.9, sharey=True)
    highest = max(float(y.max()) for lines in shown.values() for _, _, y in lines)
    for ax, (case, lines) in zip(axes, shown.items(), strict=True):
        for method, x, y in lines:
            style = shade(cube, method)
            ax.plot(x + 1, np.maximum(y, FLOOR), color=style.color, linestyle=style.line)
            last = {"color": style.color, "marker": style.marker, "linestyle": style.line, "label": style.label}
            ax.plot(x[-1:] + 1, np.maximum(y[-1:], FLOOR), **last)
        ax.set(xscale="log", yscale="log", ylim=(FLOOR / 3, 3 * highest), title=title(cube, "case", case))
        ax.set_xlabel("1 + iterations or sweeps")
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for ax in left:
        ax.set_ylabel("objective above the pooled fit\n(1: no column used)")
    legend_below(figure, axes, 3)
    words = "first replicate and fold, fewest parties; the last point of a line is marked"
    heading(figure, f"How the objective falls, the ridge of a method included\n{words}")
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
