"""Survival curves of one fit with their bands, beside the pooled Kaplan-Meier curve."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ....experiment.plotting.select import plan_behind, title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of
from ....experiment.plotting.style import BLACK, empty, heading, legend_below, look, panels

ARRAYS = ("curve_time", "curve_survival", "curve_lower", "curve_upper")
NONE = "No survival curve is shown in this configuration."


def survival_curves(cube: xr.Dataset) -> Figure:
    """Released survival with its 95 % band for all times together, first replicate; a row for each case, a column for
    each method. Black steps: the pooled Kaplan-Meier curve, which nobody sees. Of several targets the one nearest to 1.
    """
    cases = [case for case in cases_of(cube, "half_width") if _targets(cube, case)] if "curve_lower" in cube else []
    if not cases:
        return empty(NONE)
    shown = {case: _targets(cube, case) for case in cases}
    columns = max(map(len, shown.values()))
    figure, axes = panels(len(cases), columns, 3.0, 2.5, sharey="all")
    for ax in axes:
        ax.set_axis_off()
    plan = plan_behind(cube)
    for row, case in enumerate(cases):
        found, settings = example_fits_of(cube, case), plan.cases[case].settings
        for column, (method, epsilon) in enumerate(shown[case]):
            ax, style = axes[row * columns + column], look(cube, method)
            ax.set_axis_on()
            times, own, low, high = (example_fit(found, name, method, epsilon) for name in ARRAYS)
            # Of parties that run apart nobody has it.
            has_pooled = "curve_pooled" in found
            for group in np.flatnonzero(np.isfinite(own).all(axis=1)):
                ax.fill_between(times, low[group], high[group], color=style.color, alpha=0.25, linewidth=0)
                ax.plot(times, own[group], color=style.color, label="released, with 95 % band")
                if has_pooled:
                    pooled = example_fit(found, "curve_pooled", method, epsilon)[group]
                    ax.step(times, pooled, color=BLACK, linewidth=0.9, where="post", label="pooled Kaplan-Meier")
            ax.set_title(f"{title(cube, 'case', case)}\n{style.label}, ε = {epsilon:g}", fontsize=8)
            ax.set_xlabel("time" if settings.unit == "1" else f"time, {settings.unit}")
            ax.set_ylim(0, 1.02)
        axes[row * columns].set_ylabel("survival")
    legend_below(figure, axes, 3)
    heading(figure, "Released survival curves, first replicate")
    return figure


def _targets(cube: xr.Dataset, case: str) -> list[tuple[str, float]]:
    """Methods of a case with a band, each with its target nearest to 1."""
    found, kept = example_fits_of(cube, case), []
    for method in methods_of(cube, case):
        own = found["example_method"].values == method
        targets = found["example_epsilon"].values[own]
        finite = [e for e in targets.tolist() if np.isfinite(e)]
        if finite:
            epsilon = min(finite, key=lambda e: abs(np.log(e)))
            if np.isfinite(example_fit(found, "curve_lower", method, epsilon)).any():
                kept.append((method, epsilon))
    return kept
