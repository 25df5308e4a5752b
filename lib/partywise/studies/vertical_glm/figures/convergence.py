"""Figures of vertical GLM: how many iterations a solver takes, and how the objective falls."""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from ....experiment.plotting.layout import Axis
from ....experiment.plotting.lines import Lines
from ....experiment.plotting.replicates import over
from ....experiment.plotting.select import coordinate_of
from ....experiment.plotting.series import cases_of, methods_of, series
from ....experiment.plotting.shade import shade
from ....experiment.plotting.style import empty, heading, legend_below
from .shared import FAMILIES, by_title, ends, grid_of, parties_of, setting_of

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


objective_by_iteration = Lines(
    "How the objective falls, the ridge of a method included",
    x="path_iteration",
    y=Axis({"path_excess": "objective above the pooled fit\n(1: no column used)"}, log=True, linear=1e-12),
    xlabel="iterations or sweeps",
    fewest=2,
    select=partial(ends, most=6),
    style=shade,
    share=True,
    logx=True,
    none="No case with the objective of several solvers in this configuration.",
    caption="Objective above the least deviance, in what all columns explain, by iteration.",
)
