"""Figure of vertical GLM: how many columns both forms of Akaike's criterion keep, in several units of the response."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ....experiment.plotting.layout import Panels, plain_ticks
from ....experiment.plotting.select import title
from ....experiment.plotting.series import example_fits_of
from ....experiment.plotting.style import BLUE, RED
from ....models.family_facts import FACTS
from .case_facts import has_names, setting_of

PANELS = 3
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
    """The first cases whose family has a unit, those of real columns before others."""
    known = [case for case in cases if _nested_models(cube, case) is not None]
    return sorted(known, key=lambda case: not has_names(cube, case))[:PANELS]


def _kept_columns(cube: xr.Dataset, case: str) -> tuple[list[int], int, int]:
    """Columns that the published criterion keeps in each unit, those that the other keeps, and all."""
    power, deviance, likelihood = _nested_models(cube, case) or (0.0, np.zeros(1), np.zeros(1))
    count = np.arange(len(deviance))
    published = [int(np.argmin(unit**power * deviance + 2 * count)) for unit in UNITS]
    return published, int(np.argmin(-2 * likelihood + 2 * count)), len(deviance) - 1


def _range(cube: xr.Dataset, cases: Sequence[str]) -> str:
    """Return how many columns the published criterion keeps of one data set, where that differs most."""
    case, (published, best, total) = max(
        ((case, _kept_columns(cube, case)) for case in cases), key=lambda pair: max(pair[1][0]) - min(pair[1][0])
    )
    return (
        f"In other units of the response the published criterion keeps {min(published)} to {max(published)} of the "
        f"same {total} columns, that of the log-likelihood always {best} ({title(cube, 'case', case)})"
    )


def _panel(ax: Axes, cube: xr.Dataset, case: str) -> None:
    """Columns that both criteria keep, by the unit of the response."""
    published, best, total = _kept_columns(cube, case)
    ax.plot(UNITS, published, color=RED, label="published: deviance + 2 k")
    ax.axhline(best, color=BLUE, linestyle="--", label="−2 log-likelihood + 2 k")
    plain_ticks(ax)
    ax.set(ylim=(-0.5, total + 0.5), ylabel="columns that are kept")
    ax.set_xlabel("factor by which the response is multiplied")
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))


columns_by_unit = Panels(
    "How many columns do two forms of Akaike's criterion keep in other units of the response?",
    "nested_deviance",
    _panel,
    select=_nestable,
    finding=_range,
    size=(3.2, 3.5),
    legend=2,
    none="No Gaussian, Gamma or inverse Gaussian case with nested models in this configuration.",
    caption="Number of columns of the model that each criterion chooses, by the factor between the units of the "
    "response. Nested models of pooled records, the clearest column first. First replicate and fold; k is the number "
    "of coefficients.",
)
