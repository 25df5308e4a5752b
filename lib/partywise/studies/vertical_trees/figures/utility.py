"""Figure of vertical trees: what the protection of features costs, at the epsilon that is certified."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr
from matplotlib.axes import Axes

from ....experiment.plotting.layout import Panels, label_of
from ....experiment.plotting.select import plan_behind
from ....experiment.plotting.series import cases_of
from ....plot.costs import ErrorByEpsilon, costs_of, epsilon_against_error, notes_of

# Losses by which methods are compared: variable and label; a case has one of them.
LOSSES = {"log_loss": "test log-loss, nats", "mse": "test mean squared error"}


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
