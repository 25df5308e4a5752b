"""Figures of label-private logistic regression: what privacy costs, by epsilon and by size, and calibration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator

from ....experiment.plotting.layout import Axis
from ....experiment.plotting.lines import Lines
from ....experiment.plotting.select import coordinate_of, having, number_of, plan_behind, title
from ....experiment.plotting.series import (
    Series,
    cases_of,
    draw,
    example_fit,
    example_fits_of,
    methods_of,
    series,
    spread,
)
from ....experiment.plotting.style import GREY, Look, empty, heading, legend_below, look, overlay_marks, panels

# Settings of generated data that a sweep may vary: label of the axis.
AXES = {"n": "training rows N", "k": "features k with the intercept", "dependence": "dependence of the features"}


def data_cases(cube: xr.Dataset, variable: str) -> list[str]:
    """Cases with the variable at two targets of epsilon or more, where methods are compared and nothing is swept."""
    sized = {case for axis in AXES for case, _ in sized_cases(cube, axis)}
    candidates = [case for case in cases_of(cube, variable) if case not in sized and len(methods_of(cube, case)) > 1]
    return [case for case in candidates if len(_targets(cube, variable, case)) > 1]


def protected_unit(cube: xr.Dataset) -> str:
    """Return what an epsilon protects, in words: a label, or all labels of a person if the study protects persons."""
    return "all labels of a person" if plan_behind(cube).spec.unit == "user_label" else "one label"


def data_title(cube: xr.Dataset, case: str) -> str:
    """Title of a case with its rows and features; where replicates differ in rows, the most."""
    return f"{title(cube, 'case', case)}, {size_of(cube, case)}"


def size_of(cube: xr.Dataset, case: str) -> str:
    """Training rows and features of a case."""
    n, k = (int(cube[name].sel(case=case).max()) for name in ("n_train", "n_coefficients"))
    return f"N = {n:,}".replace(",", " ") + f", k = {k}"


def _targets(cube: xr.Dataset, variable: str, case: str) -> list[float]:
    """Targets at which a case has the variable."""
    has_value = cube[variable].sel(case=case).notnull()
    known = has_value.any([d for d in has_value.dims if d != "epsilon"]).values & np.isfinite(cube["epsilon"].values)
    return list(cube["epsilon"].values[known].tolist())


def sized_cases(cube: xr.Dataset, axis: str) -> list[tuple[str, float]]:
    """Cases of the sweeps of one setting of generated data, in order, with their place on the axis."""
    generated = having(cube, "case", source="generated")
    places = {}
    for group in dict.fromkeys(coordinate_of(cube, "case", case, "group") for case in generated):
        members = [case for case in having(cube, "case", group=group) if case in generated]
        varied = {name for name in AXES if len({coordinate_of(cube, "case", case, name) for case in members}) > 1}
        if varied == {axis}:
            variable = {"n": "n_train", "k": "n_coefficients"}.get(axis)
            for case in members:
                at = cube[variable].sel(case=case).max() if variable else number_of(cube, "case", case, axis)
                places[case] = float(at)
    return sorted(places.items(), key=lambda entry: entry[1])


def _comparison_cases(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases where methods are compared at several targets, nothing being swept."""
    return data_cases(cube, "log_loss")


utility_by_epsilon = Lines(
    "What label privacy costs",
    x="epsilon",
    y=(Axis({"log_loss": "test log-loss, nats"}, log=True), "auc"),
    select=_comparison_cases,
    panel=data_title,
    spread="bars",
    size=(3.9, 2.9),
    none="No case with several targets of epsilon in this configuration.",
    caption="Test log-loss and AUC against the target epsilon, a column for each data set. Every score is that of the "
    "one fit of its cell, the same number of draws of the noise for every method. Methods stand side by side at each "
    "target.",
)


def excess_by_size(cube: xr.Dataset) -> Figure:
    """Training risk above that of the optimum without noise, against rows, features and dependence of the features.

    Lines: means over {replicates}, of each fit the mean over further draws of its noise where every method has the
    same number of them; bands are ± 1 standard error. Thin lines without markers are what the plan predicts of the same
    fits, by which it chooses between the two distributions of the noise.
    """
    axes_of = [axis for axis in AXES if len(sized_cases(cube, axis)) > 1]
    if not axes_of:
        return empty("No sweep of n, k or dependence of generated data in this configuration.")
    targets = [float(e) for e in cube["epsilon"].values if np.isfinite(e)]
    targets = [e for e in targets if all(computed_at(cube, sized_cases(cube, axis)[0][0], e) for axis in axes_of)][:2]
    if not targets:
        return empty("The series of cases have no target of epsilon in common.")
    figure, axes = panels(len(targets), len(axes_of), 4.3, 3.0, sharex="col", sharey="row")
    cases = [case for axis in axes_of for case, _ in sized_cases(cube, axis)]
    variable, words = excess_of(cube, cases)
    for row, epsilon in enumerate(targets):
        for column, axis in enumerate(axes_of):
            ax = axes[row * len(axes_of) + column]
            _size_panel(ax, cube, axis, epsilon, variable)
            ax.set_ylabel(f"excess risk, nats; ε = {epsilon:g}" if column == 0 else "")
            ax.set_xlabel(AXES[axis] if row == len(targets) - 1 else "")
    legend_below(figure, axes, 2)
    heading(
        figure,
        f"Which distribution of the noise wins; thin lines: what the plan predicts; {words}{spread(cube, cases)}",
    )
    return figure


def computed_at(cube: xr.Dataset, case: str, epsilon: float) -> bool:
    """Whether some method of a case was run at a target."""
    return bool((cube["status"].sel(case=case, epsilon=epsilon) > 0).any())


def excess_of(cube: xr.Dataset, cases: list[str]) -> tuple[str, str]:
    """The excess risk that all planned methods of some cases have, of as many draws each, and what it is in words."""
    plan = plan_behind(cube)
    planned = {
        m for case in cases for m in methods_of(cube, case) if series(cube, "predicted_excess", case, m, "epsilon")
    }
    draws = {getattr(plan.methods[method].options, "noise_draws", 0) for method in planned}
    if len(draws) == 1 and min(draws) > 0:
        return "expected_excess", f"each the mean over {min(draws)} draws of the noise; "
    return "excess_risk", "one draw of the noise each; "


def _size_panel(ax: Axes, cube: xr.Dataset, axis: str, epsilon: float, variable: str) -> None:
    cases = sized_cases(cube, axis)
    for method in dict.fromkeys(method for case, _ in cases for method in methods_of(cube, case)):
        # Methods without a plan have nothing to compare a measurement with.
        predicted = _along(cube, "predicted_excess", cases, method, epsilon)
        if predicted:
            style = look(cube, method)
            draw(ax, _along(cube, variable, cases, method, epsilon), style)
            label = f"predicted: {style.label}"
            ax.plot(predicted.x, predicted.mean, color=style.color, linewidth=0.8, linestyle=style.line, label=label)
    sizes = [size for _, size in cases]
    ax.set(xscale="linear" if axis == "dependence" else "log", yscale="log")
    ax.xaxis.set_major_locator(FixedLocator(sizes))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FormatStrFormatter("%g"))


def _along(cube: xr.Dataset, variable: str, cases: list[tuple[str, float]], method: str, epsilon: float) -> Series:
    """One value a case, at one target of epsilon."""
    points = []
    for case, size in cases:
        if method in methods_of(cube, case):
            line = series(cube, variable, case, method, "epsilon")
            points += [(size, line.mean[place], line.se[place]) for place in np.flatnonzero(line.x == epsilon)]
    return Series(*np.array(points).T) if points else Series(np.zeros(0), np.zeros(0), np.zeros(0))


def calibration_curves(cube: xr.Dataset) -> Figure:
    """Predicted against observed shares of positive labels: as published, as planned, without privacy.

    Test rows of the first replicate in bins of equal counts, no means over replicates; a row for each data set, a
    column for each target. On the dotted diagonal predictions are calibrated; below it they are too high.
    """
    published, chosen = having(cube, "method", sigma="classic", ridge="none"), having(cube, "method", noise="auto")
    compared = {
        case: [next((m for m in kind if m in methods_of(cube, case)), "") for kind in (published, chosen)]
        for case in data_cases(cube, "log_loss")
        if case in cases_of(cube, "calibration_predicted")
    }
    cases = [case for case, methods in compared.items() if all(methods)][:3]
    targets = _shown_targets(cube, cases)
    if not cases or not targets:
        return empty("No case with ridge none and noise auto in this configuration.")
    figure, axes = panels(len(cases), len(targets), 3.1, 2.9, sharex=True, sharey=True)
    for row, case in enumerate(cases):
        examples = example_fits_of(cube, case)
        for column, epsilon in enumerate(targets):
            ax = axes[row * len(targets) + column]
            ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle=":", label="perfect calibration")
            free = [m for m in having(cube, "method", protocol="non_private") if m in methods_of(cube, case)]
            fits = [(method, np.inf) for method in free] + [(method, epsilon) for method in compared[case]]
            for number, fit in enumerate(fits):
                _curve(ax, examples, look(cube, fit[0]), fit, number)
            ax.set_title(f"{title(cube, 'case', case)}, ε = {epsilon:g}")
            ax.set(aspect="equal", xlabel="mean prediction" if row == len(cases) - 1 else "")
        axes[row * len(targets)].set_ylabel("share of positive labels")
    legend_below(figure, axes, 2)
    heading(figure, "Calibration on the test rows, first replicate, bins of equal counts")
    return figure


def _shown_targets(cube: xr.Dataset, cases: list[str]) -> list[float]:
    """The targets 0.1 and 1 where they were run, else the least and the largest of all cases."""
    targets = [
        e for e in cube["epsilon"].values.tolist() if np.isfinite(e) and all(computed_at(cube, c, e) for c in cases)
    ]
    wanted = [e for e in targets if e in (0.1, 1.0)]
    return wanted or sorted({*targets[:1], *targets[-1:]})


def _curve(ax: Axes, examples: xr.Dataset, style: Look, fit: tuple[str, float], number: int) -> None:
    x, y = (example_fit(examples, f"calibration_{name}", *fit) for name in ("predicted", "observed"))
    ax.plot(x, y, **style.marks | overlay_marks(number))
