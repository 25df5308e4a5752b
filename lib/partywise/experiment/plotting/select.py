"""Cases and methods of a cube by what they are: coordinates and settings in force, never by their labels."""

from __future__ import annotations

import json
from functools import lru_cache

import numpy as np
import xarray as xr

from ...core.checks import Scalar
from ...core.errors import CubeError
from ..plan import Plan, plan
from ..results.labels import dim_of


def having(cube: xr.Dataset, dim: str, **wanted: Scalar) -> list[str]:
    """Labels along ``case`` or ``method`` that have all these values, in the order of the cube.

    A setting or option that the cube does not have (no case or method gives it, and all have the same) is in none of
    them: ask for what differs from the default.
    """
    labels = cube.variables[dim_of(dim)].values
    mask = np.ones(len(labels), bool)
    for name, value in wanted.items():
        coordinate = f"{dim}_{name}"
        mask &= (cube.variables[coordinate].values == value) if coordinate in cube.coords else False
    return [str(label) for label in labels[mask]]


def place_of(cube: xr.Dataset, dim: str, label: Scalar) -> int:
    """Place of a label along a dimension; figures ask thousands of times, for which xarray's own lookup is slow."""
    return int(np.flatnonzero(cube.variables[dim].values == label)[0])


def coordinate_of(cube: xr.Dataset, dim: str, label: str, name: str) -> Scalar:
    """Value of a coordinate of a case or a method; None where it has none."""
    if f"{dim}_{name}" not in cube.coords:
        return None
    place = place_of(cube, dim_of(dim), label)
    value = cube.variables[f"{dim}_{name}"].values.tolist()[place]
    return None if value == "" or value != value else value


def number_of(cube: xr.Dataset, dim: str, label: str, name: str) -> float:
    """Value of a coordinate that is a number; CubeError if it is not."""
    value = coordinate_of(cube, dim, label, name)
    if not isinstance(value, int | float):
        raise CubeError(f"{name} of {dim} {label} is {value!r}: the figure needs a number, name another axis.")
    return float(value)


def title(cube: xr.Dataset, dim: str, label: str) -> str:
    """Title of a case or a method."""
    return str(coordinate_of(cube, dim, label, "title"))


def plan_behind(cube: xr.Dataset) -> Plan:
    """The plan that made a cube: settings and options in force, also those that are neither a number nor a word."""
    return _plan(cube.attrs["config_json"])


@lru_cache(maxsize=2)
def _plan(config_json: str) -> Plan:
    block = json.loads(config_json)
    return plan(block.pop("study"), block, block.pop("root_seed"))
