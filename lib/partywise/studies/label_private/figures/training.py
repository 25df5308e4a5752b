"""Figures of label-private logistic regression: no minimiser without a ridge, trainers, and the classic noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Unpack

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ....experiment.plotting.layout import Axis, Panels
from ....experiment.plotting.lines import Lines
from ....experiment.plotting.select import having, plan_behind
from ....experiment.plotting.series import (
    Series,
    cases_of,
    example_fit,
    example_fits_of,
    methods_of,
    replicates_of,
    series,
)
from ....experiment.plotting.style import (
    BLACK,
    BLUE,
    BROWN,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    Marks,
    compact,
    empty,
    heading,
    legend_below,
    look,
    panels,
)
from ....methods.logistic.zonotope import LP_ROWS
from ..settings import PATH_RUNS
from .utility import data_cases, data_title, protected_unit, size_of, sized_cases

MARKS = (("o", "-"), ("s", "--"), ("^", "-."), ("D", ":"), ("v", "-"))
SHADES = (BLUE, ORANGE, GREEN, PURPLE, RED)
NEWTON_PASSES = 2
# What matplotlib leaves out of a legend.
UNNAMED = "_nolegend_"
# Gaps below are rounding; the exact solver is drawn here.
SMALLEST_GAP = 1e-10
# Factor between the places of lines that would lie on each other.
BESIDE = 1.05


def unbounded_shares(cube: xr.Dataset) -> Figure:
    """Share of draws of the published noise for which the objective without ridge has no minimiser.

    Left: against the target epsilon, a line for each data set. Right: against the training rows of generated data, a
    line for each target; each panel has its own legend. Points are means over {replicates} of the share of their
    draws. The test is exact for few rows. Above that it proves of some draws that they have no minimiser and decides
    nothing of the others: a vertical bar reaches from the proved share to 1, and its lower end has no point.
    Lines are side by side at each place. 0: every draw has a minimiser, 1: none has.
    """
    if "share_unbounded" not in cube:
        return empty("No method with bounded_draws in this configuration.")
    by_epsilon = data_cases(cube, "share_unbounded")
    by_size = [entry for entry in sized_cases(cube, "n") if entry[0] in cases_of(cube, "share_unbounded")]
    if not by_epsilon and len(by_size) < 2:
        return empty("share_unbounded needs several targets of epsilon, or a sweep of n, in this configuration.")
    kinds: list[Callable[[Axes], None]] = [partial(_by_target, cube=cube, cases=by_epsilon)] if by_epsilon else []
    kinds += [partial(_by_rows, cube=cube, cases=by_size)] if len(by_size) > 1 else []
    figure, axes = panels(1, len(kinds), 4.3, 3.4, sharey=True)
    for ax, kind in zip(axes, kinds, strict=True):
        ax.set(xscale="log", ylim=(-0.06, 1.06))
        kind(ax)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.3)
    axes[0].set_ylabel("share of draws without a minimiser")
    cases = [*by_epsilon, *(case for case, _ in by_size)]
    heading(
        figure,
        f"Without a ridge the noisy objective is often unbounded (published noise); exact up to {LP_ROWS} rows, above "
        f"that bars hold the undecided share; means over {replicates_of(cube, cases)}, {_draws(cube, cases)}",
    )
    return figure


def _by_target(ax: Axes, cube: xr.Dataset, cases: list[str]) -> None:
    """Shares by target epsilon, a line for each data set."""
    targets = sorted({float(x) for case in cases for x in _shares(cube, case).x})
    for index, case in enumerate(cases):
        line = _shares(cube, case)
        decided = (line.mean == 1) | (_rows(cube, case) <= LP_ROWS)
        x = line.x * BESIDE ** (index - len(cases) / 2)
        _plot_shares(ax, x, line.mean, decided, index, data_title(cube, case))
    ax.set_xticks(targets, [f"{target:g}" for target in targets])
    ax.set_xlabel(f"target ε of {protected_unit(cube)}")


def _by_rows(ax: Axes, cube: xr.Dataset, cases: list[tuple[str, float]]) -> None:
    """Shares by training rows of generated data, a line for each target."""
    features = {int(cube["n_coefficients"].sel(case=case).max()) for case, _ in cases}
    of = f"generated, k = {features.pop()}" if len(features) == 1 else "generated data"
    for index, epsilon in enumerate(_targets(cube, cases)):
        sizes, shares = np.array([(size, _share_at(cube, case, epsilon)) for case, size in cases]).T
        look_of: Marks = {"color": (BLACK, GREY, BROWN, RED)[index % 4], "markerfacecolor": "white"}
        decided = (shares == 1) | np.array([_rows(cube, case) <= LP_ROWS for case, _ in cases])
        _plot_shares(
            ax, sizes * BESIDE ** (index - 0.5), shares, decided, index + 3, f"{of}, ε = {epsilon:g}", **look_of
        )
    ax.set_xticks([size for _, size in cases], [f"{size:g}" for _, size in cases])
    ax.set_xlabel("training rows N")


def _rows(cube: xr.Dataset, case: str) -> int:
    """Training rows of a case; where replicates differ, the most."""
    return int(cube["n_train"].sel(case=case).max())


def _plot_shares(
    ax: Axes,
    x: np.ndarray,
    shares: np.ndarray,
    decided: np.ndarray,
    index: int,
    label: str,
    /,
    **options: Unpack[Marks],
) -> None:
    """Shares that are known as points; of the others a bar from what is proved to 1, which may be any of it."""
    # The legend names what is drawn: where no share is known, a bar.
    _plot_line(ax, x, np.where(decided, shares, np.nan), index, label if decided.any() else UNNAMED, **options)
    color = options.get("color", SHADES[index % len(SHADES)])
    for place, (at, low) in enumerate(zip(x[~decided], shares[~decided], strict=True)):
        name = UNNAMED if decided.any() or place else label
        ax.plot((at, at), (low, 1), color=color, label=name, linewidth=2.5, solid_capstyle="butt")


def _draws(cube: xr.Dataset, cases: list[str]) -> str:
    """Number of draws that a share is of, in words."""
    methods = plan_behind(cube).methods
    counts = {getattr(methods[m].options, "bounded_draws", 0) for case in cases for m in methods_of(cube, case)} - {0}
    return f"{' or '.join(map(str, sorted(counts)))} draws of the noise each"


def _plot_line(ax: Axes, x: np.ndarray, y: np.ndarray, index: int, label: str, /, **options: Unpack[Marks]) -> None:
    """A line with the marks of its place, where it has values."""
    (marker, dashes), known = MARKS[index % len(MARKS)], np.isfinite(y)
    usual: Marks = {"color": SHADES[index % len(SHADES)], "marker": marker, "linestyle": dashes, "label": label}
    ax.plot(x[known], y[known], **usual | options)


def _shares(cube: xr.Dataset, case: str) -> Series:
    """Shares of the first method of the case that has them, at its finite targets."""
    for method in methods_of(cube, case):
        line = series(cube, "share_unbounded", case, method, "epsilon")
        if line:
            noisy = np.isfinite(line.x)
            return Series(line.x[noisy], line.mean[noisy], line.se[noisy])
    return Series(np.zeros(0), np.zeros(0), np.zeros(0))


def _targets(cube: xr.Dataset, cases: list[tuple[str, float]]) -> list[float]:
    """Targets at which every one of the cases has shares."""
    if len(cases) < 2:
        return []
    targets = [set(_shares(cube, case).x[np.isfinite(_shares(cube, case).x)]) for case, _ in cases]
    return sorted(set.intersection(*targets))


def _share_at(cube: xr.Dataset, case: str, epsilon: float) -> float:
    line = _shares(cube, case)
    return float(line.mean[line.x == epsilon][0])


def _private(cube: xr.Dataset, case: str) -> dict[str, list[str]]:
    """Methods of a case that claim an epsilon."""
    claims = having(cube, "method", claims=1)
    return {"": [method for method in methods_of(cube, case) if method in claims]}


def _target(cube: xr.Dataset, case: str, method: str) -> str:
    """The target of the fit that is shown."""
    return f", ε = {max(series(cube, 'epsilon_claimed', case, method, 'epsilon').x):g}"


PATHS = {"path_norm": "norm of the coefficients", "path_log_loss": "test log-loss, nats"}
running_away = Lines(
    '"While not converged" never ends: published noise, no ridge',
    x="path_steps",
    y=tuple(Axis({name: words}, log=True) for name, words in PATHS.items()),
    xlabel="steps",
    groups=_private,
    suffix=_target,
    panel=data_title,
    logx=True,
    share=True,
    note="N training rows, k features with the intercept",
    none="No private method with trace_steps in this configuration.",
    caption="Norm of the coefficients and test log-loss along the steps of a trainer without ridge; both axes "
    "logarithmic. A trainer that converged would level off: these lines rise until the trainer is stopped.",
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
    for index, method in enumerate(free):
        passes, gap = (example_fit(examples, name, method, np.inf) for name in ("path_passes", "path_gap"))
        _plot_line(ax, passes, np.maximum(gap, SMALLEST_GAP), index, look(cube, method).label, markersize=4)
    exact, words = having(cube, "method", protocol="non_private", trainer="newton"), size_of(cube, case)
    for method in (m for m in exact if m in methods_of(cube, case)):
        words += f"\n{_mark_end(ax, cube, case, method)}"
    ax.set(xscale="log", yscale="log", xlabel="passes over the training rows", title=words)
    ax.set_ylabel("training objective\nabove its least value")


def _mark_end(ax: Axes, cube: xr.Dataset, case: str, method: str) -> str:
    """A vertical line where the exact solver has ended, far below the others; its gap and passes in words."""
    steps, gap = (series(cube, name, case, method, "epsilon").mean[0] for name in ("steps", "objective_gap"))
    ended = f"below {SMALLEST_GAP:g}" if gap < SMALLEST_GAP else f"{gap:.1g}"
    name, passes = look(cube, method).label, NEWTON_PASSES * steps
    ax.axvline(passes, color=look(cube, method).color, linestyle=":", linewidth=1.8, label=f"where {name} ended")
    return f"{name}: gap {ended} after {passes:g} passes"


gap_by_passes = Panels(
    "Trainers without noise and almost without ridge",
    "path_gap",
    _gaps,
    select=_unprivate,
    size=(4.2, 3.2),
    share=True,
    legend=2,
    note=f"first replicate; mean of {PATH_RUNS} runs where there are mini-batches",
    none="No trainer without privacy with trace_steps in this configuration.",
    caption="How far each trainer stays above the least training objective, over passes over the data, without noise: "
    "first replicate; a path of mini-batches is the mean over several runs. A batch of m of N rows counts as m / N of "
    "a pass, a step of the exact solver as two. The vertical line is where the exact solver has ended, far below the "
    "axis. Lower is better.",
)


def classic_noise(cube: xr.Dataset) -> Figure:
    """Claim of the classic noise formula, its certificate, and the bound that an attack on it proves, for one label.

    Left: epsilon against the claim; right: the difference to the claim, above 0 where the claim is broken. Means over
    {replicates}; the certificate is a number of the formula alone and has no spread. The attack gives a lower bound,
    which may lie below the truth. The dashed line is the claim from which on the formula does not keep it.
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
    figure, (left, right) = panels(1, 2, 4.0, 3.3)
    left.plot(claimed.mean, claimed.mean, color=BLACK, linestyle=":", label="claimed")
    style = look(cube, method)
    for ax, shift in ((left, 0.0), (right, claimed.mean)):
        ax.plot(
            claimed.mean, certified.mean - shift, color=style.color, marker=style.marker, label="certified: the truth"
        )
        ax.plot(
            audited.x,
            audited.mean - (audited.x if ax is right else 0.0),
            color=PURPLE,
            marker="v",
            linestyle="none",
            label="proved by attack (lower bound)",
        )
        ax.axvline(limit, color=ORANGE, linewidth=1.2, linestyle="--", label=f"claim exceeded above {limit:.2f}")
    right.axhline(0, color=BLACK, linestyle=":")
    delta = float(series(cube, "delta", case, method, "epsilon").mean[0])
    left.set(xlabel="claimed ε", ylabel="ε", xscale="log", yscale="log")
    right.set(xlabel="claimed ε", ylabel="ε minus claim", xscale="log")
    for ax in (left, right):
        # On a logarithmic axis neighbours below a ratio of 1.3 would touch.
        ticks = [x for k, x in enumerate(claimed.mean) if k == 0 or x > 1.3 * claimed.mean[k - 1]]
        ax.set_xticks(ticks, [f"{target:g}" for target in ticks])
        ax.xaxis.set_minor_locator(NullLocator())
    legend_below(figure, [left, right], 2)
    whose = "" if protected_unit(cube) == "one label" else f"; certified for {protected_unit(cube)}"
    heading(figure, f"The classic Gaussian formula at δ = {compact(delta)}, one label{whose}")
    return figure
