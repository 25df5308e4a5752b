"""Figures over epsilon: the price of privacy, and claims against certificates."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ....experiment.plotting.layout import Axis
from ....experiment.plotting.lines import Lines
from ....experiment.plotting.select import coordinate_of, having, number_of, plan_behind, title
from ....experiment.plotting.series import methods_of, series
from ....experiment.plotting.style import (
    BLACK,
    DASHES,
    MARKERS,
    Marks,
    compact,
    empty,
    heading,
    label_ends,
    legend_below,
    look,
    panels,
    run_ticks,
)


def _estimating_methods(cube: xr.Dataset, case: str) -> dict[str, list[str]]:
    """Methods of a case without the truth."""
    truths = having(cube, "method", protocol="baseline", kind="oracle")
    return {"": [method for method in methods_of(cube, case) if method not in truths]}


error_by_epsilon = Lines(
    "What does privacy cost on held-out records?",
    x="epsilon",
    y=Axis(
        {
            "excess": "normalised excess risk\n0: truth, 1: mean curve",
            "relative_error": "risk / risk of mean curve",
        },
        log=True,
    ),
    groups=_estimating_methods,
    least=2,
    ends="Held-out error at ε = {place}",
    none="No case with several targets of epsilon in this configuration.",
    caption="Held-out error against the target epsilon of the whole release, a panel for each case. 1 is the risk of "
    "the training mean curve, 0 (of excess risk) that at the true operators.",
)


def claimed_and_certified(cube: xr.Dataset) -> Figure:
    """Certified epsilon of the published noise against the basis size Q, for several units of time, at one claim.

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
        span = str(coordinate_of(cube, "case", case, "domain") or "")
        for method in (m for m in methods_of(cube, case) if m in calibrated):
            certified = series(cube, "epsilon_certified", case, method, "epsilon")
            if certified:
                place = (number_of(cube, "case", case, "n_basis_x"), certified.mean[0])
                points.setdefault((method, span), set()).add(place)
    first = next(method for method in published if method in methods_of(cube, cases[0]))
    claim = float(series(cube, "epsilon_claimed", cases[0], first, "epsilon").mean[0])
    figure, (ax,) = panels(1, 1, 5.8, 3.6)
    falling = sorted(points.items(), key=lambda entry: -max(entry[1])[1])
    for index, ((method, span), values) in enumerate(falling):
        alone = len({other for name, other in points if name == method}) == 1
        style, marks = look(cube, method), Marks(label=title(cube, "method", method))
        if not alone:
            # Of one method the units of time have markers and dashes of their own.
            marks["marker"], marks["linestyle"] = MARKERS[index % len(MARKERS)], DASHES[index % len(DASHES)]
            marks["label"] = f"{title(cube, 'method', method)}, time in [{span}]"
        ax.plot(*np.array(sorted(values)).T, **style.marks | marks)
    ax.axhline(claim, color=BLACK, linestyle=":", linewidth=1.2, label=f"claimed ε = {claim:g}")
    ax.set(
        xlabel="basis size Q (cubic B-splines)",
        ylabel=f"certified ε at δ = {compact(plan_behind(cube).delta(cases[0]), 3)}",
        yscale="log",
    )
    run_ticks(ax, [place for values in points.values() for place, _ in values])
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    if not label_ends(figure, [ax]):
        legend_below(figure, [ax], 2)
    proved = [value for (method, _), values in points.items() if method in published for _, value in values]
    heading(
        figure,
        f"A claim of ε = {claim:g} on the same curves: the published noise holds ε = {min(proved):.2g} to "
        f"{float(f'{max(proved):.2g}'):,.0f}, by basis and unit of time alone",
    )
    return figure
