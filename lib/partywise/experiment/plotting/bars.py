"""Bars of methods, one measure each with its words above: a share of which the worst case matters, as a declaration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from textwrap import fill

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .layout import Axis, PanelLayout, axes_of
from .series import example_fit, example_fits_of, methods_of
from .style import look

# Letters of an inch of a line above a bar; inches of a bar with its words, and of all else of a panel.
LETTERS, BAR, REST = 15, 0.42, 1.2


def percentage(cube: xr.Dataset, case: str, method: str, value: float) -> str:
    """The value as a percentage."""
    return f"{value:.0%}"


@dataclass(frozen=True)
class Bars(PanelLayout):
    """One bar for each method, a panel for each case: the worst of all replicates, folds and numbers of parties.

    Of an array of the example fits it is the largest entry, of the fit without a target at the fewest parties.

    x : the measure, see `Axis`
    of : a measure by which it is divided
    words : (cube, case, method, value) -> text above the bar, after the title of the method
    """

    x: str | Axis
    of: str = field(default="", kw_only=True)
    words: Callable[[xr.Dataset, str, str, float], str] = field(default=percentage, kw_only=True)

    def __call__(self, cube: xr.Dataset) -> Figure:
        """Draw it from a cube."""
        drawn_cases = self.cases_with_bars(cube)
        if not drawn_cases:
            return self.nothing()
        most = max(len(self.values(cube, case)) for case in drawn_cases)
        height = REST + BAR * most
        finding = self.finding(cube, drawn_cases)
        return self.grid(cube, drawn_cases, 1, lambda ax, case, _: self.draw(ax, cube, [case]), height, finding=finding)

    def cases_with_bars(self, cube: xr.Dataset) -> list[str]:
        """Cases that have enough bars."""
        cases = self.candidates(cube, axes_of(self.x)[0].words)
        return list(self.select(cube, [case for case in cases if len(self.values(cube, case)) >= self.fewest]))

    def values(self, cube: xr.Dataset, case: str) -> dict[str, float]:
        """The largest value of each method of a case that has any."""
        (name,) = axes_of(self.x)[0].words
        largest = {method: self._value(cube, name, case, method) for method in methods_of(cube, case)}
        if self.of:
            largest = {method: value / self._value(cube, self.of, case, method) for method, value in largest.items()}
        return {method: value for method, value in largest.items() if np.isfinite(value)}

    def _value(self, cube: xr.Dataset, name: str, case: str, method: str) -> float:
        if name not in cube:
            return np.nan
        if "example_fit" in cube[name].dims:
            fits = example_fits_of(cube, case)
            known = np.isfinite(fits[name].values).any(axis=1) & np.isinf(fits["example_epsilon"].values)
            there = method in fits["example_method"].values[known]
            return float(np.nanmax(example_fit(fits, name, method))) if there else np.nan
        return float(cube[name].sel(case=case, method_label=method).max())

    def draw(self, ax: Axes, cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
        """The bars of some cases in one panel, of each method the largest."""
        (axis,) = axes_of(self.x)
        bars: dict[str, tuple[float, str]] = {}
        for case in cases:
            for method, value in self.values(cube, case).items():
                bars[method] = max(bars.get(method, (-np.inf, "")), (value, case))
        for place, (method, (value, case)) in enumerate(bars.items()):
            style, words = look(cube, method), self.words(cube, case, method, value)
            ax.barh(place, value, height=0.32, color=style.color)
            ax.text(
                0.0,
                place - 0.22,
                fill(f"{style.label}: {words}", int(LETTERS * self.size[0])),
                fontsize=7.5,
                va="bottom",
            )
        # The words are above the bars; the axis keeps them for the values of the figure.
        ax.set_yticks(range(len(bars)), [look(cube, method).label for method in bars])
        ax.tick_params(axis="y", left=False, labelleft=False)
        ax.set_ylim(len(bars) - 0.6, -0.85)
        ax.grid(axis="y", visible=False)
        axis.finish(ax, cube, next(iter(axis.words)), "x")
        return []
