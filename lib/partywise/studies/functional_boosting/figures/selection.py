"""Table of the predictors that a fit touches: most shares are 0 or 1, which a picture of points does not show."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.plotting.select import title
from ....experiment.plotting.series import Series, replicates_of, series
from ....experiment.plotting.style import BLACK, GREY, empty, heading, panels
from .parties import LEARNERS, NONE, busiest_case, learners

# Inches of the names, of a column of shares, and of a row.
NAMES, SHARE, ROW = 2.6, 0.95, 0.24
KINDS = {"sensitivity": "active predictors touched", "specificity": "inactive predictors left alone"}


def selection_quality(cube: xr.Dataset) -> Figure:
    """Table of the predictors that a fit touches, by number of parties J, learner and noise.

    Left: share of the active predictors that were touched (sensitivity); right: share of the inactive ones that were
    left alone (specificity); 100 % is best in both. Means over {replicates}, with ± 1 standard error where replicates
    differ. A learner of a party touches all predictors of that party, active or not.
    """
    case = busiest_case(cube)
    if case is None:
        return empty(NONE)
    groups = learners(cube, case)
    if not groups:
        return empty("No method with released curves in this configuration.")
    counts = sorted(
        {int(x) for group in groups.values() for m in group for x in _shares(cube, case, m, "sensitivity").x}
    )
    rows = sum(map(len, groups.values())) + 1.3 * len(groups)
    width = NAMES + (len(counts) * SHARE + 0.2) * len(KINDS)
    figure, (ax,) = panels(1, 1, width, ROW * (rows + 3.6) + 0.3)
    ax.set_axis_off()
    ax.grid(False)
    ax.set(xlim=(0, width), ylim=(rows + 2.8, 0))
    _head(ax, counts)
    place = 2.6
    for kind, methods in groups.items():
        ax.text(0.05, place, LEARNERS[kind], fontsize=8.5, weight="bold", va="center")
        for method in methods:
            place += 1
            ax.text(0.2, place, title(cube, "method", method), fontsize=8.5, va="center")
            for name in KINDS:
                _row(ax, place, _left(name, counts), counts, _shares(cube, case, method, name))
        place += 1.3
    words = f"Selection of predictors, {title(cube, 'case', case)}: means over {replicates_of(cube, [case])}"
    heading(figure, f"{words} (± 1 standard error where they differ)")
    return figure


def _shares(cube: xr.Dataset, case: str, method: str, name: str) -> Series:
    return series(cube, name, case, method, "parties")


def _left(name: str, counts: list[int]) -> float:
    """Left end of a block of columns."""
    return NAMES + list(KINDS).index(name) * (len(counts) * SHARE + 0.2)


def _head(ax: Axes, counts: list[int]) -> None:
    for name, words in KINDS.items():
        left = _left(name, counts)
        right = left + len(counts) * SHARE
        ax.text((left + right) / 2, 0.5, words, fontsize=8.5, weight="bold", ha="center", va="center")
        ax.plot([left + 0.05, right - 0.05], [1, 1], color=GREY, linewidth=0.8)
        for place, count in enumerate(counts):
            ax.text(left + (place + 0.5) * SHARE, 1.5, f"J = {count}", fontsize=8.5, ha="center", va="center")


def _row(ax: Axes, place: float, left: float, counts: list[int], shares: Series) -> None:
    for x, mean, se in zip(shares.x, shares.mean, shares.se, strict=True):
        error = f" ± {100 * se:.1f}" if np.isfinite(se) and se > 0 else ""
        at = left + (counts.index(int(x)) + 0.5) * SHARE
        ax.text(at, place, f"{100 * mean:.0f}{error} %", fontsize=8.5, ha="center", va="center", color=BLACK)
