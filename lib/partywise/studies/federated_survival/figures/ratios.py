"""Log hazard ratios with intervals that count the noise of privacy, next to the pooled ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from ....experiment.plotting.layout import Panels
from ....experiment.plotting.select import plan_behind
from ....experiment.plotting.series import example_fit, example_fits_of
from ....experiment.plotting.style import BLACK, look
from ..own_settings import OwnSurvivalSettings
from ..tables import TABLES, Covariate
from .curves import targets_of

FACTOR = 1.959963984540054


def _draw(ax: Axes, cube: xr.Dataset, case: str) -> None:
    """One case: its methods with noise-aware standard errors beneath the pooled regression."""
    fits = example_fits_of(cube, case)
    rows: list[tuple[str, str, np.ndarray, np.ndarray]] = []
    settings = plan_behind(cube).cases[case].settings
    for label, target in targets_of(cube, case, "ratio", 2.0):
        style = look(cube, label)
        known = np.isfinite(example_fit(fits, "ratio", label, target))
        if not rows and "ratio_pooled" in fits:
            rows.append(("pooled, no privacy", BLACK, *_pair(fits, "ratio_pooled", label, target)))
        rows.append((f"{style.label}, ε = {target:g}", style.color, *_pair(fits, "ratio", label, target)))
    names, factor = units_of(settings, int(known.sum()))
    places = np.arange(known.sum())[::-1]
    for number, (words, color, ratio, error) in enumerate(rows):
        at = places + 0.3 - 0.6 * number / max(len(rows) - 1, 1)
        interval = FACTOR * factor * error[known]
        ax.errorbar(factor * ratio[known], at, xerr=interval, fmt="o", markersize=3, color=color, label=words)
    ax.axvline(0, color=BLACK, linewidth=0.6)
    ax.set_yticks(places, names)
    ax.set_xlabel("log hazard ratio")


def _pair(fits: xr.Dataset, name: str, method: str, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Log hazard ratios and their standard errors."""
    return example_fit(fits, name, method, epsilon), example_fit(fits, f"{name}_error", method, epsilon)


def units_of(settings: object, count: int) -> tuple[list[str], np.ndarray]:
    """Names of the covariates of a case with what their log hazard ratios are per, and factors (p,) of coefficients.

    A covariate is scaled by half its public range, which is its unit here. A category is -1 or 1 where it is scaled, so
    that a level against the reference is twice its coefficient.
    """
    if isinstance(settings, OwnSurvivalSettings):
        return _own_units(settings)
    dataset = getattr(settings, "dataset", None)
    if not dataset:
        return [f"x{j + 1}" for j in range(count)], np.ones(count)
    covariates = TABLES[dataset].covariates
    names = [
        covariate.name if covariate.is_indicator else f"{covariate.name}, per {_unit(covariate)}"
        for covariate in covariates
    ]
    return names, np.array([1 / covariate.half_width if covariate.is_indicator else 1.0 for covariate in covariates])


def _unit(covariate: Covariate) -> str:
    scale = "log(x + 1)" if covariate.log1p else "log x" if covariate.log else ""
    return f"{covariate.half_width:g} {scale}".rstrip()


def _own_units(settings: OwnSurvivalSettings) -> tuple[list[str], np.ndarray]:
    names, factors = list[str](), list[float]()
    for column in settings.columns:
        if column.levels is not None:
            names += [f"{column.name}: {level} against {column.levels[0]}" for level in column.levels[1:]]
            factors += [2.0] * (len(column.levels) - 1)
        elif column.bounds is not None:
            names.append(f"{column.name}, per {(column.bounds[1] - column.bounds[0]) / 2:g} {column.unit}".rstrip())
            factors.append(1.0)
    return names, np.array(factors)


def _cases(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases with a method that has noise-aware standard errors."""
    return [case for case in cases if targets_of(cube, case, "ratio", 2.0)]


hazard_ratios = Panels(
    "Log hazard ratios with 95 % intervals, first replicate",
    "ratio_error",
    _draw,
    select=_cases,
    size=(3.8, 3.4),
    none="No log hazard ratio is shown in this configuration.",
    caption="Log hazard ratios with 95 % intervals, first replicate: a panel for each case. That of a number is per "
    "unit next to its name, that of a category of a level against its reference. Of several "
    "targets the one nearest to 2; a fit that gives no intervals there is left out. Black: the pooled Cox "
    "regression, which nobody sees.",
)
