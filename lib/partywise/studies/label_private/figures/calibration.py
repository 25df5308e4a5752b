"""Figure of label-private logistic regression: are the predicted probabilities those of the labels."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.plotting.select import having, title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of
from ....experiment.plotting.style import GREY, Look, empty, heading, legend_below, look, overlay_marks, panels
from .utility import computed_at, data_cases


def calibration_curves(cube: xr.Dataset) -> Figure:
    """Predicted against observed shares of positive labels: as published, as planned, without privacy.

    Test rows of the first replicate in bins of equal counts, no means over replicates; a row for each data set, a
    column for each target. On the dotted diagonal predictions are calibrated; below it they are too high.
    """
    published, chosen = having(cube, "method", sigma="classic", ridge="none"), having(cube, "method", noise="auto")
    compared = {
        case: [next((m for m in kind if m in methods_of(cube, case)), "") for kind in (published, chosen)]
        for case in data_cases(cube, "log_loss")
        if case in cases_of(cube, "calibration_predicted")
    }
    cases = [case for case, methods in compared.items() if all(methods)][:3]
    targets = _shown_targets(cube, cases)
    if not cases or not targets:
        return empty("No case with ridge none and noise auto in this configuration.")
    figure, axes = panels(len(cases), len(targets), 3.1, 2.9, sharex=True, sharey=True)
    for row, case in enumerate(cases):
        examples = example_fits_of(cube, case)
        for column, epsilon in enumerate(targets):
            ax = axes[row * len(targets) + column]
            ax.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, linestyle=":", label="perfect calibration")
            free = [m for m in having(cube, "method", protocol="non_private") if m in methods_of(cube, case)]
            fits = [(method, np.inf) for method in free] + [(method, epsilon) for method in compared[case]]
            for number, fit in enumerate(fits):
                _curve(ax, examples, look(cube, fit[0]), fit, number)
            ax.set_title(f"{title(cube, 'case', case)}, ε = {epsilon:g}")
            ax.set(aspect="equal", xlabel="mean prediction" if row == len(cases) - 1 else "")
        axes[row * len(targets)].set_ylabel("share of positive labels")
    legend_below(figure, axes, 2)
    heading(figure, "Calibration on the test rows, first replicate, bins of equal counts")
    return figure


def _shown_targets(cube: xr.Dataset, cases: list[str]) -> list[float]:
    """The targets 0.1 and 1 where they were run, else the least and the largest of all cases."""
    targets = [
        e for e in cube["epsilon"].values.tolist() if np.isfinite(e) and all(computed_at(cube, c, e) for c in cases)
    ]
    wanted = [e for e in targets if e in (0.1, 1.0)]
    return wanted or sorted({*targets[:1], *targets[-1:]})


def _curve(ax: Axes, examples: xr.Dataset, style: Look, fit: tuple[str, float], number: int) -> None:
    x, y = (example_fit(examples, f"calibration_{name}", *fit) for name in ("predicted", "observed"))
    ax.plot(x, y, **style.marks | overlay_marks(number))
