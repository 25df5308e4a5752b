"""Figures of a person's own clients: how well slices are separated by epsilon, and the records in the subspace."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.plotting.lines import Lines
from ....experiment.plotting.select import having, plan_behind
from ....experiment.plotting.series import example_fit, example_fits_of, methods_of, series
from ....experiment.plotting.style import empty, heading, legend_below, look, panels
from ..own_settings import OwnSlicingSettings
from .projections import INKS, SIGNS

DIRECTION = "direction (SD = 1)"
# Panels side by side; letters of a title above one of them.
ABREAST, LETTERS = 3, 32
NONE = "No case of source table in this configuration."
PROTECTED = {"user": "all records of a person", "row": "a record", "label": "a response", "features": "the columns"}


def own_cases(cube: xr.Dataset) -> dict[str, OwnSlicingSettings]:
    """Settings in force of the cases of own data."""
    cases = plan_behind(cube).cases
    return {case: cases[case].settings for case in having(cube, "case", source="table")}


def _own(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Those of own data."""
    own_data = own_cases(cube)
    return [case for case in cases if case in own_data]


separation_by_epsilon = Lines(
    "How well does the estimated subspace tell the slices apart?",
    x="epsilon",
    y={"separation": "share of variance\nbetween slices"},
    select=_own,
    share=True,
    legend=2,
    ends="Share of variance between slices at ε = {place}",
    none=NONE,
    caption="Share of the variance of projected records between slices, against the target epsilon of all releases; "
    "a panel for each case. Of a method as published the target is that of each kind of release, for one record.",
)


def projected_records(cube: xr.Dataset) -> Figure:
    """Records in the estimated subspace, first replicate: a panel for each method, the cases one below the other.

    Each direction is scaled to a standard deviation (SD) of 1; a private method is shown at its smallest target.
    """
    cases = own_cases(cube)
    if not cases or "record_coordinates" not in cube:
        return empty("No record is shown." if cases else NONE)
    methods_by_case = {case: methods_of(cube, case) for case in cases}
    columns = min(ABREAST, max(map(len, methods_by_case.values())))
    rows = [-(-len(methods) // columns) for methods in methods_by_case.values()]
    figure, axes = panels(sum(rows), columns, 3.1, 2.8)
    for ax in axes:
        ax.set_axis_off()
    for number, (case, settings) in enumerate(cases.items()):
        first = sum(rows[:number]) * columns
        for place, method in enumerate(methods_by_case[case]):
            ax, style = axes[first + place], look(cube, method)
            epsilon = _least(cube, case, method)
            ax.set_axis_on()
            _panel(ax, example_fits_of(cube, case), (method, epsilon), settings, style.color)
            ax.set_title(f"{fill(style.label, LETTERS)}\n{_price(cube, case, method, epsilon)}", fontsize=8)
            if place % columns == 0:
                ax.set_ylabel(_vertical(settings))
    if any(settings.levels for settings in cases.values()):
        legend_below(figure, axes, 4)
    unit = PROTECTED[plan_behind(cube).spec.unit]
    heading(figure, f"Where do records lie in the estimated subspace? ε for {unit}")
    return figure


def _panel(ax: Axes, examples: xr.Dataset, fit: tuple[str, float], settings: OwnSlicingSettings, color: str) -> None:
    points, response = (example_fit(examples, name, *fit) for name in ("record_coordinates", "shown_response"))
    finite = np.isfinite(response)
    points, response = points[finite][:, np.isfinite(points[finite]).any(axis=0)], response[finite]
    ax.set_axisbelow(True)
    ax.set_xlabel(f"first {DIRECTION}")
    if not points.shape[1]:
        ax.text(0.5, 0.5, "no basis was found", ha="center", transform=ax.transAxes)
    elif not settings.levels:
        ax.scatter(points[:, 0], response, color=color, s=6, linewidths=0)
    else:
        for number, level in enumerate(settings.levels):
            rows = response == number
            height = points[rows, 1] if points.shape[1] > 1 else response[rows]
            ink, sign = INKS[number % len(INKS)], SIGNS[number % len(SIGNS)]
            ax.scatter(
                points[rows, 0],
                height,
                label=f"{settings.response}: {level}",
                color=ink,
                marker=sign,
                s=6,
                linewidths=0,
            )
        if points.shape[1] == 1:
            ax.set_yticks(range(len(settings.levels)), settings.levels)


def _vertical(settings: OwnSlicingSettings) -> str:
    return f"second {DIRECTION}" if settings.levels and settings.n_directions > 1 else settings.response


def _least(cube: xr.Dataset, case: str, method: str) -> float:
    """The smallest target of a method among the fits that are shown."""
    fits = example_fits_of(cube, case)
    return float(min(fits["example_epsilon"].values[fits["example_method"].values == method]))


def _price(cube: xr.Dataset, case: str, method: str, epsilon: float) -> str:
    """Return the certified and the claimed epsilon at a target, in words."""
    parts = []
    for name, word in (("epsilon_certified", "certified"), ("epsilon_claimed", "claimed")):
        line = series(cube, name, case, method, "epsilon")
        value = line.mean[line.x == epsilon]
        parts.append(f"{word} {value[0]:.3g}" if len(value) else f"{word} ∞")
    return "no privacy" if parts[1] == "claimed ∞" else f"ε: {', '.join(parts)}"
