"""Figures 2 and 3 of the source: angle to the true subspace, as published and at one certified epsilon, one cube."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.plotting.series import Series, configuration, draw, methods_of, series
from ....experiment.plotting.style import GREY, empty, legend_below, look, panels

PUBLISHED = ("sir", "fsir_iid", "fsir_vgm", "lda_iid", "lda_vgm", "cert")
EQUAL = ("sir", "iid_equal", "cert_equal", "whiten_equal")
CLAIM = "fsir_vgm"
SHARES = (0.05, 0.95)


def angle_by_size(cube: xr.Dataset) -> Figure:
    """Angle against the number of records of one client, a column for each model; below, at equal certified epsilon."""
    groups: dict[str, list[tuple[float, str]]] = {}
    for case, settings in settings_of(cube, "size_").items():
        groups.setdefault(f"model {settings.get('model', 'I')}", []).append((settings.get("n", 500), case))
    if not groups:
        return empty("No case size_... in this configuration.")
    figure, axes = panels(2, len(groups), 3.9, 3.0, sharex="col", sharey="row")
    for column, (title, cases) in enumerate(sorted(groups.items())):
        cases.sort()
        for row, methods in enumerate((PUBLISHED, EQUAL)):
            ax = axes[row * len(groups) + column]
            for place, method in enumerate(shown(cube, cases[0][1], methods)):
                line, bars = along_cases(cube, cases, method)
                _draw(ax, line, method, bars=bars, shift=1 + 0.035 * (place - 1.5))
            if row == 1:
                _claim(ax, along_cases(cube, cases, CLAIM)[0], cube, cases[0][1])
            _axes(ax, cube, cases[0][1], row, column, title)
        axes[len(groups) + column].set_xlabel("records n of the one client")
    legend_below(figure, axes, 4)
    figure.suptitle(
        f"One client: mean angle over {replicates(cube, cases[0][1])} replicates, bars: 5 % to 95 %", fontsize=9.5
    )
    return figure


def angle_by_clients(cube: xr.Dataset) -> Figure:
    """Angle against the number of clients, a column for each size; below, at equal certified epsilon."""
    cases = sorted(settings_of(cube, "clients_").items(), key=lambda entry: entry[1].get("n", 500))
    if not cases:
        return empty("No case clients_... in this configuration.")
    figure, axes = panels(2, len(cases), 3.9, 3.0, sharex="col", sharey="row")
    for column, (case, settings) in enumerate(cases):
        for row, methods in enumerate((PUBLISHED, EQUAL)):
            ax = axes[row * len(cases) + column]
            for method in shown(cube, case, methods):
                _draw(ax, series(cube, "angle", case, method, "parties"), method)
            if row == 1:
                _claim(ax, series(cube, "angle", case, CLAIM, "parties"), cube, case)
            _axes(ax, cube, case, row, column, f"model {settings.get('model', 'I')}, n = {settings.get('n', 500)}")
        axes[len(cases) + column].set_xlabel("clients K")
    legend_below(figure, axes, 4)
    figure.suptitle(
        f"Many clients: mean angle over {replicates(cube, case)} replicates, bands: ± 1 standard error", fontsize=9.5
    )
    return figure


def settings_of(cube: xr.Dataset, head: str) -> dict[str, dict]:
    """Settings of the cases whose name begins so."""
    cases = configuration(cube)["cases"]
    return {
        n: dict(e.get("settings") or {}) for n, e in cases.items() if n.startswith(head) and n in cube["case"].values
    }


def shown(cube: xr.Dataset, case: str, methods: Sequence[str]) -> list[str]:
    """The methods that the case has, in the order asked for."""
    return [method for method in methods if method in methods_of(cube, case)]


def replicates(cube: xr.Dataset, case: str) -> int:
    """Number of replicates of a case."""
    done = (cube["status"].sel({"case": case}) > 0).any(["method", "parties", "fold", "epsilon"])
    return int(done.sum())


def along_cases(cube: xr.Dataset, cases: Sequence[tuple[float, str]], method: str) -> tuple[Series, np.ndarray]:
    """Mean angle of one method over a series of cases, with its 5 % and 95 % quantiles (2, cases)."""
    points, bars = [], []
    for size, case in cases:
        values = cube["angle"].sel({"case": case, "method": method}).values
        values = values[np.isfinite(values)]
        if len(values):
            points.append((size, values.mean(), np.nan))
            bars.append(np.quantile(values, SHARES))
    return Series(*np.array(points).reshape(-1, 3).T), np.array(bars).reshape(-1, 2).T


def _draw(ax: Axes, line: Series, method: str, *, bars: np.ndarray | None = None, shift: float = 1.0) -> None:
    if not line:
        return
    if bars is not None:
        ax.vlines(line.x * shift, bars[0], bars[1], color=look(method).color, linewidth=0.9, alpha=0.6)
    draw(ax, Series(line.x * shift, line.mean, line.se), method)


def _claim(ax: Axes, line: Series, cube: xr.Dataset, case: str) -> None:
    """What a published method would show if its claim held: grey, and labelled for what it is."""
    if line:
        label = f"FSIR-VGM: ε = ∞, claimed {price(cube, case, CLAIM, 'epsilon_claimed'):.3g}"
        ax.plot(line.x, line.mean, color=GREY, linestyle="--", linewidth=1.2, label=label)


def price(cube: xr.Dataset, case: str, method: str, name: str) -> float:
    """Claimed or certified epsilon of a method in a case."""
    values = cube[name].sel({"case": case, "method": method}).values
    values = values[~np.isnan(values)]
    return float(values.max()) if len(values) else np.nan


def _axes(ax: Axes, cube: xr.Dataset, case: str, row: int, column: int, title: str) -> None:
    ax.set(xscale="log", ylim=(0, 92))
    if row == 0:
        ax.set_title(title)
    if column == 0:
        equal = [price(cube, case, m, "epsilon_certified") for m in shown(cube, case, EQUAL[1:])]
        told = f"all at certified ε = {equal[0]:.3g}" if equal else ""
        ax.set_ylabel(("each at its own claim" if row == 0 else told) + "\nangle, degrees")
