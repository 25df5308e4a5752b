"""Figures 4 and 5 of the source: real records in the estimated subspace, as published and at one certified epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.plotting.series import exhibit, exhibits_of, methods_of
from ....experiment.plotting.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    empty,
    legend_below,
    look,
    panels,
)
from .angles import price

EXERCISES = ("pendulum", "abduction", "flexion", "inner rotation", "outer rotation", "trapezius", "row")
CLAIM = "vgm_real"
INKS = (BLACK, ORANGE, SKY, GREEN, BLUE, RED, PURPLE)
SIGNS = "o^sDvP<"


def activity(cube: xr.Dataset) -> Figure:
    """Windows of seven exercises on the two directions: none, IID, VGM, and the certified method."""
    methods = [m for m in ("sir_real", "iid_real", "vgm_real", "cert_screened") if _has(cube, "activity", m)]
    if not methods:
        return empty("No case activity in this configuration.")
    figure, axes = panels(1, len(methods), 3.1, 3.3)
    for ax, method in zip(axes, methods, strict=True):
        points, response = _shown(cube, "activity", method)
        for number, name in enumerate(EXERCISES):
            kept = response == number
            style: dict[str, Any] = {
                "color": INKS[number],
                "marker": SIGNS[number],
                "s": 7,
                "linewidths": 0,
                "alpha": 0.55,
            }
            ax.scatter(points[kept, 0], points[kept, 1], label=name, **style)
        ax.set_axisbelow(True)
        _title(ax, cube, "activity", method)
        ax.set(xlabel="first direction, sd 1", xlim=(-4, 4), ylim=(-4, 4))
    axes[0].set_ylabel("second direction, sd 1")
    legend_below(figure, axes, 7)
    note = "ten persons with a watch and seven exercises, in place of the source's thirty with a telephone"
    figure.suptitle(f"Exercises in the estimated subspace: {note}", fontsize=9.5)
    return figure


def flights(cube: xr.Dataset) -> Figure:
    """Arrival delay against the first direction: above none, IID, VGM; below, at equal certified epsilon."""
    rows = [_kept(cube, ("sir_real", "iid_real", "vgm_real")), _kept(cube, ("iid_equal", "cert_equal", "whiten_equal"))]
    if not any(rows):
        return empty("No case flights in this configuration.")
    columns = max(map(len, rows))
    figure, axes = panels(2, columns, 3.3, 2.7, sharex=True, sharey=True)
    for row, methods in enumerate(rows):
        for column, method in enumerate(methods):
            ax = axes[row * columns + column]
            points, delay = _shown(cube, "flights", method)
            ax.scatter(points[:, 0], delay, s=6, color=look(method).color, alpha=0.5, linewidths=0)
            if row == 1 and _has(cube, "flights", CLAIM):
                claim, same = _shown(cube, "flights", CLAIM)
                label = f"FSIR-VGM: ε = ∞, claimed {price(cube, 'flights', CLAIM, 'epsilon_claimed'):.3g}"
                _trend(ax, claim[:, 0], same, label)
            ax.set_axisbelow(True)
            _title(ax, cube, "flights", method)
            if row == 1:
                ax.set_xlabel("first direction, sd 1")
        axes[row * columns].set_ylabel("arrival delay, minutes")
    legend_below(figure, axes, 1)
    figure.suptitle("Arrival delay of flights from New York, 11 airlines (six small ones are one client)", fontsize=9.5)
    return figure


def _has(cube: xr.Dataset, case: str, method: str) -> bool:
    known = case in cube["case"].values and method in cube["method"].values and "projected" in cube
    return known and method in methods_of(cube, case)


def _kept(cube: xr.Dataset, methods: Sequence[str]) -> list[str]:
    return [method for method in methods if _has(cube, "flights", method)]


def _shown(cube: xr.Dataset, case: str, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (m, d) and responses (m,) of the records that are shown."""
    found = exhibits_of(cube, case)
    epsilon = float(found["exhibit_epsilon"].values[found["exhibit_method"].values == method][0])
    points, response = (exhibit(found, name, method, epsilon) for name in ("projected", "shown_response"))
    kept = np.isfinite(response)
    points = points[kept]
    return points[:, np.isfinite(points).any(axis=0)], response[kept]


def _trend(ax: Axes, x: np.ndarray, y: np.ndarray, label: str) -> None:
    """Median response in ten groups of equal size along the direction."""
    parts = np.array_split(np.argsort(x, kind="stable"), 10)
    centres = [(np.median(x[part]), np.median(y[part])) for part in parts]
    ax.plot(*np.array(centres).T, color=GREY, linestyle="--", linewidth=1.3, label=label)


def _title(ax: Axes, cube: xr.Dataset, case: str, method: str) -> None:
    """Name of the method, its total epsilon, and how much of the variance lies between slices."""
    certified: Any = price(cube, case, method, "epsilon_certified")
    claimed = price(cube, case, method, "epsilon_claimed")
    cost = "no privacy"
    if np.isfinite(claimed):
        cost = f"certified ε = {'∞' if np.isinf(certified) else format(certified, '.3g')}, claimed {claimed:.3g}"
    person = price(cube, case, method, "epsilon_user") if "epsilon_user" in cube else np.nan
    if np.isfinite(person):
        cost += f"; for a person {person:,.0f}".replace(",", " ")
    share = price(cube, case, method, "separation")
    ax.set_title(f"{look(method).label}\n{cost}\nbetween slices: {100 * share:.0f} % of the variance", fontsize=8)
