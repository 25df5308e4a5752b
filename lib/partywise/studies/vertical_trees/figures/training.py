"""Figure of vertical trees: the loss along the trees of one fit of each method."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ....experiment.plotting.select import title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of
from ....experiment.plotting.style import empty, heading, legend_below, look, nested, panels, run_ticks
from .utility import LOSSES

PANELS = 4


def loss_along_trees(cube: xr.Dataset) -> Figure:
    """Test loss after so many trees: first replicate, fewest parties, the largest target of each method."""
    cases = [case for case in cases_of(cube, "path_test_loss") if _fits(example_fits_of(cube, case))][:PANELS]
    if not cases:
        return empty("No case with test rows in this configuration.")
    abreast, lines = min(4, 1 + len(cases)), {m for case in cases for m in _fits(example_fits_of(cube, case))}
    # Room for the panels above the rows of the legend.
    height = max(3.2, 2.7 + 0.18 * -(-len(lines) // abreast))
    figure, axes = panels(1, len(cases), max(3.2, 6.0 / len(cases)), height)
    for ax, case in zip(axes, cases, strict=True):
        shown, places = example_fits_of(cube, case), set[float]()
        for number, (method, epsilon) in enumerate(_fits(shown).items()):
            trees, loss = (example_fit(shown, f"path_{name}", method, epsilon) for name in ("trees", "test_loss"))
            # Before the first tree all losses are one that nobody asks for.
            trees, loss, style = trees[1:], loss[1:], look(cube, method)
            marks = {"color": style.color, "marker": style.marker, "linestyle": style.line}
            ax.plot(trees, loss, label=style.label, **marks, **nested(number))
            places |= set(trees.tolist())
        kind = "mse" if np.isfinite(_mse(cube, case)) else "log_loss"
        run_ticks(ax, places)
        ax.set(xlabel="number of trees", ylabel=LOSSES[kind], title=title(cube, "case", case))
    legend_below(figure, axes, abreast)
    heading(figure, "Loss along the trees: first replicate, largest ε that a method is given")
    return figure


def _fits(shown: xr.Dataset) -> dict[str, float]:
    """Methods with a path, and the largest finite target of each; infinity where it has none."""
    known = np.isfinite(shown["path_test_loss"].values).any(axis=1)
    pairs = zip(shown["example_method"].values[known], shown["example_epsilon"].values[known], strict=True)
    found: dict[str, float] = {}
    for method, epsilon in pairs:
        one, other = float(epsilon), found.get(str(method), np.inf)
        found[str(method)] = max(one, other) if np.isfinite(one) and np.isfinite(other) else min(one, other)
    return found


def _mse(cube: xr.Dataset, case: str) -> float:
    return float(cube["mse"].sel(case=case).max()) if "mse" in cube else np.nan
