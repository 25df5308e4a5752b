"""Figure of vertical trees: what is claimed and what is certified."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ....experiment.plotting.layout import ticks_at
from ....experiment.plotting.select import plan_behind, title
from ....experiment.plotting.style import (
    BLACK,
    BLUE,
    GREY,
    RED,
    Marks,
    compact,
    empty,
    heading,
    legend_of_signs,
    panels,
)
from ....plot.costs import costs_of
from .utility import by_feature, loss_of

PROVED: Marks = {"label": "certified for a record", "marker": "D", "color": BLUE}
UNPROVED: Marks = {"label": "nothing is certified", "marker": ">", "color": RED}
CLAIMED: Marks = {
    "label": "claimed",
    "marker": "o",
    "markerfacecolor": "none",
    "color": BLACK,
    "markersize": 8,
    "linestyle": "none",
}


def epsilon_by_method(cube: xr.Dataset) -> Figure:
    """Claimed and certified epsilon of each method at all its targets; what has no certificate is at the right edge.

    At the fewest parties. Certificates depend on public numbers alone: replicates do not differ.
    """
    rows = _rows(cube)
    if not rows:
        return empty("No method claims an epsilon in this configuration.")
    figure, (ax,) = panels(1, 1, 7.2, max(1.8, 0.9 + 0.22 * len(rows)))
    finite = [value for _, pairs in rows for value in pairs.ravel() if np.isfinite(value) and value > 0]
    edge = 4 * max(finite)
    for place, (_, pairs) in enumerate(rows):
        for claimed, certified in pairs:
            proved = np.isfinite(certified)
            ax.plot((claimed, min(certified, edge)), (place, place), color=GREY, linewidth=0.8, zorder=1)
            marks = PROVED if proved else UNPROVED
            ax.plot(min(certified, edge), place, linestyle="none", zorder=2, **marks)
            ax.plot(claimed, place, zorder=3, **CLAIMED)
    ax.set(xlabel=f"ε of a record's features at δ = {_delta(cube)}", ylim=(len(rows) - 0.5, -0.5))
    ax.set_yticks(range(len(rows)), [words for words, _ in rows])
    ticks_at(ax, finite)
    if any(not np.isfinite(pairs[:, 1]).all() for _, pairs in rows):
        # What is not certified has a column of its own, without order.
        ax.set_xlim(right=2 * edge)
        ax.axvline(edge / 2, color=GREY, linewidth=0.8)
        ax.text(edge, 1.01, "none", ha="center", va="bottom", fontsize=7.5, transform=ax.get_xaxis_transform())
    legend_of_signs(figure, [marks["label"] for marks in (CLAIMED, PROVED, UNPROVED)], 3)
    heading(figure, _finding(rows))
    return figure


def _finding(rows: list[tuple[str, np.ndarray]]) -> str:
    """Return the claim that is furthest from its certificate."""
    ratio, words, (claimed, certified) = max(
        ((certified / claimed, words, (claimed, certified)) for words, pairs in rows for claimed, certified in pairs),
        key=lambda entry: entry[0],
    )
    if ratio <= 1 + 1e-6:
        return "Every claimed ε of a record's features is certified"
    proved = f"{certified:.4g} certified" if np.isfinite(certified) else "nothing certified"
    return f"Largest gap: claimed ε = {claimed:g}, {proved} for a record\n{words}"


def _delta(cube: xr.Dataset) -> str:
    """delta of all certificates, from the constants of the study."""
    return compact(plan_behind(cube).spec.delta)


def _rows(cube: xr.Dataset) -> list[tuple[str, np.ndarray]]:
    """Case and method in words, and (targets, 2) claimed and certified epsilons."""
    rows = []
    for case in map(str, cube["case"].values):
        # Where parties ran apart, no loss is known.
        loss = loss_of(cube, case) or "epsilon_claimed"
        for method, costs in costs_of(cube, case, loss).items():
            known = (costs.epsilon_claimed > 0) & np.isfinite(costs.epsilon_claimed)
            if known.any():
                words = f"{title(cube, 'case', case)}: {title(cube, 'method', method)}"
                words += " (claims for one feature)" if by_feature(cube, method) else ""
                rows.append((words, np.stack([costs.epsilon_claimed[known], costs.epsilon_certified[known]], axis=1)))
    return rows
