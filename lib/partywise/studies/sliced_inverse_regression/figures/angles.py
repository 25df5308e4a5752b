"""Figures 2 and 3 of the source: angle to the true subspace, as published and at one certified epsilon, one cube."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.plotting.select import having, plan_behind
from ....experiment.plotting.series import Series, draw, methods_of, series
from ....experiment.plotting.style import GREY, Look, empty, legend_below, look, panels
from ..settings import SimulatedSettings

SHARES = (0.05, 0.95)


def angle_by_size(cube: xr.Dataset) -> Figure:
    """Angle against the number of records of one client, a column for each model; below, at equal certified epsilon."""
    groups: dict[str, list[tuple[float, str]]] = {}
    for case, settings in simulated(cube).items():
        if settings.row is None and party_counts(cube, case) == 1:
            groups.setdefault(f"model {settings.model}", []).append((settings.n, case))
    if not groups:
        return empty("No simulated case with one number of clients in this configuration.")
    figure, axes = panels(2, len(groups), max(3.9, 6.6 / len(groups)), 3.0, sharex="col", sharey="row")
    for column, (title, cases) in enumerate(sorted(groups.items())):
        cases.sort()
        first = cases[0][1]
        for row, methods in enumerate(compared(cube, first)):
            ax = axes[row * len(groups) + column]
            for place, method in enumerate(methods):
                line, bars = along_cases(cube, cases, method)
                _draw(ax, line, look(cube, method), bars=bars, shift=1 + 0.035 * (place - 1.5))
            for method in claimed(cube, first) if row else []:
                _claim(ax, along_cases(cube, cases, method)[0], cube, first, method)
            _axes(ax, cube, first, row, column, title)
        axes[len(groups) + column].set_xlabel("records n of the one client")
    legend_below(figure, axes, 2 if len(groups) == 1 else 4)
    figure.suptitle(
        f"One client: mean angle over {replicates(cube, first)} replicates, bars: 5 % to 95 %", fontsize=9.5
    )
    return figure


def angle_by_clients(cube: xr.Dataset) -> Figure:
    """Angle against the number of clients, a column for each size; below, at equal certified epsilon."""
    designs = {c: s for c, s in simulated(cube).items() if s.row is None and party_counts(cube, c) > 1}
    cases = sorted(designs.items(), key=lambda entry: (entry[1].model, entry[1].n))
    if not cases:
        return empty(
            "No simulated case with several numbers of clients, besides rows of tables, in this configuration."
        )
    figure, axes = panels(2, len(cases), 3.9, 3.0, sharex="col", sharey="row")
    for column, (case, settings) in enumerate(cases):
        for row, methods in enumerate(compared(cube, case)):
            ax = axes[row * len(cases) + column]
            for method in methods:
                _draw(ax, series(cube, "angle", case, method, "parties"), look(cube, method))
            for method in claimed(cube, case) if row else []:
                _claim(ax, series(cube, "angle", case, method, "parties"), cube, case, method)
            _axes(ax, cube, case, row, column, f"model {settings.model}, n = {settings.n}")
        axes[len(cases) + column].set_xlabel("clients K")
    legend_below(figure, axes, 4)
    figure.suptitle(
        f"Many clients: mean angle over {replicates(cube, case)} replicates, bands: ± 1 standard error", fontsize=9.5
    )
    return figure


def simulated(cube: xr.Dataset) -> dict[str, SimulatedSettings]:
    """Settings in force of the simulated cases."""
    cases = plan_behind(cube).cases
    return {case: cases[case].settings for case in having(cube, "case", source="simulated")}


def party_counts(cube: xr.Dataset, case: str) -> int:
    """How many numbers of clients a case has."""
    done = (cube["status"].sel(case=case) > 0).any(["method_label", "replicate", "fold", "epsilon"])
    return int(done.sum())


def compared(cube: xr.Dataset, case: str) -> tuple[list[str], list[str]]:
    """Methods of a case at their own claims, and those whose releases cost one total; no privacy is in both."""
    total, free = having(cube, "method", calibrate="total"), having(cube, "method", protocol="reference")
    own = methods_of(cube, case)
    return [m for m in own if m not in total], [m for m in own if m in (*total, *free)]


def claimed(cube: xr.Dataset, case: str) -> list[str]:
    """The published method whose claim is shown beside methods that keep theirs: algorithm 2, if the case has it."""
    others = having(cube, "method", mechanism="iid") + having(cube, "method", estimator="lda")
    own = methods_of(cube, case)
    return [m for m in having(cube, "method", protocol="published") if m in own and m not in others][:1]


def replicates(cube: xr.Dataset, case: str) -> int:
    """Number of replicates of a case."""
    done = (cube["status"].sel(case=case) > 0).any(["method_label", "parties", "fold", "epsilon"])
    return int(done.sum())


def along_cases(cube: xr.Dataset, cases: Sequence[tuple[float, str]], method: str) -> tuple[Series, np.ndarray]:
    """Mean angle of one method over a series of cases, with its 5 % and 95 % quantiles (2, cases)."""
    points, bars = [], []
    for size, case in cases:
        values = cube["angle"].sel(case=case, method_label=method).values
        values = values[np.isfinite(values)]
        if len(values):
            points.append((size, values.mean(), np.nan))
            bars.append(np.quantile(values, SHARES))
    return Series(*np.array(points).reshape(-1, 3).T), np.array(bars).reshape(-1, 2).T


def _draw(ax: Axes, line: Series, style: Look, *, bars: np.ndarray | None = None, shift: float = 1.0) -> None:
    if not line:
        return
    if bars is not None:
        ax.vlines(line.x * shift, bars[0], bars[1], color=style.color, linewidth=0.9, alpha=0.6)
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


def _axes(ax: Axes, cube: xr.Dataset, case: str, row: int, column: int, title: str) -> None:
    ax.set(xscale="log", ylim=(0, 92))
    if row == 0:
        ax.set_title(title)
    if column == 0:
        total = having(cube, "method", calibrate="total")
        equal = [price(cube, case, m, "epsilon_certified") for m in compared(cube, case)[1] if m in total]
        told = f"all at certified ε = {equal[0]:.3g}" if equal else ""
        ax.set_ylabel(("each at its own claim" if row == 0 else told) + "\nangle, degrees")
