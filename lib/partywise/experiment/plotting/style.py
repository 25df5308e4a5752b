"""One look for all figures: a colour and a marker for each kind of method, readable in greyscale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import xarray as xr

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Okabe and Ito's palette: distinguishable with the common colour vision deficiencies.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, RED, PURPLE, GREY = "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#7F7F7F"
BROWN = "#6B3E08"

SETTINGS: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "legend.frameon": False,
    "figure.dpi": 110,
    "savefig.dpi": 200,
    "svg.fonttype": "path",
}


# Of methods that claim an epsilon, and of those that claim none.  Methods of one colour differ in marker and dashes:
# the lengths of the cycles have no factor in common.
COLORS = (ORANGE, SKY, GREEN, BLUE, RED, PURPLE, BROWN)
NEUTRALS = (BLACK, GREY)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", "*", ">", "h")
DASHES = ("-", "--", "-.", ":", (0, (3, 1, 1, 1)))


@dataclass(frozen=True)
class Look:
    """How one method is drawn, in every figure of a cube."""

    label: str
    color: str
    marker: str
    line: Any = "-"

    @property
    def rule(self) -> Any:
        """Dashes of a horizontal line, which has no markers: never solid, as curves may be."""
        return "-." if self.line == "-" else self.line


def look(cube: xr.Dataset, method: str) -> Look:
    """The look of a method: its title, and a place in the cycles by the order of titles in the configuration.

    Methods that claim no privacy are black or grey, the others have colours.  A method that is added at the end changes
    no other; methods of one title, drawn in different panels, look alike.
    """
    at = np.flatnonzero(cube["method"].values == method)[0]
    claims = cube["method_claims"].values
    own = str(cube["method_title"].values[at])
    place = list(dict.fromkeys(map(str, cube["method_title"].values[claims == claims[at]]))).index(own)
    colors = COLORS if claims[at] else NEUTRALS
    return Look(own, colors[place % len(colors)], MARKERS[place % len(MARKERS)], DASHES[place % len(DASHES)])


def panels(rows: int, columns: int, width: float, height: float, **options) -> tuple[Figure, list[Axes]]:
    """A figure of rows x columns panels in the common style; ``width`` and ``height`` of one panel in inches."""
    mpl.rcParams.update(SETTINGS)  # type: ignore[arg-type]
    size = (width * columns, height * rows)
    figure, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", **options)
    return figure, list(axes.ravel())


def legend_below(figure: Figure, axes: list[Axes], columns: int = 4) -> None:
    """One legend for all panels, below them, without repetitions."""
    entries: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=columns)


def empty(reason: str) -> Figure:
    """A figure that says why there is nothing to show in this configuration."""
    figure, (ax,) = panels(1, 1, 6, 1.2)
    ax.set_axis_off()
    ax.text(0.5, 0.5, reason, ha="center", va="center", wrap=True, transform=ax.transAxes)
    return figure
