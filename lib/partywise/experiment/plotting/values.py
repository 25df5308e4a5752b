"""Values that a figure draws, as the rows of a CSV file next to its images."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle, StepPatch
from matplotlib.ticker import FuncFormatter

# What a row may hold, in order: where it is drawn, and where a bar, band or cell ends.
PLACE = ("panel", "title", "horizontal", "vertical", "series", "drawn as")
NUMBERS = ("x", "x to", "y", "y to", "value")
# Label of the axes of a scale of colours.
SCALE = "<colorbar>"
# Significant digits of a number: more than any drawing shows.
DIGITS = 10
# Text of a tick that is a number.
NUMBER = re.compile(r"[-+−]?[\d.]+$")
Point = tuple[float, float, float, float, float]
NOTHING = float("nan")


def drawn_values(figure: Figure) -> list[dict[str, object]]:
    """Return a row per point, bar, end of a band and cell of all panels, with the words of its axes and its series.

    Columns that are empty in all rows are left out.  A category is named in place of its position on the axis.
    """
    axes = [ax for ax in figure.axes if ax.axison and ax.get_label() != SCALE]
    rows = [row for number, ax in enumerate(axes, 1) for row in _of_panel(number, ax, axes)]
    used = [name for name in (*PLACE, *NUMBERS) if any(row[name] != "" for row in rows)]
    return [{name: row[name] for name in used} for row in rows]


def _of_panel(number: int, ax: Axes, axes: Sequence[Axes]) -> Iterator[dict[str, object]]:
    """Yield the rows of one panel."""
    words = (
        number,
        _words(Axes.get_title, ax, axes, "above"),
        _words(Axes.get_xlabel, ax, axes, "below"),
        _words(Axes.get_ylabel, ax, axes, "left"),
    )
    names, across, up = _series(ax), _categories(ax.xaxis), _categories(ax.yaxis)
    artists = (*ax.lines, *ax.collections, *ax.patches, *ax.images)
    for artist in sorted(filter(Artist.get_visible, artists), key=ax.get_children().index):
        kind, points = _points(artist, ax)
        label = str(artist.get_label())
        series = names.get(_color(artist), "") if label.startswith("_") else " ".join(label.split())
        for point in points:
            x, x_to, y, y_to, value = map(_number, point)
            numbers = (across.get(point[0], x), x_to, up.get(point[2], y), y_to, value)
            yield dict(zip((*PLACE, *NUMBERS), (*words, series, kind, *numbers), strict=True))


def _points(artist: Artist, ax: Axes) -> tuple[str, Iterator[Point]]:
    """Return what an artist is, and its points: x, where it ends, y, where it ends, a value."""
    if isinstance(artist, Line2D):
        return _line(artist, ax)
    if isinstance(artist, PathCollection):
        return "points", _finite(np.asarray(artist.get_offsets()))
    if isinstance(artist, LineCollection):
        return "bar", _segments([np.asarray(ends, float) for ends in artist.get_segments()])
    if isinstance(artist, PolyCollection):
        return "band", chain.from_iterable(_band(np.asarray(path.vertices)) for path in artist.get_paths())
    if isinstance(artist, StepPatch):
        values, edges, _ = artist.get_data()
        steps = zip(edges[:-1], edges[1:], values, strict=True)
        return "step", ((left, right, y, NOTHING, NOTHING) for left, right, y in steps)
    if isinstance(artist, Rectangle) and artist in _bars(ax):
        return "bar", iter([_bar(artist, ax)])
    if isinstance(artist, AxesImage):
        return "cell", _cells(_without_mask(artist.get_array()), artist.get_extent(), artist.origin == "lower")
    return "", iter(())


def _line(line: Line2D, ax: Axes) -> tuple[str, Iterator[Point]]:
    """Return what a line is, and its points; a line across a whole panel has no place on the other axis."""
    x, y = map(_without_mask, line.get_data(orig=False))
    in_data = line.get_transform().contains_branch_seperately(ax.transData)
    if in_data == (False, True):
        return "level", iter([(NOTHING, NOTHING, float(y[0]), NOTHING, NOTHING)])
    if in_data == (True, False):
        return "level", iter([(float(x[0]), NOTHING, NOTHING, NOTHING, NOTHING)])
    if not all(in_data):
        return "", iter(())
    return "points" if line.get_linestyle() == "None" else "line", _finite(np.stack([x, y], axis=1))


def _without_mask(values: object) -> np.ndarray:
    """Numbers of an array, NaN where it is masked."""
    masked = np.ma.MaskedArray(values, dtype=float)
    return np.asarray(masked.filled(np.nan))


def _finite(places: np.ndarray) -> Iterator[Point]:
    """Points (n, 2) of which both numbers are finite."""
    for x, y in _without_mask(places).tolist():
        if np.isfinite(x) and np.isfinite(y):
            yield x, NOTHING, y, NOTHING, NOTHING


def _segments(segments: Sequence[np.ndarray]) -> Iterator[Point]:
    """Ends of bars: upright ones, or level ones."""
    for (x, y), (x_to, y_to) in (ends for ends in segments if len(ends) == 2 and np.isfinite(ends).all()):
        yield x, NOTHING if x == x_to else x_to, y, NOTHING if y == y_to else y_to, NOTHING


def _band(vertices: np.ndarray) -> Iterator[Point]:
    """Lower and upper end of a band at each of its places."""
    for x in dict.fromkeys(vertices[:, 0].tolist()):
        ends = vertices[vertices[:, 0] == x, 1]
        yield x, NOTHING, ends.min(), ends.max(), NOTHING


def _bars(ax: Axes) -> list[Artist]:
    """Return the rectangles that are bars, by the containers of `bar` and `barh`."""
    return [patch for container in ax.containers for patch in container if isinstance(patch, Rectangle)]


def _bar(patch: Rectangle, ax: Axes) -> Point:
    """Middle and ends of one bar."""
    (container,) = (c for c in ax.containers if patch in tuple(c))
    x, y, width, height = patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height()
    if getattr(container, "orientation", "vertical") == "horizontal":
        return x, x + width, y + height / 2, NOTHING, NOTHING
    return x + width / 2, NOTHING, y, y + height, NOTHING


def _cells(cells: np.ndarray, extent: Sequence[float], upward: bool) -> Iterator[Point]:
    """Middle and value of each cell of an image of numbers; of one of colours nothing."""
    if cells.ndim != 2:
        return
    left, right, bottom, top = extent
    rows, columns = cells.shape
    for i, j in np.ndindex(rows, columns):
        if np.isfinite(cells[i, j]):
            y = (bottom + (top - bottom) * (i + 0.5) / rows) if upward else (top + (bottom - top) * (i + 0.5) / rows)
            yield left + (right - left) * (j + 0.5) / columns, NOTHING, y, NOTHING, float(cells[i, j])


def _series(ax: Axes) -> dict[tuple[float, ...], str]:
    """Labels of a panel by colour, where one colour has one label: whose band or dots something without a label is."""
    by_color: dict[tuple[float, ...], set[str]] = {}
    for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
        # Of bars with one label the first.
        artist = handle if isinstance(handle, Artist) else handle[0]
        by_color.setdefault(_color(artist), set()).add(" ".join(label.split()))
    return {color: next(iter(labels)) for color, labels in by_color.items() if color and len(labels) == 1}


def _color(artist: Artist) -> tuple[float, ...]:
    """Colour of an artist without its opacity; empty where it has none, or several."""
    read = getattr(artist, "get_color", None) or getattr(artist, "get_facecolor", None)
    colors = to_rgba_array(read() if read else "none")
    return tuple(colors[0, :3].tolist()) if len(colors) == 1 else ()


def _categories(axis: Axis) -> dict[float, str]:
    """Words that an axis has in place of numbers at some of its positions, as of methods or of no target at all."""
    formatter, places = axis.get_major_formatter(), axis.get_majorticklocs().tolist()
    # Matplotlib keeps labels that are set one by one as a function of their positions.
    if not isinstance(formatter, FuncFormatter) or not isinstance(formatter.func, partial):
        return {}
    words = [" ".join(text.split()) for text in formatter.format_ticks(places)]
    return {place: text for place, text in zip(places, words, strict=True) if text and not NUMBER.match(text)}


def _words(read: Callable[[Axes], str], ax: Axes, axes: Sequence[Axes], where: str) -> str:
    """Words of a panel or, where it has none, of the nearest one above, below or to the left of it that has them."""
    if (words := read(ax)) or (place := ax.get_subplotspec()) is None:
        return " ".join(words.split())
    row, column = place.rowspan.start, place.colspan.start
    best = dict[int, str]()
    for other in axes:
        spec = other.get_subplotspec()
        if spec is None or not read(other) or spec.get_gridspec() is not place.get_gridspec():
            continue
        down, right = spec.rowspan.start - row, spec.colspan.start - column
        distance = {"above": -down, "below": down, "left": -right}[where]
        if distance > 0 and (right if where != "left" else down) == 0:
            best[distance] = read(other)
    return " ".join(best[min(best)].split()) if best else ""


def _number(value: float) -> object:
    """Return a number as it is written; empty where there is none."""
    return "" if np.isnan(value) else float(f"{value:.{DIGITS}g}")
