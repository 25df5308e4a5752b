"""Facts that figures of vertical GLM share: columns of a case, a few cases of each sweep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from ....experiment.plotting.select import coordinate_of, plan_behind


def columns_of(cube: xr.Dataset, case: str, p: int) -> list[str]:
    """Names of the columns of all parties: those of the data, else numbers."""
    names = plan_behind(cube).cases[case].settings.column_names
    return [str(name).replace("_", " ") for name in names[:p]] if len(names) >= p else [f"x{j}" for j in range(p)]


def setting_of(cube: xr.Dataset, case: str, name: str) -> object:
    """A setting in force, given or default; None of a case whose settings have no such field."""
    return getattr(plan_behind(cube).cases[case].settings, name, None)


def has_names(cube: xr.Dataset, case: str) -> bool:
    """Whether the data of a case give their columns names."""
    return bool(plan_behind(cube).cases[case].settings.column_names)


def borders_of(cube: xr.Dataset, case: str, parties: int) -> list[int]:
    """Numbers of columns after which another party's begin, where each party's are together."""
    groups = plan_behind(cube).cases[case].settings.groups(parties)
    if any(list(group) != list(range(group[0], group[0] + len(group))) for group in groups if group):
        return []
    return list(np.cumsum([len(group) for group in groups])[:-1].tolist())


def ends(cube: xr.Dataset, cases: Sequence[str], most: int) -> list[str]:
    """Some cases: of every sweep the first and the last, at most so many in all."""
    groups: dict[str, list[str]] = {}
    for case in cases:
        groups.setdefault(str(coordinate_of(cube, "case", case, "group")), []).append(case)
    chosen = {case for group in groups.values() for case in (group[0], group[-1])}
    return [case for case in cases if case in chosen][:most]
