"""Figures of the cost of layers: accuracy against the epsilon that holds, and clips that follow the updates."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ....experiment.plotting.select import title
from ....experiment.plotting.series import (
    Series,
    cases_of,
    example_fits_of,
    methods_of,
    series,
    spread,
)
from ....experiment.plotting.style import GREY, Marks, empty, heading, legend_below, look, panels

# Where what has no finite epsilon stands, as a factor beyond the largest.
BEYOND = 30.0


def accuracy_by_epsilon(cube: xr.Dataset) -> Figure:
    """Accuracy against the epsilon that holds for the whole run, for a client or, where a layer protects records, a
    record; bars are one standard error over {replicates}.

    A thin line leads from the epsilon that a layer claims, for a round or for all of them. Methods without a finite
    epsilon are at the right. Lines across: no privacy, and the more frequent label for all records.
    """
    cases = cases_of(cube, "accuracy")
    if not cases:
        return empty("No case of training in this configuration.")
    figure, axes = panels(1, len(cases), 5.4, 3.9)
    for ax, case in zip(axes, cases, strict=True):
        _accuracies(ax, cube, case)
    axes[0].set_ylabel("test accuracy")
    legend_below(figure, axes, 3)
    heading(figure, f"Accuracy against the ε that holds; {spread(cube, cases, 'bars')}")
    return figure


def _accuracies(ax: Axes, cube: xr.Dataset, case: str) -> None:
    points: dict[str, tuple[Series, np.ndarray, Series]] = {}
    ax.set_xscale("log")
    for method in methods_of(cube, case):
        accuracy, epsilons, claimed = (
            series(cube, name, case, method, "epsilon") for name in ("accuracy", "certified_held", "epsilon_claimed")
        )
        points[method] = accuracy, epsilons.mean if epsilons else np.full(len(accuracy.x), np.inf), claimed
    finite = [value for _, epsilons, _ in points.values() for value in epsilons.tolist() if np.isfinite(value)]
    end = max(finite, default=1.0) * BEYOND
    beyond = 0
    for method, (accuracy, certified, claimed) in points.items():
        style, known = look(cube, method), np.isfinite(certified)
        at = np.where(known, certified, end * 4.0**beyond)
        beyond += int(not known.all())
        ax.errorbar(
            at,
            accuracy.mean,
            yerr=accuracy.band,
            color=style.color,
            marker=style.marker,
            linestyle=style.line if len(at) > 1 else "none",
            linewidth=1.2,
            label=style.label,
        )
        for x, y, start in zip(at.tolist(), accuracy.mean.tolist(), claimed.mean.tolist(), strict=False):
            if np.isfinite(start) and abs(np.log(x / start)) > 0.05:
                ax.plot([start, x], [y, y], color=style.color, linewidth=0.6, linestyle=":")
    level = float(cube["majority"].sel(case=case).mean())
    ax.axhline(level, color=GREY, linewidth=1.0, linestyle="--", label="more frequent label")
    ax.axvline(end / np.sqrt(BEYOND), color=GREY, linewidth=0.6)
    ax.set_xticks([tick for tick in 10.0 ** np.arange(0, 12, 2 if end > 1e6 else 1) if tick < end / np.sqrt(BEYOND)])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set(xlabel="ε that holds (right of the line: none is finite)", title=title(cube, "case", case))


def clip_path(cube: xr.Dataset) -> Figure:
    """Clip of each round where it follows the updates, first replicate, and the median length of an update (thin).

    Where the updates that are clipped are counted, as shipped, a clip that is too small falls and one that is too large
    grows; where the others are counted it moves to the median length. At the right the accuracy of the last round,
    the mean over {replicates}.
    """
    cases = [case for case in cases_of(cube, "clip_last") if "clip_path" in cube]
    if not cases:
        return empty("No method with an adaptive clip in this configuration.")
    figure, axes = panels(1, len(cases), 4.8, 3.6, sharey="all")
    for ax, case in zip(axes, cases, strict=True):
        fits, end = example_fits_of(cube, case), 0
        for place in np.flatnonzero(np.isfinite(fits["clip_path"].values).any(axis=1)):
            method = str(fits["example_method"].values[place])
            path, norms = (fits[name].values[place] for name in ("clip_path", "norm_path"))
            style, end = look(cube, method), len(path) - 1
            ax.plot(path, color=style.color, marker=style.marker, markevery=5, label=style.label)
            dots: Marks = {"label": "median length of an update", "linewidth": 0.6, "linestyle": ":"}
            ax.plot(np.arange(1, len(path)), norms, color=style.color, **dots)
            accuracy = float(series(cube, "accuracy", case, method, "epsilon").mean[0])
            ax.text(end + 0.5, path[-1], f"{accuracy:.3f}", color=style.color, va="center", fontsize=8)
        ax.set(yscale="log", xlabel="round", title=title(cube, "case", case))
        ax.set_xlim(-0.5, end + 3.5)
    axes[0].set_ylabel("clip")
    legend_below(figure, axes, 2)
    heading(figure, "A clip that follows the updates; numbers: test accuracy")
    return figure
