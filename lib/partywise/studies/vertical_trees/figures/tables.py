"""Figure of vertical trees: the tables of single columns, what a certified method learns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FormatStrFormatter, MaxNLocator

from ....experiment.plotting.select import having, plan_behind, title
from ....experiment.plotting.series import example_fit, example_fits_of
from ....experiment.plotting.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, empty, heading, legend_below, panels

# Panels, panels side by side, points of the name of a level, and levels that find room under a panel.
PANELS, COLUMNS, SIZE, NAMED = 6, 3, 7, 16
COLORS = (SKY, GREEN, BLUE, PURPLE, ORANGE)


def tables_by_epsilon(cube: xr.Dataset) -> Figure:
    """Contribution of every bin of a column to the score, at each target, of the columns that add most.

    One case and method in the first replicate, no mean. The bins of a category are its levels. Bands are ± 1 standard
    deviation that the noise gives to a Newton step of one bin: wide where a bin has few records.
    """
    chosen = _case_with_tables(cube)
    if chosen is None:
        return empty("No tables at several targets of epsilon in this configuration.")
    case, method, epsilons = chosen
    examples = example_fits_of(cube, case)
    kinds = ("column", "edges", "values", "noise")
    fits = {e: tuple(example_fit(examples, f"table_{kind}", method, e) for kind in kinds) for e in epsilons}
    columns, _, values, _ = fits[epsilons[-1]]
    classes = example_fit(examples, "table_class", method, epsilons[-1]) if "table_class" in examples else None
    if classes is not None and not np.isfinite(classes).any():
        classes = None
    spread = np.nan_to_num(np.nanmax(values, 1, initial=0) - np.nanmin(values, 1, initial=0))
    order = [row for row in np.argsort(-spread).tolist()[:PANELS] if np.isfinite(columns[row])]
    abreast, settings = min(COLUMNS, len(order)), plan_behind(cube).cases[case].settings
    height = 3.1 if any(settings.levels_of(int(columns[row])) for row in order) else 2.1
    figure, axes = panels(-(-len(order) // abreast), abreast, max(2.7, 6.0 / abreast), height, sharey=True)
    for ax in axes[len(order) :]:
        ax.set_axis_off()
    names = settings.column_names
    for ax, row in zip(axes, order, strict=False):
        _panel(ax, fits, row)
        number = int(columns[row])
        of_class = "" if classes is None else f", class {level_name(settings, int(classes[row]))}"
        ax.set_xlabel((names[number] if number < len(names) else f"column {number}") + of_class)
        bins = int(np.isfinite(fits[epsilons[-1]][2][row]).sum())
        name_levels(ax, settings.levels_of(number), bins)
    highest = max(
        float(np.nanmax(np.abs(values[order]) + np.nan_to_num(noise[order]))) for _, _, values, noise in fits.values()
    )
    for ax in axes[: len(order) : abreast]:
        ax.set(ylabel="added to the score", ylim=(-1.05 * highest, 1.05 * highest))
    legend_below(figure, axes[: len(order)], 6)
    heading(
        figure, f"What does each column add to the score? {title(cube, 'method', method)}, {title(cube, 'case', case)}"
    )
    return figure


def level_name(settings: object, number: int) -> str:
    """A class by its name, where it has one."""
    names = getattr(settings, "class_names", ())
    return str(names[number]) if number < len(names) else str(number)


def name_levels(ax: Axes, levels: Sequence[str], bins: int) -> None:
    """The names of levels as ticks, upright, where each has a bin; other columns keep numbers."""
    if len(levels) == bins <= NAMED:
        ax.set_xticks(range(len(levels)), levels, rotation=90, fontsize=SIZE)


def _case_with_tables(cube: xr.Dataset) -> tuple[str, str, list[float]] | None:
    """Case and method with tables at the most targets; methods that release sums before others."""
    if "table_values" not in cube:
        return None
    sums = having(cube, "method", protocol="tables")
    known = np.isfinite(cube["table_values"].values).any(axis=(1, 2))
    targets: dict[tuple[str, str], set[float]] = {}
    for case, method, epsilon in zip(
        cube["example_case"].values[known],
        cube["example_method"].values[known],
        cube["example_epsilon"].values[known],
        strict=True,
    ):
        targets.setdefault((str(case), str(method)), set()).add(float(epsilon))
    if not targets:
        return None
    best = max(targets, key=lambda pair: (len(targets[pair]) > 1, pair[1] in sums, len(targets[pair])))
    epsilons = sorted(targets[best])
    return (*best, epsilons if len(epsilons) <= 3 else [epsilons[0], epsilons[len(epsilons) // 2], epsilons[-1]])


def _panel(ax: Axes, fits: dict[float, tuple[np.ndarray, ...]], row: int) -> None:
    """Steps over the bins of one column, a colour for each target."""
    for place, (epsilon, (_, edges, values, noise)) in enumerate(fits.items()):
        finite = np.isfinite(values[row])
        y, sd, cuts = values[row][finite], noise[row][finite], edges[row][finite][:-1]
        ends = _ends(cuts)
        color = BLACK if np.isinf(epsilon) else COLORS[place % len(COLORS)]
        label = "no noise" if np.isinf(epsilon) else f"ε = {epsilon:g}"
        ax.stairs(y, ends, baseline=None, color=color, label=label, linewidth=1.3)
        if np.isfinite(sd).any() and (sd > 0).any():
            ax.fill_between(
                ends,
                np.append(y - sd, y[-1] - sd[-1]),
                np.append(y + sd, y[-1] + sd[-1]),
                step="post",
                color=color,
                alpha=0.15,
                linewidth=0,
            )
    ax.axhline(0, color=BLACK, linewidth=0.5)
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.xaxis.set_major_formatter(EngFormatter(sep="") if ends[-1] >= 10_000 else FormatStrFormatter("%g"))


def _ends(cuts: np.ndarray) -> np.ndarray:
    """Ends of all bins: the outer ones, which have none, are as wide as their neighbours."""
    if not len(cuts):
        return np.array([0.0, 1.0])
    first, last = (cuts[1] - cuts[0], cuts[-1] - cuts[-2]) if len(cuts) > 1 else (1.0, 1.0)
    return np.concatenate(([cuts[0] - first], cuts, [cuts[-1] + last]))
