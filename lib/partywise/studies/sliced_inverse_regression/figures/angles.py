"""Figures 2 and 3 of the source: angle to the true subspace, as published and at one certified epsilon, one cube."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.plotting.replicates import over, over_with_bands, replicates
from ....experiment.plotting.select import having, plan_behind
from ....experiment.plotting.series import Series, draw, methods_of, series
from ....experiment.plotting.style import GREY, Look, empty, heading, legend_below, look, panels
from ..settings import SimulatedSettings

# Quantiles between which a bar reaches, and the replicates from which on they are more than the extremes.
SHARES, MANY = (0.05, 0.95), 20


def angle_by_size(cube: xr.Dataset) -> Figure:
    """Angle against the number of records of one client, a column for each model; below, at equal certified epsilon.

    Means over {replicates}; bars reach from the 5 % to the 95 % quantile of the replicates, of few to the extremes. A
    published method without a certificate stays beside the certified ones as a dashed grey line, at its claim.
    """
    groups: dict[str, list[tuple[float, str]]] = {}
    for case, settings in simulated_settings(cube).items():
        if settings.row is None and party_counts(cube, case) == 1:
            groups.setdefault(f"model {settings.model}", []).append((settings.n, case))
    if not groups:
        return empty("No simulated case with one number of clients in this configuration.")
    figure, axes = _panels(len(groups))
    for column, (title, cases) in enumerate(sorted(groups.items())):
        cases.sort()
        first = cases[0][1]
        for row, methods in enumerate(methods_by_calibration(cube, first)):
            ax = axes[row][column]
            for place, method in enumerate(methods):
                line, bars = along_cases(cube, cases, method)
                _draw(ax, line, look(cube, method), bars=bars, shift=1 + 0.035 * (place - 1.5))
            for method in published_methods(cube, first) if row else []:
                _claim(ax, along_cases(cube, cases, method)[0], cube, first, method)
            _axes(ax, cube, first, (row, column, len(groups)), title)
            ax.set_xlabel("records n of the one client" if row or len(groups) == 1 else "")
    _legend(figure, axes)
    shown = [case for cases in groups.values() for _, case in cases]
    reach = "5 % to 95 % of them" if replicates(cube, shown)[0] >= MANY else "from the least to the largest"
    heading(figure, f"One client: {over(cube, shown)}, bars: {reach}")
    return figure


def angle_by_clients(cube: xr.Dataset) -> Figure:
    """Angle against the number of clients, a column for each size; below, at equal certified epsilon.

    Means over {replicates}, bands are ± 1 standard error.
    """
    designs = {c: s for c, s in simulated_settings(cube).items() if s.row is None and party_counts(cube, c) > 1}
    cases = sorted(designs.items(), key=lambda entry: (entry[1].model, entry[1].n))
    if not cases:
        return empty(
            "No simulated case with several numbers of clients, besides rows of tables, in this configuration."
        )
    figure, axes = _panels(len(cases))
    for column, (case, settings) in enumerate(cases):
        for row, methods in enumerate(methods_by_calibration(cube, case)):
            ax = axes[row][column]
            for method in methods:
                _draw(ax, series(cube, "angle", case, method, "parties"), look(cube, method))
            for method in published_methods(cube, case) if row else []:
                _claim(ax, series(cube, "angle", case, method, "parties"), cube, case, method)
            _axes(
                ax, cube, case, (row, column, len(cases)), f"model {settings.model}, n = {settings.n} records a client"
            )
            ax.set_xlabel("clients K" if row or len(cases) == 1 else "")
    _legend(figure, axes)
    heading(figure, f"Many clients: {over_with_bands(cube, [case for case, _ in cases])}")
    return figure


def _panels(columns: int) -> tuple[Figure, list[list[Axes]]]:
    """Panels of both rows; those of one column stand side by side."""
    if columns == 1:
        figure, (left, right) = panels(1, 2, 4.3, 3.9, sharex=True, sharey=True)
        return figure, [[left], [right]]
    figure, axes = panels(2, columns, 3.9, 3.0, sharex="col", sharey="row")
    return figure, [axes[:columns], axes[columns:]]


def _legend(figure: Figure, axes: list[list[Axes]]) -> None:
    legend_below(figure, [ax for row in axes for ax in row], 2 if len(axes[0]) < 3 else 3)


def simulated_settings(cube: xr.Dataset) -> dict[str, SimulatedSettings]:
    """Settings in force of the simulated cases."""
    cases = plan_behind(cube).cases
    return {case: cases[case].settings for case in having(cube, "case", source="simulated")}


def party_counts(cube: xr.Dataset, case: str) -> int:
    """How many numbers of clients a case has."""
    done = (cube["status"].sel(case=case) > 0).any(["method_label", "replicate", "fold", "epsilon"])
    return int(done.sum())


def methods_by_calibration(cube: xr.Dataset, case: str) -> tuple[list[str], list[str]]:
    """Methods of a case at their own claims, and those whose releases cost one total; no privacy is in both."""
    total, free = having(cube, "method", calibrate="claims"), having(cube, "method", protocol="reference")
    own = methods_of(cube, case)
    return [m for m in own if m not in total], [m for m in own if m in (*total, *free)]


def published_methods(cube: xr.Dataset, case: str) -> list[str]:
    """The published method whose claim is shown beside methods that keep theirs: algorithm 2, if the case has it."""
    others = having(cube, "method", mechanism="iid") + having(cube, "method", estimator="lda")
    own = methods_of(cube, case)
    return [m for m in having(cube, "method", protocol="published") if m in own and m not in others][:1]


def along_cases(cube: xr.Dataset, cases: Sequence[tuple[float, str]], method: str) -> tuple[Series, np.ndarray]:
    """Mean angle of one method over a series of cases, and between what most of its replicates lie (2, cases).

    These are the 5 % and 95 % quantiles, of few replicates the extremes.
    """
    points, bars = [], []
    for size, case in cases:
        values = cube["angle"].sel(case=case, method_label=method).values
        values = values[np.isfinite(values)]
        if len(values):
            points.append((size, values.mean(), np.nan))
            bars.append(np.quantile(values, SHARES if len(values) >= MANY else (0, 1)))
    return Series(*np.array(points).reshape(-1, 3).T), np.array(bars).reshape(-1, 2).T


def _draw(ax: Axes, line: Series, style: Look, *, bars: np.ndarray | None = None, shift: float = 1.0) -> None:
    if not line:
        return
    if bars is not None:
        ax.vlines(line.x * shift, bars[0], bars[1], color=style.color, linewidth=0.8)
    draw(ax, Series(line.x * shift, line.mean, line.se), style)


def _claim(ax: Axes, line: Series, cube: xr.Dataset, case: str, method: str) -> None:
    """What a published method would show if its claim held: grey, and labelled for what it is."""
    if line:
        label = claim_label(cube, case, method)
        ax.plot(line.x, line.mean, color=GREY, linestyle="--", linewidth=1.2, label=label)


def claim_label(cube: xr.Dataset, case: str, method: str) -> str:
    """Name of a published method with what it claims and what it proves."""
    return f"{look(cube, method).label}: ε = ∞, claimed {price(cube, case, method, 'epsilon_claimed'):.3g}"


def price(cube: xr.Dataset, case: str, method: str, name: str) -> float:
    """Claimed or certified epsilon of a method in a case."""
    values = cube[name].sel(case=case, method_label=method).values
    values = values[~np.isnan(values)]
    return float(values.max()) if len(values) else np.nan


def _axes(ax: Axes, cube: xr.Dataset, case: str, place: tuple[int, int, int], title: str) -> None:
    """Labels of a panel at a row and a column of so many."""
    row, column, columns = place
    ax.set(xscale="log", ylim=(0, 92))
    at = "each method at its own claim"
    if row:
        total = having(cube, "method", calibrate="claims")
        equal = [price(cube, case, m, "epsilon_certified") for m in methods_by_calibration(cube, case)[1] if m in total]
        at = f"certified methods at ε = {equal[0]:.3g}" if equal else ""
    if columns == 1:
        ax.set_title(f"{title}\n{at}")
        ax.set_ylabel("" if row else "angle to the true subspace, degrees")
        return
    if row == 0:
        ax.set_title(title)
    if column == 0:
        ax.set_ylabel(f"{at}\nangle, degrees")
