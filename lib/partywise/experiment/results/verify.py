"""A cube carries what is needed to make it again: read its configuration back, and compute some of its cells anew."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import xarray as xr

from ...core.checks import Scalar
from ...core.errors import CubeError
from ...core.randomness import stream
from ..cells import RUN_APART, STATUS, Cell, Coords
from ..plan import Plan, plan
from .attributes import meanings
from .cube import DIMS
from .labels import dim_of

# Numbers of one version of BLAS are exact; between versions they move in their last digits.
RELATIVE, ABSOLUTE = 1e-9, 1e-12
# Meaning of the code of a text where a cell has none, or an empty one.
NO_TEXT = STATUS[0]


@dataclass(frozen=True)
class CellDifference:
    """A value that came out otherwise: the cell, the variable, and the two values."""

    where: Coords
    variable: str
    stored_value: Scalar
    recomputed_value: Scalar


def plan_of(cube: xr.Dataset) -> Plan:
    """The plan behind a cube, from its attribute ``config_json``."""
    try:
        block = json.loads(cube.attrs["config_json"])
        return plan(block.pop("study"), block, block.pop("root_seed"))
    except (KeyError, ValueError, TypeError) as error:
        raise CubeError(f"config_json of the cube holds no configuration ({error}): it cannot be made again.") from None


def configuration(cube: xr.Dataset) -> dict[str, object]:
    """The configuration behind a cube, in the form of a configuration file."""
    block = json.loads(cube.attrs["config_json"])
    seed, study = block.pop("root_seed"), block.pop("study")
    return {"root_seed": seed, "studies": {study: block}}


def sample(cube: xr.Dataset, count: int, seed: int) -> list[Coords]:
    """Labels of ``count`` distinct cells, or of all where there are fewer; CubeError where all parties ran apart."""
    simulated = cube["status"] > 0
    if RUN_APART in cube:
        simulated &= cube[RUN_APART] == ""
    filled = np.argwhere(simulated.transpose(*DIMS).values)
    if not len(filled):
        raise CubeError(
            "all fits of the cube are of parties that ran apart, whose records are not here: "
            "python -m partywise network union on the folders in results/NAME/apart replays what they wrote down."
        )
    chosen = stream(seed, "verify").permutation(len(filled))[:count]
    case, method, replicate, parties, fold, epsilon = (cube[dim].values.tolist() for dim in DIMS)
    return [
        {
            "case": case[c],
            "method": method[m],
            "replicate": replicate[r],
            "parties": parties[p],
            "fold": fold[f],
            "epsilon": epsilon[e],
        }
        for c, m, r, p, f, e in (filled[row].tolist() for row in sorted(chosen.tolist()))
    ]


def compare(cube: xr.Dataset, cell: Cell) -> list[CellDifference]:
    """Scalars of a cell that differ from the cube."""
    stored = cube.sel({dim_of(word): label for word, label in cell.coords.items()})
    differences = []
    for name, value in cell.scalars.items():
        if name == "status" or name not in cube:
            continue
        stored_value = _plain(cube, stored, name)
        if not _same(stored_value, value):
            differences.append(CellDifference(cell.coords, name, stored_value, value))
    return differences


def _plain(cube: xr.Dataset, stored: xr.Dataset, name: str) -> Scalar:
    """A stored scalar as the word or number it stands for; a text that is empty is stored as none."""
    if "flag_meanings" in cube[name].attrs and cube[name].attrs["flag_meanings"] != "false true":
        word = str(meanings(stored[name]).item())
        return "" if word == NO_TEXT else word
    value: Scalar = stored[name].item()
    return value


def _same(stored: Scalar, recomputed: Scalar) -> bool:
    if isinstance(recomputed, str):
        # Words of a cube have blanks and signs replaced; the letters and digits must agree.
        return [c for c in str(stored) if c.isalnum()] == [c for c in recomputed if c.isalnum()]
    if recomputed is None:
        return isinstance(stored, float) and np.isnan(stored)
    return not isinstance(stored, str | None) and bool(
        np.isclose(stored, float(recomputed), rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True)
    )
