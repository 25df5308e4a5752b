"""Figure of vertical linear models: the loss along the rounds, and whose rows the key holder sees."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.plotting.select import title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of
from ....experiment.plotting.style import empty, legend_below, look, panels

# Lines that lie on each other are told apart by where their marks stand.
MARKS, PANELS = 4, 3


def loss_by_round(cube: xr.Dataset) -> Figure:
    """Training loss above that of the exact fit along the rounds, one fit of each method; rows that are seen."""
    shown = {case: _traced(cube, case) for case in cases_of(cube, "max_coefficient_difference")}
    cases = sorted((case for case in shown if shown[case]), key=lambda case: -len(shown[case]))[:PANELS]
    if not cases:
        return empty("No method that takes steps in this configuration.")
    figure, axes = panels(1, len(cases) + 1, 3.6, 3.1)
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
        ax.set(xlabel="rounds", title=title(cube, "case", case))
        ax.set_ylim(bottom=0)
    axes[0].set_ylabel("loss above that of the exact fit")
    _recovered(axes[-1], cube)
    legend_below(figure, axes, 2)
    figure.suptitle("Training loss along the rounds, first replicate; directions of rows that the key holder sees")
    return figure


def _traced(cube: xr.Dataset, case: str) -> list[str]:
    """Methods of a case whose example fit has a path, in the order of the cube."""
    fits = example_fits_of(cube, case)
    known = np.isfinite(fits["path_excess"].values).any(axis=1)
    traced = set(fits["example_method"].values[known].tolist())
    return [method for method in methods_of(cube, case) if method in traced]


def _recovered(ax: Axes, cube: xr.Dataset) -> None:
    """Rows of the first batch whose direction the key holder's view holds: of each method the most of any cell."""
    ax.set_axis_off()
    if "rows_recovered" not in cube:
        return
    rest = [dim for dim in cube["rows_recovered"].dims if dim != "method_label"]
    found = cube["rows_recovered"].max(rest)
    seen = [str(method) for method in cube["method_label"].values[np.isfinite(found.values)]]
    for place, method in enumerate(seen):
        most, rows = (float(cube[name].sel(method_label=method).max()) for name in ("rows_recovered", "rows_attacked"))
        ax.barh(-place, most / rows, height=0.25, color=look(cube, method).color)
        ax.text(0, 0.22 - place, f"{look(cube, method).label}: {most:g} of {rows:g}", fontsize=8)
    ax.set(xlim=(0, 1.6), ylim=(0.2 - len(seen), 0.8))
