"""Figure of private vertical GLM: what a certified epsilon costs, and whom one has to trust for it."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from ....experiment.plotting.replicates import banded
from ....experiment.plotting.select import plan_behind, title
from ....experiment.plotting.series import cases_of, draw, methods_of, series
from ....experiment.plotting.style import GREY, compact, empty, heading, legend_below, look
from ....experiment.results.attributes import meanings
from .shared import grid_of

# What a trust model asks for.
TRUST = {
    "central": "the aggregator",
    "distributed": "a non-colluding dealer",
    "local": "nobody",
}


def deviance_by_epsilon(cube: xr.Dataset) -> Figure:
    """Deviance above the pooled fit at each certified epsilon, by the title on held-out records or on those of the fit.

    0 is the pooled fit, 1 a model without columns. Means over {replicates}, bands are ± 1 standard error.
    """
    cases = [case for case in cases_of(cube, "excess_deviance") if len(_private(cube, case)) > 0]
    if not cases:
        return empty("No method with a target of epsilon in this configuration.")
    figure, axes, left = grid_of(len(cases), 3, 3.6, 3.9 if len(cases) == 1 else 3.3)
    delta = compact(plan_behind(cube).spec.delta)
    for ax, case in zip(axes, cases, strict=True):
        for method in _private(cube, case):
            line, style = series(cube, "excess_deviance", case, method, "epsilon"), look(cube, method)
            draw(ax, line, style, label=f"{style.label}; trusts {_trust(cube, case, method)}")
        ax.axhline(1, color=GREY, linewidth=0.9, linestyle="--", label="no column used")
        _ticks(ax, _targets(cube, case))
        records = "on held-out records" if plan_behind(cube).cases[case].folds > 1 else "on the records of the fit"
        ax.set(
            yscale="log",
            title=f"{title(cube, 'case', case)}\n{records}",
            xlabel=f"certified ε of a record, δ = {delta}",
        )
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for ax in left:
        ax.set_ylabel("deviance above the pooled fit\n(0: pooled, 1: no column used)")
    legend_below(figure, axes, 1 if len(cases) == 1 else 2)
    heading(figure, f"What privacy costs, and whom it trusts\n{banded(cube, cases)}")
    return figure


def _targets(cube: xr.Dataset, case: str) -> list[float]:
    """Targets of epsilon of a case."""
    lines = [series(cube, "excess_deviance", case, method, "epsilon") for method in _private(cube, case)]
    return sorted({float(epsilon) for line in lines for epsilon in line.x if np.isfinite(epsilon)})


def _private(cube: xr.Dataset, case: str) -> list[str]:
    """Methods of a case with a finite certified epsilon that is their target."""
    found = []
    for method in methods_of(cube, case):
        line = series(cube, "excess_deviance", case, method, "epsilon")
        certified = series(cube, "epsilon_certified", case, method, "epsilon")
        if line and np.isfinite(line.x).any() and certified and np.isfinite(certified.mean).all():
            found.append(method)
    return found


def _trust(cube: xr.Dataset, case: str, method: str) -> str:
    """Whom the method trusts, in words."""
    values = meanings(cube["trust_model"].sel(case=case, method_label=method)).values.ravel()
    kinds = {kind for value in map(str, values) for kind in value.split("_") if kind in TRUST}
    # Noise of its own does not help a party where another of its releases trusts somebody.
    words = [TRUST[kind] for kind in TRUST if kind in kinds and (kind != "local" or kinds == {"local"})]
    return " and ".join(words)


def _ticks(ax: Axes, epsilons: list[float]) -> None:
    """A logarithmic axis with the targets as they were given."""
    ax.set_xscale("log")
    ax.set_xticks(epsilons, [f"{e:g}" for e in epsilons])
    ax.xaxis.set_minor_locator(NullLocator())
