"""Figures of vertical GLM: how much of a party's columns is seen, and whose identifiers are found."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from ....experiment.plotting.select import coordinate_of, title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of, series
from ....experiment.plotting.shade import shade
from ....experiment.plotting.style import BLUE, GREY, RED, empty, heading, panels
from .shared import MISSING, ends, grid_of

# Shares are ratios of dimensions.
ROUNDING = 1e-9


def space_by_message(cube: xr.Dataset) -> Figure:
    """Share of a party's column space that one participant saw in the end, and after how many vectors of its records.

    The first replicate and fold at the fewest parties, no mean. A vector has one number per record; 100 % is all that
    the party's columns span.
    """
    cases = [case for case in cases_of(cube, "leaked_share") if len(_leaks(cube, case)) > 1]
    shown = {case: _leaks(cube, case) for case in ends(cube, cases, 6)}
    if not shown:
        return empty("No case in which several methods send vectors of records.")
    most = max(map(len, shown.values()))
    figure, axes, _ = grid_of(len(shown), 3, 4.0, 1.1 + 0.42 * most)
    for ax, (case, lines) in zip(axes, shown.items(), strict=True):
        for place, (method, x, share) in enumerate(lines):
            ax.barh(place, share.max(), height=0.32, color=shade(cube, method).color)
            words = f"{shade(cube, method).label}: {_reached(x, share)}"
            ax.text(0.0, place - 0.22, words, fontsize=7.5, va="bottom")
        ax.set(xlim=(0, 1.0), ylim=(len(lines) - 0.6, -0.85), yticks=[], title=title(cube, "case", case))
        ax.grid(axis="y", visible=False)
        ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        ax.set_xlabel("share of a party's column space\nthat one participant saw")
    words = "first replicate and fold, fewest parties; a vector has one number per record"
    heading(figure, f"What linear predictors of some iterations give away\n{words}")
    return figure


def _reached(x: np.ndarray, share: np.ndarray) -> str:
    """The largest share, and after how many vectors it was first reached."""
    if share.max() <= 0:
        return f"nothing in {x.max():.0f} vectors"
    return f"{share.max():.0%} after {x[np.argmax(share >= share.max() - ROUNDING)]:.0f} of {x.max():.0f} vectors"


def _leaks(cube: xr.Dataset, case: str) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Method, messages and share of the example fits without a target."""
    shown, found = example_fits_of(cube, case), []
    for method in methods_of(cube, case):
        try:
            x, share = (example_fit(shown, name, method) for name in ("leaked_messages", "leaked_share"))
        except MISSING:
            continue
        kept = np.isfinite(x) & np.isfinite(share)
        if kept.any():
            found.append((method, x[kept], share[kept]))
    return found


def identifiers_by_mode(cube: xr.Dataset) -> Figure:
    """Share of identifiers that a dictionary finds in what a participant saw, by how records were aligned.

    Means over {replicates}.
    """
    rows = []
    for case in cases_of(cube, "attack_ids"):
        for method in methods_of(cube, case):
            line = series(cube, "attack_ids", case, method, "parties")
            if line:
                rows.append((f"{title(cube, 'case', case)}: {title(cube, 'method', method)}", method, line.mean))
    if not rows:
        return empty("No case whose records arrive unaligned in this configuration.")
    figure, (ax,) = panels(1, 1, 7.0, 0.9 + 0.26 * len(rows))
    for place, (_, method, shares) in enumerate(rows):
        worst = float(np.max(shares))
        mode = coordinate_of(cube, "method", method, "alignment")
        ax.barh(place, worst, color=RED if worst > 0 else BLUE, height=0.6)
        ax.text(worst + 0.02, place, f"{worst:.0%}" + (f" ({mode})" if mode else ""), va="center", fontsize=8)
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set_yticks(range(len(rows)), [words for words, _, _ in rows])
    ax.set(xlim=(0, 1.4), ylim=(len(rows) - 0.5, -0.5), xlabel="share of a party's identifiers that a dictionary finds")
    ax.set_xticks(np.linspace(0, 1, 6))
    ax.grid(axis="y", visible=False)
    ax.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    heading(figure, "Whose identifiers the messages of aligning give away")
    return figure
