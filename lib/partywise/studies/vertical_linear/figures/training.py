"""Figure of vertical linear models: the loss along the rounds, and whose rows the key holder sees."""

from __future__ import annotations

from textwrap import wrap

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from ....experiment.plotting.select import title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of
from ....experiment.plotting.shade import shade
from ....experiment.plotting.style import empty, heading, legend_below, panels

# Marks of a line stand so many points apart; panels; letters of a line beside bars.
MARKS, PANELS, WIDE = 4, 3, 48


def loss_by_round(cube: xr.Dataset) -> Figure:
    """Training loss above that of the exact fit along the rounds, first replicate; rows that the key holder sees.

    Lines that lie on each other are told apart by where their marks stand. The bars are the worst of {replicates}.
    """
    shown = {case: _traced(cube, case) for case in cases_of(cube, "max_coefficient_difference")}
    cases = sorted((case for case in shown if shown[case]), key=lambda case: -len(shown[case]))[:PANELS]
    if not cases:
        return empty("No method that takes steps in this configuration.")
    recovered = _recovered(cube)
    width = max(3.6, 7.2 / len(cases)) if not recovered else 3.6
    figure, axes = panels(1, len(cases) + bool(recovered), width, max(3.3, 1.9 + 0.45 * len(recovered)))
    for ax, case in zip(axes, cases, strict=False):
        _paths(ax, cube, case, shown[case])
    axes[0].set_ylabel("training loss above that\nof the exact fit")
    if recovered:
        _bars(axes[-1], cube, recovered)
    legend_below(figure, axes[: len(cases)], 2 if len(axes) < 4 else 3)
    words = "first replicate, fewest parties" + ("; right: the worst of all replicates" if recovered else "")
    heading(figure, f"Training along the rounds, and rows that the key holder sees\n{words}")
    return figure


def _paths(ax: Axes, cube: xr.Dataset, case: str, methods: list[str]) -> None:
    """Loss along the rounds of one case; lines that lie on each other are told apart by where their marks stand."""
    fits = example_fits_of(cube, case)
    for number, method in enumerate(methods):
        rounds, excess = (example_fit(fits, name, method) for name in ("path_rounds", "path_loss_excess"))
        style, kept = shade(cube, method), np.isfinite(excess)
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


def _traced(cube: xr.Dataset, case: str) -> list[str]:
    """Methods of a case whose example fit has a path, in the order of the cube."""
    fits = example_fits_of(cube, case)
    known = np.isfinite(fits["path_loss_excess"].values).any(axis=1)
    traced = set(fits["example_method"].values[known].tolist())
    return [method for method in methods_of(cube, case) if method in traced]


def _recovered(cube: xr.Dataset) -> dict[str, tuple[float, float]]:
    """Of each method the most rows of the first batch whose direction the key holder's view holds, and all rows."""
    if "rows_recovered" not in cube:
        return {}
    found = {
        str(method): tuple(
            float(cube[name].sel(method_label=method).max()) for name in ("rows_recovered", "rows_attacked")
        )
        for method in cube["method_label"].values
    }
    return {method: (most, rows) for method, (most, rows) in found.items() if most == most and rows > 0}


def _bars(ax: Axes, cube: xr.Dataset, recovered: dict[str, tuple[float, float]]) -> None:
    """Share of rows that are seen, the number beside each bar and the method above it."""
    for place, (method, (most, rows)) in enumerate(recovered.items()):
        ax.barh(place, most / rows, height=0.3, color=shade(cube, method).color)
        words = "\n".join(wrap(f"{most:g} of {rows:g}: {shade(cube, method).label}", WIDE))
        ax.text(0.02, place - 0.22, words, fontsize=7.5, va="bottom")
    ax.set(xlim=(0, 1.02), ylim=(len(recovered) - 0.6, -0.85), xlabel="rows of the first batch that are seen")
    ax.set_yticks([])
    ax.grid(axis="y", visible=False)
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
