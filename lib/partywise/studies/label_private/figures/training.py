"""Figures of label-private logistic regression: no minimiser without a ridge, trainers, and the classic noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.plotting.select import having
from ....experiment.plotting.series import Series, cases_of, example_fit, example_fits_of, methods_of, series
from ....experiment.plotting.style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    RED,
    empty,
    heading,
    legend_below,
    look,
    panels,
)
from .utility import data_cases, data_title, size_of, sized_cases

MARKS = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"), ("v", "-"))
SHADES = (BLUE, ORANGE, GREEN, PURPLE, RED)
NEWTON_PASSES = 2
# Gaps below are rounding; the exact solver is drawn here.
SMALLEST_GAP = 1e-10


def unbounded_shares(cube: xr.Dataset) -> Figure:
    """Share of noise draws for which the objective without ridge has no minimiser, over epsilon and over N."""
    if "share_unbounded" not in cube:
        return empty("No method with bounded_draws in this configuration.")
    by_epsilon = data_cases(cube, "share_unbounded")
    by_size = [entry for entry in sized_cases(cube, "n") if entry[0] in cases_of(cube, "share_unbounded")]
    if not by_epsilon and len(by_size) < 2:
        return empty("share_unbounded needs several targets of epsilon, or a sweep of n, in this configuration.")
    figure, (left, right) = panels(1, 2, 4.3, 3.3, sharey=True)
    for index, case in enumerate(by_epsilon):
        line = _shares(cube, case)
        _marked(left, line.x, line.mean, index, data_title(cube, case))
    features = {int(cube["n_features"].sel(case=case).max()) for case, _ in by_size}
    of = f"generated, k = {features.pop()}" if len(features) == 1 else "generated data"
    for index, epsilon in enumerate(_targets(cube, by_size)):
        sizes, shares = np.array([(size, _share_at(cube, case, epsilon)) for case, size in by_size]).T
        _marked(right, sizes, shares, index + 1, f"{of}, epsilon = {epsilon:g}")
    left.set(xscale="log", xlabel="target epsilon of one label", ylabel="share of draws without a minimiser")
    right.set(xscale="log", xlabel="training rows N")
    left.set_ylim(-0.04, 1.04)
    legend_below(figure, [left, right], 2)
    heading(
        figure,
        "Without a ridge the noisy objective is often unbounded (published noise)\n"
        "exact test up to 2 000 rows, above that a lower bound from the coordinates",
    )
    return figure


def _marked(ax: Axes, x: np.ndarray, y: np.ndarray, index: int, label: str, **options: Any) -> None:
    """A line with the marks of its place, where it has values."""
    (marker, dashes), known = MARKS[index % len(MARKS)], np.isfinite(y)
    shade = SHADES[index % len(SHADES)]
    ax.plot(x[known], y[known], color=shade, marker=marker, linestyle=dashes, label=label, **options)


def _shares(cube: xr.Dataset, case: str) -> Series:
    """Shares of the first method of the case that has them."""
    for method in methods_of(cube, case):
        line = series(cube, "share_unbounded", case, method, "epsilon")
        if line:
            return line
    return Series(np.zeros(0), np.zeros(0), np.zeros(0))


def _targets(cube: xr.Dataset, cases: list[tuple[str, float]]) -> list[float]:
    """Targets at which every one of the cases has shares."""
    if len(cases) < 2:
        return []
    found = [set(_shares(cube, case).x[np.isfinite(_shares(cube, case).x)]) for case, _ in cases]
    return sorted(set.intersection(*found))


def _share_at(cube: xr.Dataset, case: str, epsilon: float) -> float:
    line = _shares(cube, case)
    return line.mean[line.x == epsilon][0]


def running_away(cube: xr.Dataset) -> Figure:
    """Length of the coefficients and test log-loss along the steps of a trainer without ridge."""
    found = [
        (case, method, epsilon)
        for case in cases_of(cube, "path_norm")
        for method, epsilon in _traced(cube, case, "path_norm")
        if np.isfinite(epsilon)
    ]
    if not found:
        return empty("No private method with trace_steps in this configuration.")
    figure, (left, right) = panels(1, 2, 3.9, 3.1)
    for index, (case, method, epsilon) in enumerate(found):
        shown = example_fits_of(cube, case)
        steps = example_fit(shown, "path_steps", method, epsilon)
        label = f"{size_of(cube, case)}, epsilon = {epsilon:g}"
        for ax, name in ((left, "path_norm"), (right, "path_log_loss")):
            _marked(ax, steps, example_fit(shown, name, method, epsilon), index, label, markersize=4)
    for ax, label in ((left, "length of the coefficients"), (right, "test log-loss")):
        ax.set(xscale="log", yscale="log", xlabel="steps", ylabel=label)
    legend_below(figure, [left, right], 3)
    heading(figure, '"While not converged" never ends: full batch, published noise, no ridge')
    return figure


def _traced(cube: xr.Dataset, case: str, name: str) -> list[tuple[str, float]]:
    """Method and epsilon of the example fits of a case that hold a path."""
    shown = example_fits_of(cube, case)
    known = np.isfinite(shown[name].values).any(axis=1)
    pairs = zip(shown["example_method"].values[known], shown["example_epsilon"].values[known], strict=True)
    return [(str(method), float(epsilon)) for method, epsilon in pairs]


def gap_by_passes(cube: xr.Dataset) -> Figure:
    """How far each trainer stays above the optimum, over passes over the data, without noise."""
    cases = [
        case
        for case in cases_of(cube, "path_gap")
        if any(not np.isfinite(epsilon) for _, epsilon in _traced(cube, case, "path_gap"))
    ]
    if not cases:
        return empty("No trainer without privacy with trace_steps in this configuration.")
    figure, axes = panels(1, len(cases), 6.4 if len(cases) == 1 else 4.2, 3.4, sharey=True)
    for ax, case in zip(axes, cases, strict=True):
        shown = example_fits_of(cube, case)
        free = [method for method, epsilon in _traced(cube, case, "path_gap") if not np.isfinite(epsilon)]
        for index, method in enumerate(free):
            passes, gap = (example_fit(shown, name, method, np.inf) for name in ("path_passes", "path_gap"))
            _marked(ax, passes, np.maximum(gap, SMALLEST_GAP), index, look(cube, method).label, markersize=4)
        exact = having(cube, "method", protocol="non_private", trainer="newton")
        for method in (m for m in exact if m in methods_of(cube, case)):
            steps = series(cube, "steps", case, method, "epsilon").mean[0]
            gap = series(cube, "objective_gap", case, method, "epsilon").mean[0]
            style = look(cube, method)
            label = f"{style.label}, {NEWTON_PASSES} passes a step (gap below {SMALLEST_GAP:g})"
            ax.plot(
                [NEWTON_PASSES * steps],
                [max(gap, SMALLEST_GAP)],
                style.marker,
                color=style.color,
                markersize=10,
                label=label,
            )
        ax.set(xscale="log", yscale="log", xlabel="passes over the training rows", title=size_of(cube, case))
    axes[0].set_ylabel("training objective above its least value")
    legend_below(figure, axes, 2)
    heading(figure, "Trainers without noise and almost without ridge\nmean of 5 runs where there are mini-batches")
    return figure


def classic_noise(cube: xr.Dataset) -> Figure:
    """What the classic noise formula claims, what it certifies, and what an attack on it proves."""
    attacked = [
        (case, method)
        for case in cases_of(cube, "audited_epsilon")
        for method in having(cube, "method", sigma="classic")
        if series(cube, "audited_epsilon", case, method, "epsilon")
    ]
    if not attacked:
        return empty("No method with the classic noise (sigma classic) and audit_draws in this configuration.")
    case, method = attacked[0]
    claimed, certified, audited = (
        series(cube, name, case, method, "epsilon")
        for name in ("epsilon_claimed", "epsilon_certified", "audited_epsilon")
    )
    limit = float(series(cube, "classic_limit", case, method, "epsilon").mean[0])
    figure, (left, right) = panels(1, 2, 4.0, 3.3)
    left.plot(claimed.mean, claimed.mean, color=BLACK, linestyle=":", label="claimed")
    style = look(cube, method)
    for ax, shift in ((left, 0.0), (right, claimed.mean)):
        ax.plot(
            claimed.mean, certified.mean - shift, color=style.color, marker=style.marker, label="certified: the truth"
        )
        ax.plot(
            audited.x,
            audited.mean - (audited.x if ax is right else 0.0),
            color=PURPLE,
            marker="v",
            linestyle="none",
            label="proved by attack (lower bound)",
        )
        ax.axvline(limit, color=ORANGE, linewidth=1.2, linestyle="--", label=f"claim exceeded above {limit:.2f}")
    right.axhline(0, color=BLACK, linestyle=":")
    delta = float(series(cube, "delta", case, method, "epsilon").mean[0])
    left.set(xlabel="claimed epsilon", ylabel="epsilon", xscale="log", yscale="log")
    right.set(xlabel="claimed epsilon", ylabel="epsilon minus claim")
    legend_below(figure, [left, right], 2)
    heading(figure, f"The classic Gaussian formula at delta = {delta:g}, one label")
    return figure
