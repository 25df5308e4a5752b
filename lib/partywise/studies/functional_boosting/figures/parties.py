"""Figures over the number of parties: errors, the source's two claims, bytes, selection."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ....experiment.plotting.series import BAND, Series, cases_of, draw, methods_of, replicate_means, series
from ....experiment.plotting.style import BLACK, BLUE, GREY, ORANGE, RED, empty, legend_below, look, panels

LEARNERS = {"predictor": "one base learner a predictor", "party": "one base learner a party"}
PUBLISHED = ("published", "published_sqrt_j", "published_party", "published_update")
BESIDE = ("published_noise_right", "certified_fine")
OFF_SCALE = 5.0
FLOORS = ("mean_curve", "least_squares")
_OTHER = ["method", "replicate", "fold", "epsilon"]


def _case(cube: xr.Dataset) -> str | None:
    """The simulated case with the most party counts."""
    best, most = None, 1
    for case in cases_of(cube, "excess"):
        counts = (cube["status"].sel({"case": case}) > 0).any(_OTHER).sum()
        if int(counts) > most:
            best, most = case, int(counts)
    return best


def error_by_parties(cube: xr.Dataset) -> Figure:
    """Excess risk against the number of parties, by learner and noise."""
    case = _case(cube)
    if case is None:
        return empty("No simulated case with several numbers of parties in this configuration.")
    published = [m for m in methods_of(cube, case) if m in PUBLISHED]
    titles = [*LEARNERS.values(), "as published (no finite certificate)"][: 3 if published else 2]
    figure, axes = panels(1, len(titles), 3.8 if len(titles) == 2 else 3.3, 3.3, sharey=True)
    for ax, title, prefix in zip(axes, titles, [*LEARNERS, "published"], strict=False):
        for method in methods_of(cube, case):
            line = series(cube, "excess", case, method, "parties")
            if (prefix == "published" and method in (*PUBLISHED, *BESIDE)) or method.startswith(f"{prefix}_"):
                hollow = {"markerfacecolor": "white", "zorder": 3} if method.endswith("_rho") else {}
                draw(ax, _within(line), method, **hollow)
                beyond = line.x[~(line.mean <= OFF_SCALE)]
                ax.plot(
                    beyond, np.full(len(beyond), OFF_SCALE), color=look(method).color, marker="$↑$", linestyle="none"
                )
            elif method in FLOORS:
                draw(ax, line, method, marker="")
        ax.set(title=title, xlabel="number of parties J", yscale="log")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[0].set_ylabel("excess risk (0: truth, 1: mean curve)")
    legend_below(figure, axes, 3)
    note = "; arrows: off the scale" if published else ""
    figure.suptitle(f"Held-out error by number of parties, case {case}; {BAND}{note}", fontsize=9.5)
    return figure


def _within(line: Series) -> Series:
    """The part of a line that stays on the scale; a diverged fit may be hundreds of orders of magnitude away."""
    inside = line.mean <= OFF_SCALE
    return Series(line.x[inside], line.mean[inside], line.se[inside])


def claims_about_parties(cube: xr.Dataset) -> Figure:
    """The source's two claims about J, each against the ratio that would confirm it."""
    case = _case(cube)
    if case is None:
        return empty("No simulated case with several numbers of parties in this configuration.")
    figure, axes = panels(1, 3, 3.3, 3.2)
    titles = (
        "claim 1: at fixed noise,\nresults are stable across J",
        "claim 2: with s ∝ √J,\nno gain with more parties",
    )
    for ax, suffix, title in zip(axes, ("fixed", "sqrt_j"), titles, strict=False):
        for learner, color, marker in (("predictor", BLACK, "o"), ("party", RED, "s")):
            line = _ratio(cube, case, f"{learner}_{suffix}")
            draw(ax, line, learner, color=color, marker=marker, linestyle="-", label=LEARNERS[learner])
        ax.axhline(1, color=GREY, linewidth=1, linestyle=":")
        ax.set(title=title, xlabel="number of parties J")
        ax.set_ylim(bottom=0)
    fewest = int(cube["parties"].values[(cube["status"].sel({"case": case}) > 0).any(_OTHER).values][0])
    axes[0].set_ylabel(f"excess risk, relative to J = {fewest}")
    for name, color, marker, label in (
        ("epsilon_claimed", ORANGE, "P", "claimed: held constant"),
        ("epsilon_certified", BLUE, "^", "certified by the ledger"),
    ):
        line = series(cube, name, case, "predictor_sqrt_j", "parties")
        draw(axes[2], line, name, color=color, marker=marker, linestyle="-", label=label)
    axes[2].set(title="the budget behind claim 2", xlabel="number of parties J", ylabel="epsilon (δ of the study)")
    axes[2].set_yscale("log")
    for ax in axes:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend_below(figure, axes, 4)
    figure.suptitle(f"What the source says about the number of parties, case {case}; {BAND}", fontsize=9.5)
    return figure


def _ratio(cube: xr.Dataset, case: str, method: str) -> Series:
    """Excess relative to the fewest parties, replicate by replicate (they share their data)."""
    if method not in methods_of(cube, case):
        return Series(np.empty(0), np.empty(0), np.empty(0))
    values = replicate_means(cube, "excess", case, method, "parties").dropna("parties", how="all")
    values = values.transpose("replicate", "parties").dropna("replicate", how="all")
    ratio = values / values.isel(parties=0)
    n = ratio.sizes["replicate"]
    se = ratio.std("replicate", ddof=1) / np.sqrt(n) if n > 1 else ratio.mean("replicate") * np.nan
    return Series(ratio["parties"].values.astype(float), ratio.mean("replicate").values, se.values)


def bytes_by_parties(cube: xr.Dataset) -> Figure:
    """Bytes measured on the channel beside the published formula and the release formula."""
    case = _case(cube)
    if case is None:
        return empty("No simulated case with several numbers of parties in this configuration.")
    figure, (ax,) = panels(1, 1, 5.6, 3.4)
    method = next((m for m in ("predictor_fixed", "predictor_none") if m in methods_of(cube, case)), None)
    if method is None:
        return empty("No method with released curves in this configuration.")
    mib = 2.0**20
    lines = (
        ("published_mib", 1.0, ORANGE, "P", "-.", "published formula: N_train m Q + (m Q)², summed over parties"),
        ("release_bytes", mib, BLACK, "o", "--", "what a release needs: all N records, m Q coordinates each"),
        ("bytes_measured", mib, BLUE, "^", "-", "measured on the channel (releases, and operators sent back)"),
    )
    for name, unit, color, marker, style, label in lines:
        line = series(cube, name, case, method, "parties")
        scaled = Series(line.x, line.mean / unit, line.se / unit)
        draw(ax, scaled, method, color=color, marker=marker, linestyle=style, label=label)
    ax.set(xlabel="number of parties J", ylabel="MiB for one fit", title=f"Communication of one fit, case {case}")
    ax.set_ylim(0, 1.15 * ax.get_ylim()[1])
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend_below(figure, [ax], 1)
    return figure


def selection_quality(cube: xr.Dataset) -> Figure:
    """Sensitivity and specificity of the touched predictors, by learner and noise."""
    case = _case(cube)
    if case is None:
        return empty("No simulated case with several numbers of parties in this configuration.")
    figure, axes = panels(2, 2, 3.8, 2.5, sharex=True, sharey=True)
    for row, variable in enumerate(("sensitivity", "specificity")):
        for column, (learner, title) in enumerate(LEARNERS.items()):
            ax = axes[2 * row + column]
            chosen = [m for m in methods_of(cube, case) if m.startswith(f"{learner}_")]
            for index, method in enumerate(chosen):
                line = series(cube, variable, case, method, "parties")
                shift = 0.28 * (index - (len(chosen) - 1) / 2)
                moved = Series(line.x + shift, line.mean, line.se)
                style = look(method)
                ax.errorbar(
                    moved.x,
                    moved.mean,
                    yerr=np.where(np.isfinite(moved.se), moved.se, 0),
                    color=style.color,
                    marker=style.marker,
                    linestyle="none",
                    label=style.label,
                )
            ax.set_ylim(-0.05, 1.05)
            ax.set_title(title if row == 0 else "")
            ax.set_ylabel(variable if column == 0 else "")
            ax.set_xlabel("number of parties J" if row == 1 else "")
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    legend_below(figure, axes, 4)
    figure.suptitle(f"Selection of predictors, case {case}; bars: ± 1 standard error over replicates", fontsize=9.5)
    return figure
