"""Figure of vertical trees: what the protection of features costs, at the epsilon that is certified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from ....experiment.plotting.layout import Panels, label_of
from ....experiment.plotting.select import plan_behind
from ....experiment.plotting.series import cases_of, methods_of, series
from ....experiment.plotting.style import GREY, Look, Marks, look
from ....experiment.plotting.ticks import ticks_at

# Losses by which methods are compared: variable and label; a case has one of them.
LOSSES = {"log_loss": "test log-loss, nats", "mse": "test mean squared error"}


@dataclass(frozen=True)
class Cost:
    """A loss by epsilon: as claimed and as certified for the training, with the standard error of the loss."""

    epsilon_claimed: np.ndarray
    epsilon_certified: np.ndarray
    loss: np.ndarray
    se: np.ndarray

    @property
    def private(self) -> bool:
        """Whether an epsilon above 0 is claimed or certified anywhere."""
        return any(((given > 0) & np.isfinite(given)).any() for given in (self.epsilon_claimed, self.epsilon_certified))

    @property
    def noise_free(self) -> np.ndarray:
        """Which of the losses are at the target infinity."""
        return np.asarray(np.isinf(self.epsilon_claimed) & np.isinf(self.epsilon_certified))

    @property
    def apart(self) -> bool:
        """Whether the claim is another number than the certificate."""
        return not np.allclose(self.epsilon_claimed, self.epsilon_certified, rtol=1e-6, equal_nan=True)


def loss_of(cube: xr.Dataset, case: str) -> str | None:
    """The loss that a case has."""
    return next((name for name in LOSSES if case in cases_of(cube, name)), None)


def cost(cube: xr.Dataset, case: str, method: str, loss: str) -> Cost:
    """Loss of a method at its fewest parties, over its slots of epsilon."""
    cell = cube[loss].sel(case=case, method_label=method)
    few = int(np.flatnonzero(cell.notnull().any(["replicate", "fold", "epsilon"]).values)[0])
    there = cube.isel(parties=[few])
    lines = [series(there, name, case, method, "epsilon") for name in (loss, "epsilon_claimed")]
    slots = there["epsilon"].values
    kept = np.isin(slots, lines[0].x)
    claimed, certified = (
        there[name].sel(case=case, method_label=method).max([d for d in ("replicate", "parties", "fold")]).values
        for name in ("epsilon_claimed", "epsilon_certified")
    )
    return Cost(claimed[kept], certified[kept], lines[0].mean, lines[0].se)


def _costs(cube: xr.Dataset, case: str) -> dict[str, Cost]:
    """Methods of a case that have its loss."""
    loss = loss_of(cube, case)
    return {method: cost(cube, case, method, loss) for method in methods_with_loss(cube, case, loss)} if loss else {}


def _comparison_cases(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases with something to compare: private methods, or epsilons of one."""
    counts = {case: sum(len(one.loss) for one in _costs(cube, case).values() if one.private) for case in cases}
    return [case for case, count in counts.items() if count > 1]


def methods_with_loss(cube: xr.Dataset, case: str, loss: str) -> list[str]:
    """Methods with that loss in a case."""
    values = cube[loss].sel(case=case)
    return [method for method in methods_of(cube, case) if bool(values.sel(method_label=method).notnull().any())]


def _panel(ax: Axes, cube: xr.Dataset, case: str) -> list[str]:
    """Losses of a case at what is certified; what is to be said of them."""
    loss, shown = loss_of(cube, case) or "log_loss", list[float]()
    for method, one in _costs(cube, case).items():
        style = look(cube, method)
        if one.private:
            _points(ax, one, style, "at its claim" + (" for one feature" if by_feature(cube, method) else ""))
            shown += [*one.epsilon_certified, *one.epsilon_claimed]
        else:
            ax.axhline(one.loss[-1], color=style.color, linestyle=style.rule, linewidth=1.2, label=style.label)
    ax.set(xlabel="ε of a record's features", ylabel=label_of(cube, loss, LOSSES[loss]))
    ticks_at(ax, shown)
    apart = any(one.apart for one in _costs(cube, case).values())
    free = any(one.noise_free.any() for one in _costs(cube, case).values() if one.private)
    notes = ["hollow: at the claim, no guarantee"] * apart
    return notes + ["thin dotted: the same method without noise"] * free


def by_feature(cube: xr.Dataset, method: str) -> bool:
    """Whether a method claims its epsilon for one feature, and not for all of a record."""
    return getattr(plan_behind(cube).methods[method].options, "budget", None) == "feature"


def _points(ax: Axes, one: Cost, style: Look, claim: str) -> None:
    """The certified line with its band; the claims hollow, joined to what is certified of the same fit."""
    proved = np.isfinite(one.epsilon_certified)
    if proved.any():
        order = np.flatnonzero(proved)[np.argsort(one.epsilon_certified[proved])]
        x, y, se = one.epsilon_certified[order], one.loss[order], one.se[order]
        ax.plot(x, y, **style.marks)
        if np.isfinite(se).any():
            ax.fill_between(x, y - se, y + se, color=style.color, alpha=0.2, linewidth=0)
    for loss in one.loss[one.noise_free]:
        ax.axhline(loss, color=style.color, linestyle=":", linewidth=0.9)
    claimed = np.isfinite(one.epsilon_claimed)
    if claimed.any() and one.apart:
        hollow: Marks = {"label": f"{style.label}, {claim}", "markerfacecolor": "none", "linestyle": ":"}
        ax.plot(one.epsilon_claimed, one.loss, **style.marks | hollow)
        for x, end, y in zip(one.epsilon_claimed, one.epsilon_certified, one.loss, strict=True):
            if np.isfinite(end):
                ax.plot((x, end), (y, y), color=GREY, linewidth=0.6, zorder=0)


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
