"""Hazard ratios next to the pooled ones, errors and coverage over epsilon, and shares of records that are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from ....experiment.plotting.layout import Axis, Panels
from ....experiment.plotting.lines import SERIES, Lines, few_methods
from ....experiment.plotting.select import plan_behind, title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of
from ....experiment.plotting.style import BLACK, look
from ....experiment.tables.templates import TypesetTable
from ....methods.survival.options import (
    CoxNoisyGradientOptions,
    EncryptedHistogramOptions,
    GradientOptions,
    NoisedTimesOptions,
    PiecewiseOptions,
    RiskSetsOptions,
    ScoresOptions,
    SurvivalReferenceOptions,
    SurvivalTableOptions,
    TreeBreslowOptions,
)
from ....plot.interval_rows import IntervalRows, draw_rows
from ....plot.intervals import missing_intervals
from ..own_settings import OwnSurvivalSettings
from ..tables import TABLES, Covariate
from .curves import targets_of

FACTOR = 1.959963984540054
# Protocols in the order in which they are chosen; exact ones are at 0, below the axis.
EXACT = (SurvivalReferenceOptions, RiskSetsOptions)
RATIOS = (ScoresOptions, CoxNoisyGradientOptions, GradientOptions, PiecewiseOptions)
CURVES = (
    SurvivalTableOptions,
    TreeBreslowOptions,
    NoisedTimesOptions,
    EncryptedHistogramOptions,
    ScoresOptions,
    PiecewiseOptions,
)


def _kind(cube: xr.Dataset, method: str) -> type:
    return type(plan_behind(cube).methods[method].options)


def _few(order: Sequence[type], most: int = SERIES) -> Callable[[xr.Dataset, str], Mapping[str, Sequence[str]]]:
    """Return the choice of at most so many methods of a case that are not exact, by the order of their protocols."""

    def choose(cube: xr.Dataset, case: str) -> Sequence[str]:
        methods = methods_of(cube, case)
        places = {m: order.index(kind) if (kind := _kind(cube, m)) in order else len(order) for m in methods}
        return sorted([m for m in methods if _kind(cube, m) not in EXACT] or methods, key=places.__getitem__)

    return few_methods(choose, most)


def _draw(ax: Axes, cube: xr.Dataset, case: str) -> list[str]:
    """Draw one case, its methods beneath the pooled regression; return why some have no intervals."""
    fits, notes = example_fits_of(cube, case), list[str]()
    rows: list[tuple[str, str, np.ndarray, np.ndarray]] = []
    settings = plan_behind(cube).cases[case].settings
    for label, target in targets_of(cube, case, "ratio", 2.0)[: SERIES - 1]:
        style = look(cube, label)
        known = np.isfinite(example_fit(fits, "ratio", label, target))
        if not rows and "ratio_pooled" in fits:
            rows.append(("pooled, no privacy", BLACK, *_pair(fits, "ratio_pooled", label, target)))
        rows.append((f"{style.label}, ε = {target:g}", style.color, *_pair(fits, "ratio", label, target)))
        if not np.isfinite(rows[-1][-1]).any():
            notes += missing_intervals(cube, case, label, target)
    names, factor = units_of(settings, int(known.sum()))
    sources = {}
    for words, _, ratio, error in rows:
        middle, width = factor * ratio[known], FACTOR * np.abs(factor) * error[known]
        sources[words] = IntervalRows(names, *(np.exp(middle + shift) for shift in (0, -width, width)))
    draw_rows(ax, sources, {words: {"color": color, "marker": "o"} for words, color, _, _ in rows}, ratios=True)
    ax.set_xlabel("hazard ratio")
    return notes


def _pair(fits: xr.Dataset, name: str, method: str, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """Log hazard ratios and their standard errors."""
    return example_fit(fits, name, method, epsilon), example_fit(fits, f"{name}_error", method, epsilon)


def units_of(settings: object, count: int) -> tuple[list[str], np.ndarray]:
    """Names of the covariates of a case with what their hazard ratios are per, and factors (p,) of coefficients.

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
        f"{covariate.name}, yes/no" if _is_category(covariate) else f"{covariate.name}, per {_unit(covariate)}"
        for covariate in covariates
    ]
    return names, np.array([1 / covariate.half_width if _is_category(covariate) else 1.0 for covariate in covariates])


def _is_category(covariate: Covariate) -> bool:
    """Whether a covariate is 0 or 1: an indicator, or a column whose public range is 0 to 1."""
    unscaled = not (covariate.log or covariate.log1p)
    return covariate.is_indicator or (unscaled and covariate.centre == covariate.half_width == 0.5)


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
    "How close are private hazard ratios to those of the pooled Cox regression?",
    "ratio_error",
    _draw,
    select=_cases,
    size=(3.8, 3.4),
    none="No hazard ratio is shown in this configuration.",
    caption="Hazard ratios with 95 % intervals on a logarithmic axis, first replicate: a panel for each case. That of "
    "a number is per unit next to its name, that of a category of a level against its reference. Of several "
    "targets the one nearest to 2; a dot without a bar is an estimate without an interval. Black: the pooled Cox "
    "regression, which nobody sees. Grey line: no effect.",
)


def _without_covariates(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases without covariates, or all where each has some."""
    plan = plan_behind(cube)
    return [case for case in cases if not plan.cases[case].settings.n_covariates] or list(cases)


survival_error = Lines(
    "How far are private survival curves from the pooled Kaplan-Meier curve?",
    x="epsilon",
    y=Axis({"km_error": "largest distance\nin survival"}, log=True),
    groups=_few(CURVES),
    size=(3.7, 4.0),
    select=_without_covariates,
    ends="Largest error of survival at ε = {place}",
    none="No case with survival curves in this configuration.",
    caption="Largest distance of the survival curve from the pooled Kaplan-Meier curve, over 500 times until the "
    "horizon and all groups, against the target epsilon; a panel for each case without covariates, where there are "
    "any. Exact methods, which have no distance, and methods beyond six are in the summary of the study. Means over "
    "{replicates}.",
)
hazard_ratio_error = Lines(
    "How far are private log hazard ratios from those of the pooled Cox regression?",
    x="epsilon",
    y=Axis({"coefficient_rms": "distance in standard errors\nof the pooled fit, rms"}, log=True),
    groups=_few(RATIOS),
    size=(3.7, 4.0),
    ends="Error of log hazard ratios in standard errors at ε = {place}",
    none="No case with covariates in this configuration.",
    caption="Root mean square distance of log hazard ratios from those of the pooled Cox regression, in its standard "
    "errors, against the target epsilon; a panel for each case. Exact methods, which have no distance, and methods "
    "beyond six are in the summary of the study. Means over {replicates}.",
)


def records_read(cube: xr.Dataset) -> TypesetTable:
    """Share of records whose covariates or exact time can be computed from the messages, by case and method.

    The largest over replicates, targets and numbers of parties, in cases in which some method lets records be read.
    """
    heading = "Which methods let records be read off what crosses?"
    known = cases_of(cube, "records_read")
    rows: list[dict[str, object]] = []
    for case in (case for case in known if cube["records_read"].sel(case=case).max() > 0):
        for method in methods_of(cube, case):
            cells = cube.sel(case=case, method_label=method)
            values = cells["records_read"].values
            if np.isfinite(values).any():
                largest = float(np.nanmax(values))
                certified = cells["epsilon_certified"].values
                by_certificate = largest == 0 and np.isfinite(certified[np.isfinite(values)]).all()
                rows.append(
                    {
                        "case": title(cube, "case", case),
                        "method": title(cube, "method", method),
                        "records read": f"{largest:.0%}" if largest in (0, 1) else f"{100 * largest:.3g}%",
                        "known from": "its certificate, not attacked" if by_certificate else "an attack",
                    }
                )
    if not rows:
        return TypesetTable(heading, (), ("No case in this configuration in which records are read.",))
    note = (
        "Share of records whose covariates or exact time can be computed for certain from the messages: the largest "
        "over replicates, targets and numbers of parties."
    )
    return TypesetTable(heading, rows, (note,))
