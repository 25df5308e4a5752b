"""Figures of vertical GLM: how many iterations a solver takes, how the objective falls, and what parties cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import xarray as xr

from ....experiment.plotting.layout import Axis
from ....experiment.plotting.lines import Lines, few_methods
from ....experiment.plotting.select import coordinate_of, number_of, plan_behind, title
from ....experiment.plotting.series import methods_of, methods_with
from ....models.family_facts import FACTS
from .case_facts import ends, setting_of


def _family(cube: xr.Dataset, case: str) -> str:
    """The family of the response in words."""
    family = str(setting_of(cube, case, "model"))
    return FACTS[family].title if family in FACTS else "Cox"


def _swept(cube: xr.Dataset, cases: Sequence[str]) -> list[str]:
    """Cases that differ in their correlation alone, where there are any; cases typed one by one differ in more."""
    groups = {case: str(coordinate_of(cube, "case", case, "group")) for case in cases}
    counts = Counter(groups.values())
    return [case for case in cases if counts[groups[case]] > 1] or list(cases)


def _growth(cube: xr.Dataset, cases: Sequence[str]) -> str:
    """Return the iterations at both ends of the sweep of the method that grows most and of the one that grows least."""
    if len({coordinate_of(cube, "case", case, "group") for case in cases}) != 1:
        return ""
    ordered = sorted(cases, key=lambda case: number_of(cube, "case", case, "rho"))
    low, high = ordered[0], ordered[-1]
    counts = cube["iterations"].max([dim for dim in cube["iterations"].dims if dim not in ("case", "method_label")])
    ratios = {
        method: float(counts.sel(case=high, method_label=method) / counts.sel(case=low, method_label=method))
        for method in methods_of(cube, low)
        if float(counts.sel(case=low, method_label=method)) > 0
    }
    known = [method for method, ratio in ratios.items() if np.isfinite(ratio)]
    if len(known) < 2:
        return ""
    # Of methods that do not grow the last: pooled ones come first.
    most, least = max(known, key=ratios.__getitem__), min(reversed(known), key=ratios.__getitem__)
    first, last = (number_of(cube, "case", case, "rho") for case in (low, high))
    words = [
        f"{float(counts.sel(case=low, method_label=method)):g} to "
        f"{float(counts.sel(case=high, method_label=method)):g} ({title(cube, 'method', method)})"
        for method in (most, least)
    ]
    return f"Iterations from ρ = {first:g} to {last:g}: {', '.join(words)}"


def _first_of_protocols(variable: str) -> Callable[[xr.Dataset, str], Sequence[str]]:
    """Return the order in which methods with a measure are chosen: the first of each protocol, then the second."""

    def choose(cube: xr.Dataset, case: str) -> Sequence[str]:
        methods = methods_with(cube, case, variable)
        kinds = [type(plan_behind(cube).methods[method].options) for method in methods]
        repeats = {method: kinds[:at].count(kinds[at]) for at, method in enumerate(methods)}
        return sorted(methods, key=repeats.__getitem__)

    return choose


iterations_by_correlation = Lines(
    "How many more iterations do correlated columns cost?",
    finding=_growth,
    select=_swept,
    x="rho",
    groups=few_methods(_first_of_protocols("iterations")),
    y=Axis({"iterations": "iterations or sweeps"}, log=True),
    xlabel="correlation ρ of any two columns",
    by="family",
    size=(3.7, 3.1),
    panel=_family,
    share=True,
    overlap=True,
    none="No family with several correlations of the columns in this configuration.",
    caption="Iterations (of block coordinate descent, sweeps) until the tolerance, against the correlation of any two "
    "columns: one panel per family, a thin line for the fewest parties and a thick one for the most. Where lines lie "
    "on each other, the marks of the later one are smaller. Methods beyond six are in the summary of the study.",
)
objective_by_iteration = Lines(
    "How fast does the objective fall?",
    x="path_iteration",
    groups=few_methods(_first_of_protocols("path_excess")),
    y=Axis({"path_excess": "objective above the pooled fit\n(1: no column used)"}, log=True, linear=1e-12),
    xlabel="iterations or sweeps",
    fewest=2,
    select=partial(ends, most=6),
    size=(3.7, 3.4),
    share=True,
    logx=True,
    none="No case with the objective of several solvers in this configuration.",
    caption="Objective, the ridge of a method included, above the least deviance, in what all columns explain, by "
    "iteration. Methods beyond six are in the summary of the study.",
)
costs_by_parties = Lines(
    "What do more parties cost?",
    x="parties",
    groups=few_methods(_first_of_protocols("bytes_measured")),
    y=(Axis("bytes_measured", log=True), Axis({"secure_products": "products of\nsecret-shared numbers"}, bottom=0)),
    needs="bytes_measured",
    select=partial(ends, most=5),
    share=True,
    size=(3.2, 2.5),
    none="No method that sends messages in this configuration.",
    caption="Bytes of all messages, and products of secret-shared numbers, by the number of parties. Cases with one "
    "number of parties are shown where no case has several. Methods beyond six are in the summary of the study.",
)
