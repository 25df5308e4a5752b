"""Noise on the slice means of one client, by formula and as it was drawn, and what it would cost if it were fixed."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from ....experiment.plotting.layout import plain_ticks
from ....experiment.plotting.select import having
from ....experiment.plotting.series import methods_of
from ....experiment.plotting.style import (
    BLACK,
    GREEN,
    GREY,
    ORANGE,
    RED,
    SKY,
    empty,
    heading,
    legend_below,
    look,
    panels,
)
from ....methods.inverse_regression.published import fitted_sigma, prop2_sigma, vgm_floor
from ....privacy.accounting.calibration import analytic_gaussian_sigma, gaussian_epsilon
from ..settings import SimulatedSlicingSettings
from .angles import simulated_settings

Formula = Callable[[SimulatedSlicingSettings, float], float]

# Noise sd of an entry of the slice means, from public numbers: n, p, R, epsilon, delta.
FORMULAS: dict[str, tuple[str, str, Formula]] = {
    "IID as its printed tables suggest (fitted)": (SKY, "--", lambda s, e: fitted_sigma(s.n, e, s.delta)),
    "proposition 2": (ORANGE, "-.", lambda s, e: prop2_sigma(s.n, s.p, s.radius, e, s.delta)),
    "floor of algorithm 2": (RED, ":", lambda s, e: sqrt(vgm_floor(s.n, s.p, s.radius, e, s.delta))),
    "exact Gaussian level": (GREEN, "-", lambda s, e: exact(s, e, s.delta)),
    "the same at its share of δ": (GREEN, ":", lambda s, e: exact(s, e, s.release_delta)),
}
EPSILON = 1.0


def noise_levels(cube: xr.Dataset) -> Figure:
    """Noise on the slice means against the records of a client: its standard deviation, and the epsilon it would cost.

    Lines are formulas, circles the noise that the runs drew with them, at a level that is the same in every replicate:
    FSIR-IID, FSIR-VGM by the floor of algorithm 2, and the certified method at its share of delta. Left:
    standard deviation of an entry at epsilon 1 for this release. Right: the epsilon of that noise if its covariance
    were fixed and the slices public, by the exact Gaussian level at the same delta; below the grey line a formula adds
    more noise than its claim needs. Algorithm 2 adds its floor to a covariance made of the data, so that its own
    epsilon is infinite despite the right panel. The certified method spends delta on all its releases together,
    so that each has a share of it. R: bound of a column, p: columns, M: slice means.
    """
    cases = _cases(cube)
    if not cases:
        return empty("No simulated case without screening at epsilon 1 in this configuration.")
    sizes = np.array(sorted(cases))
    first = cases[sizes[0]][1]
    figure, (left, right) = panels(1, 2, 4.2, 3.4)
    for label, (color, line, formula) in FORMULAS.items():
        sds = [formula(cases[n][1], EPSILON) for n in sizes]
        left.plot(sizes, sds, color=color, linestyle=line, label=label)
        right.plot(
            sizes, [_cost(cases[n][1], sd) for n, sd in zip(sizes, sds, strict=True)], color=color, linestyle=line
        )
    for method in _methods(cube):
        drawn = [(n, _noise_sd(cube, cases[n][0], method)) for n in sizes if method in methods_of(cube, cases[n][0])]
        if drawn:
            style = look(cube, method)
            left.plot(
                *np.transpose(drawn), "o", color=BLACK, label="drawn by the runs", fillstyle="none", gid=style.label
            )
    right.axhline(EPSILON, color=GREY, linewidth=1)
    right.text(sizes[-1], EPSILON * 1.03, "claimed: 1", ha="right", va="bottom", fontsize=8)
    plain_ticks(left, "y")
    left.set_ylabel("standard deviation of an entry of M")
    right.set_ylabel("ε of this noise, were it fixed")
    right.set_yscale("log")
    right.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    right.yaxis.set_minor_locator(NullLocator())
    for ax in (left, right):
        plain_ticks(ax)
        ax.set_xlabel("records n of a client")
        if sizes[-1] < 100 * sizes[0]:
            ax.set_xticks(sizes, [f"{n:,}".replace(",", " ") for n in sizes], rotation=30)
            ax.xaxis.set_minor_locator(NullLocator())
    legend_below(figure, [left], 3)
    left.set_title(f"p = {first.p}, R = {first.radius:g}, δ = n^-{first.delta_power:g}")
    ratios = [
        formula(cases[n][1], EPSILON) / exact(cases[n][1], EPSILON, cases[n][1].delta)
        for n in sizes
        for formula in (FORMULAS["proposition 2"][2],)
    ]
    heading(
        figure,
        f"Proposition 2 adds {min(ratios):.2g} to {max(ratios):.2g} times the noise that a claim of ε = {EPSILON:g} on "
        "slice means needs",
    )
    return figure


def mean_sensitivity(settings: SimulatedSlicingSettings) -> float:
    """l2 sensitivity of slice means with public slices, 2 R sqrt(p) / n."""
    return 2 * settings.radius * sqrt(settings.p) / settings.n


def exact(settings: SimulatedSlicingSettings, epsilon: float, delta: float) -> float:
    """Least Gaussian sd for slice means with public slices."""
    return float(analytic_gaussian_sigma(epsilon, delta, mean_sensitivity(settings)))


def _cost(settings: SimulatedSlicingSettings, sd: float) -> float:
    return float(gaussian_epsilon(mean_sensitivity(settings) / sd, settings.delta))


def _cases(cube: xr.Dataset) -> dict[int, tuple[str, SimulatedSlicingSettings]]:
    """One case for each n among those that differ in nothing else the noise depends on."""
    if EPSILON not in cube["epsilon"].values:
        return {}
    cases: dict[int, tuple[str, SimulatedSlicingSettings]] = {}
    alike = None
    for name, settings in simulated_settings(cube).items():
        key = (settings.p, settings.radius, settings.delta_power)
        alike = alike or key
        if not settings.screened and key == alike:
            cases.setdefault(settings.n, (name, settings))
    return cases


def _methods(cube: xr.Dataset) -> list[str]:
    """Methods of clients that release slice means of records as they are, each at its own claim."""
    apart = having(cube, "method", calibrate="claims") + having(cube, "method", estimator="lda")
    apart += having(cube, "method", noise="shared")
    released = having(cube, "method", protocol="published") + having(cube, "method", protocol="certified")
    return [method for method in released if method not in apart]


def _noise_sd(cube: xr.Dataset, case: str, method: str) -> float:
    """Mean over cells of the noise sd that a method states for its release at epsilon 1."""
    values = cube["sd_means"].sel(case=case, method_label=method, epsilon=EPSILON).values
    return float(np.mean(values[np.isfinite(values)]))
