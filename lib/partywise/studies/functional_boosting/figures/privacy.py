"""Figures over epsilon: the price of privacy, and claims against certificates."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

from ....experiment.plotting.select import coordinate_of, having, plan_behind, title
from ....experiment.plotting.series import cases_of, draw, methods_of, series, spread
from ....experiment.plotting.style import (
    BLACK,
    COLORS,
    DASHES,
    MARKERS,
    compact,
    empty,
    heading,
    legend_below,
    look,
    panels,
    run_ticks,
)


def error_by_epsilon(cube: xr.Dataset) -> Figure:
    """Held-out error against the certified epsilon of the whole release, a panel for each case; lower is better.

    Lines: methods with a target, means over {replicates} (of each the mean over its folds), bands: ± 1 standard error.
    Horizontal lines: methods for which no finite epsilon is certified. 1 is the risk of the training mean curve, 0
    (of excess risk) that at the true operators.
    """
    targets = cube["epsilon"].values[np.isfinite(cube["epsilon"].values)]
    done = (cube["status"].sel(epsilon=targets) > 0).any(["replicate", "parties", "fold"])
    cases = [str(case) for case in cube["case"].values if (done.sel(case=case).sum("epsilon") > 1).any()]
    if not cases:
        return empty("No case with several targets of epsilon in this configuration.")
    oracle = having(cube, "method", protocol="baseline", kind="oracle")
    columns = min(len(cases), 3)
    rows = -(-len(cases) // columns)
    # One panel alone is made as wide as the title.
    figure, axes = panels(rows, columns, max(3.9, 7.4 / columns), 3.2)
    for ax in axes[len(cases) :]:
        ax.set_axis_off()
    for ax, case in zip(axes, cases, strict=False):
        variable = "excess" if case in cases_of(cube, "excess") else "relative_error"
        for method in methods_of(cube, case):
            line, style = series(cube, variable, case, method, "epsilon"), look(cube, method)
            finite = np.isfinite(line.x)
            if finite.sum() > 1:
                draw(ax, type(line)(line.x[finite], line.mean[finite], line.se[finite]), style)
            elif len(line.mean) and method not in oracle:
                ax.axhline(line.mean[-1], color=style.color, linestyle=style.rule, linewidth=1.2, label=style.label)
        label = (
            "normalised excess risk\n(0: truth, 1: mean curve)"
            if variable == "excess"
            else "risk relative to the mean curve"
        )
        ax.set(title=title(cube, "case", case), xlabel="certified ε of the whole release", ylabel=label)
        ax.set(xscale="log", yscale="log")
        if variable == "relative_error":
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.yaxis.set_major_formatter(FormatStrFormatter("%g"))
            ax.yaxis.set_minor_formatter(NullFormatter())
    legend_below(figure, axes, 3)
    heading(figure, f"What privacy costs; horizontal lines: no finite epsilon certified; {spread(cube, cases)}")
    return figure


def claimed_and_certified(cube: xr.Dataset) -> Figure:
    """What the published noise proves, against the basis size Q, for several units of time, at one claim.

    The curves are the same; only their basis and the unit in which time is measured differ. A line above the dotted
    claim means that the claim is exceeded; one below it, that more noise is added than the claim needs. Certificates
    depend on public numbers alone, so that replicates do not differ.
    """
    published = [
        m
        for m in having(cube, "method", protocol="published")
        if coordinate_of(cube, "method", m, "radius") == "public"
    ]
    cases = [c for c in map(str, cube["case"].values) if set(published) & set(methods_of(cube, c))]
    calibrated = having(cube, "method", s_mode="calibrated")
    if not cases or "case_n_basis_x" not in cube.coords:
        return empty("No cases with the published noise at a public radius in this configuration.")
    points: dict[tuple[str, str], set[tuple[float, float]]] = {}
    for case in cases:
        span = coordinate_of(cube, "case", case, "domain") or ""
        for method in (m for m in methods_of(cube, case) if m in calibrated):
            certified = series(cube, "epsilon_certified", case, method, "epsilon")
            if certified:
                place = (coordinate_of(cube, "case", case, "n_basis_x"), certified.mean[0])
                points.setdefault((method, span), set()).add(place)
    first = next(method for method in published if method in methods_of(cube, cases[0]))
    claim = float(series(cube, "epsilon_claimed", cases[0], first, "epsilon").mean[0])
    figure, (ax,) = panels(1, 1, 5.8, 3.8)
    falling = sorted(points.items(), key=lambda entry: -max(entry[1])[1])
    for index, ((method, span), values) in enumerate(falling):
        alone = len({other for name, other in points if name == method}) == 1
        label = title(cube, "method", method) + ("" if alone else f", time in [{span}]")
        color, marker, line = (cycle[(index + 1) % len(cycle)] for cycle in (COLORS, MARKERS, DASHES))
        ax.plot(*np.array(sorted(values)).T, color=color, marker=marker, linestyle=line, label=label)
    ax.axhline(claim, color=BLACK, linestyle=":", linewidth=1.2, label=f"claimed ε = {claim:g}")
    ax.set(
        xlabel="basis size Q (cubic B-splines)",
        ylabel=f"certified ε at δ = {compact(plan_behind(cube).delta(cases[0]))}",
        yscale="log",
    )
    run_ticks(ax, [place for values in points.values() for place, _ in values])
    ax.set_title("One claim, the same curves: what the noise proves\ndepends on the basis and on the unit of time")
    legend_below(figure, [ax], 1)
    return figure
