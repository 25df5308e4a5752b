"""Figure of vertical GLM: coefficients with their intervals, in standard errors of the pooled fit."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy.special import ndtri

from ....experiment.plotting.select import title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of
from ....experiment.plotting.style import GREY, empty, legend_below, look, panels
from .shared import MISSING, columns_of

LEVEL = 0.95


def coefficient_intervals(cube: xr.Dataset) -> Figure:
    """Coefficients and 95 % intervals of each method that has standard errors: one panel a case, first fit."""
    shown = {case: lines for case in cases_of(cube, "coefficient_errors") if len(lines := _fits(cube, case)) > 0}
    if not shown:
        return empty("No method with standard errors in this configuration.")
    most = max(len(lines[0][1]) for lines in shown.values())
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    figure, axes = panels(rows, columns, 4.0, 0.8 + 0.24 * most)
    for ax in axes[len(shown) :]:
        ax.set_axis_off()
    half = float(ndtri(0.5 + LEVEL / 2))
    for ax, (case, lines) in zip(axes, shown.items(), strict=False):
        p = len(lines[0][1])
        for number, (method, values, errors) in enumerate(lines):
            style, shift = look(cube, method), 0.6 * ((number + 0.5) / len(lines) - 0.5)
            place = np.arange(p) + shift
            marks = {"color": style.color, "marker": style.marker, "label": style.label}
            known = np.isfinite(errors)
            ax.errorbar(
                values, place, xerr=np.where(known, half * errors, 0), linestyle="none", markersize=3.5, **marks
            )
        ax.axvline(0, color=GREY, linewidth=0.9)
        ax.set_yticks(range(p), columns_of(cube, case, p), fontsize=7)
        ax.set(ylim=(p - 0.5, -0.5), title=title(cube, "case", case))
        ax.set_xlabel("coefficient, in standard errors of the pooled fit")
    legend_below(figure, axes[: len(shown)], 3)
    words = f"Coefficients with {LEVEL:.0%} intervals, where a method gives standard errors (without noise of privacy)"
    figure.suptitle(f"{words}\nfirst replicate and fold, fewest parties", fontsize=9.5)
    return figure


def _fits(cube: xr.Dataset, case: str) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Method, coefficients without the intercept and their standard errors, in those of the pooled fit.

    Where no method of a case has standard errors, there is nothing to compare.
    """
    shown, found, any_errors = example_fits_of(cube, case), [], False
    for method in methods_of(cube, case):
        try:
            values, errors, unit = (
                example_fit(shown, name, method) for name in ("coefficients", "coefficient_errors", "pooled_errors")
            )
        except MISSING:
            continue
        kept = np.isfinite(unit)
        kept[0] = False
        if kept.any() and np.isfinite(values[kept]).all():
            found.append((method, values[kept] / unit[kept], errors[kept] / unit[kept]))
            any_errors |= bool(np.isfinite(errors[kept]).any())
    return found if any_errors else []
