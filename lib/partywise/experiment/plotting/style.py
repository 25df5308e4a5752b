"""One look for all figures: a colour and a marker for each kind of method, readable in greyscale."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from textwrap import fill
from typing import Literal, TypedDict

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import same_color
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullLocator

# Each has a contrast of 3 or more on white, and any two differ by 25 units of CIELAB or more, also as people with one
# of the colour vision deficiencies see them; found by a search around Okabe and Ito's palette, whose own orange, sky
# blue and yellow are too pale for a line.
BLACK, ORANGE, SKY, GREEN = "#000000", "#D9780B", "#5672F4", "#00A75D"
BLUE, RED, PURPLE, BROWN = "#23428B", "#AB2509", "#AF73B6", "#7D2A2C"
GREY = "#737373"
# Points of the smallest marker in a legend of signs.
SMALLEST = 4.5

# The unit that a study protects.
PROTECTED = {
    "row": "a record",
    "label": "a label",
    "features": "a record's features",
    "user": "all records of a person",
    "user_label": "all labels of a person",
}

# Which panels have one axis.
Share = Literal["row", "col", "all"]
# Dashes as matplotlib names or measures them: an offset, and lengths of ink and gaps.
Dashes = str | tuple[int, tuple[int, ...]]


class Marks(TypedDict, total=False):
    """Keywords of matplotlib for a line and its markers."""

    label: str
    color: str
    linestyle: Dashes
    linewidth: float
    marker: str | int
    markersize: float
    markerfacecolor: str
    markeredgecolor: str
    markeredgewidth: float
    markevery: tuple[int, int]


SETTINGS: dict[str, str | float] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "legend.fontsize": 7.5,
    "figure.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.handlelength": 2.8,
    "figure.dpi": 110,
    "savefig.dpi": 200,
    "svg.fonttype": "none",
}


# Inches: of a column and of a page, the only two widths of figures, and between a text and the edge.
COLUMN, PAGE, MARGIN = 3.33, 7.0, 0.08
# A figure that is asked for with at most so many inches has the width of a column.
NARROW = 4.2
# Letters of a line of a legend that is broken no further.
SHORTEST = 20
# An equals sign with spaces at which no line is broken.
EQUALS = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
# Least distance of two ticks, as a share of the axis; least share of a figure's height that a single panel has.
NEAREST, PANEL = 0.06, 0.6

# Of methods that claim an epsilon; those that claim none are black and grey, and where there are more, have the same
# colours from the other end.  Methods of one colour differ in marker and dashes: the lengths of the cycles have no
# factor in common.
COLORS = (ORANGE, SKY, GREEN, BLUE, RED, PURPLE, BROWN)
NEUTRALS = (BLACK, GREY)
OPEN = (*NEUTRALS, *reversed(COLORS))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "*", ">", "h")
DASHES: tuple[Dashes, ...] = ("-", "--", "-.", ":", (0, (3, 1, 1, 1)))


@dataclass(frozen=True)
class Look:
    """Look of one method in every figure of a cube."""

    label: str
    color: str
    marker: str
    line: Dashes = "-"

    @property
    def marks(self) -> Marks:
        """Keywords of matplotlib for the line of this look."""
        return {"color": self.color, "marker": self.marker, "linestyle": self.line, "label": self.label}


def look(cube: xr.Dataset, method: str) -> Look:
    """The look of a method: its title, and a place in the cycles by the order of titles in the configuration.

    Methods that claim no privacy begin with black and grey, the others with colours.  A method that is added at the end
    changes no other; methods of one title, drawn in different panels, look alike.
    """
    at = np.flatnonzero(cube["method_label"].values == method)[0]
    claims = cube["method_claims"].values
    title = str(cube["method_title"].values[at])
    place = list(dict.fromkeys(map(str, cube["method_title"].values[claims == claims[at]]))).index(title)
    colors, markers = (COLORS, MARKERS) if claims[at] else (OPEN, MARKERS[::-1])
    return Look(title, colors[place % len(colors)], markers[place % len(markers)], DASHES[place % len(DASHES)])


def panels(
    rows: int,
    columns: int,
    width: float,
    height: float,
    *,
    sharex: bool | Share = False,
    sharey: bool | Share = False,
    heights: Sequence[float] | None = None,
) -> tuple[Figure, list[Axes]]:
    """A figure of rows x columns panels in the common style; ``width`` and ``height`` of one panel in inches.

    The figure is as wide as a column or a page, whichever is nearer to what is asked for; ``heights`` are those of the
    rows, as parts of the figure.
    """
    mpl.rcParams.update(SETTINGS)  # type: ignore[arg-type]
    size = (COLUMN if width * columns <= NARROW else PAGE, height * rows)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=size,
        squeeze=False,
        layout="constrained",
        sharex=sharex,
        sharey=sharey,
        height_ratios=heights,
    )
    return figure, list(axes.ravel())


@contextmanager
def one_panel(ax: Axes | None, width: float, height: float, title: str) -> Iterator[Axes]:
    """The axes of the caller; or those of a figure in the common style, which gets legend and title in the end.

    ``height`` is in inches and without the legend. What is set for the style holds while it is drawn: a notebook keeps
    its own.
    """
    if ax is not None:
        yield ax
        return
    with mpl.rc_context():
        figure, (panel,) = panels(1, 1, width, height)
        yield panel
        if panel.get_legend_handles_labels()[0]:
            legend_below(figure, [panel], 2)
            figure.set_figheight(height + figure.legends[0].get_window_extent().height / figure.dpi)
        heading(figure, title)


def compact(number: float, digits: int = 6) -> str:
    """A number without the zeros of its exponent: 1e-5."""
    return f"{number:.{digits}g}".replace("e-0", "e-").replace("e+0", "e+")


def overlay_marks(number: int) -> Marks:
    """Marks of the line that is drawn after ``number`` others on which it may lie: smaller, and the largest hollow."""
    size = max(9 - 2 * number, 4)
    return {"markersize": size, "markerfacecolor": "white"} if size >= 7 else {"markersize": size}


def run_ticks(ax: Axes, places: Iterable[float]) -> None:
    """Ticks at what was run and at nothing between, where their numbers do not touch."""
    ticks = sorted(set(map(float, places)))
    figure, place = ax.get_figure(), ax.get_subplotspec()
    columns = 1 if place is None else place.get_gridspec().ncols
    # Points of a panel; a digit is as wide as two thirds of its height.
    room = 72 * (0.7 * figure.get_figwidth() / columns if isinstance(figure, Figure) else PAGE)
    widest = max((len(f"{tick:g}") for tick in ticks), default=1)
    nearest = max(NEAREST, (5 * widest + 5) / room)
    if len(ticks) < 2 or np.diff(ticks).min() > nearest * (ticks[-1] - ticks[0]):
        ax.set_xticks(ticks, [f"{place:g}" for place in ticks])
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def legend_below(figure: Figure, axes: list[Axes], columns: int = 4) -> None:
    """One legend for all panels, below them, without repetitions, in at most so many columns as fit.

    An entry that is longer than the figure is wide is broken into lines.
    """
    entries: dict[str, Artist] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    legend_of(figure, list(entries.values()), list(entries), columns)


def legend_of_signs(
    figure: Figure, signs: Iterable[str], columns: int, colors: Mapping[str, str] | None = None
) -> None:
    """A legend below all panels of what is drawn there: lines by their labels, each once, and what colours mean.

    Of lines with one label the first is shown, a blue one before others. What no panel has is left out.
    """
    lines = [line for ax in figure.axes for line in ax.lines if line.get_visible() and np.size(line.get_xdata())]
    handles: dict[str, Artist] = {}
    for sign in signs:
        if candidates := [line for line in lines if line.get_label() == sign]:
            handle = Line2D([], [])
            handle.update_from(
                next((line for line in candidates if same_color(line.get_markeredgecolor(), BLUE)), candidates[0])
            )
            handle.set_markersize(max(handle.get_markersize(), SMALLEST))
            handles[sign] = handle
    for label, color in (colors or {}).items():
        if any(same_color(line.get_color(), color) for line in lines):
            handles[label] = Patch(color=color)
    legend_of(figure, list(handles.values()), list(handles), columns)


def legend_of(figure: Figure, handles: Sequence[Artist], labels: list[str], columns: int) -> None:
    """A legend below all panels, as `legend_below` makes one, of these entries."""
    for count in range(min(columns, max(1, len(labels))), 0, -1):
        if _fits(figure, figure.legend(handles, labels, loc="outside lower center", ncols=count)):
            return
    for letters in range(max(map(len, labels)), SHORTEST, -5):
        broken = [fill(label, letters) for label in labels]
        if _fits(figure, figure.legend(handles, broken, loc="outside lower center", ncols=1)):
            return


def _fits(figure: Figure, legend: Legend) -> bool:
    """Whether a legend fits into the width of its figure; one that does not is removed."""
    fits = legend.get_window_extent().width / figure.dpi + 2 * MARGIN <= figure.get_figwidth()
    if not fits:
        legend.remove()
    return bool(fits)


def label_ends(figure: Figure, axes: Sequence[Axes]) -> bool:
    """Write the labels of the lines of a single panel at their ends, right of it, if they are apart as texts need.

    Returns whether it did; labels of several panels, and of other things than lines, belong into a legend.
    """
    ax, *others = axes
    handles, labels = ax.get_legend_handles_labels()
    lines = [handle for handle in handles if isinstance(handle, Line2D)]
    if others or len(set(labels)) < len(labels) or len(lines) < len(handles):
        return False
    words = [fill(label, SHORTEST + 6) for label in labels]
    # A panel is lower than its figure: title and labels are above and below.
    line_height = 1.3 * float(SETTINGS["legend.fontsize"]) / 72 / (PANEL * figure.get_figheight())
    ends = [
        ax.transAxes.inverted().transform(line.get_transform().transform(np.asarray(line.get_xydata())[-1]))
        for line in lines
    ]
    order = sorted(range(len(lines)), key=lambda number: ends[number][1])
    heights = [line_height * (1 + words[number].count("\n")) for number in order]
    middles = [float(ends[number][1]) for number in order]
    gaps = [after - before for before, after in pairwise(middles)]
    needed = [(before + after) / 2 for before, after in pairwise(heights)]
    if any(gap < least for gap, least in zip(gaps, needed, strict=True)) or not (0 <= middles[0] <= middles[-1] <= 1):
        return False
    for number, middle in zip(order, middles, strict=True):
        ax.annotate(
            words[number],
            (1.01, middle),
            xycoords="axes fraction",
            va="center",
            fontsize=SETTINGS["legend.fontsize"],
        )
    return True


def heading(figure: Figure, words: str) -> None:
    """The title above all panels, broken into lines of about one length where it is longer than the figure is wide.

    Call it after the legend.
    """
    text, room = figure.suptitle("", fontsize=SETTINGS["figure.titlesize"]), figure.get_figwidth() - 2 * MARGIN

    def width(line: str) -> float:
        text.set_text(line)
        return float(text.get_window_extent().width)

    paragraphs = words.replace(" = ", EQUALS).split("\n")
    lines = [line for paragraph in paragraphs for line in _even(paragraph, width, room * figure.dpi)]
    text.set_text("\n".join(lines).replace(EQUALS, " = "))


def wrap_words(words: str, letters: int) -> str:
    """Words in lines of at most so many letters; a number is not parted from what it is of."""
    return fill(words.replace(" = ", EQUALS), letters).replace(EQUALS, " = ")


def _even(words: str, width: Callable[[str], float], room: float) -> list[str]:
    """Break words into as few lines as fit, none of them much shorter than the others."""
    lines = _break_lines(words, width, room)
    for share in np.arange(0.95, 0.45, -0.05) if len(lines) > 1 else ():
        narrower = _break_lines(words, width, share * room)
        if len(narrower) > len(lines):
            break
        lines = narrower
    return lines


def _break_lines(words: str, width: Callable[[str], float], room: float) -> list[str]:
    """Lines with a new one wherever a word would go beyond the room."""
    lines = [""]
    for word in words.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width(longer) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


# Label of a figure that shows nothing, and of the text with what its caption explains.
EMPTY, NOTES = "empty", "notes"


def empty(reason: str) -> Figure:
    """A figure that states why there is nothing to show in this configuration."""
    figure, (ax,) = panels(1, 1, 6, 1.2)
    ax.set_axis_off()
    ax.text(0.5, 0.5, reason, ha="center", va="center", wrap=True, transform=ax.transAxes)
    figure.set_label(EMPTY)
    return figure
