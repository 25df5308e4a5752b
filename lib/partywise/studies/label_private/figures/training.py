"""Figures of label-private logistic regression: no minimiser without a ridge, trainers, and the classic noise."""

from __future__ import annotations

from collections.abc import Sequence

# Any: keywords of bars, as matplotlib takes them.
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter

from ....experiment.plotting.layout import Axis, Panels, plain_ticks
from ....experiment.plotting.lines import Lines
from ....experiment.plotting.select import having, plan_behind, title
from ....experiment.plotting.series import (
    cases_of,
    example_fit,
    example_fits_of,
    methods_of,
    series,
)
from ....experiment.plotting.style import (
    BLACK,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    compact,
    empty,
    heading,
    legend_below,
    look,
    panels,
)
from .utility import data_cases, data_title, protected_unit, size_of, sized_cases

NEWTON_PASSES = 2
# Panels side by side; what a test finds of an objective, and how its bar looks.
ABREAST = 3
OUTCOMES: dict[str, dict[str, Any]] = {
    "no minimiser": {"color": RED},
    "a minimiser": {"color": GREEN},
    "undecided": {"facecolor": GREY, "edgecolor": "white", "hatch": "////"},
}
# Gaps below are rounding; the exact solver is drawn here.
SMALLEST_GAP = 1e-10


def unbounded_shares(cube: xr.Dataset) -> Figure:
    """Draws of the published noise for which the objective without ridge has no minimiser, has one, or is undecided.

    A panel for each data set, a bar for each target epsilon: shares of the draws of all of {replicates}. The test is
    exact for few rows. Above that it proves of some draws that they have no minimiser, of others that they have one,
    and decides nothing of the rest. Without a minimiser, a trainer that waits for convergence never ends.
    """
    if "share_unbounded" not in cube:
        return empty("No method with bounded_draws in this configuration.")
    by_size = [case for case, _ in sized_cases(cube, "n") if case in cases_of(cube, "share_unbounded")]
    cases = [*data_cases(cube, "share_unbounded"), *(by_size if len(by_size) > 1 else [])]
    if not cases:
        return empty("share_unbounded needs several targets of epsilon, or a sweep of n, in this configuration.")
    down = -(-len(cases) // ABREAST)
    abreast, most = -(-len(cases) // down), max(len(_targets(cube, case)) for case in cases)
    figure, axes = panels(down, abreast, 3.0, 0.9 + 0.19 * most, sharex=True)
    for ax in axes[len(cases) :]:
        ax.set_axis_off()
    totals = np.zeros(len(OUTCOMES))
    for place, (ax, case) in enumerate(zip(axes, cases, strict=False)):
        totals += _outcomes(ax, cube, case)
        ax.set_title(f"generated, {size_of(cube, case)}" if case in by_size else data_title(cube, case))
        ax.set_ylabel("" if place % abreast else f"target ε of\n{protected_unit(cube)}")
        if place + abreast >= len(cases):
            ax.tick_params(axis="x", labelbottom=True)
            ax.set_xlabel("share of draws")
    legend_below(figure, axes, 3)
    without, _, undecided = (round(float(total)) for total in totals)
    count = round(float(totals.sum()))
    heading(
        figure,
        f"Without a ridge {without} of {count} draws of the published noise leave nothing to converge "
        f"to; {undecided} are undecided",
    )
    return figure


def _outcomes(ax: Axes, cube: xr.Dataset, case: str) -> np.ndarray:
    """Draw the bars of a case, and return its numbers of draws of each outcome."""
    method, targets = _first_method(cube, case), _targets(cube, case)
    draws = getattr(plan_behind(cube).methods[method].options, "bounded_draws", 0)
    without, unknown = (
        cube[name].sel(case=case, method_label=method, epsilon=targets) for name in ("share_unbounded", "share_unknown")
    )
    rest = [dim for dim in without.dims if dim != "epsilon"]
    fits = without.notnull().sum(rest).values
    proved, open_share = (part.mean(rest).values for part in (without, unknown))
    shares = np.stack([proved, np.maximum(0, 1 - proved - open_share), open_share])
    places, left = np.arange(len(targets)), np.zeros(len(targets))
    for share, (label, marks) in zip(shares, OUTCOMES.items(), strict=True):
        ax.barh(places, share, left=left, height=0.7, label=label, **marks)
        left = left + share
    ax.set_yticks(places, [f"{target:g}" for target in targets])
    ax.set(xlim=(0, 1), ylim=(len(targets) - 0.4, -0.6))
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.grid(axis="y", visible=False)
    return np.asarray((shares * fits * draws).sum(axis=1))


def _first_method(cube: xr.Dataset, case: str) -> str:
    """The first method of a case whose draws were tested."""
    return next(m for m in methods_of(cube, case) if series(cube, "share_unbounded", case, m, "epsilon"))


def _targets(cube: xr.Dataset, case: str) -> list[float]:
    """Finite targets at which draws were tested."""
    x = series(cube, "share_unbounded", case, _first_method(cube, case), "epsilon").x
    return sorted(x[np.isfinite(x)].tolist())


def _private(cube: xr.Dataset, case: str) -> dict[str, list[str]]:
    """Methods of a case that claim an epsilon."""
    claims = having(cube, "method", claims=1)
    return {"": [method for method in methods_of(cube, case) if method in claims]}


def _target(cube: xr.Dataset, case: str, method: str) -> str:
    """The target of the fit that is shown."""
    return f", ε = {max(series(cube, 'epsilon_claimed', case, method, 'epsilon').x):g}"


def _still_growing(cube: xr.Dataset, cases: Sequence[str]) -> str:
    """Return the norm of the coefficients half way and at the end of the path that grows most, or nothing."""
    ends = list[tuple[float, float, float, str]]()
    pairs = [(case, method) for case in cases for method in _private(cube, case)[""]]
    for case, method in pairs:
        fits = example_fits_of(cube, case)
        for norms, steps in zip(
            *(fits[name].values[fits["example_method"].values == method] for name in ("path_norm", "path_steps")),
            strict=True,
        ):
            known = np.isfinite(norms) & np.isfinite(steps)
            if known.sum() > 2:
                half = float(np.interp(steps[known][-1] / 2, steps[known], norms[known]))
                ends.append((float(norms[known][-1]), half, float(steps[known][-1]), title(cube, "case", case)))
    if not ends:
        return ""
    last, half, steps, words = max(ends, key=lambda entry: entry[0] / entry[1])
    norms = [f"{compact(norm, 3)} after {count:.0f} steps" for norm, count in ((half, steps / 2), (last, steps))]
    return f"Without a ridge the coefficients have a norm of {' and of '.join(norms)}: {words}"


PATHS = {"path_norm": "norm of the coefficients", "path_log_loss": "test log-loss, nats"}
running_away = Lines(
    "Does the published training converge without a ridge?",
    x="path_steps",
    y=tuple(Axis({name: words}, log=True) for name, words in PATHS.items()),
    xlabel="steps",
    groups=_private,
    finding=_still_growing,
    suffix=_target,
    panel=data_title,
    logx=True,
    share=True,
    none="No private method with trace_steps in this configuration.",
    caption="Published noise; N training rows, k features with the intercept. Norm of the coefficients and test "
    "log-loss along the steps of a trainer without ridge; both axes logarithmic. A trainer that converged would level "
    "off: these lines rise until the trainer is stopped.",
)


def _fits_with_path(cube: xr.Dataset, case: str, name: str) -> list[tuple[str, float]]:
    """Method and epsilon of the example fits of a case that hold a path."""
    examples = example_fits_of(cube, case)
    known = np.isfinite(examples[name].values).any(axis=1)
    pairs = zip(examples["example_method"].values[known], examples["example_epsilon"].values[known], strict=True)
    return [(str(method), float(epsilon)) for method, epsilon in pairs]


def _unprivate(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases with the path of a trainer without a target."""
    return [case for case in cases if any(np.isinf(epsilon) for _, epsilon in _fits_with_path(cube, case, "path_gap"))]


def _gaps(ax: Axes, cube: xr.Dataset, case: str) -> None:
    """Paths of the trainers without privacy, and where the exact solver has ended."""
    examples = example_fits_of(cube, case)
    free = [method for method, epsilon in _fits_with_path(cube, case, "path_gap") if np.isinf(epsilon)]
    for method in free:
        passes, gap = (example_fit(examples, name, method, np.inf) for name in ("path_passes", "path_gap"))
        known = np.isfinite(gap)
        ax.plot(passes[known], np.maximum(gap, SMALLEST_GAP)[known], **look(cube, method).marks, markersize=4)
    exact, words = having(cube, "method", protocol="non_private", trainer="newton"), size_of(cube, case)
    for method in (m for m in exact if m in methods_of(cube, case)):
        words += f"\n{_mark_end(ax, cube, case, method)}"
    plain_ticks(ax)
    plain_ticks(ax, "y")
    ax.set(xlabel="passes over the training rows", title=words)
    ax.set_ylabel("training objective\nabove its least value")


def _mark_end(ax: Axes, cube: xr.Dataset, case: str, method: str) -> str:
    """A vertical line where the exact solver has ended, far below the others; its gap and passes in words."""
    steps, gap = (series(cube, name, case, method, "epsilon").mean[0] for name in ("steps", "objective_gap"))
    ended = f"below {SMALLEST_GAP:g}" if gap < SMALLEST_GAP else f"{gap:.1g}"
    name, passes = look(cube, method).label, NEWTON_PASSES * steps
    ax.axvline(passes, color=look(cube, method).color, linestyle=":", linewidth=1.8, label=f"where {name} ended")
    return f"{name}: gap {ended} after {passes:g} passes"


gap_by_passes = Panels(
    "How many passes over the data does a trainer need?",
    "path_gap",
    _gaps,
    select=_unprivate,
    size=(4.2, 3.2),
    share=True,
    legend=2,
    none="No trainer without privacy with trace_steps in this configuration.",
    caption="How far each trainer stays above the least training objective, over passes over the data, without noise "
    "and almost without ridge: first replicate; a path of mini-batches is the mean over several runs. A batch of m of "
    "N rows counts as m / N of a pass, a step of the exact solver as two. The vertical line is where the exact solver "
    "has ended, far below the axis. Lower is better.",
)


def classic_noise(cube: xr.Dataset) -> Figure:
    """Certificate of the classic noise formula, and the bound that an attack on it proves, minus its claim.

    Above 0 the claim is broken. Means over {replicates}; the certificate is a number of the formula alone, exact, and
    has no spread. The attack gives a lower bound, which may lie below the truth. The dashed line is the claim from
    which on the formula does not keep it.
    """
    attacked = [
        (case, method)
        for case in cases_of(cube, "audited_epsilon")
        for method in having(cube, "method", sigma="classic")
        if series(cube, "audited_epsilon", case, method, "epsilon")
    ]
    if not attacked:
        return empty("No method with the classic noise (sigma classic) and audit_draws in this configuration.")
    case, method = attacked[0]
    claimed, certified, audited = (
        series(cube, name, case, method, "epsilon")
        for name in ("epsilon_claimed", "epsilon_certified", "audited_epsilon")
    )
    limit = float(series(cube, "classic_limit", case, method, "epsilon").mean[0])
    figure, (ax,) = panels(1, 1, 5.8, 3.0)
    style = look(cube, method)
    ax.axhline(0, color=BLACK, linestyle=":", label="claimed")
    excess = certified.mean - claimed.mean
    ax.plot(claimed.mean, excess, color=style.color, marker=style.marker, label="certified (exact)")
    ax.plot(
        audited.x,
        audited.mean - audited.x,
        color=PURPLE,
        marker="v",
        linestyle="none",
        label="proved by attack (lower bound)",
    )
    ax.axvline(limit, color=ORANGE, linewidth=1.2, linestyle="--", label=f"claim exceeded above {limit:.2f}")
    ax.set(xlabel=f"claimed ε of {protected_unit(cube)}", ylabel="ε minus claimed ε", xscale="log")
    # On a logarithmic axis neighbours below a ratio of 1.3 would touch.
    ticks = [x for k, x in enumerate(claimed.mean) if k == 0 or x > 1.3 * claimed.mean[k - 1]]
    ax.set_xticks(ticks, [f"{target:g}" for target in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
    delta = float(series(cube, "delta", case, method, "epsilon").mean[0])
    legend_below(figure, [ax], 2)
    heading(figure, f"The classic Gaussian formula breaks its claim above ε = {limit:.2f} (δ = {compact(delta)})")
    return figure
