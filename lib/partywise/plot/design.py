"""Half-widths over epsilon of a design before data, with what an attacker recognises on a second axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, NullLocator

from ..experiment.plotting.style import BLUE, GREY, ORANGE, RED, SKY, compact, heading, legend_below, panels

if TYPE_CHECKING:
    from ..experiment.design.plan import PrecisionPlan

# Panels at most, room at the ends of the axis of epsilon, and colours and dashes of n/2, n and 2 n.
MOST, EDGE = 2, 1.06
LOOKS = ((ORANGE, "--"), (BLUE, "-"), (SKY, "-."))


def precision_figure(plan: PrecisionPlan) -> Figure:
    """Draw half-widths over epsilon at n/2, n and 2 n, from a plan alone; one panel per target that is asked for."""
    targets = list(dict.fromkeys(row["target"] for row in plan.curve))[:MOST]
    figure, axes = panels(1, len(targets), 3.5 if len(targets) > 1 else 4.2, 3.1)
    for ax, target in zip(axes, targets, strict=True):
        _draw_target(ax, plan, target)
    legend_below(figure, axes, 3)
    figure.set_figheight(3.1 + figure.legends[0].get_window_extent().height / figure.dpi)
    answer = f"n = {plan.n}, ε = {compact(plan.epsilon, 3)}, δ = {compact(plan.delta, 3)}"
    heading(figure, f"{plan.name.replace('_', ' ')}: {answer}")
    return figure


def _draw_target(ax: Axes, plan: PrecisionPlan, target: str) -> None:
    rows = [row for row in plan.curve if row["target"] == target]
    table = next(row for row in plan.table if row["target"] == target)
    of_plan = [row for row in rows if row["n"] == plan.n]
    epsilons = np.array([row["epsilon"] for row in of_plan])
    for n, (color, dashes) in zip(dict.fromkeys(row["n"] for row in rows), LOOKS, strict=False):
        line = [row for row in rows if row["n"] == n and row["is_identified"]]
        x, y = ([row[key] for row in line] for key in ("epsilon", "half_width"))
        ax.plot(x, y, color=color, linestyle=dashes, label=f"n = {n}")
    ax.plot(
        epsilons,
        [row["half_width_without_noise"] for row in of_plan],
        color=GREY,
        linestyle=(0, (1, 1)),
        label=f"n = {plan.n}, no noise",
    )
    if table["wanted"] is not None:
        ax.axhline(table["wanted"], color=RED, linewidth=0.9, label="wanted")
    ax.plot([plan.epsilon], [table["half_width"]], color=BLUE, marker="o", linestyle="none", label="this design")
    hidden = [row["epsilon"] for row in of_plan if not row["is_identified"]]
    if hidden:
        ax.axvspan(epsilons.min(), max(hidden), facecolor="none", edgecolor=GREY, hatch="///", label="not identified")
    unit = f", {plan.unit}" if plan.unit else ""
    ax.set(xscale="log", yscale="log", xlim=(epsilons.min() / EDGE, epsilons.max() * EDGE), xlabel="ε of the release")
    ax.set_ylabel(f"95 % half-width, {target}{unit}")
    places = [row["epsilon"] for row in plan.privacy["attacks"]]
    above = ax.secondary_xaxis("top")
    above.set_xlabel(f"largest true-positive rate at {plan.privacy['false_positive_percent']} % false positives, %")
    rates = [f"{row['true_positive_percent']:.2g}" for row in plan.privacy["attacks"]]
    for axis, texts in ((ax, [f"{tick:g}" for tick in places]), (above, rates)):
        axis.set_xticks(places, texts)
        axis.xaxis.set_minor_locator(NullLocator())
    _number_heights(ax)


def _number_heights(ax: Axes) -> None:
    """Ticks of a logarithmic axis at plain numbers: 1, 2 and 5 of each decade, more of them on a short axis."""
    low, high = ax.get_ylim()
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    digits = (1, 2, 5) if high > 10 * low else (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    places = [digit * 10.0**decade for decade in decades for digit in digits]
    places = [place for place in places if low <= place <= high]
    ax.set_yticks(places, [f"{place:g}" for place in places])
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(low, high)
