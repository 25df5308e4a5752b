"""Curves of one release with their bands next to those of the pooled records: ROC, and incidence by cause."""

from __future__ import annotations

import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.plotting.style import BLACK, GREY, Marks, empty, heading, legend_below, look, panels
from ....methods.epidemiology.consistency import ReleasedTables
from ....methods.epidemiology.estimates.curves import ExitAnswers, roc_curve
from ....methods.epidemiology.estimates.curves import cumulative_incidence as incidence_of
from ....methods.epidemiology.estimates.inference import Answer, Inference
from ....methods.epidemiology.estimates.report import scores_of
from ....plot.bands import curve_of, draw_band, draw_roc
from .answers import POOLED, shown_cases

TOGETHER = Inference(together=True)
BLACK_LINE: Marks = {"color": BLACK, "linewidth": 1.0, "label": POOLED}
# Panels side by side; inches of a row of them.
ABREAST, HIGH = 3, 1.9


def roc(cube: xr.Dataset) -> Figure:
    """ROC curve of a score with its simultaneous 95 % band, first replicate: a panel for each of at most three targets.

    The case is the first with a score in bands and a binary outcome. Black: the curve of the pooled records, which no
    party sees. Coloured: that of the certified release, with a band that counts the noise of privacy and holds the
    whole curve of the banded score in a population. Marks are thresholds; dotted: guessing.
    """
    cases = shown_cases(cube, lambda released: list(scores_of(released)))
    if not cases:
        return empty("No case with a certified ROC curve in this configuration.")
    case, style = cases[0], look(cube, cases[0].method)
    targets, pooled = case.targets[-ABREAST:], case.pooled()
    score, outcome = next(iter(scores_of(case.release(targets[0]))))
    exact = None if pooled is None else roc_curve(pooled, score, outcome, Inference())
    figure, axes = panels(1, len(targets), 7.0 / len(targets), 3.1, sharey="row")
    for ax, epsilon in zip(axes, targets, strict=True):
        released = roc_curve(case.release(epsilon), score, outcome, TOGETHER)
        ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
        draw_roc(ax, released, {"color": style.color, "marker": ".", "label": style.label})
        if exact is not None:
            rates = (exact.false_positives, exact.sensitivities)
            ax.plot(*([0.0, *(float(answer.estimate or 0) for answer in row), 1.0] for row in rates), **BLACK_LINE)
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="false-positive rate")
        ax.set_title(f"ε = {epsilon:g}\narea {_in_words(released.area)}")
    axes[0].set_ylabel("sensitivity")
    legend_below(figure, axes, 2)
    words = "" if exact is None else f", area of the pooled records {exact.area.estimate:.2f}"
    heading(figure, f"How well does {score} predict {outcome}? {case.title}{words}")
    return figure


def _in_words(answer: Answer) -> str:
    """A number with its interval."""
    if answer.estimate is None:
        return "not determined"
    return f"{answer.estimate:.2f} ({answer.lower:.2f} to {answer.upper:.2f})"


def cumulative_incidence(cube: xr.Dataset) -> Figure:
    """Cumulative incidence of competing causes with 95 % bands, first replicate, at the target nearest to 2.

    A column for each cause and a row for each group of the first case with competing causes, or with any. Black: the
    curve of the pooled records by the same bins, which no party sees. Coloured: that of the certified release, with the
    band that holds at all times and for all curves of a group together in a population, and counts the noise of
    privacy. Curves end where noise hides the number at risk.
    """
    cases = shown_cases(cube, lambda released: released.layout.incidence)
    if not cases:
        return empty("No case with certified cumulative incidence in this configuration.")
    case = max(cases, key=lambda each: min(2, len(_curves(each.release(each.target))[0].incidence)))
    released, pooled = _curves(case.release(case.target)), case.pooled()
    exact = None if pooled is None else _curves(pooled, Inference())
    causes, style = list(released[0].incidence)[:ABREAST], look(cube, case.method)
    figure, axes = panels(len(released), len(causes), 7.0 / len(causes), HIGH, sharex="all", sharey="all")
    by, unit = case.questions.by, case.questions.incidence[0].time
    for row, curves in enumerate(released):
        for ax, cause in zip(axes[row * len(causes) :], causes, strict=False):
            draw_band(ax, curve_of(curves, cause), {"color": style.color, "marker": ".", "label": style.label})
            if exact is not None:
                draw_line(ax, exact[row], cause)
            ax.set_title(f"{cause}, {by} = {curves.group}" if curves.group else cause)
            if row == len(released) - 1:
                ax.set_xlabel(unit)
        axes[row * len(causes)].set_ylabel("cumulative incidence")
    axes[0].set(xlim=(0, released[0].edges[-1]))
    axes[0].set_ylim(bottom=0)
    legend_below(figure, axes, 2)
    heading(figure, f"Cumulative incidence by cause from a noisy release at ε = {case.target:g}: {case.title}")
    return figure


def _curves(released: ReleasedTables, inference: Inference = TOGETHER) -> list[ExitAnswers]:
    """Curves of the first incidence of a question set, by group."""
    return incidence_of(released, released.layout.incidence[0], inference)


def draw_line(ax: Axes, curves: ExitAnswers, cause: str) -> None:
    """Draw the curve of the pooled records."""
    times, shares, _, _ = curve_of(curves, cause)
    ax.plot(times, shares, **BLACK_LINE)
