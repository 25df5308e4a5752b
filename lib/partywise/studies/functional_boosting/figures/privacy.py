"""Figures over epsilon: the price of privacy, and claims against certificates."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

from ....experiment.plotting.series import BAND, cases_of, configuration, draw, methods_of, series
from ....experiment.plotting.style import BLACK, empty, legend_below, look, panels

CASES = {
    "sweep": "simulated curves",
    "smooth": "simulated smooth curves",
    "roundwise": "nearly noise-free curves",
    "membership": "few records",
    "beijing": "Beijing PM2.5 day curves",
    "nyc": "NYC 2013 departure delays",
}


def error_by_epsilon(cube: xr.Dataset) -> Figure:
    """Held-out error against the certified epsilon: local releases, released moments, the non-private floor."""
    targets = cube["epsilon"].values[np.isfinite(cube["epsilon"].values)]
    done = (cube["status"].sel({"epsilon": targets}) > 0).any(["replicate", "parties", "fold"])
    cases = [str(case) for case in cube["case"].values if (done.sel({"case": case}).sum("epsilon") > 1).any()]
    if not cases:
        return empty("No case with several targets of epsilon in this configuration.")
    columns = min(len(cases), 3)
    rows = -(-len(cases) // columns)
    # One panel alone is made as wide as the title.
    figure, axes = panels(rows, columns, max(3.9, 7.4 / columns), 3.2)
    for ax in axes[len(cases) :]:
        ax.set_axis_off()
    for ax, case in zip(axes, cases, strict=False):
        variable = "excess" if case in cases_of(cube, "excess") else "relative_error"
        for method in methods_of(cube, case):
            line = series(cube, variable, case, method, "epsilon")
            finite = np.isfinite(line.x)
            if finite.sum() > 1:
                draw(ax, type(line)(line.x[finite], line.mean[finite], line.se[finite]), method)
            elif len(line.mean) and method != "oracle":
                style = look(method)
                dashes = "-." if style.line == "-" else style.line
                ax.axhline(line.mean[-1], color=style.color, linestyle=dashes, linewidth=1.2, label=style.label)
        label = "excess risk (0: truth, 1: mean curve)" if variable == "excess" else "risk relative to the mean curve"
        ax.set(title=CASES.get(case, case), xlabel="certified epsilon of the whole release", ylabel=label)
        ax.set(xscale="log", yscale="log")
        if variable == "relative_error":
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.yaxis.set_major_formatter(FormatStrFormatter("%g"))
            ax.yaxis.set_minor_formatter(NullFormatter())
    legend_below(figure, axes, 3)
    figure.suptitle(f"What privacy costs; horizontal lines: no finite epsilon certified; {BAND}", fontsize=9.5)
    return figure


def claimed_and_certified(cube: xr.Dataset) -> Figure:
    """Certified epsilon of the published noise against basis size, for several units of time, at one claim."""
    cases = [c for c in map(str, cube["case"].values) if "published_noise" in methods_of(cube, c)]
    if not cases:
        return empty("No case with the published noise at a public radius in this configuration.")
    settings = configuration(cube)["cases"]
    points: dict[str, list[tuple[float, float]]] = {}
    for case in cases:
        chosen = settings[case].get("settings", {})
        low, high = chosen.get("domain", [0.0, 1.0])
        size = float(chosen.get("n_basis_x", 15))
        length = f"time in [{low:g}, {high:g}]"
        for method in ("published_noise", "corrected_noise"):
            if method not in methods_of(cube, case):
                continue
            certified = series(cube, "epsilon_certified", case, method, "epsilon").mean[0]
            name = f"{look(method).label}, {length}" if method == "published_noise" else look(method).label
            points.setdefault(name, []).append((size, certified))
    claim = float(series(cube, "epsilon_claimed", cases[0], "published_noise", "epsilon").mean[0])
    figure, (ax,) = panels(1, 1, 5.8, 3.8)
    looks = (("P", "-"), ("X", "--"), ("d", "-."), ("h", ":"))
    shades = ("#E69F00", "#D55E00", "#8C4A00", "#CC79A7")
    index = 0
    for name, values in sorted(points.items(), key=lambda entry: -max(entry[1])[1]):
        x, y = np.array(sorted(set(values))).T
        if name == look("corrected_noise").label:
            ax.plot(x, y, color=look("corrected_noise").color, marker="D", label=name, zorder=3)
        else:
            marker, line = looks[index % 4]
            ax.plot(x, y, color=shades[index % 4], marker=marker, linestyle=line, label=name)
            index += 1
    ax.axhline(claim, color=BLACK, linestyle=":", linewidth=1.2, label=f"claimed epsilon = {claim:g}")
    ax.set(xlabel="basis size Q (cubic B-splines)", ylabel="certified epsilon", yscale="log")
    ax.set_title("One claim, the same curves: what the noise proves\ndepends on the basis and on the unit of time")
    legend_below(figure, [ax], 1)
    return figure
