"""Log hazard ratios with intervals that count the noise of privacy, beside the pooled ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from ....experiment.plotting.layout import Panels
from ....experiment.plotting.select import plan_behind
from ....experiment.plotting.series import example_fit, example_fits_of
from ....experiment.plotting.style import BLACK, look
from ..own_settings import OwnSettings
from ..tables import TABLES
from .curves import targets_of

FACTOR = 1.959963984540054


def _draw(ax: Axes, cube: xr.Dataset, case: str) -> None:
    """One case: its methods with noise-aware standard errors beneath the pooled regression."""
    found = example_fits_of(cube, case)
    rows: list[tuple[str, str, np.ndarray, np.ndarray]] = []
    for label, target in targets_of(cube, case, "ratio_error", 2.0):
        style = look(cube, label)
        known = np.isfinite(example_fit(found, "ratio", label, target))
        if not rows and "ratio_pooled" in found:
            rows.append(("pooled, no privacy", BLACK, *_pair(found, "ratio_pooled", label, target)))
        rows.append((f"{style.label}, ε = {target:g}", style.color, *_pair(found, "ratio", label, target)))
    places = np.arange(known.sum())[::-1]
    for number, (words, color, ratio, error) in enumerate(rows):
        at = places + 0.3 - 0.6 * number / max(len(rows) - 1, 1)
        ax.errorbar(ratio[known], at, xerr=FACTOR * error[known], fmt="o", markersize=3, color=color, label=words)
    ax.axvline(0, color=BLACK, linewidth=0.6)
    ax.set_yticks(places, _names(cube, case, int(known.sum())))
    ax.set_xlabel("log hazard ratio per half width")


def _pair(found: xr.Dataset, name: str, method: str, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Log hazard ratios and their standard errors."""
    return example_fit(found, name, method, epsilon), example_fit(found, f"{name}_error", method, epsilon)


def _names(cube: xr.Dataset, case: str, count: int) -> list[str]:
    """Names of the covariates of a case."""
    settings = plan_behind(cube).cases[case].settings
    if isinstance(settings, OwnSettings):
        return [name for column in settings.columns for name in column.names]
    dataset = getattr(settings, "dataset", None)
    return [one.name for one in TABLES[dataset].covariates] if dataset else [f"x{j + 1}" for j in range(count)]


def _cases(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases with a method that has noise-aware standard errors."""
    return [case for case in cases if targets_of(cube, case, "ratio_error", 2.0)]


hazard_ratios = Panels(
    "Log hazard ratios with 95 % intervals, first replicate",
    "ratio_error",
    _draw,
    select=_cases,
    size=(3.8, 3.4),
    none="No log hazard ratio is shown in this configuration.",
    caption="Log hazard ratios of scaled covariates with 95 % intervals, first replicate: a panel for each case. Of "
    "several targets the one nearest to 2; a fit that gives no intervals there is left out. Black: the pooled Cox "
    "regression, which nobody sees.",
)
