"""Figures of functions: real day curves with their predictions, and operators as heat maps."""

from __future__ import annotations

from textwrap import fill

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, MultipleLocator

from ....experiment.plotting.select import coordinate_of, having, plan_behind, title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of
from ....experiment.plotting.style import BLACK, GREY, empty, heading, legend_below, look, panels

# Letters of a row's name next to its panels; panels side by side.
ROW, ABREAST = 20, 3


def real_curves(cube: xr.Dataset) -> Figure:
    """Three held-out records (days): observed, predicted without privacy, and privately at two epsilons.

    One fold of the first replicate, no means. A row for each private method, a column for each record; the two
    largest targets of epsilon of the method are shown. The title is about the prediction without privacy on these
    records: its level is the mean of a curve, its shape the curve without its mean. The axes have the unit of the
    response and its time.
    """
    cases = plan_behind(cube).cases
    case = next((c for c in cases_of(cube, "curve_predicted") if hasattr(cases[c].settings, "response_axis")), None)
    if case is None:
        return empty("No real day curves in this configuration.")
    drawn, (hours, unit, ticks) = example_fits_of(cube, case), cases[case].settings.response_axis
    methods = methods_of(cube, case)
    floor = next((m for m in having(cube, "method", protocol="boosting", noise="none") if m in methods), None)
    private = [m for m in methods if np.isfinite(_epsilons(drawn, m)).any()]
    if not private or floor is None:
        return empty("Real day curves need a method without noise (protocol boosting, noise none) and a private one.")
    labels, observed = example_fit(drawn, "record_label", floor), example_fit(drawn, "curve_observed", floor)
    days = min(len(labels), ABREAST)
    names = example_fit(drawn, "record_id", floor) if "record_id" in drawn else np.full((len(labels), 1), np.nan)
    figure, axes = panels(len(private), days, 2.6, 2.1, sharex=True, sharey=True)
    for row, method in enumerate(private):
        for day in range(days):
            ax = axes[row * days + day]
            _one_day(ax, cube, drawn, (floor, method), day, np.linspace(hours[0], hours[1], observed.shape[1]))
            if row == 0:
                ax.set_title(_record(names[day], int(labels[day])))
            ax.xaxis.set_major_locator(MultipleLocator(ticks) if ticks else MaxNLocator(4))
            if row == len(private) - 1:
                ax.set_xlabel("hour of the day" if ticks else cases[case].settings.response_time)
        axes[row * days].set_ylabel(unit, fontsize=8)
    legend_below(figure, axes, 3)
    errors = example_fit(drawn, "curve_predicted", floor)[:days] - observed[:days]
    what = f"{days} held-out {'days' if ticks else 'records'}"
    heading(figure, f"{title(cube, 'case', case)}, {what}: {_level_and_shape(errors)}")
    return figure


def _level_and_shape(errors: np.ndarray) -> str:
    """Return the root mean squares of level and shape of errors (record, time) of a prediction, in words."""
    levels = errors.mean(axis=1)
    level, shape = (float(np.sqrt(np.mean(part**2))) for part in (levels, errors - levels[:, None]))
    words = f"the fit misses the level by {level:.2g} and the shape by {shape:.2g}"
    return f"{words}, also without privacy (root mean squares)"


def _epsilons(drawn: xr.Dataset, method: str) -> np.ndarray:
    """Targets at which the fits of a method are shown."""
    return np.asarray(drawn["example_epsilon"].values[drawn["example_method"].values == method])


def _record(name: np.ndarray, label: int) -> str:
    """The id of the record out of its characters; without one a date out of eight digits, or a number."""
    if np.isfinite(name).any():
        return "".join(chr(int(code)) for code in name[np.isfinite(name)])
    digits = f"{label:08d}"
    return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}" if label >= 10_000_000 else f"record {label}"


def _one_day(
    ax: Axes, cube: xr.Dataset, drawn: xr.Dataset, methods: tuple[str, str], day: int, grid: np.ndarray
) -> None:
    """One record: observed, predicted by the method without noise, and by a private one at two epsilons."""
    floor, method = methods
    ax.plot(
        grid,
        example_fit(drawn, "curve_observed", floor)[day],
        color=GREY,
        linewidth=2.5,
        label="observed (smoothed)",
    )
    # Dots above the others, which it is hidden by where privacy costs little.
    without = example_fit(drawn, "curve_predicted", floor)[day]
    ax.plot(grid, without, color=BLACK, linestyle=":", zorder=3, label="predicted, no privacy")
    style = look(cube, method)
    for epsilon, line in zip(sorted(_epsilons(drawn, method))[::-1][:2], ("-", "--"), strict=False):
        predicted = example_fit(drawn, "curve_predicted", method, epsilon)
        ax.plot(grid, predicted[day], color=style.color, linestyle=line, label=f"{style.label}, ε = {epsilon:g}")


def operators(cube: xr.Dataset) -> Figure:
    """Kernels beta_j(s, t) of three predictors: what time s of predictor j does to time t of the response.

    First row: the truth; below, the estimates of one fold of the first replicate at the fewest parties, on one colour
    scale that ends at the 98 % point of the true values. Time runs from 0 to 1 over the domain of the curves; an
    inactive predictor has the kernel 0. The title gives the root mean square of the difference to the truth over all
    predictors that are shown, divided by that of the truth.
    """
    truths = having(cube, "method", protocol="baseline", kind="oracle")
    case = next((c for c in cases_of(cube, "operator") if set(truths) & set(methods_of(cube, c))), None)
    if case is None:
        return empty(
            "No simulated case with the true operators (protocol baseline, kind oracle) in this configuration."
        )
    drawn, methods = example_fits_of(cube, case), methods_of(cube, case)
    truth_of = next(m for m in truths if m in methods)
    scaled = having(cube, "method", s_mode="sqrt_j") + having(cube, "method", s_mode="calibrated")
    rows = [truth_of, *(m for m in having(cube, "method", protocol="boosting") if m in methods and m not in scaled)]
    truth, names = example_fit(drawn, "operator", truth_of), example_fit(drawn, "predictor_shown_index", truth_of)
    chosen, limit = _columns(truth), float(np.quantile(np.abs(truth), 0.98))
    count = len(chosen)
    figure, axes = panels(len(rows), count, 2.1, 1.3, sharex=True, sharey=True)
    errors: dict[str, float] = {}
    for r, method in enumerate(rows):
        kernels = example_fit(drawn, "operator", method)
        errors[method] = float(np.linalg.norm(kernels[chosen] - truth[chosen]) / np.linalg.norm(truth[chosen]))
        for c, place in enumerate(chosen):
            ax = axes[r * count + c]
            ax.imshow(
                kernels[place].T,
                vmin=-limit,
                vmax=limit,
                origin="lower",
                extent=(0, 1, 0, 1),
                cmap="PuOr",
                aspect="auto",
                interpolation="bilinear",
            )
            ax.grid(False)
            ax.set(xticks=[0, 1], yticks=[0, 1], xlabel="s" if r == len(rows) - 1 else "")
            if r == 0:
                ax.set_title(f"predictor x{int(names[place])}" + ("" if np.any(truth[place]) else " (inactive)"))
        learner = coordinate_of(cube, "method", method, "learner")
        label = fill(title(cube, "method", method), ROW) + (f",\n{learner} learner" if r and learner else "")
        axes[r * count].set_ylabel(f"{label}\nt", fontsize=8)
    figure.colorbar(axes[0].images[0], ax=axes, label="kernel β(s, t)", shrink=0.7, extend="both")
    gaps = [errors[method] for method in rows[1:]]
    words = f", which differ from them by {100 * min(gaps):.0f} to {100 * max(gaps):.0f} %" if len(gaps) > 1 else ""
    heading(figure, f"True operators and their estimates{words}: {title(cube, 'case', case)}")
    return figure


def _columns(truth: np.ndarray) -> list[int]:
    """Places of the predictors that are shown: inactive ones last, at most one of them."""
    active = [place for place, kernel in enumerate(truth) if np.any(kernel)]
    inactive = [place for place in range(len(truth)) if place not in active][:1]
    return [*active[: ABREAST - len(inactive)], *inactive]
