"""Figures of label-private logistic regression: what privacy costs, by epsilon and by size, and calibration."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator

from ....experiment.plotting.layout import Axis, plain_ticks
from ....experiment.plotting.lines import Lines
from ....experiment.plotting.select import coordinate_of, having, number_of, plan_behind, title
from ....experiment.plotting.series import (
    Series,
    cases_of,
    draw,
    example_fit,
    example_fits_of,
    methods_of,
    replicate_means,
    series,
    summarise,
)
from ....experiment.plotting.style import GREY, Look, empty, heading, legend_below, look, overlay_marks, panels

# Methods of a figure; rows of a bin, of fewer of which bins are joined; standard errors of an interval.
MOST, BIN_ROWS, WIDTH = 6, 30, 1.96
# Numbers of sizes that have room below a panel.
TICKS = 7
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
    """Training rows and features of a case; cells of features, which some methods have, are more than these."""
    n, k = int(cube["n_train"].sel(case=case).max()), int(cube["n_coefficients"].sel(case=case).min())
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


def _drawn_methods(cube: xr.Dataset, case: str) -> dict[str, list[str]]:
    """One group: all methods of a case, or those that figures of more than six methods draw."""
    left_out = _left_out(cube)
    return {"": [method for method in methods_of(cube, case) if method not in left_out]}


def _left_out(cube: xr.Dataset) -> set[str]:
    """Methods that are not drawn: of many, variants of one release besides the published one and the planner's choice,
    and noise in every step on samples.

    Where no method leaves the choice to the planner, planned noise is kept in its place.
    """
    methods = list(dict.fromkeys(m for case in data_cases(cube, "log_loss") for m in methods_of(cube, case)))
    preferred = having(cube, "method", sigma="classic", ridge="none")
    preferred += having(cube, "method", noise="auto") or having(cube, "method", noise="shaped")
    rivals = having(cube, "method", protocol="walr") + having(cube, "method", protocol="label_sgd")
    variants = [m for m in methods if m in rivals and m not in preferred]
    return set([*(m for m in methods if m not in variants), *variants][MOST:])


utility_by_epsilon = Lines(
    "What does label privacy cost?",
    x="epsilon",
    y=(Axis({"log_loss": "test log-loss, nats"}, log=True), "auc"),
    select=_comparison_cases,
    groups=_drawn_methods,
    panel=data_title,
    spread="bars",
    size=(3.9, 2.9),
    ends="Test log-loss at ε = {place}",
    none="No case with several targets of epsilon in this configuration.",
    caption="Test log-loss and AUC against the target epsilon, a column for each data set. Every score is that of the "
    "one fit of its cell, the same number of draws of the noise for every method. Methods are side by side at each "
    "target. Of more than six methods, other variants of one release, and noise in every step on samples, are in the "
    "tables alone. The reference without privacy has hardly any ridge: where rows are few it overfits, and a private "
    "method with a ridge can be better.",
)


def excess_by_size(cube: xr.Dataset) -> Figure:
    """Training risk above that of the optimum without noise, against rows, features and dependence of the features.

    Methods that plan their noise and ridge from public numbers. Lines: means over {replicates}, of each fit the mean
    over further draws of its noise where every method has the same number of them; bands are ± 1 standard error, dots
    replicates where they are few. What the plan predicts, an upper estimate, is in the tables.
    """
    axes_of = [axis for axis in AXES if len(sized_cases(cube, axis)) > 1]
    if not axes_of:
        return empty("No sweep of n, k or dependence of generated data in this configuration.")
    targets = [float(e) for e in cube["epsilon"].values if np.isfinite(e)]
    targets = [e for e in targets if all(computed_at(cube, sized_cases(cube, axis)[0][0], e) for axis in axes_of)][:2]
    if not targets:
        return empty("The series of cases have no target of epsilon in common.")
    figure, axes = panels(len(targets), len(axes_of), 4.3, 2.6, sharex="col", sharey="row")
    variable, _ = excess_of(cube, [case for axis in axes_of for case, _ in sized_cases(cube, axis)])
    for row, epsilon in enumerate(targets):
        for column, axis in enumerate(axes_of):
            ax = axes[row * len(axes_of) + column]
            _size_panel(ax, cube, axis, epsilon, variable)
            ax.set_title(f"ε = {epsilon:g}")
            ax.set_ylabel("excess risk, nats" if column == 0 else "")
            ax.set_xlabel(AXES[axis] if row == len(targets) - 1 else "")
    legend_below(figure, axes, 2)
    heading(figure, "Which noise costs less at which size?")
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
        # Methods without a plan are not what the sizes decide between.
        if any(series(cube, "predicted_excess", case, method, "epsilon") for case, _ in cases):
            draw(ax, _along(cube, variable, cases, method, epsilon), look(cube, method))
    sizes = [size for _, size in cases]
    ax.set_xscale("linear" if axis == "dependence" else "log")
    plain_ticks(ax, "y")
    ax.xaxis.set_major_locator(FixedLocator(_apart(sizes, np.asarray if axis == "dependence" else np.log)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FormatStrFormatter("%g"))


def _apart(sizes: Sequence[float], scale: Callable[[Sequence[float]], np.ndarray]) -> list[float]:
    """Sizes whose numbers do not touch, the first and those far enough from the one before."""
    ordered = sorted(sizes)
    places, chosen = scale(ordered), [0]
    for at in range(1, len(ordered)):
        if places[at] - places[chosen[-1]] > (places[-1] - places[0]) / TICKS:
            chosen.append(at)
    return [ordered[at] for at in chosen]


def _along(cube: xr.Dataset, variable: str, cases: list[tuple[str, float]], method: str, epsilon: float) -> Series:
    """One value a case, at one target of epsilon."""
    sizes = [size for _, size in cases]
    columns = [
        replicate_means(cube, variable, case, method, "epsilon").sel(epsilon=epsilon).values for case, _ in cases
    ]
    return summarise(np.array(sizes), np.stack(columns, axis=1))


def calibration_curves(cube: xr.Dataset) -> Figure:
    """Predicted against observed shares of positive labels: as published, as planned, without privacy.

    Test rows of the first replicate in bins of equal counts, no means over replicates; a row for each target, a column
    for each data set. Bins with few rows are joined. Bars are 95 % intervals (Wilson) of the share in a bin, from the
    share of the rows that test. On the dotted diagonal predictions are calibrated; below it they are too high.
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
    figure, axes = panels(len(targets), len(cases), 3.1, 2.5, sharex=True, sharey=True)
    for column, case in enumerate(cases):
        examples, rows = example_fits_of(cube, case), _rows_per_bin(cube, case)
        for row, epsilon in enumerate(targets):
            ax = axes[row * len(cases) + column]
            ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle=":", label="perfect calibration")
            free = [m for m in having(cube, "method", protocol="non_private") if m in methods_of(cube, case)]
            fits = [(method, np.inf) for method in free] + [(method, epsilon) for method in compared[case]]
            for number, fit in enumerate(fits):
                _curve(ax, examples, look(cube, fit[0]), fit, number, rows)
            ax.set_title(f"{title(cube, 'case', case)}, ε = {epsilon:g}")
            ax.set(aspect="equal", xlabel="mean prediction" if row == len(targets) - 1 else "")
            ax.set_ylabel("share of positive labels" if column == 0 else "")
    legend_below(figure, axes, 2)
    heading(figure, "Are the predicted probabilities right?")
    return figure


def _rows_per_bin(cube: xr.Dataset, case: str) -> float:
    """Test rows per bin, by the share of the rows that test."""
    share = float(plan_behind(cube).cases[case].settings.test_share)
    return float(cube["n_train"].sel(case=case).max()) * share / (1 - share) / cube.sizes["bin"]


def _shown_targets(cube: xr.Dataset, cases: list[str]) -> list[float]:
    """The targets 0.1 and 1 where they were run, else the least and the largest of all cases."""
    targets = [
        e for e in cube["epsilon"].values.tolist() if np.isfinite(e) and all(computed_at(cube, c, e) for c in cases)
    ]
    wanted = [e for e in targets if e in (0.1, 1.0)]
    return wanted or sorted({*targets[:1], *targets[-1:]})


def _curve(ax: Axes, examples: xr.Dataset, style: Look, fit: tuple[str, float], number: int, rows: float) -> None:
    """Shares in bins, of which neighbours are joined where they have few rows, with their intervals."""
    known = [example_fit(examples, f"calibration_{name}", *fit) for name in ("predicted", "observed")]
    places = np.flatnonzero(np.isfinite(known[0]))
    parts = np.array_split(places, max(2, min(len(places), int(len(places) * rows / BIN_ROWS))))
    x, y = (np.array([values[part].mean() for part in parts if len(part)]) for values in known)
    counts = np.array([rows * len(part) for part in parts if len(part)])
    ax.plot(x, y, **style.marks | overlay_marks(number))
    ax.vlines(x, *_wilson(y, counts), color=style.color, linewidth=1.0)


def _wilson(share: np.ndarray, count: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends of Wilson's interval of shares of so many rows."""
    square = WIDTH**2 / count
    middle = (share + square / 2) / (1 + square)
    half = WIDTH * np.sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return middle - half, middle + half
