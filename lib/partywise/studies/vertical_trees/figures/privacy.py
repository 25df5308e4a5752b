"""Figure of vertical trees: what is claimed and what is certified."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ....experiment.plotting.select import title
from ....experiment.plotting.series import methods_of
from ....experiment.plotting.style import BLACK, BLUE, GREY, empty, legend_below, panels
from .utility import cost, loss_of, plain_ticks, scored


def epsilon_by_method(cube: xr.Dataset) -> Figure:
    """Claimed and certified epsilon of each method and target; what is not certified stands at the right edge."""
    rows = _rows(cube)
    if not rows:
        return empty("No method claims an epsilon in this configuration.")
    figure, (ax,) = panels(1, 1, 7.2, 0.6 + 0.24 * len(rows))
    finite = [value for row in rows for value in row[1:] if np.isfinite(value) and value > 0]
    edge = 4 * max(finite)
    for place, (_, claimed, certified) in enumerate(rows):
        ax.plot((claimed, min(certified, edge)), (place, place), color=GREY, linewidth=0.8, zorder=0)
        ax.plot(claimed, place, marker="o", markerfacecolor="none", color=BLACK, linestyle="none")
        mark = "D" if np.isfinite(certified) else ">"
        ax.plot(min(certified, edge), place, marker=mark, color=BLUE, linestyle="none")
    ax.plot([], [], marker="o", markerfacecolor="none", color=BLACK, linestyle="none", label="claimed")
    ax.plot([], [], marker="D", color=BLUE, linestyle="none", label="certified for a record")
    ax.plot([], [], marker=">", color=BLUE, linestyle="none", label="nothing certified")
    ax.set(xscale="log", xlabel="ε of a record's features, δ as in the study", ylim=(len(rows) - 0.5, -0.5))
    ax.set_yticks(range(len(rows)), [words for words, *_ in rows])
    plain_ticks(ax)
    legend_below(figure, [ax], 3)
    figure.suptitle("What is claimed and what is certified", fontsize=9.5)
    return figure


def _rows(cube: xr.Dataset) -> list[tuple[str, float, float]]:
    """Method with its data set, claimed and certified epsilon; what a second data set repeats is left out."""
    found: dict[tuple[str, float, float], tuple[str, float, float]] = {}
    for case in map(str, cube["case"].values):
        for method in methods_of(cube, case):
            loss = loss_of(cube, case)
            if loss is None or method not in scored(cube, case, loss):
                continue
            one = cost(cube, case, method, loss)
            for claimed, certified in zip(one.claimed, one.certified, strict=True):
                if 0 < claimed < np.inf:
                    words = f"{title(cube, 'method', method)}, {title(cube, 'case', case)}, {claimed:g}"
                    found.setdefault((method, float(claimed), float(certified)), (words, claimed, certified))
    return list(found.values())
