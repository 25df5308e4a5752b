"""Figures over the number of parties: errors, the source's two claims, bytes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import xarray as xr
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from ....experiment.plotting.layout import Axis
from ....experiment.plotting.lines import SERIES, Lines
from ....experiment.plotting.select import having, plan_behind, title
from ....experiment.plotting.series import (
    Series,
    cases_of,
    draw,
    methods_of,
    replicate_means,
    series,
    summarise,
)
from ....experiment.plotting.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    Marks,
    compact,
    empty,
    heading,
    label_ends,
    legend_below,
    look,
    panels,
    run_ticks,
)

LEARNERS = {"predictor": "one base learner per predictor", "party": "one base learner per party"}
NONE = "No simulated case with several numbers of parties in this configuration."
_OTHER = ["method_label", "replicate", "fold", "epsilon"]


def busiest_case(cube: xr.Dataset) -> str | None:
    """The simulated case with the most party counts, of those with certified learners where there are any."""
    counts = {case: len(_counts(cube, case)) for case in cases_of(cube, "excess")}
    several = [case for case in counts if counts[case] > 1]
    return max(several, key=lambda case: (bool(learners(cube, case)), counts[case]), default=None)


def learners(cube: xr.Dataset, case: str) -> dict[str, list[str]]:
    """Methods of a case on released curves with the certified protocol, by what one base learner stands for."""
    case_methods = methods_of(cube, case)
    boosting = [method for method in having(cube, "method", protocol="boosting") if method in case_methods]
    party = having(cube, "method", learner="party")
    kinds = {"predictor": [m for m in boosting if m not in party], "party": [m for m in boosting if m in party]}
    return {kind: methods for kind, methods in kinds.items() if methods}


def _busiest(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """The case with the most numbers of parties."""
    return [case for case in cases if case == busiest_case(cube)]


def _by_learner(cube: xr.Dataset, case: str) -> dict[str, list[str]]:
    """Methods on released curves by learner, and those as published, each next to the baselines without the truth."""
    case_methods, truths = methods_of(cube, case), having(cube, "method", protocol="baseline", kind="oracle")
    groups = {LEARNERS[kind]: methods for kind, methods in learners(cube, case).items()}
    groups["as published (no finite certificate)"] = [
        m for m in having(cube, "method", protocol="published") if m in case_methods
    ]
    floors = [m for m in having(cube, "method", protocol="baseline") if m in case_methods and m not in truths]
    return {
        words: [*floors[: max(SERIES - len(methods), 0)], *methods][:SERIES]
        for words, methods in groups.items()
        if methods
    }


error_by_parties = Lines(
    "Does the error depend on the number of parties?",
    x="parties",
    y=Axis({"excess": "normalised excess risk\n0: truth, 1: mean curve"}, log=True, cut=5),
    xlabel="number of parties J",
    select=_busiest,
    groups=_by_learner,
    least=2,
    overlap=True,
    share=True,
    size=(3.6, 3.4),
    ends="Excess risk at J = {place}",
    at=inf,
    none=NONE,
    caption="Excess risk on held-out records against the number of parties J, a panel for each kind of learner: 0 is "
    "the risk at the true operators, 1 that of the training mean curve. s: noise standard deviation, ρ: budget in zCDP "
    "of all parties together. Arrows: fits above the scale. Where lines lie on each other, later marks are smaller, "
    "and the largest hollow. Black and grey lines claim no privacy. Methods beyond six are in the summary of the "
    "study.",
)


def _counts(cube: xr.Dataset, case: str) -> list[float]:
    """Numbers of parties that were run."""
    return list(cube["parties"].values[(cube["status"].sel(case=case) > 0).any(_OTHER).values].tolist())


def _modes(cube: xr.Dataset, case: str) -> dict[str, dict[str, str]]:
    """The first method of each learner with noise of a fixed level, and with one that grows as sqrt(J)."""
    quiet = having(cube, "method", noise="none") + having(cube, "method", s_mode="calibrated")
    growing = having(cube, "method", s_mode="sqrt_j")
    by_noise: dict[str, dict[str, str]] = {"fixed": {}, "sqrt_j": {}}
    for learner, methods in learners(cube, case).items():
        for method in (m for m in methods if m not in quiet):
            by_noise["sqrt_j" if method in growing else "fixed"].setdefault(learner, method)
    return by_noise


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
    figure, axes = panels(1, 3, 3.3, 2.9)
    titles = (
        "claim 1: at fixed noise s,\nthe error is the same for all J",
        "claim 2: with s ∝ √J,\nmore parties bring no gain",
    )
    ratios: dict[str, list[float]] = {}
    marks: dict[str, Marks] = {
        "predictor": {"linestyle": "-", "marker": "o"},
        "party": {"linestyle": "--", "marker": "s"},
        "epsilon_claimed": {"markerfacecolor": "white", "linestyle": ":", "label": "claimed: held constant"},
        "epsilon_certified": {"label": "certified by the ledger"},
    }
    for ax, methods, claim in zip(axes, modes.values(), titles, strict=False):
        for learner, method in methods.items():
            line, style = _ratio(cube, case, method), look(cube, method)
            ratios.setdefault(claim, []).extend(line.mean[-1:].tolist())
            # Methods of one title differ in their learner.
            draw(ax, line, style, **marks[learner] | Marks(label=f"{style.label}, {LEARNERS[learner]}"))
        ax.axhline(1, color=GREY, linewidth=1, linestyle=":")
        ax.set(title=claim, xlabel="number of parties J")
    # Both claims are read against 1 on one axis.
    top = max(ax.get_ylim()[1] for ax in axes[:2])
    for ax in axes[:2]:
        ax.set_ylim(0, top)
    fewest, most = int(_counts(cube, case)[0]), int(_counts(cube, case)[-1])
    axes[0].set_ylabel(f"excess risk / that at J = {fewest}")
    growing = next(iter(modes["sqrt_j"].values()))
    for name in ("epsilon_claimed", "epsilon_certified"):
        draw(axes[2], series(cube, name, case, growing, "parties"), look(cube, growing), **marks[name])
    axes[2].set(
        title="claimed and certified ε\nof claim 2",
        xlabel="number of parties J",
        ylabel=f"ε at δ = {compact(plan_behind(cube).delta(case), 3)}",
    )
    axes[2].set_yscale("log")
    axes[2].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes[2].yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes[2].yaxis.set_minor_formatter(NullFormatter())
    for ax in axes:
        run_ticks(ax, _counts(cube, case))
    legend_below(figure, axes, 4)
    at_fixed, growing_noise = (f"{min(values):.2g} to {max(values):.2g} times" for values in ratios.values())
    heading(
        figure,
        f"{title(cube, 'case', case)}: with {most} in place of {fewest} parties the error is {at_fixed} as large "
        f"at fixed noise, and {growing_noise} at noise that grows with √J",
    )
    return figure


def _ratio(cube: xr.Dataset, case: str, method: str) -> Series:
    """Excess relative to the fewest parties, replicate by replicate (they share their data)."""
    values = replicate_means(cube, "excess", case, method, "parties").dropna("parties", how="all")
    values = values.transpose("replicate", "parties").dropna("replicate", how="all")
    return summarise(values["parties"].values, (values / values.isel(parties=0)).values)


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
    sent: dict[str, float] = {}
    for name, unit, color, marker, style, label in lines:
        line = series(cube, name, case, method, "parties")
        sent[name] = float(line.mean[-1]) / unit
        dots = None if line.dots is None else line.dots / unit
        scaled = Series(line.x, line.mean / unit, line.se / unit, dots=dots)
        draw(ax, scaled, look(cube, method), color=color, marker=marker, linestyle=style, label=label)
    ax.set(xlabel="number of parties J", ylabel="MiB for one fit")
    ax.set_ylim(0, 1.15 * ax.get_ylim()[1])
    run_ticks(ax, _counts(cube, case))
    if not label_ends(figure, [ax]):
        legend_below(figure, [ax], 1)
    measured, parties = sent["bytes_measured"], _counts(cube, case)[-1]
    heading(
        figure,
        f"One fit of {parties:g} parties sends {measured:.3g} MiB, {measured / sent['published_mib']:.2g} times what "
        f"the published formula counts: {title(cube, 'case', case)}",
    )
    return figure
