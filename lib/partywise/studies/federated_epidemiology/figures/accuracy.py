"""Distance of released numbers from those of the pooled records, width of their intervals, and their coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from ....experiment.plotting.layout import ABREAST, Axis, case_title, plain_ticks
from ....experiment.plotting.lines import SERIES, Lines, few_methods
from ....experiment.plotting.select import plan_behind
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of, methods_with, series
from ....experiment.plotting.style import (
    GREY,
    Marks,
    compact,
    empty,
    heading,
    legend_below,
    look,
    panels,
)
from ....methods.epidemiology.consistency import ReleasedTables
from ....methods.epidemiology.estimates.inference import Inference
from ....methods.epidemiology.estimates.report import report
from ....methods.epidemiology.options import GeometricBoxOptions, RoundedOptions, SuppressedOptions
from ....plot.interval_rows import IntervalRows, draw_rows
from ..measures import KINDS
from ..metrics import ABOUT_RECORDS, kind_of
from .answers import ShownCase, shown_cases

WITHOUT, SAME, LEVEL = "noise of privacy left out", "intervals from the same noisy counts", 0.95
SAMPLE = Inference()
# Published rules for counts.
RULES = (SuppressedOptions, RoundedOptions)
# Inches of a row, and of all else of a panel.
ROW, REST = 0.3, 1.2


def first_cases(cube: xr.Dataset, cases: Sequence[str]) -> Sequence[str]:
    """The first cases, as many as fit side by side."""
    return cases[:ABREAST]


def private_first(cube: xr.Dataset, case: str) -> list[str]:
    """Methods of a case, those with an epsilon first."""
    return sorted(methods_of(cube, case), key=lambda method: not plan_behind(cube).methods[method].uses_epsilon)


numbers_by_epsilon = Lines(
    "How far are released numbers from those of the pooled records?",
    x="epsilon",
    y=[
        Axis({"error": "distance in standard\nerrors, median"}, log=True, linear=0.01),
        Axis({"width_ratio": "width over that of\nthe pooled records"}, log=True),
    ],
    size=(3.7, 3.6),
    groups=few_methods(private_first),
    select=first_cases,
    ends="Distance from the pooled numbers in standard errors at ε = {place}",
    none="No case with private methods in this configuration.",
    caption="Median distance of the determined numbers from those of the pooled records, in the standard "
    "errors of these, and geometric mean of the widths of their intervals over those of the pooled records for a "
    "population, against the target epsilon; a column for each of the first three cases. Methods beyond six are in the "
    "summary of the study. Means over {replicates}.",
)


def coverage_by_number(cube: xr.Dataset) -> Figure:
    """Share of 95 % intervals that hold the truth by kind of number, and widths of single ones, at the ε nearest to 2.

    Left: mean over {replicates} with bars of one standard error, in the first case with a certified method and numbers
    whose truth is known. Right: width of the interval of each number over that of the same number of the pooled records
    for a population, first replicate. Grey: intervals at the same centres that leave the noise of privacy out. Numbers
    that the release does not determine are left out.
    """
    cases = [case for case in shown_cases(cube, lambda released: True) if coverage_of(case, "").names]
    if not cases:
        return empty("No case with a certified method and known numbers in this configuration.")
    case, style = cases[0], look(cube, cases[0].method)
    marks: dict[str, Marks] = {
        style.label: {"color": style.color, "marker": style.marker},
        WITHOUT: {"color": GREY, "marker": "D"},
    }
    sources = {style.label: coverage_of(case, ""), WITHOUT: coverage_of(case, "_without_noise")}
    kinds = sources[style.label].names
    figure, (left, right) = panels(1, 2, 3.5, REST + ROW * len(kinds), sharey="row")
    draw_rows(left, sources, marks, reference=LEVEL)
    left.set_xlabel("intervals that hold the truth")
    left.xaxis.set_major_formatter(PercentFormatter(1.0))
    pooled, estimate = case.pooled(), case.estimate(case.target)
    exact = {} if pooled is None else widths_of(pooled)
    estimates = {style.label: estimate, WITHOUT: replace(estimate, noise_sd=0.0)}
    for place, (label, release) in enumerate(estimates.items()):
        ratios = ratios_of(widths_of(release.tables(case.questions)), exact)
        _draw_ratios(right, ratios, kinds, 0.3 * (place - 0.5), marks[label] | {"label": label})
    right.axvline(1, color=GREY, linewidth=0.9)
    plain_ticks(right)
    right.set_xlabel("width over that of the pooled records")
    legend_below(figure, [right, left], 2)
    least = {label: source.values.min() for label, source in sources.items()}
    words = f"hold the truth at least {least[style.label]:.0%} of the time for each kind of number"
    naive = f"those that leave it out {least[WITHOUT]:.0%}"
    heading(figure, f"Intervals that count the noise {words}, {naive}: {case.title}, ε = {case.target:g}")
    return figure


def coverage_of(case: ShownCase, ending: str) -> IntervalRows:
    """Coverage by kind of number at the shown target, its mean over replicates with one standard error."""
    rows = list[tuple[str, float, float]]()
    for kind, words in KINDS.items():
        name = f"coverage_{kind}{ending}"
        if name in case.cube:
            line = series(case.cube, name, case.name, case.method, "epsilon")
            rows += [(words, line.mean[at], line.band[at]) for at in np.flatnonzero(line.x == case.target)]
    values, errors = (np.array([row[column] for row in rows], dtype=float) for column in (1, 2))
    return IntervalRows([row[0] for row in rows], values, values - errors, values + errors)


def published_widths(cube: xr.Dataset) -> Figure:
    """Width of 95 % intervals over that of the published region of a number, first replicate, at the ε nearest to 2.

    The case is the first with regions that are read from a box around all cells. Each dot is a number, in the row of
    its kind; all are about these records. Coloured: intervals of certified tables at the same target ε, with δ. Grey:
    intervals from the same noisy counts as the published region. Line: as wide as the published region. Numbers without
    a region, or with one that has no end, are left out.
    """
    boxes = shown_cases(cube, lambda released: released.radius, (GeometricBoxOptions,))
    certified = {case.name: case for case in shown_cases(cube, lambda released: True)}
    pairs = [(box, certified[box.name]) for box in boxes if box.name in certified]
    if not pairs:
        return empty("No case with published regions and certified tables in this configuration.")
    box, case = pairs[0]
    style = look(cube, case.method)
    marks: dict[str, Marks] = {
        style.label: {"color": style.color, "marker": style.marker},
        SAME: {"color": GREY, "marker": "D"},
    }
    published = widths_of(box.release(box.target), ABOUT_RECORDS)
    widths = {
        style.label: widths_of(case.release(case.target), ABOUT_RECORDS),
        SAME: widths_of(replace(box.estimate(box.target), radius=0.0).tables(box.questions), ABOUT_RECORDS),
    }
    ratios = {label: ratios_of(row, published) for label, row in widths.items()}
    named = {kind_of(name) for row in ratios.values() for name in row}
    kinds = [words for kind, words in KINDS.items() if kind in named]
    figure, (ax,) = panels(1, 1, 7.0, REST + ROW * len(kinds))
    for place, (label, row) in enumerate(ratios.items()):
        _draw_ratios(ax, row, kinds, 0.3 * (place - 0.5), marks[label] | {"label": label})
    ax.axvline(1, color=GREY, linewidth=0.9)
    ax.set_yticks(range(len(kinds)), kinds)
    ax.set_ylim(len(kinds) - 0.5, -0.5)
    plain_ticks(ax)
    ax.set_xlabel(f"width over that of {look(cube, box.method).label}")
    legend_below(figure, [ax], 2)
    middles = {label: compact(float(np.median(list(row.values()))), 2) for label, row in ratios.items()}
    heading(
        figure,
        f"Intervals have {middles[style.label]} of the width of published regions at ε = {box.target:g}, and "
        f"{middles[SAME]} from the same noise (medians): {case.title}",
    )
    return figure


def widths_of(released: ReleasedTables, inference: Inference = SAMPLE) -> dict[str, float]:
    """Widths of the intervals of all numbers that have one, by name."""
    return {answer.name: answer.width for answer in report(released, inference) if np.isfinite(answer.width)}


def ratios_of(widths: Mapping[str, float], others: Mapping[str, float]) -> dict[str, float]:
    """Widths over others of the same numbers, where both are positive."""
    return {name: width / others[name] for name, width in widths.items() if width > 0 and others.get(name, 0) > 0}


def _draw_ratios(ax: Axes, ratios: Mapping[str, float], kinds: Sequence[str], shift: float, marks: Marks) -> None:
    """Draw a dot for each number, in the row of its kind."""
    kinds_of = {name: KINDS[kind_of(name)] for name in ratios}
    pairs = [(ratio, kinds.index(kinds_of[name]) + shift) for name, ratio in ratios.items() if kinds_of[name] in kinds]
    x, y = np.array(pairs, dtype=float).reshape(-1, 2).T
    ax.plot(x, y, linestyle="none", markersize=3, **marks)


def records_named(cube: xr.Dataset) -> Figure:
    """Share of records that an analyst names from refused or rounded counts, by the number of orders asked by.

    First replicate of the first case with columns of numbers. In each order of the records the analyst asks at every
    hospital for the counts of the levels of the first variable up to each value: in the order of each column of
    numbers, then of public random sums of their ranks. Counts that are rounded at random are asked for 200 times each.
    A record is named where its level follows for certain, or, of means of answers, from the nearest whole number.
    Methods with noise have no line: they answer one set of questions, and their certificate bounds every attack.
    """
    name, methods = "named_by_orders", plan_behind(cube).methods
    rules = {
        case: [m for m in methods_with(cube, case, name) if isinstance(methods[m].options, RULES)]
        for case in cases_of(cube, name)
    }
    case = next((case for case, published in rules.items() if published), None)
    if case is None:
        return empty("No case with columns of numbers and refused or rounded counts in this configuration.")
    fits, shares = example_fits_of(cube, case), dict[str, np.ndarray]()
    for method in rules[case][:SERIES]:
        values = example_fit(fits, name, method)
        shares[method] = values[np.isfinite(values)]
    orders = max(map(len, shares.values()))
    figure, (ax,) = panels(1, 1, 7.0, 2.9)
    for method, values in shares.items():
        ax.plot(np.arange(1, len(values) + 1), values, markevery=(0, 3), **look(cube, method).marks)
    ax.set(xlabel="orders of the records by which counts are asked for", ylabel="records named", ylim=(0, 1.04))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set_xticks([1, *range(5, orders + 1, 5)])
    legend_below(figure, [ax], 2)
    last = sorted(float(values[-1]) for values in shares.values())
    words = f"{last[0]:.0%} to {last[-1]:.0%}" if len(last) > 1 else f"{last[0]:.0%}"
    heading(
        figure, f"Rules for counts let {words} of the records be named by {orders} orders: {case_title(cube, case)}"
    )
    return figure
