"""Figures of vertical trees: losses by certified epsilon, by parties and along the trees, and leaves that are kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from ....experiment.plotting.layout import Axis, Panels, label_of
from ....experiment.plotting.lines import SERIES, Lines, few_methods
from ....experiment.plotting.select import coordinate_of, plan_behind, title
from ....experiment.plotting.series import cases_of, example_fits_of, methods_of, series
from ....experiment.plotting.style import BLACK, BLUE, ORANGE, Marks, empty, heading, legend_below, panels
from ....methods.trees.options import (
    ActiveOnlyOptions,
    GatheringOptions,
    LocalTablesOptions,
    ScatteringOptions,
    TablesOptions,
    TreePooledOptions,
)
from ....plot.costs import ErrorByEpsilon, costs_of, epsilon_against_error, notes_of

# Losses by which methods are compared: variable and label; a case has one of them.
LOSSES = {"log_loss": "test log-loss, nats", "mse": "test mean squared error"}
DIFFERENCE = "max_prediction_difference"
# Differences below this are what sums of floats leave.
ROUNDING = 1e-9
# Certificates whose ratio differs from 1 by less are of one target.
SAME = 0.01
# Kinds of methods in the order in which they are chosen; gathered codes by what they protect, or in the clear.
KINDS = (
    TreePooledOptions,
    ActiveOnlyOptions,
    TablesOptions,
    "record",
    LocalTablesOptions,
    "feature",
    "clear",
    ScatteringOptions,
)
# Points of a path of which a figure is drawn, and panels of it.
FEW, ABREAST = 3, 3


def loss_of(cube: xr.Dataset, case: str) -> str | None:
    """The loss that a case has."""
    return next((name for name in LOSSES if case in cases_of(cube, name)), None)


def _kind(cube: xr.Dataset, method: str) -> object:
    options = plan_behind(cube).methods[method].options
    if isinstance(options, GatheringOptions):
        return "clear" if options.protect == "none" else options.budget
    return type(options)


def _by_kind(cube: xr.Dataset, case: str) -> Sequence[str]:
    """Methods of a case in the order in which they are chosen: the first of each kind, then the second."""
    methods = methods_of(cube, case)
    kinds = [_kind(cube, method) for method in methods]
    order = [*KINDS, *kinds]
    places = {method: (kinds[:at].count(kinds[at]), order.index(kinds[at])) for at, method in enumerate(methods)}
    return sorted(methods, key=places.__getitem__)


def _costs(cube: xr.Dataset, case: str) -> dict[str, ErrorByEpsilon]:
    """Methods of a case that have its loss: the first that are chosen, as long as their lines can be followed."""
    loss = loss_of(cube, case)
    costs = costs_of(cube, case, loss) if loss else {}
    drawn, count = list[str](), 0
    for method in (m for m in _by_kind(cube, case) if m in costs):
        lines = costs[method].lines
        if count + lines <= SERIES:
            drawn, count = [*drawn, method], count + lines
    return {method: curve for method, curve in costs.items() if method in drawn}


def _comparison_cases(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases with something to compare: private methods, or epsilons of one."""
    counts = {case: sum(len(costs.error) for costs in _costs(cube, case).values() if costs.private) for case in cases}
    return [case for case, count in counts.items() if count > 1]


def _panel(ax: Axes, cube: xr.Dataset, case: str) -> list[str]:
    """Draw losses of a case at what is certified, and return notes on them."""
    loss = loss_of(cube, case) or "log_loss"
    # Colours are those of all methods: what is not drawn has no loss here.
    cube = cube.assign({loss: cube[loss].where(cube["method_label"].isin(list(_costs(cube, case))))})
    epsilon_against_error(cube, loss, case=case, claim=_claim, ax=ax)
    ax.set(xlabel="ε of a record's features", ylabel=label_of(cube, loss, LOSSES[loss]))
    return notes_of(cube, case, loss)


def _claim(cube: xr.Dataset, method: str) -> str:
    """Return what the legend states of the claims of a method."""
    return "at its claim" + (" for one feature" if by_feature(cube, method) else "")


def by_feature(cube: xr.Dataset, method: str) -> bool:
    """Whether a method claims its epsilon for one feature, and not for all of a record."""
    return getattr(plan_behind(cube).methods[method].options, "budget", None) == "feature"


def _least_epsilon(cube: xr.Dataset, cases: Sequence[str]) -> str:
    """Return the best and the worst loss of private methods of the first case at the smallest certified epsilon."""
    case = cases[0]
    points = {
        method: (float(costs.epsilon_certified[at]), float(costs.error[at]), costs.error[costs.noise_free])
        for method, costs in _costs(cube, case).items()
        if costs.private and np.isfinite(costs.epsilon_certified).any()
        for at in [int(np.argmin(costs.epsilon_certified))]
    }
    if len(points) < 2:
        return ""
    least = min(epsilon for epsilon, _, _ in points.values())
    there = {method: point for method, point in points.items() if point[0] <= least * (1 + SAME)}
    best, worst = (choose(there, key=lambda method: there[method][1]) for choose in (min, max))
    words = [f"{there[m][1]:.3g} ({title(cube, 'method', m)})" for m in dict.fromkeys((best, worst))]
    free = f", {there[best][2][0]:.3g} without noise" if len(there[best][2]) else ""
    quantity = LOSSES[loss_of(cube, case) or "log_loss"].partition(",")[0].capitalize()
    words[0] = words[0][:-1] + free + ")"
    return f"{quantity} at ε = {least:.3g}, {title(cube, 'case', case)}: {', '.join(words)}"


loss_by_epsilon = Panels(
    "What does protecting a record's features cost?",
    LOSSES,
    _panel,
    select=_comparison_cases,
    finding=_least_epsilon,
    size=(3.7, 3.9),
    none="No case with several private methods or epsilons in this configuration.",
    caption="Test loss against the certified epsilon of a record's features, a panel for each data set: means over "
    "{replicates}, bands are ± 1 standard error. A method whose claim is another number stands at its claim too, "
    "hollow: that is not a guarantee. A thin dotted line is the method of its colour without noise; other horizontal "
    "lines are methods without an epsilon. Tables, a sum of one per column, are another model than boosted trees and "
    "may fit better: what privacy costs them is the distance to their own dotted line. A method on the line of the "
    "active party alone gains nothing from the released columns. Methods beyond six lines are in the summary "
    "of the study.",
)


def _with_loss(cube: xr.Dataset, case: str) -> str:
    """Title of a case and what its loss is."""
    return f"{title(cube, 'case', case)}\n{LOSSES[loss_of(cube, case) or 'log_loss']}"


def _long_paths(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """The first cases in which every method has several trees, else the first ones."""
    counts = {case: np.isfinite(example_fits_of(cube, case)["path_test_loss"].values).sum(axis=1) - 1 for case in cases}
    return [case for case in cases if counts[case][counts[case] > 0].min(initial=FEW) >= FEW][:ABREAST] or list(
        cases[:ABREAST]
    )


loss_along_trees = Lines(
    "Does the loss still fall at the last tree?",
    select=_long_paths,
    x="path_trees",
    groups=few_methods(_by_kind),
    y={"path_test_loss": "loss on the test rows"},
    xlabel="number of trees",
    panel=_with_loss,
    # Before the first tree all losses are one that nobody asks for.
    start=1,
    overlap=True,
    none="No case with test rows in this configuration.",
    caption="Test loss after so many trees: one panel per case, at most three. Where lines lie on each other, later "
    "marks are smaller. Methods beyond six are in the summary of the study.",
)


def _largest_difference(cube: xr.Dataset, cases: Sequence[str]) -> str:
    """Return the largest difference of a prediction to the pooled fit, and over how many parties."""
    values = cube[DIFFERENCE].sel(case=list(cases))
    if not bool(values.notnull().any()):
        return ""
    parties = values["parties"].values[values.notnull().any([dim for dim in values.dims if dim != "parties"]).values]
    largest = values.max([dim for dim in values.dims if dim != "method_label"])
    worst = str(largest["method_label"].values[int(np.nanargmax(largest.values))])
    size = float(largest.max())
    words = "0" if size < ROUNDING else f"{size:.2g}"
    return (
        f"Largest difference of a prediction to the pooled fit at {parties.min()} to {parties.max()} parties: "
        f"{words} ({title(cube, 'method', worst)})"
    )


lossless_by_parties = Lines(
    "Do more parties change the trees?",
    finding=_largest_difference,
    x="parties",
    groups=few_methods(_by_kind),
    y=Axis(LOSSES),
    needs=DIFFERENCE,
    size=(4.0, 3.0),
    overlap=True,
    least=2,
    none="No case with several numbers of parties in this configuration.",
    caption="Test loss by the number of parties; the title has the largest difference to the pooled fit of the same "
    "codes, in {replicates}. The active party alone has fewer columns, the more parties there are, and noisy tables "
    "get noise from each. Where lines lie on each other, later marks are smaller, and the largest hollow. "
    "Methods beyond six are in the summary of the study.",
)


MARKS: dict[str, Marks] = {
    "largest ε": {"marker": "s", "color": ORANGE, "markersize": 7},
    "smallest ε": {"marker": "o", "color": BLUE},
    "no noise": {"marker": "D", "color": BLACK, "markerfacecolor": "white"},
}


def _rerouting(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases in which something was rerouted."""
    return [case for case in cases if float(cube["rows_rerouted"].sel(case=case).max()) > 0]


def _bins(cube: xr.Dataset, case: str, method: str) -> str:
    """The number of bins, where the title of the method does not state it."""
    bins = coordinate_of(cube, "method", method, "n_bins")
    in_title = not bins or f"{bins:g}" in title(cube, "method", method)
    return "" if in_title else f", {bins:g} bins"


def rows_rerouted(cube: xr.Dataset) -> Figure:
    """Share of training rows that the stored thresholds route to another leaf than the codes that were learned from.

    One row per case and method at its smallest and its largest ε and without noise: means over {replicates}, dots are
    the replicates. A method without a target of ε counts as without noise. Methods that reroute no row are left out.
    """
    rerouted = [
        (case, method, line)
        for case in _rerouting(cube, cases_of(cube, "rows_rerouted"))
        for method in methods_of(cube, case)
        if (line := series(cube, "rows_rerouted", case, method, "epsilon")) and line.mean.max() > 0
    ]
    if not rerouted:
        return empty("No case whose thresholds could reroute a row in this configuration.")
    figure, (ax,) = panels(1, 1, 7.0, 1.2 + 0.26 * len(rerouted))
    words = []
    for place, (case, method, line) in enumerate(rerouted):
        finite = np.flatnonzero(np.isfinite(line.x))
        marked = {"largest ε": finite[-1:], "smallest ε": finite[:1], "no noise": np.flatnonzero(np.isinf(line.x))[:1]}
        for kind, at in ((kind, at) for kind, at in marked.items() if len(at)):
            ax.plot(line.mean[at], np.full(len(at), place), linestyle="none", label=kind, **MARKS[kind])
            if line.dots is not None:
                dots = line.dots[:, at[0]]
                ax.plot(dots, np.full(len(dots), place), linestyle="none", marker=".", color=MARKS[kind]["color"])
        ends = dict.fromkeys(f"{epsilon:g}" for epsilon in line.x[finite[[0, -1]]]) if len(finite) else {}
        targets = f" (ε = {', '.join(ends)})" if ends else ""
        words.append(
            f"{title(cube, 'case', case)}: {title(cube, 'method', method)}{_bins(cube, case, method)}{targets}"
        )
    ax.set_yticks(range(len(rerouted)), words)
    ax.set(ylim=(len(rerouted) - 0.5, -0.5), xlabel="share of training rows in another leaf")
    ax.set_xlim(left=-0.02 * max(line.mean.max() for _, _, line in rerouted))
    ax.xaxis.set_major_formatter(PercentFormatter(1))
    legend_below(figure, [ax], 3)
    most = max(line.mean.max() for _, _, line in rerouted)
    heading(figure, f"Up to {100 * most:.0f} % of the training rows reach another leaf at prediction")
    return figure
