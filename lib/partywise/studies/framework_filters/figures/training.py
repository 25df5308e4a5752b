"""Figures of the cost of layers: accuracy against the epsilon that holds, and clips that follow the updates."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ....experiment.plotting.layout import plain_ticks
from ....experiment.plotting.select import plan_behind, title
from ....experiment.plotting.series import (
    Series,
    cases_of,
    example_fits_of,
    methods_of,
    series,
)
from ....experiment.plotting.style import (
    GREY,
    compact,
    empty,
    heading,
    legend_below,
    look,
    panels,
)

# Where what has no finite epsilon is, as a factor beyond the largest; panels side by side, and series of a panel.
BEYOND, ABREAST, SERIES = 12.0, 3, 6
# Layers in the order in which they are chosen.
LAYERS = ("certified", "fixed_clipping", "local_dp", "adaptive_clipping", "svt")
WITHOUT, MAJORITY = "none", "more frequent label"


def accuracy_by_epsilon(cube: xr.Dataset) -> Figure:
    """Accuracy against the epsilon that holds for the whole run, for a client or, where a layer protects records, a
    record; bars are one standard error over {replicates}.

    A thin line leads from the epsilon that a layer claims, for a round or for all of them. Layers without a finite
    epsilon are in the column at the right, in no order. Lines across: no privacy, and the more frequent label for all
    records. Of more than four layers certified ones, fixed clips, local noise and adaptive clips are shown first; the
    others are in the summary of the study.
    """
    cases = cases_of(cube, "accuracy")
    if not cases:
        return empty("No case of training in this configuration.")
    abreast = min(ABREAST, len(cases))
    figure, axes = panels(-(-len(cases) // abreast), abreast, 5.4, 3.6)
    for ax in axes[len(cases) :]:
        ax.set_axis_off()
    for ax, case in zip(axes, cases, strict=False):
        _accuracies(ax, cube, case)
    axes[0].set_ylabel("test accuracy")
    legend_below(figure, axes, 3)
    heading(figure, "How accurate are privacy layers at the ε that holds?")
    return figure


def _layer(cube: xr.Dataset, method: str) -> str:
    """Return the layer of a method of training; the word none where it has none."""
    options = plan_behind(cube).methods[method].options
    return str(getattr(options, "layer", LAYERS[0]))


def _with_layer(cube: xr.Dataset, case: str) -> list[str]:
    """Methods with a layer, at most six series with the two lines across."""
    layers = {method: _layer(cube, method) for method in methods_of(cube, case)}
    ranks = {method: LAYERS.index(layer) if layer in LAYERS else len(LAYERS) for method, layer in layers.items()}
    layered = [method for method in layers if layers[method] != WITHOUT]
    wanted = sorted(layered, key=lambda method: ranks[method])[: SERIES - 2]
    return [method for method in layers if method in wanted]


def _accuracies(ax: Axes, cube: xr.Dataset, case: str) -> None:
    points: dict[str, tuple[Series, np.ndarray, Series]] = {}
    ax.set_xscale("log")
    for method in _with_layer(cube, case):
        accuracy, epsilons, claimed = (
            series(cube, name, case, method, "epsilon") for name in ("accuracy", "certified_held", "epsilon_claimed")
        )
        points[method] = accuracy, epsilons.mean if epsilons else np.full(len(accuracy.x), np.inf), claimed
    finite = [value for _, epsilons, _ in points.values() for value in epsilons.tolist() if np.isfinite(value)]
    least, most = min(finite, default=0.1), max(finite, default=1.0)
    end = most * max(BEYOND, (most / least) ** 0.15)
    for method, (accuracy, certified, claimed) in points.items():
        style, known = look(cube, method), np.isfinite(certified)
        at = np.where(known, certified, end)
        ax.errorbar(
            at,
            accuracy.mean,
            yerr=accuracy.band,
            color=style.color,
            marker=style.marker,
            linestyle=style.line if known.sum() > 1 else "none",
            linewidth=1.2,
            label=style.label,
        )
        for x, y, start in zip(at.tolist(), accuracy.mean.tolist(), claimed.mean.tolist(), strict=False):
            if np.isfinite(start) and abs(np.log(x / start)) > 0.05:
                ax.plot([start, x], [y, y], color=style.color, linewidth=0.6, linestyle=":")
    ax.axhline(float(cube["majority"].sel(case=case).mean()), color=GREY, linewidth=1.0, linestyle="--", label=MAJORITY)
    for method in methods_of(cube, case):
        if _layer(cube, method) == WITHOUT:
            level = float(np.nanmean(series(cube, "accuracy", case, method, "epsilon").mean))
            ax.axhline(level, color=GREY, linewidth=1.0, label=look(cube, method).label)
    ax.axvline(np.sqrt(most * end), color=GREY, linewidth=0.6, linestyle=":")
    powers = np.arange(np.floor(np.log10(least)), np.log10(most) + 0.5)
    powers = powers[:: 1 + len(powers) // 5]
    ax.set_xticks([*(10.0**powers), end], [*(compact(10.0**power) for power in powers), "∞"])
    ax.set_xlim(right=end * np.sqrt(BEYOND))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set(xlabel="ε that holds for the whole run", title=title(cube, "case", case))


def clip_path(cube: xr.Dataset) -> Figure:
    """Clip of each round where it follows the updates, first replicate, and the median length of an update (thin).

    Where the updates that are clipped are counted, as shipped, a clip that is too small falls and one that is too large
    grows; where the others are counted it moves to the median length. Numbers at the right: test accuracy of the last
    round, the mean over {replicates}.
    """
    cases = [case for case in cases_of(cube, "clip_last") if "clip_path" in cube]
    if not cases:
        return empty("No method with an adaptive clip in this configuration.")
    abreast = min(ABREAST, len(cases))
    figure, axes = panels(-(-len(cases) // abreast), abreast, 4.8, 3.6, sharey="all")
    for ax in axes[len(cases) :]:
        ax.set_axis_off()
    for ax, case in zip(axes, cases, strict=False):
        fits, end = example_fits_of(cube, case), 0
        for place in np.flatnonzero(np.isfinite(fits["clip_path"].values).any(axis=1))[: SERIES - 1]:
            method = str(fits["example_method"].values[place])
            path, norms = (fits[name].values[place] for name in ("clip_path", "norm_path"))
            style, end = look(cube, method), len(path) - 1
            ax.plot(path, markevery=5, **style.marks)
            ax.plot(np.arange(1, len(path)), norms, color=style.color, linewidth=0.6, linestyle=":")
            accuracy = float(series(cube, "accuracy", case, method, "epsilon").mean[0])
            ax.text(end + 0.5, path[-1], f"{accuracy:.3f}", va="center", fontsize=8)
        plain_ticks(ax, "y")
        ax.set(xlabel="round", title=title(cube, "case", case))
        ax.set_xlim(-0.5, end + 4.5)
    axes[0].set_ylabel("clip")
    legend_below(figure, axes, 2)
    heading(figure, "Does an adaptive clip find the length of the updates?")
    return figure
