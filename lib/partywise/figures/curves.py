"""Figures of functions: real day curves with their predictions, and operators as heat maps."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .series import cases_of, methods_of
from .style import BLACK, GREY, empty, legend_below, look, panels

REAL = {
    "beijing": ("hour of the day", (0, 24), "log(1 + PM2.5 in µg/m³)"),
    "nyc": ("hour of the day", (6, 22), "share of departures over 15 min late"),
}
OPERATORS = ("oracle", "predictor_none", "predictor_fixed", "party_none", "party_fixed")


def real_curves(cube: xr.Dataset) -> Figure:
    """A few held-out days: observed, predicted without privacy and at two epsilons."""
    case = next((c for c in cases_of(cube, "curve_predicted") if c in REAL), None)
    if case is None:
        return empty("No real day curves in this configuration.")
    label, hours, unit = REAL[case]
    shown = cube[["curve_observed", "curve_predicted", "record_label"]].sel({"case": case})
    shown = shown.isel(
        parties=int(
            np.flatnonzero(
                (cube["status"].sel({"case": case}) > 0).any(["method", "replicate", "fold", "epsilon"]).values
            )[0]
        )
    )
    private = [m for m in ("local", "moments") if m in methods_of(cube, case)]
    figure, axes = panels(len(private), shown.sizes["record_shown"], 2.6, 2.3, sharex=True, sharey=True)
    grid = np.linspace(*hours, shown.sizes["curve_grid"])
    finite = [e for e in cube["epsilon"].values if np.isfinite(e)]
    for row, method in enumerate(private):
        targets = [
            e for e in finite if bool(shown["curve_predicted"].sel({"method": method, "epsilon": e}).notnull().any())
        ]
        chosen = targets[-1:] + targets[-2:-1] if len(targets) > 1 else targets
        for column in range(shown.sizes["record_shown"]):
            ax, day = axes[row * shown.sizes["record_shown"] + column], shown.isel(record_shown=column)
            floor = day.sel({"method": "predictor_none", "epsilon": np.inf})
            ax.plot(grid, floor["curve_observed"], color=GREY, linewidth=2.5, alpha=0.6, label="observed (smoothed)")
            ax.plot(grid, floor["curve_predicted"], color=BLACK, label="predicted, no privacy")
            for epsilon, line in zip(chosen, ("-", "--"), strict=False):
                predicted = day["curve_predicted"].sel({"method": method, "epsilon": epsilon})
                name = f"{look(method).label}, ε = {epsilon:g}"
                ax.plot(grid, predicted, color=look(method).color, linestyle=line, label=name)
            if row == 0:
                digits = f"{int(floor['record_label']):08d}"
                ax.set_title(f"{digits[:4]}-{digits[4:6]}-{digits[6:]}")
            if row == len(private) - 1:
                ax.set_xlabel(label)
            if column == 0:
                ax.set_ylabel(unit, fontsize=8)
    legend_below(figure, axes, 3)
    figure.suptitle("Held-out days: one fold of the first replicate", fontsize=9.5)
    return figure


def operators(cube: xr.Dataset) -> Figure:
    """Kernels beta_j(s, t) of four predictors: truth and estimates on one colour scale a predictor."""
    case = next(
        (
            c
            for c in cases_of(cube, "operator")
            if "oracle" in methods_of(cube, c) and "predictor_none" in methods_of(cube, c)
        ),
        None,
    )
    if case is None:
        return empty("No simulated case with the true operators in this configuration.")
    shown = cube[["operator", "predictor_shown_index"]].sel({"case": case, "epsilon": np.inf})
    present = shown["operator"].notnull().any([d for d in shown["operator"].dims if d not in ("parties",)])
    shown = shown.isel(parties=int(np.flatnonzero(present.values)[0]))
    rows = [m for m in OPERATORS if m in methods_of(cube, case)]
    count = shown.sizes["predictor_shown"]
    figure, axes = panels(len(rows), count, 1.7, 1.45, sharex=True, sharey=True)
    names = {"oracle": "truth", "party_none": "party learner,\nno noise", "party_fixed": "party learner,\ns = 0.5"}
    names |= {"predictor_none": "predictor learner,\nno noise", "predictor_fixed": "predictor learner,\ns = 0.5"}
    limit = float(np.quantile(np.abs(shown["operator"].sel({"method": "oracle"})), 0.98))
    image = None
    for r, method in enumerate(rows):
        for c in range(count):
            ax = axes[r * count + c]
            kernel = shown["operator"].sel({"method": method}).isel(predictor_shown=c).values
            image = ax.imshow(
                kernel.T,
                origin="lower",
                extent=(0, 1, 0, 1),
                cmap="PuOr",
                vmin=-limit,
                vmax=limit,
                aspect="auto",
                interpolation="bilinear",
            )
            ax.grid(False)
            ax.set_xticks([0, 1])
            ax.set_yticks([0, 1])
            if r == 0:
                index = int(shown["predictor_shown_index"].sel({"method": "oracle"}).isel(predictor_shown=c))
                inactive = not np.any(shown["operator"].sel({"method": "oracle"}).isel(predictor_shown=c).values)
                ax.set_title(f"x{index}" + (" (inactive)" if inactive else ""))
            if c == 0:
                ax.set_ylabel(f"{names[method]}\nt", fontsize=8)
            if r == len(rows) - 1:
                ax.set_xlabel("s")
    figure.colorbar(image, ax=axes, label="kernel β(s, t); colours end at the 98 % point", shrink=0.7, extend="both")
    figure.suptitle(
        f"Operators, case {case}, J = {int(shown['parties'])}: one fold of the first replicate", fontsize=9.5
    )
    return figure
