"""Survival curves of one fit next to the pooled Kaplan-Meier curve, numbers at risk, and differences between both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ....experiment.plotting.select import plan_behind, title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of
from ....experiment.plotting.style import (
    BLACK,
    GREY,
    SETTINGS,
    Dashes,
    compact,
    empty,
    heading,
    legend_below,
    look,
    panels,
)

# Curves that differ by no more are one.
SAME = 1e-9
# Of groups.
DASHES: tuple[Dashes, ...] = ("-", "--", "-.", ":")
# Panels side by side, and series of one; inches of curves and of differences, of a row of numbers and around them.
ABREAST, SERIES = 3, 6
HIGH, ROW, AROUND = 2.3, 0.2, 0.4
# Intervals of ticks, under each of which a number stands.
TICKS = 4
POOLED = "pooled Kaplan-Meier"
NONE = "No survival curve is shown in this configuration."


@dataclass(frozen=True)
class DrawnCurve:
    """One curve of a panel: its look, survival and the numbers at risk over time; nan where unknown.

    label : empty for groups after the first, whose dashes are those of their pooled curves
    difference : to the pooled curve; low, high : ends of the band; marks : places of censored records
    """

    label: str
    color: str
    dashes: Dashes
    survival: np.ndarray
    at_risk: np.ndarray
    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray
    marks: np.ndarray

    def step(self, ax: Axes, times: np.ndarray, values: np.ndarray) -> None:
        """Draw values over time as steps."""
        label = self.label or "_other_group"
        ax.step(times, values, where="post", color=self.color, linestyle=self.dashes, linewidth=1.1, label=label)


def survival_curves(cube: xr.Dataset) -> Figure:
    """Released survival next to the pooled Kaplan-Meier curve, first replicate, at the target nearest to 1.

    A column for each case (those without covariates, where there are any). Above: survival as steps, of released curves
    with the 95 % band for all times together; short strokes are times of censored records. Middle: numbers at risk, a
    row for each curve, those of released curves with their noise. Below: released less pooled survival. Black: the
    pooled curve, which no party sees, with its exact numbers at risk. Methods without a band are drawn where their
    curve differs from the pooled one. Of several groups each has its own dashes.
    """
    cases = cases_of(cube, "half_width") if "curve_lower" in cube else []
    with_band = [case for case in cases if targets_of(cube, case, "curve_lower", 1.0)]
    settings = plan_behind(cube).cases
    drawn_cases = [case for case in with_band if not settings[case].settings.n_covariates] or with_band
    if not drawn_cases:
        return empty(NONE)
    curves = {case: list(_curves(cube, case)) for case in drawn_cases}
    abreast, most = min(ABREAST, len(curves)), max(map(len, curves.values()))
    heights = (HIGH, AROUND + ROW * most, 0.8 * HIGH)
    down = -(-len(curves) // abreast)
    figure, axes = panels(3 * down, abreast, 6.4 / abreast, sum(heights) / 3, sharex="col", heights=heights * down)
    for ax in axes:
        ax.set_axis_off()
    for number, (case, drawn) in enumerate(curves.items()):
        first = 3 * abreast * (number // abreast) + number % abreast
        column = [axes[first + row * abreast] for row in range(3)]
        _column(column, example_fits_of(cube, case)["curve_time"].values[0], drawn, most)
        unit = settings[case].settings.unit
        column[0].set_title(f"{title(cube, 'case', case)}, ε = {targets_of(cube, case, 'curve_lower', 1.0)[0][1]:g}")
        column[2].set_xlabel("time" if unit == "1" else f"time, {unit}")
        if number % abreast == 0:
            column[0].set_ylabel("share without event")
            column[2].set_ylabel("released less pooled")
    legend_below(figure, axes, 2)
    heading(figure, _largest(cube, curves))
    return figure


def _largest(cube: xr.Dataset, curves: dict[str, list[DrawnCurve]]) -> str:
    """Return the largest difference of a curve with a band to the pooled one, in the first cases."""
    sizes = {
        case: max(
            (float(np.nanmax(np.abs(curve.difference))) for curve in drawn if np.isfinite(curve.low).any()), default=0
        )
        for case, drawn in curves.items()
        if any(np.isfinite(curve.difference).any() for curve in drawn)
    }
    words = [f"{compact(size, 2)} ({title(cube, 'case', case)})" for case, size in list(sizes.items())[:ABREAST]]
    if not words:
        return "How wide are the bands of released survival curves?"
    return f"Released survival differs from the pooled curve by at most {', '.join(words)}"


def _curves(cube: xr.Dataset, case: str) -> Iterator[DrawnCurve]:
    """Yield the pooled curve of each group, then those of methods with a band, then others that differ."""
    fits, targets = example_fits_of(cube, case), targets_of(cube, case, "curve_lower", 1.0)
    methods = [*targets, *((method, np.inf) for method in methods_of(cube, case) if _is_without_target(fits, method))]
    groups = np.flatnonzero(np.isfinite(example_fit(fits, "curve_survival", *targets[0])).all(axis=1)).tolist()
    settings, count = plan_behind(cube).cases[case].settings, 0
    nothing = np.full(fits.sizes["time_shown"], np.nan)

    def array(name: str, fit: tuple[str, float], group: int) -> np.ndarray:
        # Of parties that run apart nobody has the pooled curve; curves without a table have no band.
        return example_fit(fits, name, *fit)[group] if name in fits else nothing

    for group in groups:
        words = _words(settings, group) if len(groups) > 1 else ""
        pooled, censored = (array(f"{name}", targets[0], group) for name in ("curve_pooled", "pooled_censored"))
        if np.isfinite(pooled).all():
            count += 1
            at_risk, marks = array("pooled_at_risk", targets[0], group), np.flatnonzero(np.nan_to_num(censored))
            none = (nothing, nothing, nothing)
            yield DrawnCurve(f"{POOLED}{words}", BLACK, DASHES[group % len(DASHES)], pooled, at_risk, *none, marks)
    for fit in methods:
        style = look(cube, fit[0])
        for group in groups:
            words = _words(settings, group) if len(groups) > 1 else ""
            survival, pooled = array("curve_survival", fit, group), array("curve_pooled", targets[0], group)
            differs = not np.isfinite(pooled).all() or np.abs(survival - pooled).max() > SAME
            if not np.isfinite(survival).all() or (fit not in targets and not differs) or count == SERIES:
                continue
            count += 1
            low, high = (array(f"curve_{end}", fit, group) for end in ("lower", "upper"))
            dashes = DASHES[group % len(DASHES)] if len(groups) > 1 else style.line if fit not in targets else "-"
            at_risk, marks = array("curve_at_risk", fit, group), np.zeros(0, int)
            yield DrawnCurve(
                "" if words and group else style.label,
                style.color,
                dashes,
                survival,
                at_risk,
                survival - pooled,
                low,
                high,
                marks,
            )


def _is_without_target(fits: xr.Dataset, method: str) -> bool:
    targets = fits["example_epsilon"].values[fits["example_method"].values == method]
    return bool(len(targets)) and not np.isfinite(targets).any()


def _column(axes: list[Axes], times: np.ndarray, curves: list[DrawnCurve], rows: int) -> None:
    """One case: curves, numbers at risk under the ticks in a place for so many rows, differences."""
    above, middle, below = axes
    above.set_axis_on()
    below.set_axis_on()
    for curve in curves:
        curve.step(above, times, curve.survival)
        above.fill_between(times, curve.low, curve.high, color=curve.color, alpha=0.15, linewidth=0, step="post")
        above.plot(times[curve.marks], curve.survival[curve.marks], "|", color=curve.color, markersize=4)
        if np.isfinite(curve.difference).any():
            curve.step(below, times, curve.difference)
    below.axhline(0, color=BLACK, linewidth=0.8)
    above.set_ylim(0, 1.02)
    below.set_xlim(0, times[-1])
    below.xaxis.set_major_locator(MaxNLocator(TICKS))
    ticks = [tick for tick in below.get_xticks() if 0 <= tick <= times[-1]]
    known = [curve for curve in curves if np.isfinite(curve.at_risk).any()]
    middle.set(ylim=(rows - 0.4, -1.8))
    if known:
        middle.text(0, -1.2, "number at risk", fontsize=SETTINGS["xtick.labelsize"], color=GREY, va="center")
    for row, curve in enumerate(known):
        # A sample of its line stands for the name of a row.
        middle.plot(
            [-0.22, -0.1],
            [row, row],
            transform=middle.get_yaxis_transform(),
            color=curve.color,
            linestyle=curve.dashes,
            clip_on=False,
        )
        for tick in ticks:
            count = curve.at_risk[np.argmin(np.abs(times - tick))]
            middle.text(tick, row, f"{count:.0f}", ha="center", va="center", fontsize=SETTINGS["xtick.labelsize"])


def _words(settings: object, group: int) -> str:
    """Return the name of a group, after a comma."""
    names, by = getattr(settings, "groups", ()), getattr(settings, "group_by", "")
    return f", {by}: {names[group]}" if by else f", {names[group]}" if names else ""


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
