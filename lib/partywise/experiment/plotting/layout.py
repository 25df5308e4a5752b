"""Layout that declared figures share: their cases, a grid of panels with labels, legend and title; axes and ticks.

A study names a declared figure as it names a function that draws one; `Lines`, `Bars` and `Panels` are called with the
cube.  Meaning, unit and direction of a measure come from the study's `measures.py`, titles of cases and methods from
the configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import fill
from typing import TYPE_CHECKING, Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.figure import Figure
from matplotlib.scale import SymmetricalLogScale
from matplotlib.ticker import (
    EngFormatter,
    FixedLocator,
    FormatStrFormatter,
    Formatter,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from ..measures import BYTES_MEASURED, EPSILON_CLAIMED, Quantity, measures_of
from .select import plan_behind, title
from .series import cases_of
from .style import GREY, NOTES, PAGE, compact, empty, heading, label_ends, legend_below, panels, wrap_words

if TYPE_CHECKING:
    from ..study import Study

# Inches of a figure with few panels; letters of a label under a panel, and beside an inch of one; large counts.
LEAST, LETTERS, LETTERS_PER_INCH, LARGE = 6.4, 40, 11, 1e5
# Letters of an inch above or below a panel, and inches at its side.
LETTERS_BELOW, SIDE = 16.5, 0.55
# Panels that are narrower than asked for are lower too, by at most this factor.
LOWEST = 0.75
# Share of an axis above its largest mark; panels side by side at most, where rows of them show several measures.
MARGIN, ABREAST = 0.03, 3
# At most so many numbers fit under a panel; factor between the largest value and the end of an axis.
MOST, END = 9, 4
# A logarithmic axis whose ends differ by less than the first factor reaches beyond both by the second.
ALIKE, WIDER = 1.1, 2
# Ticks of a logarithmic axis, as parts of each power of ten: the first that are at least so many on a short one.
PARTS, ENOUGH = ((1, 2, 5), (1, 1.5, 2, 3, 5, 7)), 3
COMMON = {"bytes_measured": BYTES_MEASURED, "epsilon_claimed": EPSILON_CLAIMED}
Draw = Callable[[Axes, str, int], Iterable[str]]
DIRECTIONS = {"lower": "lower is better", "higher": "higher is better"}


def quantity_of(cube: xr.Dataset, name: str) -> Quantity:
    """Return the quantity of a variable: as its study declares it, else as the cube states it."""
    study: Study = plan_behind(cube).study
    known = {
        key: measure.quantity for key, measure in (measures_of(study.measures) | dict(study.own_measures)).items()
    } | COMMON
    if name in known:
        return known[name]
    attributes = cube[name].attrs if name in cube else {}
    return Quantity(attributes.get("long_name", name), attributes.get("units", "1"))


def label_of(cube: xr.Dataset, name: str, words: str = "", letters: int = LETTERS) -> str:
    """Label of an axis: words (by default the heading or the meaning of a variable), its unit and its direction."""
    quantity = quantity_of(cube, name)
    # The heading of bytes counts MiB, as tables do.
    public_name = quantity.meaning if quantity.unit == "byte" else quantity.heading or quantity.meaning
    parts = [quantity.unit if quantity.unit not in ("1", "byte") else "", DIRECTIONS.get(quantity.better, "")]
    ending = ", ".join(filter(None, parts))
    return (words or fill(public_name, letters)) + (f"\n({ending})" if ending else "")


@dataclass(frozen=True)
class Axis:
    """One row of panels: a measure on its axis.

    measures : one measure, or several of which a case is shown by the first that it has, where a mapping gives each the
        words of its axis, which are otherwise its heading or its meaning
    log, percent : a logarithmic axis, shares as percentages
    linear : below this a logarithmic axis is linear, so that it shows 0; it is 0 where the axis need not show 0
    levels : values that are lines across the panel, with their words
    bottom, top : ends of the axis
    cut : points of lines above are arrows at it
    behind : other measures of each method that are grey lines behind its own, with their words
    """

    measures: str | Sequence[str] | Mapping[str, str]
    log: bool = False
    percent: bool = False
    linear: float = 0.0
    levels: Mapping[float, str] = field(default_factory=dict)
    bottom: float | None = None
    top: float | None = None
    cut: float = np.inf
    behind: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> dict[str, str]:
        """Measures and the words of their axes, empty where they are those of the measure."""
        names = [self.measures] if isinstance(self.measures, str) else self.measures
        return dict(names) if isinstance(names, Mapping) else dict.fromkeys(names, "")

    def measure_of(self, cube: xr.Dataset, case: str) -> str | None:
        """The measure by which a case is shown."""
        return next((name for name in self.words if case in cases_of(cube, name)), None)

    def finish(
        self, ax: Axes, cube: xr.Dataset, name: str, which: Literal["x", "y"] = "y", letters: int = LETTERS
    ) -> None:
        """Scale, ends, ticks and label of the axis of a measure, after its values are drawn."""
        axis: XAxis | YAxis = ax.yaxis if which == "y" else ax.xaxis
        for value, label in self.levels.items():
            (ax.axhline if which == "y" else ax.axvline)(value, color=GREY, linewidth=0.9, linestyle="--", label=label)
        words = EngFormatter(unit="B") if quantity_of(cube, name).unit == "byte" else None
        # An axis that panels share ended where the panel before ended it.
        ax.autoscale(axis=which)
        if self.linear:
            down_to_zero(ax, which, self.linear)
        elif self.log:
            plain_ticks(ax, which, words)
        elif words or self.percent or axis.get_view_interval()[1] > LARGE:
            plain = FuncFormatter(lambda share, _: f"{100 * share:.4g}%") if self.percent else EngFormatter()
            axis.set_major_formatter(words or plain)
        low, high = axis.get_view_interval()
        if self.bottom is not None:
            low, high = self.bottom, high + MARGIN * (high - self.bottom)
        ends = (low, high if self.top is None else self.top)
        label = label_of(cube, name, self.words.get(name, ""), letters)
        ax.set(**{f"{which}lim": ends, f"{which}label": label})


def axes_of(y: str | Axis | Mapping[str, str] | Sequence[str | Axis]) -> tuple[Axis, ...]:
    """One axis for each row of panels."""
    if isinstance(y, str | Axis | Mapping):
        return (y if isinstance(y, Axis) else Axis(y),)
    return tuple(axis if isinstance(axis, Axis) else Axis(axis) for axis in y)


def every_case(cube: xr.Dataset, cases: Sequence[str]) -> Sequence[str]:
    """All cases that have what a figure shows."""
    return cases


def _abreast(cases: Sequence[str]) -> int:
    """Panels side by side of so many cases that rows of them are full, or nearly."""
    return -(-len(cases) // -(-len(cases) // ABREAST))


def _places_below(cases: Sequence[str], count: int) -> list[tuple[str, int] | None]:
    """Place after place the case and the row of a panel; of many cases some, with all their rows, and others below.

    None where a last row of panels is not full.
    """
    abreast = _abreast(cases)
    parts = [cases[start : start + abreast] for start in range(0, len(cases), abreast)]
    return [
        (part[place], row) if place < len(part) else None
        for part in parts
        for row in range(count)
        for place in range(abreast)
    ]


def case_title(cube: xr.Dataset, case: str) -> str:
    """The title of the case."""
    return title(cube, "case", case)


def no_finding(cube: xr.Dataset, cases: Sequence[str]) -> str:
    """No finding: the title of the figure is above its panels."""
    return ""


def break_words(ax: Axes, letters: int) -> None:
    """Break the title and the label below a panel into lines of at most so many letters."""
    for words, set_words in ((ax.get_title(), ax.set_title), (ax.get_xlabel(), ax.set_xlabel)):
        set_words("\n".join(wrap_words(line, letters) for line in words.split("\n")))


@dataclass(frozen=True)
class PanelLayout:
    """Cases of a declared figure and the places of its panels.

    title : what the figure shows, above all panels; notes on it are in the caption, and in the description of an SVG
    finding : (cube, cases that are drawn) -> one sentence above all panels in place of the title; empty where the title
        is to remain
    caption : of reports: sentences in place of the title, before those of every such figure
    none : text where a configuration has nothing to show
    fewest : methods without which a case is not shown
    needs : a variable without which a case is not shown
    select : (cube, cases that have what is shown) -> those that are drawn
    panel : (cube, case) -> words above its panel
    columns, size : panels side by side, unless rows show several measures; inches of one panel
    share : whether the panels of a row have one axis of values
    legend : columns of the legend of all panels; 0 where each has its own
    """

    title: str
    finding: Callable[[xr.Dataset, Sequence[str]], str] = field(default=no_finding, kw_only=True)
    caption: str = field(default="", kw_only=True)
    none: str = field(default="", kw_only=True)
    fewest: int = field(default=1, kw_only=True)
    needs: str = field(default="", kw_only=True)
    select: Callable[[xr.Dataset, Sequence[str]], Sequence[str]] = field(default=every_case, kw_only=True)
    panel: Callable[[xr.Dataset, str], str] = field(default=case_title, kw_only=True)
    columns: int = field(default=3, kw_only=True)
    size: tuple[float, float] = field(default=(3.7, 3.1), kw_only=True)
    share: bool = field(default=False, kw_only=True)
    legend: int = field(default=3, kw_only=True)

    @property
    def letters(self) -> int:
        """Letters of a label next to a panel."""
        return int(LETTERS_PER_INCH * self.size[1])

    def candidates(self, cube: xr.Dataset, names: Iterable[str]) -> list[str]:
        """Cases that have one of some variables, and what the figure needs."""
        known = {case for name in names for case in cases_of(cube, name)}
        known &= set(cases_of(cube, self.needs)) if self.needs else known
        return [case for case in map(str, cube["case"].values) if case in known]

    def nothing(self) -> Figure:
        """A figure that names what is missing."""
        return empty(self.none or f"{self.title}: no case of this kind in this configuration.")

    def grid(
        self,
        cube: xr.Dataset,
        cases: Sequence[str],
        rows: int,
        draw: Draw,
        height: float = 0.0,
        groups: int = 1,
        finding: str = "",
    ) -> Figure:
        """A figure of one panel for each case, or of a row of them for each measure and each group of methods.

        ``draw`` is given the axes, the case and the row, and returns notes on them; ``height`` of a panel in inches is
        by default that of ``size``; ``finding`` is in place of the title.  Of one case the rows are side by side, and
        those of many cases go on below.  The lines of a single panel have their labels at their ends, if these fit.
        """
        count = rows * groups
        many = count > 1 and len(cases) > 1
        places = _places_below(cases, count) if many else [(case, row) for row in range(count) for case in cases]
        abreast = _abreast(cases) if many else min(self.columns, len(places))
        width = max(self.size[0], LEAST / abreast)
        down, shared = -(-len(places) // abreast), self.share and (many or rows == 1)
        height = height or self.size[1] * max(LOWEST, min(1.0, PAGE / (abreast * width)))
        figure, axes = panels(down, abreast, width, height, sharey="row" if shared else False)
        notes, labels = dict[str, None](), list[str]()
        for ax in axes[len(places) :]:
            ax.set_axis_off()
        for ax, below, cell in zip(axes, axes[abreast:], places[abreast:], strict=False):
            if many and cell and cell[1]:
                below.sharex(ax)
        for place, (ax, cell) in enumerate(zip(axes, places, strict=False)):
            if cell is None:
                ax.set_axis_off()
                continue
            case, row = cell
            notes |= dict.fromkeys(draw(ax, case, row))
            if not ax.get_title() and (not many or row == 0):
                ax.set_title(self.panel(cube, case))
            left = labels[-1:] if place % abreast else []
            labels.append(ax.get_ylabel())
            if labels[-1:] == left:
                ax.set_ylabel("")
            if many and row < count - 1:
                ax.set_xlabel("")
                ax.tick_params(axis="x", labelbottom=False)
        for ax in axes:
            break_words(ax, int(LETTERS_BELOW * (figure.get_figwidth() / abreast - SIDE)))
        named = self.legend and any(ax.get_legend_handles_labels()[0] for ax in axes)
        if named and not label_ends(figure, axes):
            legend_below(figure, axes, self.legend)
        figure.text(0, 0, "; ".join(notes), label=NOTES, visible=False)
        heading(figure, finding or self.title)
        return figure


@dataclass(frozen=True)
class Panels(PanelLayout):
    """One panel for each case, drawn by a function: for what is neither lines over an axis nor bars.

    title : what the figure shows
    measures : cases are those that have one of these variables
    draw : (axes, cube, case) -> notes below the title, or None
    height : (cube, case) -> inches that a panel needs, by default those of ``size``
    """

    measures: str | Iterable[str]
    draw: Callable[[Axes, xr.Dataset, str], Iterable[str] | None]
    height: Callable[[xr.Dataset, str], float] | None = field(default=None, kw_only=True)

    def __call__(self, cube: xr.Dataset) -> Figure:
        """Draw it from a cube."""
        names = [self.measures] if isinstance(self.measures, str) else self.measures
        cases = list(self.select(cube, self.candidates(cube, names)))
        if not cases:
            return self.nothing()
        height = max(self.height(cube, case) for case in cases) if self.height else 0.0
        return self.grid(
            cube,
            cases,
            1,
            lambda ax, case, _: self.draw(ax, cube, case) or (),
            height=height,
            finding=self.finding(cube, cases),
        )


def ticks_at(ax: Axes, epsilons: Iterable[float]) -> None:
    """A logarithmic axis of x with the epsilons that are drawn as ticks, if their numbers do not touch."""
    ax.set_xscale("log")
    ticks = np.unique([float(f"{epsilon:.3g}") for epsilon in epsilons if 0 < epsilon < np.inf])
    low, high = _wide_enough(ax, "x")
    if len(ticks) and (np.diff(np.log(ticks)) > np.log(high / low) / MOST).all():
        ax.xaxis.set_major_locator(FixedLocator(ticks.tolist()))
        ax.xaxis.set_major_formatter(FormatStrFormatter("%g"))
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        plain_ticks(ax)


def plain_ticks(ax: Axes, which: Literal["x", "y"] = "x", words: Formatter | None = None) -> None:
    """A logarithmic axis with plain numbers: each power of ten where it is long, more where it is short."""
    ax.set(**{f"{which}scale": "log"})
    axis = ax.xaxis if which == "x" else ax.yaxis
    low, high = _wide_enough(ax, which)
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high))) if 0 < low < high else np.zeros(0)
    counts = [sum(int(((low <= part * powers) & (part * powers <= high)).sum()) for part in parts) for parts in PARTS]
    short = next((parts for parts, count in zip(PARTS, counts, strict=True) if count >= ENOUGH), None)
    if high <= 100 * low and short is None:
        axis.set_major_locator(FixedLocator(list(MaxNLocator(MOST // 2, steps=[1, 2, 5, 10]).tick_values(low, high))))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(LogLocator(subs=short if short and high <= 100 * low else (1,), numticks=12))
    axis.set_major_formatter(words or FormatStrFormatter("%g"))
    axis.set_minor_formatter(NullFormatter())


def _wide_enough(ax: Axes, which: Literal["x", "y"]) -> tuple[float, float]:
    """Ends of a logarithmic axis, apart enough that numbers that all but agree lie together."""
    low, high = ax.get_xlim() if which == "x" else ax.get_ylim()
    if 0 < low <= high < ALIKE * low:
        low, high = low / WIDER, high * WIDER
        ax.set(**{f"{which}lim": (low, high)})
    return low, high


def down_to_zero(ax: Axes, which: Literal["x", "y"], least: float) -> None:
    """An axis that is logarithmic above ``least`` and linear below, with ticks at 0 and at every other power of ten."""
    ax.set(**{f"{which}scale": SymmetricalLogScale(None, linthresh=least)})
    axis, siblings = (ax.xaxis, ax.get_shared_x_axes()) if which == "x" else (ax.yaxis, ax.get_shared_y_axes())
    maxima = [getattr(sibling.dataLim, f"{which}1") for sibling in siblings.get_siblings(ax)]
    end = END * max(10 * least, *(value for value in maxima if np.isfinite(value)))
    ax.set(**{f"{which}lim": (-least / 2, end)})
    powers = range(0, int(np.ceil(np.log10(end / least))), 1 + int(np.log10(end / least)) // 4)
    axis.set_major_locator(FixedLocator([0, *(least * 10.0**power for power in powers)]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: compact(value)))
    axis.set_minor_locator(NullLocator())
