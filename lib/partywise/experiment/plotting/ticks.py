"""Ticks of axes: at what was run, and plain numbers on logarithmic axes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.scale import SymmetricalLogScale
from matplotlib.ticker import (
    FixedLocator,
    FormatStrFormatter,
    Formatter,
    FuncFormatter,
    LogLocator,
    NullFormatter,
    NullLocator,
)

from .style import compact

# At most so many numbers fit under a panel; factor between the largest value and the end of an axis.
MOST, END = 9, 4
# A logarithmic axis whose ends differ by less than the first factor reaches beyond both by the second.
LEAST, WIDER = 1.1, 2


def ticks_at(ax: Axes, epsilons: Iterable[float]) -> None:
    """A logarithmic axis of x with the epsilons that are drawn as ticks, if their numbers do not touch."""
    ax.set_xscale("log")
    ticks = np.unique([float(f"{epsilon:.3g}") for epsilon in epsilons if 0 < epsilon < np.inf])
    low, high = _wide_enough(ax, "x")
    if len(ticks) and (np.diff(np.log(ticks)) > np.log(high / low) / MOST).all():
        ax.xaxis.set_major_locator(FixedLocator(ticks.tolist()))
        ax.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        plain_ticks(ax)


def plain_ticks(ax: Axes, which: Literal["x", "y"] = "x", words: Formatter | None = None) -> None:
    """A logarithmic axis with plain numbers: each power of ten where it is long, more where it is short."""
    ax.set(**{f"{which}scale": "log"})
    axis = ax.xaxis if which == "x" else ax.yaxis
    low, high = _wide_enough(ax, which)
    axis.set_major_locator(LogLocator(subs=(1,) if high > 100 * low else (1, 2, 5), numticks=12))
    axis.set_major_formatter(words or FormatStrFormatter("%g"))
    axis.set_minor_formatter(NullFormatter())


def _wide_enough(ax: Axes, which: Literal["x", "y"]) -> tuple[float, float]:
    """Ends of a logarithmic axis, apart enough that numbers that all but agree lie together."""
    low, high = ax.get_xlim() if which == "x" else ax.get_ylim()
    if 0 < low <= high < LEAST * low:
        low, high = low / WIDER, high * WIDER
        ax.set(**{f"{which}lim": (low, high)})
    return low, high


def down_to_zero(ax: Axes, which: Literal["x", "y"], least: float) -> None:
    """An axis that is logarithmic above ``least`` and linear below, with ticks at 0 and at every other power of ten."""
    ax.set(**{f"{which}scale": SymmetricalLogScale(None, linthresh=least)})
    axis, siblings = (ax.xaxis, ax.get_shared_x_axes()) if which == "x" else (ax.yaxis, ax.get_shared_y_axes())
    maxima = [getattr(sibling.dataLim, f"{which}1") for sibling in siblings.get_siblings(ax)]
    end = END * max(10 * least, *(value for value in maxima if np.isfinite(value)))
    ax.set(**{f"{which}lim": (-least / 2, end)})
    powers = range(0, int(np.ceil(np.log10(end / least))), 1 + int(np.log10(end / least)) // 4)
    axis.set_major_locator(FixedLocator([0, *(least * 10.0**power for power in powers)]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: compact(value)))
    axis.set_minor_locator(NullLocator())
