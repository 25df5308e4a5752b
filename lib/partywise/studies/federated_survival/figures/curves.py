"""Survival curves of one fit with their bands, next to the pooled Kaplan-Meier curve."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ....experiment.plotting.select import plan_behind, title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of
from ....experiment.plotting.style import BLACK, GREY, Dashes, Look, Marks, empty, heading, legend_below, look, panels

ARRAYS = ("curve_time", "curve_survival", "curve_lower", "curve_upper")
# Curves that differ by no more are one.
SAME = 1e-9
# Of groups.
DASHES: tuple[Dashes, ...] = ("-", "--", "-.", ":")
NONE = "No survival curve is shown in this configuration."


def survival_curves(cube: xr.Dataset) -> Figure:
    """Released survival with its 95 % band for all times together, first replicate, at the target nearest to 1.

    A row for each case (those without covariates, where there are any), a column for each method with a band,
    which holds at all times. Black steps: the pooled Kaplan-Meier curve, which no party sees; grey: other methods,
    where their curve is another one. Of several groups each has its own dashes.
    """
    plan = plan_behind(cube)
    cases = cases_of(cube, "half_width") if "curve_lower" in cube else []
    with_band = {case: targets for case in cases if (targets := targets_of(cube, case, "curve_lower", 1.0))}
    bare = {case: targets for case, targets in with_band.items() if not plan.cases[case].settings.n_covariates}
    targets_by_case = bare or with_band
    if not targets_by_case:
        return empty(NONE)
    columns = max(map(len, targets_by_case.values()))
    figure, axes = panels(len(targets_by_case), columns, 4.2, 2.8, sharey="all")
    for ax in axes:
        ax.set_axis_off()
    for row, (case, targets) in enumerate(targets_by_case.items()):
        fits, settings = example_fits_of(cube, case), plan.cases[case].settings
        for column, (method, epsilon) in enumerate(targets):
            ax, style = axes[row * columns + column], look(cube, method)
            ax.set_axis_on()
            times, survival, low, high = (example_fit(fits, name, method, epsilon) for name in ARRAYS)
            # Of parties that run apart nobody has it.
            has_pooled = "curve_pooled" in fits
            groups = np.flatnonzero(np.isfinite(survival).all(axis=1)).tolist()
            for group in groups:
                dashes = DASHES[group % len(DASHES)]
                ax.fill_between(times, low[group], high[group], color=style.color, alpha=0.2, linewidth=0, step="post")
                words = _words(settings, group) if len(groups) > 1 else ""
                # Dashes of groups are those of the pooled curves, where there are any.
                label = f"{style.label}, with 95 % band" + ("" if has_pooled else words)
                ax.step(times, survival[group], color=style.color, linestyle=dashes, where="post", label=label)
                if has_pooled:
                    pooled = example_fit(fits, "curve_pooled", method, epsilon)[group]
                    label = f"pooled Kaplan-Meier{words}"
                    ax.step(times, pooled, color=BLACK, linewidth=0.9, linestyle=dashes, where="post", label=label)
                    for other, curve in _other_curves(cube, case, pooled, group):
                        grey: Marks = {"color": GREY, "linewidth": 0.9, "linestyle": other.rule}
                        ax.step(times, curve, where="post", label=other.label, **grey)
            ax.set_title(f"{title(cube, 'case', case)}\n{style.label}, ε = {epsilon:g}")
            ax.set_xlabel("time" if settings.unit == "1" else f"time, {settings.unit}")
            ax.set_ylim(0, 1.02)
        axes[row * columns].set_ylabel("share without event")
    legend_below(figure, axes, 2)
    heading(figure, "How close are released survival curves to the pooled ones, and how wide are their bands?")
    return figure


def _words(settings: object, group: int) -> str:
    """Return the name of a group, after a comma."""
    names, by = getattr(settings, "groups", ()), getattr(settings, "group_by", "")
    return f", {by}: {names[group]}" if by else f", {names[group]}" if names else ""


def _other_curves(cube: xr.Dataset, case: str, pooled: np.ndarray, group: int) -> list[tuple[Look, np.ndarray]]:
    """Curves of methods without a band that differ from the pooled one."""
    fits, curves = example_fits_of(cube, case), []
    for method in methods_of(cube, case):
        targets = fits["example_epsilon"].values[fits["example_method"].values == method]
        if len(targets) and not np.isfinite(targets).any():
            curve = example_fit(fits, "curve_survival", method, targets[0])[group]
            if np.isfinite(curve).all() and np.abs(curve - pooled).max() > SAME:
                curves.append((look(cube, method), curve))
    return curves


def targets_of(cube: xr.Dataset, case: str, array: str, wanted: float) -> list[tuple[str, float]]:
    """Methods of a case whose example fits have an array, each with its target nearest to the one that is wanted."""
    fits, pairs = example_fits_of(cube, case), []
    for method in methods_of(cube, case):
        targets = fits["example_epsilon"].values[fits["example_method"].values == method]
        finite = targets[np.isfinite(targets)].tolist()
        if finite:
            epsilon = min(finite, key=lambda e: abs(np.log(e / wanted)))
            if np.isfinite(example_fit(fits, array, method, epsilon)).any():
                pairs.append((method, epsilon))
    return pairs
