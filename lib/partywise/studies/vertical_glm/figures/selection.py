"""Figure of vertical GLM: how many columns both forms of Akaike's criterion keep, in several units of the response."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ....experiment.plotting.select import title
from ....experiment.plotting.series import cases_of, example_fits_of
from ....experiment.plotting.style import BLUE, RED, empty, heading, legend_below
from .shared import grid_of, setting_of

PANELS = 4
UNITS = np.geomspace(1e-3, 1e3, 61)
# y -> c y multiplies the deviance by c to this power; counts and labels have no unit.
POWERS = {"gaussian": 2.0, "gamma": 0.0, "inverse_gaussian": -1.0}


def columns_by_unit(cube: xr.Dataset) -> Figure:
    """Number of columns of the model that each criterion chooses, by the factor between the units of y.

    The first replicate and fold; k is the number of coefficients.
    """
    found = {case: nested for case in cases_of(cube, "nested_deviance") if (nested := _nested(cube, case)) is not None}
    if not found:
        return empty("No Gaussian, Gamma or inverse Gaussian case with nested models in this configuration.")
    found = {case: found[case] for case in list(found)[:PANELS]}
    figure, axes, left = grid_of(len(found), 4, 3.2, 2.9)
    for ax, (case, (power, deviance, likelihood)) in zip(axes, found.items(), strict=True):
        count = np.arange(len(deviance))
        published = [int(np.argmin(unit**power * deviance + 2 * count)) for unit in UNITS]
        ax.plot(UNITS, published, color=RED, label="published: deviance + 2 k")
        best = int(np.argmin(-2 * likelihood + 2 * count))
        ax.axhline(best, color=BLUE, linestyle="--", label="−2 log-likelihood + 2 k")
        ax.set(xscale="log", ylim=(-0.5, len(deviance) - 0.5), title=title(cube, "case", case))
        ax.set_xlabel("factor by which y is multiplied")
        ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    for ax in left:
        ax.set_ylabel("columns that are kept")
    legend_below(figure, axes, 2)
    words = "Columns that two forms of Akaike's criterion keep, in other units of y"
    heading(figure, f"{words}\nfirst replicate and fold; k: coefficients of the model")
    return figure


def _nested(cube: xr.Dataset, case: str) -> tuple[float, np.ndarray, np.ndarray] | None:
    """Power of the unit, and deviance and log-likelihood of models with 0, 1, ... columns."""
    family = setting_of(cube, case, "model")
    shown = example_fits_of(cube, case)
    for deviance, likelihood in zip(shown["nested_deviance"].values, shown["nested_likelihood"].values, strict=True):
        kept = np.isfinite(deviance) & np.isfinite(likelihood)
        if kept.sum() > 1 and family in POWERS:
            return POWERS[family], deviance[kept], likelihood[kept]
    return None
