"""What figures of vertical GLM share: words for families, columns of a case, methods without repetition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....errors import CubeError
from ....experiment.plotting.select import coordinate_of, plan_behind
from ....experiment.plotting.style import panels

FAMILIES = {
    "gaussian": "Gaussian",
    "binomial": "binomial",
    "poisson": "Poisson",
    "gamma": "Gamma",
    "inverse_gaussian": "inverse Gaussian",
}
# Inches of a narrow figure.
LEAST = 6.4
# What asking for an example fit that the cube does not hold ends in.
MISSING = CubeError


def by_title(cube: xr.Dataset, methods: Iterable[str]) -> list[str]:
    """Methods without repetition, in the order of the cube."""
    wanted = set(methods)
    return [str(method) for method in cube["method_label"].values if str(method) in wanted]


def columns_of(cube: xr.Dataset, case: str, p: int) -> list[str]:
    """Names of the columns of all parties: those of the data, else numbers."""
    names = plan_behind(cube).cases[case].settings.column_names
    return [str(name).replace("_", " ") for name in names[:p]] if len(names) >= p else [f"x{j}" for j in range(p)]


def setting_of(cube: xr.Dataset, case: str, name: str) -> Any:
    """A setting in force, given or default; None of a case whose settings have no such field."""
    return getattr(plan_behind(cube).cases[case].settings, name, None)


def named(cube: xr.Dataset, case: str) -> bool:
    """Whether the data of a case give their columns names."""
    return bool(plan_behind(cube).cases[case].settings.column_names)


def borders_of(cube: xr.Dataset, case: str, parties: int) -> list[int]:
    """Numbers of columns after which another party's begin, where each party's stand together."""
    groups = plan_behind(cube).cases[case].settings.groups(parties)
    if any(list(group) != list(range(group[0], group[0] + len(group))) for group in groups if group):
        return []
    return np.cumsum([len(group) for group in groups])[:-1].tolist()


def parties_of(cube: xr.Dataset, case: str) -> list[int]:
    """Numbers of parties of a case."""
    return list(plan_behind(cube).cases[case].parties)


def ends(cube: xr.Dataset, cases: Sequence[str], most: int) -> list[str]:
    """Some cases: of every sweep the first and the last, at most so many in all."""
    groups: dict[str, list[str]] = {}
    for case in cases:
        groups.setdefault(str(coordinate_of(cube, "case", case, "group")), []).append(case)
    chosen = {case for group in groups.values() for case in (group[0], group[-1])}
    return [case for case in cases if case in chosen][:most]


def grid_of(count: int, columns: int, width: float, height: float, **options) -> tuple[Figure, list[Axes], list[Axes]]:
    """A figure of so many panels in rows of some columns: the panels, and those at the left.

    Few panels are wider, so that their title and legend fit.
    """
    columns = min(columns, count)
    figure, axes = panels(-(-count // columns), columns, max(width, LEAST / columns), height, **options)
    for ax in axes[count:]:
        ax.set_axis_off()
    return figure, axes[:count], axes[:count:columns]
