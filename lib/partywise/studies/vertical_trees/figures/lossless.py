"""Figures of vertical trees: whether a federated fit is the pooled one, and whether its thresholds keep its leaves."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter

from ....experiment.plotting.replicates import banded
from ....experiment.plotting.select import coordinate_of, title
from ....experiment.plotting.series import Series, cases_of, draw, methods_of, series
from ....experiment.plotting.style import GREY, empty, heading, legend_below, look, nested, panels
from .utility import LOSSES, loss_of, scored, ticks_at

# The axis of differences is linear up to this, so that it shows none at all.
FLOOR = 1e-16
# Panels side by side.
ABREAST = 3
# What counts as no difference: rounding of sums of some thousand records.
ROUNDING = 1e-12


def lossless_by_parties(cube: xr.Dataset) -> Figure:
    """Test loss and largest difference to the pooled fit of the same codes, by the number of parties.

    Means over {replicates}, bands are ± 1 standard error. Where lines lie on each other, later marks are smaller,
    and the largest hollow.
    """
    cases = [case for case in cases_of(cube, "max_prediction_difference") if _counts(cube, case) > 1]
    if not cases:
        return empty("No case with several numbers of parties in this configuration.")
    figure, axes = panels(2, len(cases), 5.2 if len(cases) == 1 else 4.0, 2.4, sharex="col")
    for column, case in enumerate(cases):
        top, bottom = axes[column], axes[len(cases) + column]
        loss = loss_of(cube, case) or "log_loss"
        for number, method in enumerate(scored(cube, case, loss)):
            draw(top, series(cube, loss, case, method, "parties"), look(cube, method), **nested(number))
        for method in methods_of(cube, case):
            line, style = series(cube, "max_prediction_difference", case, method, "parties"), look(cube, method)
            if line:
                marks = {"color": style.color, "marker": style.marker, "linestyle": style.line, "label": style.label}
                bottom.plot(line.x, line.mean, **marks)
        bottom.axhline(ROUNDING, color=GREY, linewidth=0.8, linestyle="--", label="rounding of sums")
        bottom.set_yscale("symlog", linthresh=FLOOR)
        bottom.yaxis.set_minor_locator(NullLocator())
        bottom.set_yticks([0, FLOOR, 1e-14, ROUNDING])
        bottom.set(
            ylim=(
                -FLOOR / 2,
                max(10 * ROUNDING, 3 * float(cube["max_prediction_difference"].sel(case=case).max())),
            ),
            xlabel="parties",
        )
        bottom.set_xticks([int(k) for k in cube["parties"].values])
        top.set_title(title(cube, "case", case))
        top.set_ylabel(LOSSES[loss])
        if column == 0:
            bottom.set_ylabel("largest difference\nto the pooled fit")
    legend_below(figure, axes, 3)
    heading(figure, f"Trees of more parties\n{banded(cube, cases)}")
    return figure


def _counts(cube: xr.Dataset, case: str) -> int:
    values = cube["max_prediction_difference"].sel(case=case)
    return int(values.notnull().any([dim for dim in values.dims if dim != "parties"]).sum())


def rows_rerouted(cube: xr.Dataset) -> Figure:
    """Share of training rows that the stored thresholds route to another leaf than the codes that were learned from.

    Means over {replicates}, bands are ± 1 standard error.
    """
    cases = [case for case in cases_of(cube, "rows_rerouted") if _rerouted(cube, case)]
    if not cases:
        return empty("No case whose thresholds could reroute a row in this configuration.")
    columns = min(ABREAST, len(cases))
    figure, axes = panels(-(-len(cases) // columns), columns, max(3.7, 5.2 / columns), 3.0, sharey=True)
    for ax in axes[len(cases) :]:
        ax.set_axis_off()
    for ax, case in zip(axes, cases, strict=False):
        for method, line in _rerouted(cube, case):
            style = look(cube, method)
            buckets = coordinate_of(cube, "method", method, "bucket_num")
            words = style.label + (f", {buckets:g} buckets" if buckets and f"{buckets:g}" not in style.label else "")
            if not np.isfinite(line.x).any():
                ax.axhline(line.mean[0], color=style.color, linestyle=style.rule, linewidth=1.2, label=words)
            else:
                draw(ax, line, style, label=words)
        ax.set(xlabel="ε that a method is given", ylim=(-0.02, 1.02), title=title(cube, "case", case))
        ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        if targets := [epsilon for _, line in _rerouted(cube, case) for epsilon in line.x if np.isfinite(epsilon)]:
            ticks_at(ax, targets)
        else:
            ax.set(xlabel="no method is given an ε", xticks=[])
    for ax in axes[: len(cases) : columns]:
        ax.set_ylabel("share of training rows\nin another leaf")
    legend_below(figure, axes, columns)
    words = "Rows that change their leaf when routed by the stored thresholds"
    heading(figure, f"{words}\n{banded(cube, cases)}")
    return figure


def _rerouted(cube: xr.Dataset, case: str) -> list[tuple[str, Series]]:
    """Method and share by epsilon of a case, where something was rerouted."""
    found = []
    for method in methods_of(cube, case):
        line = series(cube, "rows_rerouted", case, method, "epsilon")
        if np.isfinite(line.x).any():
            targets = np.isfinite(line.x)
            line = Series(line.x[targets], line.mean[targets], line.se[targets])
        if line:
            found.append((method, line))
    return found if any((line.mean > 0).any() for _, line in found) else []
