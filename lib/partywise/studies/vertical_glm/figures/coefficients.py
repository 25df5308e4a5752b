"""Figure of vertical GLM: coefficients with their intervals, in standard errors of the pooled fit."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from scipy.special import ndtri

from ....experiment.cells import RUN_APART
from ....experiment.plotting.layout import Panels
from ....experiment.plotting.select import coordinate_of, title
from ....experiment.plotting.series import example_fit, example_fits_of, fit_word, methods_of
from ....experiment.plotting.style import Marks, look
from ....plot.intervals import CoefficientRows, coefficients, missing_intervals
from .case_facts import columns_of, has_names

LEVEL = 0.95
# Panels, and methods of one.
PANELS, METHODS = 2, 4


def _fits(cube: xr.Dataset, case: str) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Method, coefficients without the intercept and their standard errors, in a unit (`_unit`).

    Where no method of a case has standard errors, there is nothing to compare.
    """
    examples, fits, any_errors = example_fits_of(cube, case), [], False
    for method in methods_of(cube, case):
        targets = _targets(cube, case, method)
        if not targets:
            continue
        values, errors, unit = (
            example_fit(examples, name, method, max(targets))
            for name in ("interval_centres", "coefficient_errors", _unit(cube, case))
        )
        finite = np.isfinite(unit)
        finite[0] = False
        if finite.any() and np.isfinite(values[finite]).all():
            fits.append((method, values[finite] / unit[finite], errors[finite] / unit[finite]))
            any_errors |= bool(np.isfinite(errors[finite]).any())
    return _few(fits) if any_errors else []


def _few(fits: list[tuple[str, np.ndarray, np.ndarray]]) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Methods that are drawn: of many the first and others with intervals, then the nearest to it and the farthest."""
    if len(fits) <= METHODS:
        return fits
    first, others = fits[0], fits[1:]
    others.sort(key=lambda fit: (not np.isfinite(fit[2]).any(), _distance(fit, first)))
    chosen = {first[0], others[-1][0], *(fit[0] for fit in others[: METHODS - 2])}
    return [fit for fit in fits if fit[0] in chosen]


def _distance(fit: tuple[str, np.ndarray, np.ndarray], other: tuple[str, np.ndarray, np.ndarray]) -> float:
    """Largest difference of a coefficient of two fits."""
    return float(np.abs(fit[1] - other[1]).max())


def _differences(cube: xr.Dataset, cases: Sequence[str]) -> str:
    """Return the largest difference to the first method of the nearest and of the farthest one, in one of the cases."""
    fits = {case: _fits(cube, case) for case in cases}
    case = max(cases, key=lambda label: len(fits[label]))
    first, others = fits[case][0], fits[case][1:]
    if len(others) < 2 or _unit(cube, case) != "pooled_errors":
        return ""
    order = sorted(others, key=lambda fit: _distance(fit, first))
    words = [f"{_distance(fit, first):.2g} ({_label(cube, case, fit[0])})" for fit in (order[0], order[-1])]
    return (
        f"Largest distance of a coefficient from {title(cube, 'method', first[0])}, in standard errors: "
        f"{', '.join(words)}"
    )


def _label(cube: xr.Dataset, case: str, method: str) -> str:
    """Title of a method and its target."""
    target = max(_targets(cube, case, method))
    return title(cube, "method", method) + (f", ε = {target:g}" if isfinite(target) else "")


def _targets(cube: xr.Dataset, case: str, method: str) -> list[float]:
    """Targets of the example fits of a method."""
    examples = example_fits_of(cube, case)
    return list(map(float, examples["example_epsilon"].values[examples["example_method"].values == method]))


def _unit(cube: xr.Dataset, case: str) -> str:
    """Standard errors that are the unit: of the pooled fit, or a method's own where parties ran apart and no pooled
    fit is known.
    """
    pooled = bool(np.isfinite(example_fits_of(cube, case)["pooled_errors"].values).any())
    return "pooled_errors" if pooled or RUN_APART not in cube else "coefficient_errors"


def _selection(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases with standard errors: real columns before numbered ones, and one case of each sweep."""
    candidates = [case for case in cases if _fits(cube, case)]
    groups = {coordinate_of(cube, "case", case, "group"): case for case in reversed(candidates)}
    return sorted((case for case in candidates if case in groups.values()), key=lambda case: not has_names(cube, case))[
        :PANELS
    ]


def _height(cube: xr.Dataset, case: str) -> float:
    """Inches for the columns of a case."""
    return max(2.6, 0.8 + 0.22 * len(_fits(cube, case)[0][1]))


def _panel(ax: Axes, cube: xr.Dataset, case: str) -> list[str]:
    """Intervals of all methods of a case, side by side at each column; return why some have none."""
    notes = list[str]()
    rows, marks, half = dict[str, CoefficientRows](), dict[str, Marks](), float(ndtri(0.5 + LEVEL / 2))
    for method, values, errors in _fits(cube, case):
        style, label = look(cube, method), _label(cube, case, method)
        marks[method] = {"color": style.color, "marker": style.marker, "label": label}
        target = max(_targets(cube, case, method))
        if (status := fit_word(cube, "status", case, method, target)) != "ok":
            marks[method] |= {"markerfacecolor": "white", "label": f"{label} ({status})"}
        if not np.isfinite(errors).any():
            notes += missing_intervals(cube, case, method, target)
        rows[method] = CoefficientRows(columns_of(cube, case, len(values)), values, half * errors)
    coefficients(rows, marks=marks, ax=ax)
    whose = {"pooled_errors": "of the pooled fit", "coefficient_errors": "of the method"}[_unit(cube, case)]
    ax.set_xlabel(f"coefficient / standard error {whose}")
    return notes


coefficient_intervals = Panels(
    "How far are the coefficients of each method from those of the pooled fit?",
    "coefficient_errors",
    _panel,
    select=_selection,
    finding=_differences,
    height=_height,
    size=(4.2, 2.6),
    none="No method with standard errors in this configuration.",
    caption="Coefficients and 95 % intervals of each method, in standard errors of the pooled fit (in a distributed "
    "run, of the method): one panel per case; of more than four methods the first, those that give intervals, and the "
    "nearest and the farthest of the others. First replicate and fold, fewest parties; of a private method at its "
    "largest target. Intervals of private methods count their noise and are about coefficients without shrinkage; they "
    "rest on the kinds of columns and, untested, on a linear predictor, the family's variance, Gaussian dependence of "
    "columns and records drawn independently. A "
    "mark without a bar is of a method without intervals; a hollow one is of a fit whose status, in brackets, is "
    "not ok.",
)
