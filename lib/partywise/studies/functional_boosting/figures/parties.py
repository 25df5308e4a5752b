"""Figures over the number of parties: errors, the source's two claims, bytes."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from ....experiment.plotting.select import coordinate_of, having, plan_behind, title
from ....experiment.plotting.series import Series, cases_of, draw, methods_of, replicate_means, series, spread
from ....experiment.plotting.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    RED,
    compact,
    empty,
    heading,
    legend_below,
    look,
    panels,
    run_ticks,
)

LEARNERS = {"predictor": "one base learner per predictor", "party": "one base learner per party"}
OFF_SCALE = 5.0
NONE = "No simulated case with several numbers of parties in this configuration."
_OTHER = ["method_label", "replicate", "fold", "epsilon"]


def busiest_case(cube: xr.Dataset) -> str | None:
    """The simulated case with the most party counts."""
    best, most = None, 1
    for case in cases_of(cube, "excess"):
        counts = (cube["status"].sel(case=case) > 0).any(_OTHER).sum()
        if int(counts) > most:
            best, most = case, int(counts)
    return best


def learners(cube: xr.Dataset, case: str) -> dict[str, list[str]]:
    """Methods of a case on released curves with the certified protocol, by what one base learner stands for."""
    own = methods_of(cube, case)
    boosting = [method for method in having(cube, "method", protocol="boosting") if method in own]
    party = having(cube, "method", learner="party")
    kinds = {"predictor": [m for m in boosting if m not in party], "party": [m for m in boosting if m in party]}
    return {kind: methods for kind, methods in kinds.items() if methods}


def error_by_parties(cube: xr.Dataset) -> Figure:
    """Excess risk on held-out records against the number of parties J, a panel for each kind of learner.

    0 is the risk at the true operators, 1 that of the training mean curve; lower is better. Lines: means over
    {replicates} (of each the mean over its folds), bands: ± 1 standard error. Hollow marks: all parties share one
    budget. s: noise standard deviation, J: number of parties, ρ: budget in zCDP. Arrows: fits that lie above the
    scale. Black and grey lines claim no privacy.
    """
    case = busiest_case(cube)
    if case is None:
        return empty(NONE)
    own = methods_of(cube, case)
    groups = {LEARNERS[kind]: methods for kind, methods in learners(cube, case).items()}
    published = [method for method in having(cube, "method", protocol="published") if method in own]
    if published:
        groups["as published (no finite certificate)"] = published
    oracle = having(cube, "method", protocol="baseline", kind="oracle")
    floors = [m for m in having(cube, "method", protocol="baseline") if m in own and m not in oracle]
    if not groups:
        return empty("No method with released curves in this configuration.")
    figure, axes = panels(1, len(groups), 3.8 if len(groups) < 3 else 3.3, 3.3, sharey=True)
    for ax, (group, methods) in zip(axes, groups.items(), strict=True):
        for method in floors:
            draw(ax, series(cube, "excess", case, method, "parties"), look(cube, method), marker="")
        for method in methods:
            line, style = series(cube, "excess", case, method, "parties"), look(cube, method)
            # One budget for all, which one of the other lines may have, too.
            hollow = (
                {"markerfacecolor": "white", "zorder": 3} if coordinate_of(cube, "method", method, "rho_total") else {}
            )
            draw(ax, _within(line), style, **hollow)
            beyond = line.x[~(line.mean <= OFF_SCALE)]
            ax.plot(beyond, np.full(len(beyond), OFF_SCALE), color=style.color, marker="$↑$", linestyle="none")
        ax.set(title=group, xlabel="number of parties J", yscale="log")
        run_ticks(ax, _counts(cube, case))
    axes[0].set_ylabel("normalised excess risk\n(0: truth, 1: mean curve)")
    legend_below(figure, axes, 3)
    note = "; arrows: off the scale" if published else ""
    heading(figure, f"Held-out error by number of parties, {title(cube, 'case', case)}; {spread(cube, [case])}{note}")
    return figure


def _counts(cube: xr.Dataset, case: str) -> list[float]:
    """Numbers of parties that were run."""
    return cube["parties"].values[(cube["status"].sel(case=case) > 0).any(_OTHER).values].tolist()


def _within(line: Series) -> Series:
    """The part of a line that stays on the scale; a diverged fit may be hundreds of orders of magnitude away."""
    inside = line.mean <= OFF_SCALE
    return Series(line.x[inside], line.mean[inside], line.se[inside])


def _modes(cube: xr.Dataset, case: str) -> dict[str, dict[str, str]]:
    """The first method of each learner with noise of a fixed level, and with one that grows as sqrt(J)."""
    quiet = having(cube, "method", noise="none") + having(cube, "method", s_mode="calibrated")
    growing = having(cube, "method", s_mode="sqrt_j")
    found: dict[str, dict[str, str]] = {"fixed": {}, "sqrt_j": {}}
    for learner, methods in learners(cube, case).items():
        for method in (m for m in methods if m not in quiet):
            found["sqrt_j" if method in growing else "fixed"].setdefault(learner, method)
    return found


def claims_about_parties(cube: xr.Dataset) -> Figure:
    """The source's two claims about the number of parties J, each against the ratio that would confirm it.

    Left and middle: excess risk relative to that at the fewest parties, replicate by replicate; the dotted line at 1
    is what the claim promises. Right: the epsilon that is claimed to be constant, and the one that the ledger
    certifies. Lines: means over {replicates}, bands: ± 1 standard error.
    """
    case = busiest_case(cube)
    if case is None:
        return empty(NONE)
    modes = _modes(cube, case)
    if not all(modes.values()):
        return empty("The claims about parties need methods with s_mode fixed and sqrt_j in this configuration.")
    figure, axes = panels(1, 3, 3.3, 3.2)
    titles = (
        "claim 1: at fixed noise,\nresults are stable across J",
        "claim 2: with s ∝ √J,\nno gain with more parties",
    )
    inks = {"predictor": (BLACK, "o"), "party": (RED, "s")}
    for ax, methods, claim in zip(axes, modes.values(), titles, strict=False):
        for learner, method in methods.items():
            line, (color, marker) = _ratio(cube, case, method), inks[learner]
            draw(ax, line, look(cube, method), color=color, marker=marker, linestyle="-", label=LEARNERS[learner])
        ax.axhline(1, color=GREY, linewidth=1, linestyle=":")
        ax.set(title=claim, xlabel="number of parties J")
        ax.set_ylim(bottom=0)
    fewest = int(_counts(cube, case)[0])
    axes[0].set_ylabel(f"excess risk, relative to J = {fewest}")
    growing = next(iter(modes["sqrt_j"].values()))
    for name, color, marker, label in (
        ("epsilon_claimed", ORANGE, "P", "claimed: held constant"),
        ("epsilon_certified", BLUE, "^", "certified by the ledger"),
    ):
        line = series(cube, name, case, growing, "parties")
        draw(axes[2], line, look(cube, growing), color=color, marker=marker, linestyle="-", label=label)
    axes[2].set(
        title="the budget behind claim 2",
        xlabel="number of parties J",
        ylabel=f"ε at δ = {compact(plan_behind(cube).delta(case))}",
    )
    axes[2].set_yscale("log")
    axes[2].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes[2].yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes[2].yaxis.set_minor_formatter(NullFormatter())
    for ax in axes:
        run_ticks(ax, _counts(cube, case))
    legend_below(figure, axes, 4)
    heading(
        figure, f"What the source says about the number of parties, {title(cube, 'case', case)}; {spread(cube, [case])}"
    )
    return figure


def _ratio(cube: xr.Dataset, case: str, method: str) -> Series:
    """Excess relative to the fewest parties, replicate by replicate (they share their data)."""
    values = replicate_means(cube, "excess", case, method, "parties").dropna("parties", how="all")
    values = values.transpose("replicate", "parties").dropna("replicate", how="all")
    ratio = values / values.isel(parties=0)
    n = ratio.sizes["replicate"]
    se = ratio.std("replicate", ddof=1) / np.sqrt(n) if n > 1 else ratio.mean("replicate") * np.nan
    return Series(ratio["parties"].values.astype(float), ratio.mean("replicate").values, se.values)


def bytes_by_parties(cube: xr.Dataset) -> Figure:
    """Bytes of one fit against the number of parties: measured on the channel, and by two formulas.

    m: predictors of a party, Q: basis size; formulas are summed over the parties, one number is eight bytes. The
    published formula counts the training records and leaves out those that are held out, which a release needs as
    well. Means over {replicates}, bands: ± 1 standard error.
    """
    case = busiest_case(cube)
    if case is None:
        return empty(NONE)
    released = [method for methods in learners(cube, case).values() for method in methods]
    noisy = [method for method in released if method not in having(cube, "method", noise="none")]
    method = next(iter(noisy + released), None)
    if method is None:
        return empty("No method with released curves in this configuration.")
    figure, (ax,) = panels(1, 1, 5.6, 3.4)
    mib = 2.0**20
    lines = (
        ("published_mib", 1.0, ORANGE, "P", "-.", "published formula: n m Q + (m Q)² numbers, n training records"),
        ("release_bytes", mib, BLACK, "o", "--", "what a release needs: N m Q numbers, N records in all"),
        ("bytes_measured", mib, BLUE, "^", "-", "measured on the channel (releases, and operators sent back)"),
    )
    for name, unit, color, marker, style, label in lines:
        line = series(cube, name, case, method, "parties")
        scaled = Series(line.x, line.mean / unit, line.se / unit)
        draw(ax, scaled, look(cube, method), color=color, marker=marker, linestyle=style, label=label)
    ax.set(
        xlabel="number of parties J",
        ylabel="MiB for one fit",
        title=f"Communication of one fit, {title(cube, 'case', case)};\nm predictors of a party, Q basis functions",
    )
    ax.set_ylim(0, 1.15 * ax.get_ylim()[1])
    run_ticks(ax, _counts(cube, case))
    legend_below(figure, [ax], 1)
    return figure
