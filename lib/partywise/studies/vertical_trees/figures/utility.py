"""Figures of vertical trees: losses by certified epsilon, by parties and along the trees, and leaves that are kept."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr
from matplotlib.axes import Axes

from ....experiment.plotting.layout import Axis, Panels, label_of
from ....experiment.plotting.lines import Lines
from ....experiment.plotting.select import coordinate_of, plan_behind, title
from ....experiment.plotting.series import cases_of
from ....plot.costs import ErrorByEpsilon, costs_of, epsilon_against_error, notes_of

# Losses by which methods are compared: variable and label; a case has one of them.
LOSSES = {"log_loss": "test log-loss, nats", "mse": "test mean squared error"}
DIFFERENCE = {"max_prediction_difference": "largest difference\nto the pooled fit"}


def loss_of(cube: xr.Dataset, case: str) -> str | None:
    """The loss that a case has."""
    return next((name for name in LOSSES if case in cases_of(cube, name)), None)


def _costs(cube: xr.Dataset, case: str) -> dict[str, ErrorByEpsilon]:
    """Methods of a case that have its loss."""
    loss = loss_of(cube, case)
    return costs_of(cube, case, loss) if loss else {}


def _comparison_cases(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases with something to compare: private methods, or epsilons of one."""
    counts = {case: sum(len(costs.error) for costs in _costs(cube, case).values() if costs.private) for case in cases}
    return [case for case, count in counts.items() if count > 1]


def _panel(ax: Axes, cube: xr.Dataset, case: str) -> list[str]:
    """Draw losses of a case at what is certified, and return notes on them."""
    loss = loss_of(cube, case) or "log_loss"
    epsilon_against_error(cube, loss, case=case, claim=_claim, ax=ax)
    ax.set(xlabel="ε of a record's features", ylabel=label_of(cube, loss, LOSSES[loss]))
    return notes_of(cube, case, loss)


def _claim(cube: xr.Dataset, method: str) -> str:
    """Return what the legend states of the claims of a method."""
    return "at its claim" + (" for one feature" if by_feature(cube, method) else "")


def by_feature(cube: xr.Dataset, method: str) -> bool:
    """Whether a method claims its epsilon for one feature, and not for all of a record."""
    return getattr(plan_behind(cube).methods[method].options, "budget", None) == "feature"


loss_by_epsilon = Panels(
    "What protecting a record's features costs",
    LOSSES,
    _panel,
    select=_comparison_cases,
    size=(3.7, 3.3),
    means=True,
    none="No case with several private methods or epsilons in this configuration.",
    caption="Test loss against the certified epsilon of a record's features, a panel for each data set: means over "
    "{replicates}, bands are ± 1 standard error. A method whose claim is another number stands at its claim too, "
    "hollow: that is not a guarantee. A thin dotted line is the method of its colour without noise; other horizontal "
    "lines are other models, which have no epsilon.",
)


def _with_loss(cube: xr.Dataset, case: str) -> str:
    """Title of a case and what its loss is."""
    return f"{title(cube, 'case', case)}\n{LOSSES[loss_of(cube, case) or 'log_loss']}"


loss_along_trees = Lines(
    "Loss along the trees, at the largest ε that a method is given",
    x="path_trees",
    y={"path_test_loss": "loss on the test rows"},
    xlabel="number of trees",
    panel=_with_loss,
    # Before the first tree all losses are one that nobody asks for.
    start=1,
    overlap=True,
    none="No case with test rows in this configuration.",
    caption="Test loss after so many trees.",
)


lossless_by_parties = Lines(
    "Trees of more parties",
    x="parties",
    y=(Axis(LOSSES), Axis(DIFFERENCE, log=True, linear=1e-16, levels={1e-12: "rounding of sums"})),
    needs="max_prediction_difference",
    size=(4.0, 2.4),
    overlap=True,
    least=2,
    none="No case with several numbers of parties in this configuration.",
    caption="Test loss and largest difference to the pooled fit of the same codes, by the number of parties. Where "
    "lines lie on each other, later marks are smaller, and the largest hollow.",
)


def _rerouting(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases in which something was rerouted."""
    return [case for case in cases if float(cube["rows_rerouted"].sel(case=case).max()) > 0]


def _bins(cube: xr.Dataset, case: str, method: str) -> str:
    """The number of bins, where the title of the method does not state it."""
    bins = coordinate_of(cube, "method", method, "n_bins")
    in_title = not bins or f"{bins:g}" in title(cube, "method", method)
    return "" if in_title else f", {bins:g} bins"


rows_rerouted = Lines(
    "Rows that change their leaf when routed by the stored thresholds",
    x="epsilon",
    y=Axis({"rows_rerouted": "share of training rows\nin another leaf"}, percent=True, bottom=-0.02, top=1.02),
    select=_rerouting,
    suffix=_bins,
    least=0,
    share=True,
    none="No case whose thresholds could reroute a row in this configuration.",
    caption="Share of training rows that the stored thresholds route to another leaf than the codes that were learned "
    "from.",
)
