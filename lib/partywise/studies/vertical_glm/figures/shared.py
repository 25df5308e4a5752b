"""What figures of vertical GLM share: words for families, columns of a case, methods without repetition."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import xarray as xr

from ....errors import CubeError
from ....experiment.plotting.select import plan_behind
from ....experiment.plotting.series import example_fits_of

FAMILIES = {
    "gaussian": "Gaussian",
    "binomial": "binomial",
    "poisson": "Poisson",
    "gamma": "Gamma",
    "inverse_gaussian": "inverse Gaussian",
}
# What asking for an example fit that the cube does not hold ends in.
MISSING = CubeError


def by_title(cube: xr.Dataset, methods: Iterable[str]) -> list[str]:
    """Methods without repetition, in the order of the cube."""
    wanted = set(methods)
    return [str(method) for method in cube["method"].values if str(method) in wanted]


def columns_of(cube: xr.Dataset, case: str, p: int) -> list[str]:
    """Names of the columns of all parties: those of the data, else numbers."""
    names = plan_behind(cube).cases[case].settings.column_names
    return [str(name).replace("_", " ") for name in names[:p]] if len(names) >= p else [f"x{j}" for j in range(p)]


def borders_of(cube: xr.Dataset, case: str, parties: int) -> list[int]:
    """Numbers of columns after which another party's begin, where each party's stand together."""
    groups = plan_behind(cube).cases[case].settings.groups(parties)
    if any(list(group) != list(range(group[0], group[0] + len(group))) for group in groups if group):
        return []
    return np.cumsum([len(group) for group in groups])[:-1].tolist()


def fewest_parties(cube: xr.Dataset, case: str, method: str) -> int:
    """Number of parties of the example fit that is drawn."""
    shown = example_fits_of(cube, case)
    kept = shown["example_method"].values == method
    return int(shown["example_parties"].values[kept].min())
