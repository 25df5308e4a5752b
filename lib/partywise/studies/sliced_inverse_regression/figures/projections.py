"""Figures 4 and 5 of the source: real records in the estimated subspace, as published and at one certified epsilon."""

from __future__ import annotations

from textwrap import fill

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from ....experiment.plotting.lines import SERIES
from ....experiment.plotting.select import having, plan_behind
from ....experiment.plotting.series import example_fit, example_fits_of, methods_of
from ....experiment.plotting.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    Marks,
    empty,
    heading,
    legend_below,
    legend_of_signs,
    look,
    panels,
)
from ....privacy.rounding import upward
from .angles import claim_label, methods_by_calibration, price, published_methods

INKS = (BLACK, ORANGE, SKY, GREEN, BLUE, RED, PURPLE)
SIGNS = "o^sDvP<"
# Panels side by side; letters of a title above one of them.
ABREAST, LETTERS = 3, 34
DIRECTION = "direction (SD = 1)"


def activity(cube: xr.Dataset) -> Figure:
    """Windows of exercises on the two directions: without privacy, as published, and certified; one replicate.

    Each direction is scaled to a standard deviation (SD) of 1. Of more than six exercises, those with the fewest
    windows are not drawn.
    """
    case, methods = _first_case(cube, dataset="activity")
    if not methods:
        return empty("No case of dataset activity in this configuration.")
    planned = plan_behind(cube).cases[case]
    exercises = planned.settings.response_facts.levels
    down = -(-len(methods) // ABREAST)
    abreast = -(-len(methods) // down)
    figure, axes = panels(down, abreast, 3.1, 2.9)
    for ax in axes[len(methods) :]:
        ax.set_axis_off()
    for place, (ax, method) in enumerate(zip(axes, methods, strict=False)):
        points, response = _record_points(cube, case, method)
        windows = [int((response == number).sum()) for number in range(len(exercises))]
        drawn = sorted(range(len(exercises)), key=lambda number: -windows[number])[:SERIES]
        for number, name in enumerate(exercises):
            rows = response == number
            color, marker = INKS[number], SIGNS[number]
            if number in drawn and rows.any():
                marks: Marks = {"color": color, "marker": marker, "markersize": 6**0.5, "markeredgewidth": 0}
                ax.plot(points[rows, 0], points[rows, 1], label=name, linestyle="none", **marks)
        ax.set_axisbelow(True)
        _title(ax, cube, case, method)
        ax.set(xlim=(-4, 4), ylim=(-4, 4), ylabel="" if place % abreast else f"second {DIRECTION}")
        ax.set_xlabel(f"first {DIRECTION}" if place + abreast >= len(methods) else "")
    legend_of_signs(figure, exercises, 7)
    heading(figure, f"Are exercises of {planned.parties[0]} persons told apart in the estimated subspace?")
    return figure


def flights(cube: xr.Dataset) -> Figure:
    """Arrival delay against the first direction: above as published, below certified at one total; one replicate.

    The direction is scaled to a standard deviation (SD) of 1. Dots are flights, the black line is the median delay of
    ten groups of equal size, the dashed one that of a published method. Methods that share their noise among clients
    are in the tables.
    """
    case, methods = _first_case(cube, dataset="flights")
    if not methods:
        return empty("No case of dataset flights in this configuration.")
    by_claim, total = methods_by_calibration(cube, case)
    # Above each at its own claim; below those of one total, without the reference that is above.
    equal, shared = [m for m in total if m not in by_claim], having(cube, "method", noise="shared")
    rows = [row[:ABREAST] for row in (by_claim, [m for m in equal if m not in shared] or equal) if row]
    columns = max(map(len, rows))
    figure, axes = panels(len(rows), columns, 3.3, 2.4, sharex=True, sharey=True)
    for ax in axes:
        ax.set_axis_off()
    for row, methods in enumerate(rows):
        for column, method in enumerate(methods):
            ax = axes[row * columns + column]
            ax.set_axis_on()
            points, delay = _record_points(cube, case, method)
            ax.scatter(points[:, 0], delay, s=4, color=look(cube, method).color, linewidths=0)
            _trend(ax, points[:, 0], delay, "median of ten groups of equal size", color=BLACK)
            for other in published_methods(cube, case) if row == 1 else []:
                claim, same = _record_points(cube, case, other)
                _trend(
                    ax, claim[:, 0], same, f"the same of {claim_label(cube, case, other)}", color=GREY, linestyle="--"
                )
            ax.set_axisbelow(True)
            _title(ax, cube, case, method)
            if row == len(rows) - 1:
                ax.set_xlabel(f"first {DIRECTION}")
        axes[row * columns].set_ylabel("arrival delay, minutes")
    legend_below(figure, axes, 1)
    airlines = int(plan_behind(cube).cases[case].parties[0])
    shares = [100 * price(cube, case, method, "separation") for row in rows for method in row]
    heading(
        figure,
        f"Flights from New York, {airlines} airlines or groups of small ones: in the estimated direction "
        f"{min(shares):.0f} to {max(shares):.0f} % of the variance lies between slices",
    )
    return figure


def _first_case(cube: xr.Dataset, dataset: str) -> tuple[str, list[str]]:
    """The first case of a shipped table with its methods, empty where there is none."""
    for case in having(cube, "case", dataset=dataset) if "record_coordinates" in cube else []:
        return case, methods_of(cube, case)
    return "", []


def _record_points(cube: xr.Dataset, case: str, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (m, d) and responses (m,) of the records that are shown."""
    fits = example_fits_of(cube, case)
    epsilon = float(fits["example_epsilon"].values[fits["example_method"].values == method][0])
    points, response = (example_fit(fits, name, method, epsilon) for name in ("record_coordinates", "shown_response"))
    finite = np.isfinite(response)
    points = points[finite]
    return points[:, np.isfinite(points).any(axis=0)], response[finite]


def _trend(ax: Axes, x: np.ndarray, y: np.ndarray, label: str, color: str, linestyle: str = "-") -> None:
    """Median response in ten groups of equal size along the direction."""
    parts = np.array_split(np.argsort(x, kind="stable"), 10)
    centres = [(np.median(x[part]), np.median(y[part])) for part in parts]
    # A white rim: the records below may have the color of the line.
    ax.plot(
        *np.array(centres).T,
        linewidth=1.3,
        label=label,
        path_effects=[withStroke(linewidth=3, foreground="white")],
        color=color,
        linestyle=linestyle,
    )


def _title(ax: Axes, cube: xr.Dataset, case: str, method: str) -> None:
    """Name of the method, its total epsilon, and how much of the variance lies between slices."""
    certified = price(cube, case, method, "epsilon_certified")
    claimed = price(cube, case, method, "epsilon_claimed")
    cost = "ε = ∞"
    if np.isfinite(claimed):
        cost = f"certified ε = {upward(certified, '∞')}, claimed {claimed:.3g}"
    person = price(cube, case, method, "epsilon_user") if "epsilon_user" in cube else np.nan
    if np.isfinite(person):
        cost += f"\nfor a person {person:,.0f}".replace(",", " ")
    share, name = price(cube, case, method, "separation"), fill(look(cube, method).label, LETTERS)
    ax.set_title(f"{name}\n{cost}\n{100 * share:.0f} % between slices", fontsize=8)
