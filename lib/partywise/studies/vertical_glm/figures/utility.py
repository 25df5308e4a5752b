"""Figure of private vertical GLM: what a certified epsilon costs, and whom one has to trust for it."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from ....experiment.plotting.select import title
from ....experiment.plotting.series import BAND, cases_of, draw, methods_of, series
from ....experiment.plotting.style import GREY, empty, legend_below, look, panels
from ....experiment.results.attributes import meanings

# What a trust model asks for.
TRUST = {
    "central": "trusted aggregator",
    "distributed": "dealer that colludes with nobody",
    "local": "nobody is trusted",
}


def deviance_by_epsilon(cube: xr.Dataset) -> Figure:
    """Deviance above the pooled fit on held-out records, else on those of the fit, at each certified epsilon."""
    cases = [case for case in cases_of(cube, "excess_deviance") if len(_private(cube, case)) > 0]
    if not cases:
        return empty("No method with a target of epsilon in this configuration.")
    columns = min(3, len(cases))
    figure, axes = panels(-(-len(cases) // columns), columns, 4.4 if columns < 3 else 3.5, 3.3, sharex=True)
    for ax in axes[len(cases) :]:
        ax.set_axis_off()
    for ax, case in zip(axes, cases, strict=False):
        for method in _private(cube, case):
            line, style = series(cube, "excess_deviance", case, method, "epsilon"), look(cube, method)
            draw(ax, line, style, label=f"{style.label}: {_trust(cube, case, method)}")
        ax.axhline(1, color=GREY, linewidth=0.9, linestyle="--", label="no column used")
        _ticks(
            ax, sorted({e for m in _private(cube, case) for e in series(cube, "excess_deviance", case, m, "epsilon").x})
        )
        ax.set(yscale="log", title=title(cube, "case", case))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    for ax in axes[max(0, len(cases) - columns) : len(cases)]:
        ax.set_xlabel("certified ε of a record")
    for ax in axes[::columns]:
        ax.set_ylabel("deviance above the pooled fit\n(0: pooled, 1: no column used)")
    legend_below(figure, axes[: len(cases)], 2)
    figure.suptitle(f"What privacy costs, and whom it trusts\n{BAND}", fontsize=9.5)
    return figure


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
    values = meanings(cube["trust_model"].sel({"case": case, "method": method})).values.ravel()
    words = sorted({str(value) for value in values if str(value) in TRUST})
    return ", ".join(TRUST[word] for word in words)


def _ticks(ax: Axes, epsilons: list[float]) -> None:
    """A logarithmic axis with the targets as they were given."""
    ax.set_xscale("log")
    ax.set_xticks(epsilons, [f"{e:g}" for e in epsilons])
    ax.xaxis.set_minor_formatter(NullFormatter())
