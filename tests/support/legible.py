"""What a reader of a figure stumbles over: texts that are cut off, covered, tiny or pale, and legends on data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import Collection, LineCollection, PathCollection
from matplotlib.colors import to_rgba
from matplotlib.container import BarContainer
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from partywise.experiment.plotting.save import settle_layout
from partywise.experiment.plotting.style import COLUMN, PAGE

# Points of the smallest letters; ratios of luminance as the guidelines for content of the web (WCAG 2.1, AA) ask.
SMALLEST, TEXT, MARK = 7.0, 4.5, 3.0
# Size of an exponent next to what it is of.
RAISED = 0.7
# Series of a panel, and panels side by side.
SERIES, ABREAST = 6, 3
# Pixels at 200 an inch by which extents may touch: rounding, and the room above the letters of a line.
TOUCH = 3.6
WHITE = (1.0, 1.0, 1.0)


def problems(figure: Figure) -> list[str]:
    """One sentence for every fault that a reader sees in a figure as it is drawn."""
    texts, pixels = _drawn(figure)
    return [
        *_outside(figure, texts),
        *_overlapping(texts),
        *(f"{_words(text)} has {_points(text):g} pt" for text, _ in texts if _points(text) < SMALLEST),
        *_pale_texts(texts, pixels),
        *_pale_marks(figure),
        *_covering(figure),
        *undrawn(figure),
        *_too_much(figure),
    ]


def _too_much(figure: Figure) -> Iterator[str]:
    """Widths other than those of a column and a page, more panels side by side or more series than can be followed."""
    width = figure.get_figwidth()
    if width not in (COLUMN, PAGE):
        yield f"the figure is {width:g} inches wide: {COLUMN:g} and {PAGE:g} are the widths of a column and a page"
    drawn = [ax for ax in figure.axes if ax.axison and ax.get_subplotspec() is not None]
    if (abreast := max((ax.get_subplotspec().get_gridspec().ncols for ax in drawn), default=0)) > ABREAST:
        yield f"{abreast} panels side by side: {ABREAST} at most"
    for ax in drawn:
        handles, labels = ax.get_legend_handles_labels()
        if (count := len(set(labels))) > SERIES and any(isinstance(handle, Line2D) for handle in handles):
            yield f"{count} series in a panel: {SERIES} at most"


def undrawn(figure: Figure) -> list[str]:
    """Entries of legends of which no panel has the line with its marker, dashes and colours, or a patch's colour."""
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend() is not None)]
    looks = {look for ax in figure.axes for artist in ax.get_children() for look in _looks(artist)}
    entries = [
        (text.get_text(), handle)
        for legend in legends
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True)
    ]
    return [
        f"the legend has {words!r}, which is not drawn"
        for words, handle in entries
        if looks.isdisjoint(_looks_of_entry(handle))
    ]


def _looks(artist: Any) -> Iterator[tuple[Any, ...]]:
    """How an artist of a panel looks where it has data: marker, dashes and colours, and each colour by itself."""
    if isinstance(artist, Line2D) and artist.get_visible() and np.isfinite(np.asarray(artist.get_ydata(), float)).any():
        yield _line_look(artist)
        yield (to_rgba(artist.get_color()),)
    elif isinstance(artist, Patch) and artist.get_visible():
        yield from ((to_rgba(color),) for color in (artist.get_facecolor(), artist.get_edgecolor()))
        # Steps are a patch that is shown as a line.
        yield "None", "-", to_rgba(artist.get_edgecolor())
    elif isinstance(artist, Collection) and (np.size(artist.get_offsets()) or len(artist.get_paths())):
        if isinstance(artist, LineCollection):
            # A legend shows it as a line, whose dashes are a list, also of a solid one.
            yield from (("None", dashes, to_rgba(color)) for color in artist.get_colors() for dashes in ("-", "--"))
        yield from ((to_rgba(color),) for color in (*artist.get_facecolor(), *artist.get_edgecolor()))


def _looks_of_entry(handle: Any) -> list[tuple[Any, ...]]:
    """How an artist must look to be that of an entry; an entry without a colour is none."""
    if isinstance(handle, Line2D):
        return [_line_look(handle)]
    if isinstance(handle, Patch):
        return [(to_rgba(handle.get_facecolor()),)]
    return [(to_rgba(color),) for color in (*handle.get_facecolor(), *handle.get_edgecolor())]


def _line_look(line: Line2D) -> tuple[Any, ...]:
    inks = to_rgba(line.get_color()) if line.get_linestyle() != "None" else None
    rims = [to_rgba(color) for color in (line.get_markeredgecolor(), line.get_markerfacecolor())]
    marker = str(line.get_marker()) or "None"
    return marker, str(line.get_linestyle()), inks, *(rims if marker != "None" else [])


def contrast(color: Any, other: Any = WHITE) -> float:
    """Ratio of the luminances of two colours, 1 to 21; what is translucent is seen on the other."""
    *rgb, alpha = to_rgba(color)
    ground = np.array(to_rgba(other)[:3])
    light, dark = sorted((_luminance(alpha * np.array(rgb) + (1 - alpha) * ground), _luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(rgb: Any) -> float:
    linear = np.where(np.asarray(rgb) <= 0.04045, np.asarray(rgb) / 12.92, ((np.asarray(rgb) + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def _drawn(figure: Figure) -> tuple[list[tuple[Text, Bbox]], np.ndarray]:
    """Every text that is really drawn, with its extent in pixels, and the picture (height, width, 3) of bytes."""
    canvas, seen, before = FigureCanvasAgg(figure), [], Text.draw
    settle_layout(figure)

    def draw(self: Text, renderer: Any, *rest: Any) -> None:
        if self.get_visible() and self.get_text().strip():
            seen.append((self, self.get_window_extent(renderer)))
        before(self, renderer, *rest)

    with patch.object(Text, "draw", draw):
        canvas.draw()
    return list({id(text): (text, box) for text, box in seen}.values()), np.asarray(canvas.buffer_rgba())[..., :3]


def _points(text: Text) -> float:
    """Points of the smallest letters of a text; those of an exponent in mathematics are smaller."""
    raised = "$" in text.get_text() and any(sign in text.get_text() for sign in "^_")
    return text.get_fontsize() * (RAISED if raised else 1)


def _words(text: Text) -> str:
    return repr(text.get_text().replace("\n", " ")[:60])


def _outside(figure: Figure, texts: list[tuple[Text, Bbox]]) -> Iterator[str]:
    frame = figure.bbox
    for text, box in texts:
        if box.x0 < 1 or box.y0 < 1 or box.x1 > frame.x1 - 1 or box.y1 > frame.y1 - 1:
            yield f"{_words(text)} leaves the canvas"


def _overlapping(texts: list[tuple[Text, Bbox]]) -> Iterator[str]:
    low, high = (np.array([getattr(box, end) for _, box in texts]).reshape(-1, 2) for end in ("p0", "p1"))
    shared = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
    for one, other in np.argwhere(np.triu((shared > TOUCH).all(axis=2), 1)):
        yield f"{_words(texts[one][0])} overlaps {_words(texts[other][0])}"


def _pale_texts(texts: list[tuple[Text, Bbox]], pixels: np.ndarray) -> Iterator[str]:
    """The ground of a text is the commonest colour of its extent."""
    packed = pixels.astype(int) @ (1 << 16, 1 << 8, 1)
    for text, box in texts:
        rows = slice(max(0, int(len(packed) - box.y1)), max(0, int(len(packed) - box.y0)) + 1)
        colors, counts = np.unique(packed[rows, max(0, int(box.x0)) : max(0, int(box.x1)) + 1], return_counts=True)
        if len(colors):
            ground = f"#{colors[np.argmax(counts)]:06x}"
            alpha = 1.0 if text.get_alpha() is None else text.get_alpha()
            ratio = contrast((*to_rgba(text.get_color())[:3], alpha), ground)
            if ratio < TEXT:
                yield f"{_words(text)} has a contrast of {ratio:.1f}"


def _pale_marks(figure: Figure) -> Iterator[str]:
    for ax in figure.axes:
        for name, color in _inks(ax):
            if contrast(color) < MARK:
                yield f"{name} has a contrast of {contrast(color):.1f}"


def _inks(ax: Axes) -> Iterator[tuple[str, Any]]:
    """Colours of lines, markers, points and bars; bands and grounds stand behind others."""
    for line in ax.get_lines():
        alpha = 1.0 if line.get_alpha() is None else line.get_alpha()
        if line.get_linestyle() not in ("None", "none", "", " "):
            yield f"line {line.get_label()!r}", (*to_rgba(line.get_color())[:3], alpha)
        if line.get_marker() not in ("None", "none", "", " ", None):
            yield f"mark {line.get_label()!r}", (*to_rgba(line.get_markeredgecolor())[:3], alpha)
    for one in ax.collections:
        if isinstance(one, PathCollection | LineCollection):
            colors = one.get_facecolor() if isinstance(one, PathCollection) else one.get_color()
            for color in np.unique(np.atleast_2d(colors), axis=0)[:20]:
                yield f"points {one.get_label()!r}", color
    for bars in ax.containers:
        if isinstance(bars, BarContainer):
            for bar in bars:
                yield "bar", bar.get_facecolor()


def _covering(figure: Figure) -> Iterator[str]:
    legends = [*figure.legends, *(legend for ax in figure.axes if (legend := ax.get_legend()) is not None)]
    for legend in legends:
        for ax in figure.axes:
            if ax.get_visible():
                yield from _covered(legend, ax)


def _covered(legend: Legend, ax: Axes) -> Iterator[str]:
    box, frame = legend.get_window_extent(), ax.get_window_extent()
    for line in ax.get_lines():
        if _hits(_places(line), box, frame):
            yield f"the legend covers the line {line.get_label()!r}"
    for points in ax.collections:
        if isinstance(points, PathCollection):
            offsets = points.get_offset_transform().transform(np.asarray(points.get_offsets()))
            if _hits(offsets, box, frame):
                yield f"the legend covers the points {points.get_label()!r}"
    for bars in ax.containers:
        if isinstance(bars, BarContainer) and any(bar.get_window_extent().overlaps(box) for bar in bars):
            yield "the legend covers a bar"


def _places(line: Line2D) -> np.ndarray:
    """Points of a line in pixels, those between its vertices included where they are joined."""
    path = line.get_path()
    joined = line.get_linestyle() not in ("None", "none", "", " ")
    return line.get_transform().transform(path.interpolated(25).vertices if joined and len(path) > 1 else path.vertices)


def _hits(points: np.ndarray, box: Bbox, frame: Bbox) -> bool:
    x, y = points[np.isfinite(points).all(axis=1)].T
    inside = (x > box.x0) & (x < box.x1) & (y > box.y0) & (y < box.y1)
    return bool((inside & (x >= frame.x0) & (x <= frame.x1) & (y >= frame.y0) & (y <= frame.y1)).any())
