"""Figure of vertical GLM: how many columns both forms of Akaike's criterion keep, in several units of the response."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ....experiment.plotting.layout import Panels
from ....experiment.plotting.series import example_fits_of
from ....experiment.plotting.style import BLUE, RED
from ....models.family_facts import FACTS
from .case_facts import setting_of

PANELS = 4
UNITS = np.geomspace(1e-3, 1e3, 61)


def _nested_models(cube: xr.Dataset, case: str) -> tuple[float, np.ndarray, np.ndarray] | None:
    """Power of the unit, and deviance and log-likelihood of models with 0, 1, ... columns."""
    family = str(setting_of(cube, case, "model"))
    examples = example_fits_of(cube, case)
    for deviance, likelihood in zip(
        examples["nested_deviance"].values, examples["nested_likelihood"].values, strict=True
    ):
        finite = np.isfinite(deviance) & np.isfinite(likelihood)
        if finite.sum() > 1 and family in FACTS and (power := FACTS[family].deviance_power) is not None:
            return float(power), deviance[finite], likelihood[finite]
    return None


def _nestable(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """The first cases whose family has a unit."""
    return [case for case in cases if _nested_models(cube, case) is not None][:PANELS]


def _panel(ax: Axes, cube: xr.Dataset, case: str) -> None:
    """Columns that both criteria keep, by the unit of the response."""
    power, deviance, likelihood = _nested_models(cube, case) or (0.0, np.zeros(1), np.zeros(1))
    count = np.arange(len(deviance))
    published = [int(np.argmin(unit**power * deviance + 2 * count)) for unit in UNITS]
    ax.plot(UNITS, published, color=RED, label="published: deviance + 2 k")
    best = int(np.argmin(-2 * likelihood + 2 * count))
    ax.axhline(best, color=BLUE, linestyle="--", label="−2 log-likelihood + 2 k")
    ax.set(xscale="log", ylim=(-0.5, len(deviance) - 0.5), ylabel="columns that are kept")
    ax.set_xlabel("factor by which y is multiplied")
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))


columns_by_unit = Panels(
    "Columns that two forms of Akaike's criterion keep, in other units of y",
    "nested_deviance",
    _panel,
    select=_nestable,
    columns=4,
    size=(3.2, 2.9),
    legend=2,
    note="first replicate and fold; k: coefficients of the model",
    none="No Gaussian, Gamma or inverse Gaussian case with nested models in this configuration.",
    caption="Number of columns of the model that each criterion chooses, by the factor between the units of y. The "
    "first replicate and fold; k is the number of coefficients.",
)
