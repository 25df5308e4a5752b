"""Figures as files whose bytes depend on nothing but the figure: images with their values, tables as pages and rows."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from xml.sax.saxutils import escape

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from ...core.files import replacing
from ..results.cube import open_recorded_cube
from ..study import Lazy
from ..tables.rows import write_csv
from .style import EMPTY, NOTES
from .values import PLACE, drawn_values

# Files are drawn without a display; who imports a plot for a notebook keeps the backend of the notebook.
mpl.use("Agg")
# Dots an inch, of the PNG and of images inside the other two.
DPI = 200
CANVAS = {"svg": FigureCanvasSVG, "pdf": FigureCanvasPdf, "png": FigureCanvasAgg}
# Above the reason why a figure is empty.
RECORDS_APART = "Parties ran apart: what needs the records of all is unknown, and counts as not there."
METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def draw_figure(address: str, cube: Path | str, **files: Path | str) -> None:
    """Draw a figure from a cube that its job compared with its record, of which only what it shows is read; save it."""
    wanted: tuple[type, Callable[..., None]] = (Figure, save_figure)
    if "html" in files:
        # Images need no templates.
        from ..tables.templates import TypesetTable, save_table

        wanted = TypesetTable, save_table
    kind, save = wanted
    with open_recorded_cube(cube) as opened:
        drawn = Lazy(address)(opened)
        if not isinstance(drawn, kind):
            raise TypeError(f"{address} returns a {type(drawn).__name__}: set `output` of its Figure in study.py.")
        if isinstance(drawn, Figure) and drawn.get_label() == EMPTY:
            # What fits need takes longer to load than many a figure to draw.
            from ..cells import RUN_APART

            if RUN_APART in opened:
                drawn.axes[0].set_title(RECORDS_APART)
        save(drawn, **files)


def settle_layout(figure: Figure) -> None:
    """Find the places of all parts once, in inches; drawing the figure, for any file, moves nothing afterwards.

    Texts are measured at the dots of the files, since letters are rounded to dots. The first pass leaves labels of
    panels with square cells outside the canvas.
    """
    figure.set_dpi(DPI)
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)
        engine.execute(figure)
        figure.set_layout_engine("none")


def save_figure(figure: Figure, svg: Path | str, pdf: Path | str, png: Path | str, csv: Path | str) -> None:
    """Write a figure as SVG, PDF and PNG (200 dots an inch) and its values as CSV, and close it.

    All are byte for byte the same on every call.
    """
    rows = drawn_values(figure)
    write_csv(csv, rows, names=() if rows else PLACE)
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    with mpl.rc_context({"svg.hashsalt": "partywise", "svg.fonttype": "none", "pdf.fonttype": 42}):
        settle_layout(figure)
        for kind, path in (("svg", svg), ("pdf", pdf), ("png", png)):
            # Vector formats leave the figure at 72 dots an inch.
            figure.set_dpi(DPI)
            with replacing(path) as temporary:
                getattr(CANVAS[kind](figure), f"print_{kind}")(temporary, metadata=METADATA[kind])
                if kind == "svg":
                    describe(temporary, figure)
    plt.close(figure)


def describe(path: Path, figure: Figure) -> None:
    """Give an SVG file the title of its figure, and what its panels show in words, for readers who do not see it."""
    # The words of an empty figure are the reason why it is empty.
    words = figure.axes[0].texts[0].get_text() if figure.get_label() == EMPTY else figure.get_suptitle()
    title = " ".join(words.split())
    texts = [f"{title}." if title else "", *(_panel_in_words(ax) for ax in figure.axes if ax.axison)]
    texts += [f"{text.get_text()}." for text in figure.texts if text.get_label() == NOTES and text.get_text()]
    elements = [("title", title), ("desc", " ".join(filter(None, texts)))]
    inside = "".join(f"\n <{name}>{escape(text)}</{name}>" for name, text in elements if text)
    text = path.read_text(encoding="utf-8")
    place = text.index(">", text.index("<svg")) + 1
    path.write_text(f"{text[:place]}{inside}{text[place:]}", encoding="utf-8")


def _panel_in_words(ax: Axes) -> str:
    """The title of a panel, its axes and its series as a sentence."""
    labels = ax.get_legend_handles_labels()[1]
    parts = [ax.get_title(), ax.get_ylabel(), f"over {ax.get_xlabel()}" if ax.get_xlabel() else "", ", ".join(labels)]
    words = "; ".join(" ".join(part.split()) for part in parts if part)
    return f"{words}." if words else ""
