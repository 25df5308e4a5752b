"""Figure of vertical linear models: the loss along the rounds, and whose rows the key holder sees."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.plotting.select import title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of, series
from ....experiment.plotting.style import BLACK, empty, legend_below, look, panels

# Lines that lie on each other are told apart by where their marks stand.
MARKS = 4


def loss_by_round(cube: xr.Dataset) -> Figure:
    """Training loss above that of the exact fit along the rounds, one fit of each method; rows that are seen."""
    cases = cases_of(cube, "max_coefficient_difference")
    shown = {case: _traced(cube, case) for case in cases}
    cases = [case for case in cases if shown[case]]
    if not cases:
        return empty("No method that takes steps in this configuration.")
    figure, axes = panels(1, len(cases) + 1, 4.0, 3.2)
    for ax, case in zip(axes, cases, strict=False):
        fits = example_fits_of(cube, case)
        for number, method in enumerate(shown[case]):
            rounds, excess = (example_fit(fits, name, method) for name in ("path_rounds", "path_excess"))
            style, kept = look(cube, method), np.isfinite(excess)
            ax.plot(
                *(rounds[kept], excess[kept]),
                color=style.color,
                marker=style.marker,
                linestyle=style.line,
                markevery=(number % MARKS, MARKS),
                label=style.label,
            )
        ax.axhline(0, color=BLACK, linewidth=0.8, linestyle=":")
        ax.set(xlabel="rounds", title=title(cube, "case", case))
    axes[0].set_ylabel("training loss above that of the exact fit")
    _recovered(axes[-1], cube, cases[0])
    legend_below(figure, axes, 2)
    return figure


def _traced(cube: xr.Dataset, case: str) -> list[str]:
    """Methods of a case whose example fit has a path, in the order of the cube."""
    fits = example_fits_of(cube, case)
    known = np.isfinite(fits["path_excess"].values).any(axis=1)
    traced = set(fits["example_method"].values[known].tolist())
    return [method for method in methods_of(cube, case) if method in traced]


def _recovered(ax: Axes, cube: xr.Dataset, case: str) -> None:
    """Share of the rows of the first batch whose direction the key holder's view holds, in one case."""
    methods = methods_of(cube, case) if "rows_recovered" in cube else []
    seen = [method for method in methods if series(cube, "rows_recovered", case, method, "parties")]
    for place, method in enumerate(seen):
        found, rows = (
            series(cube, name, case, method, "parties").mean.max() for name in ("rows_recovered", "rows_attacked")
        )
        style = look(cube, method)
        ax.bar(place, found / rows, color=style.color, label=style.label, width=0.6)
        ax.annotate(f"{found:g} of {rows:g}", (place, found / rows), ha="center", va="bottom", fontsize=8)
    ax.set(xticks=[], xlim=(-0.8, max(len(seen), 2) - 0.2), ylim=(0, 1.1), title="rows in the key holder's view")
    ax.set_ylabel("share of the first batch")
