"""Figures of functions: real day curves with their predictions, and operators as heat maps."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ....experiment.plotting.series import cases_of, configuration, exhibit, exhibits_of, methods_of
from ....experiment.plotting.style import BLACK, GREY, empty, legend_below, look, panels

REAL: dict[str, tuple[tuple[float, float], str]] = {
    "beijing": ((0, 24), "log(1 + PM2.5 in µg/m³)"),
    "nyc": ((6, 22), "share of departures over 15 min late"),
}
OPERATORS = {
    "oracle": "truth",
    "predictor_none": "predictor learner,\nno noise",
    "predictor_fixed": "predictor learner,\ns = 0.5",
    "party_none": "party learner,\nno noise",
    "party_fixed": "party learner,\ns = 0.5",
}


def real_curves(cube: xr.Dataset) -> Figure:
    """A few held-out days: observed, predicted without privacy and at two epsilons."""
    own = own_cases(cube)
    case = next((c for c in cases_of(cube, "curve_predicted") if c in REAL or c in own), None)
    if case is None:
        return empty("No real day curves in this configuration.")
    shown, (hours, unit) = exhibits_of(cube, case), own.get(case) or REAL[case]
    private = [m for m in ("local", "moments") if m in methods_of(cube, case)]
    if not private or "predictor_none" not in methods_of(cube, case):
        return empty("Real day curves need the methods predictor_none and local or moments.")
    labels = exhibit(shown, "record_label", "predictor_none")
    observed, days = exhibit(shown, "curve_observed", "predictor_none"), len(labels)
    figure, axes = panels(len(private), days, 2.6, 2.3, sharex=True, sharey=True)
    for row, method in enumerate(private):
        for day in range(days):
            ax = axes[row * days + day]
            _one_day(ax, shown, method, day, np.linspace(*hours, observed.shape[1]))
            if row == 0:
                ax.set_title(_record(int(labels[day])))
            if case in own:
                ax.xaxis.set_major_locator(MaxNLocator(4))
            else:
                ax.set_xticks(np.arange(hours[0], hours[1] + 1, 6))
            ax.set_xlabel(("time" if case in own else "hour of the day") if row == len(private) - 1 else "")
        axes[row * days].set_ylabel(unit, fontsize=8)
    legend_below(figure, axes, 3)
    what = "records" if case in own else "days"
    figure.suptitle(f"Held-out {what}, case {case}: one fold of the first replicate", fontsize=9.5)
    return figure


def own_cases(cube: xr.Dataset) -> dict[str, tuple[tuple[float, float], str]]:
    """Domain and unit of the response in each case of a person's own tables."""
    found = {}
    for name, case in configuration(cube)["cases"].items():
        if case.get("source", name) == "tables":
            settings = case["settings"]
            response = settings["response"]
            unit, transform = response.get("unit") or "response", response.get("transform", "none")
            low, high = response.get("domain") or settings["domain"]
            found[name] = ((low, high), unit if transform == "none" else f"{transform} of {unit}")
    return found


def _record(label: int) -> str:
    """A date out of its eight digits, or the number of the record."""
    digits = f"{label:08d}"
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}" if label >= 10_000_000 else f"record {label}"


def _one_day(ax: Axes, shown: xr.Dataset, method: str, day: int, grid: np.ndarray) -> None:
    observed = exhibit(shown, "curve_observed", "predictor_none")
    floor = exhibit(shown, "curve_predicted", "predictor_none")
    ax.plot(grid, observed[day], color=GREY, linewidth=2.5, alpha=0.6, label="observed (smoothed)")
    ax.plot(grid, floor[day], color=BLACK, label="predicted, no privacy")
    mine = shown["exhibit_epsilon"].values[shown["exhibit_method"].values == method]
    for epsilon, line in zip(sorted(mine)[::-1][:2], ("-", "--"), strict=False):
        predicted = exhibit(shown, "curve_predicted", method, epsilon)
        name = f"{look(method).label}, ε = {epsilon:g}"
        ax.plot(grid, predicted[day], color=look(method).color, linestyle=line, label=name)


def operators(cube: xr.Dataset) -> Figure:
    """Kernels beta_j(s, t) of four predictors: truth and estimates on one colour scale."""
    needed = {"oracle", "predictor_none"}
    case = next((c for c in cases_of(cube, "operator") if needed <= set(methods_of(cube, c))), None)
    if case is None:
        return empty("No simulated case with the true operators in this configuration.")
    shown = exhibits_of(cube, case)
    rows = [m for m in OPERATORS if m in methods_of(cube, case)]
    truth, names = exhibit(shown, "operator", "oracle"), exhibit(shown, "predictor_shown_index", "oracle")
    count, limit = len(names), float(np.quantile(np.abs(truth), 0.98))
    figure, axes = panels(len(rows), count, 1.7, 1.45, sharex=True, sharey=True)
    style: dict[str, Any] = {
        "origin": "lower",
        "extent": (0, 1, 0, 1),
        "cmap": "PuOr",
        "aspect": "auto",
        "interpolation": "bilinear",
    }
    for r, method in enumerate(rows):
        kernels = exhibit(shown, "operator", method)
        for c in range(count):
            ax = axes[r * count + c]
            ax.imshow(kernels[c].T, vmin=-limit, vmax=limit, **style)
            ax.grid(False)
            ax.set(xticks=[0, 1], yticks=[0, 1], xlabel="s" if r == len(rows) - 1 else "")
            if r == 0:
                ax.set_title(f"x{int(names[c])}" + ("" if np.any(truth[c]) else " (inactive)"))
        axes[r * count].set_ylabel(f"{OPERATORS[method]}\nt", fontsize=8)
    label = "kernel β(s, t); colours end at the 98 % point"
    figure.colorbar(axes[0].images[0], ax=axes, label=label, shrink=0.7, extend="both")
    figure.suptitle(f"Operators, case {case}, fewest parties: one fold of the first replicate", fontsize=9.5)
    return figure
