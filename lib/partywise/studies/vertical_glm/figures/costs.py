"""Figure of vertical GLM: what more parties cost in bytes and in products of shares."""

from __future__ import annotations

import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

from ....experiment.plotting.replicates import banded
from ....experiment.plotting.select import title
from ....experiment.plotting.series import cases_of, draw, methods_of, series
from ....experiment.plotting.shade import shade
from ....experiment.plotting.style import empty, heading, legend_below, panels
from .shared import ends, parties_of


def costs_by_parties(cube: xr.Dataset) -> Figure:
    """Bytes of all messages, and products of secret-shared numbers, by the number of parties.

    Means over {replicates}, bands are ± 1 standard error. Cases with one number of parties are shown where no case has
    several.
    """
    measured = cases_of(cube, "bytes_measured")
    cases = [case for case in measured if _counts(cube, case) > 1] or measured
    if not cases:
        return empty("No method that sends messages in this configuration.")
    cases = ends(cube, cases, 5)
    figure, axes = panels(2, len(cases), 4.2 if len(cases) < 3 else 3.0, 2.5, sharex="col", sharey="row")
    for column, case in enumerate(cases):
        top, bottom = axes[column], axes[len(cases) + column]
        for method in methods_of(cube, case):
            for ax, variable in ((top, "bytes_measured"), (bottom, "secure_products")):
                if variable not in cube:
                    continue
                line = series(cube, variable, case, method, "parties")
                if line and (line.mean > 0).any():
                    draw(ax, line, shade(cube, method))
        top.set(yscale="log", title=title(cube, "case", case))
        top.yaxis.set_major_formatter(EngFormatter(unit="B"))
        top.yaxis.set_minor_formatter(NullFormatter())
        bottom.set(xlabel="parties", ylim=(0, None))
        bottom.set_xticks(parties_of(cube, case))
        bottom.yaxis.set_major_formatter(EngFormatter())
    low, high = axes[0].get_ylim()
    for ax in axes[: len(cases)]:
        ax.yaxis.set_major_locator(LogLocator(subs=(1,) if high > 100 * low else (1, 2, 5)))
    axes[0].set_ylabel("bytes of all messages")
    axes[len(cases)].set_ylabel("products of\nsecret-shared numbers")
    legend_below(figure, axes, 3)
    heading(figure, f"What more parties cost: {banded(cube, cases)}")
    return figure


def _counts(cube: xr.Dataset, case: str) -> int:
    values = cube["bytes_measured"].sel(case=case)
    return int(values.notnull().any([dim for dim in values.dims if dim != "parties"]).sum())
