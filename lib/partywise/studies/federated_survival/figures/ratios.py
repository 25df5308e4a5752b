"""Log hazard ratios next to the pooled ones, errors and coverage over epsilon, and shares of records that are read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from ....experiment.plotting.bars import Bars
from ....experiment.plotting.layout import Axis, Panels
from ....experiment.plotting.lines import Lines
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


def _read(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases in which some method lets records be read."""
    return [case for case in cases if cube["records_read"].sel(case=case).max() > 0]


survival_error = Lines(
    "What privacy costs survival curves",
    x="epsilon",
    y=Axis({"km_error": "largest distance from\npooled Kaplan-Meier"}, log=True),
    none="No case with survival curves in this configuration.",
    caption="Largest distance of the survival curve from the pooled Kaplan-Meier curve, over 500 times until the "
    "horizon and all groups, against the target epsilon; a panel for each case. Means over {replicates}.",
)
hazard_ratio_error = Lines(
    "What privacy costs log hazard ratios",
    x="epsilon",
    y=(
        Axis({"coefficient_rms": "distance from the pooled fit,\nits standard errors (rms)"}, log=True),
        Axis(
            {"squared_error": "squared distance, share of\nthe squared length"},
            log=True,
            levels={1.0: "log hazard ratios of 0"},
        ),
    ),
    none="No case with covariates in this configuration.",
    caption="Root mean square distance of log hazard ratios from those of the pooled Cox regression, in its standard "
    "errors, and their squared distance as a share of the squared length of the pooled ones, which is 1 for log hazard "
    "ratios of 0, against the target epsilon; a panel for each case. Means over {replicates}.",
)
interval_coverage = Lines(
    "What 95 % intervals of survival cover",
    x="epsilon",
    y=(
        Axis({"curve_coverage": "coverage, noise counted"}, percent=True, top=1, levels={0.95: "95 %"}),
        Axis({"curve_coverage_of_sampling": "coverage, noise left out"}, percent=True, top=1, levels={0.95: "95 %"}),
    ),
    none="No case of generated records without covariates in this configuration.",
    caption="Share of edges at which the 95 % interval holds the true survival: of intervals that count the noise of "
    "privacy, and of those that leave it out. Means over {replicates}.",
)
records_read = Bars(
    "Records that somebody can read off what crosses",
    Axis("records_read", percent=True, bottom=0, top=1),
    select=_read,
    none="No case in this configuration in which records are read.",
    caption="Share of records whose covariates or exact time somebody can compute from the messages: the largest over "
    "replicates, targets and numbers of parties, in cases in which some method lets records be read.",
)
