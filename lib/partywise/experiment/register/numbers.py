"""Our numbers: cells of cubes, found by the settings and options in force, and what functions compute."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from pathlib import Path

import numpy as np
import xarray as xr

from ...core.errors import CubeError
from ..plan import Plan, plan
from ..results.cube import open_cube
from ..study import Lazy
from .printed_source import Reproduction
from .replicates import ratio, reduce_replicates

ABSENT = "absent"


@dataclass(frozen=True)
class Number:
    """A number with its standard error (None where it has none) and the replicates behind it.

    place : labels of the cell in its cube
    cpu_minutes : of all fits of that case and method
    further : other variables of the same cell, its largest values over replicates
    variable, reduction : where the value is one of ``further``, its name and how replicates were reduced
    """

    value: float
    error: float | None
    replicates: int
    place: Mapping[str, str] = field(default_factory=dict)
    cpu_minutes: float | None = None
    further: Mapping[str, float] = field(default_factory=dict)
    variable: str = ""
    reduction: str = ""


class PlannedCube:
    """One cube, the plan behind it, and what its fits cost."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data: xr.Dataset = open_cube(path)
        block = json.loads(self.data.attrs["config_json"])
        self.plan: Plan = plan(block.pop("study"), block, block.pop("root_seed"))

    @cached_property
    def costs(self) -> dict[tuple[str, str], float]:
        """CPU minutes by case and method; none where the file is absent."""
        path = self.path.with_name("timings.csv")
        if not path.is_file():
            return {}
        with path.open(encoding="utf-8", newline="") as handle:
            return {(r["case"], r["method"]): float(r["cpu_seconds"]) / 60 for r in csv.DictReader(handle)}

    def cell(self, reproduction: Reproduction) -> tuple[str, str]:
        """The one case and method whose settings and options in force are these; CubeError unless there is one."""
        matches = [
            (name, label)
            for name, case in self.plan.cases.items()
            if _has(case.settings, reproduction.case or {}, "source", case.source_name)
            for label in case.methods
            if self._is(label, reproduction.method or {})
        ]
        if len(matches) != 1:
            raise CubeError(
                f"{self.path} has {len(matches)} cells with case {dict(reproduction.case or {})} and method "
                f"{dict(reproduction.method or {})} ({matches[:4]}): name settings and options that one of them has."
            )
        return matches[0]

    def _is(self, label: str, wanted: Mapping[str, object]) -> bool:
        method = self.plan.methods[label]
        return _has(method.options, wanted, "protocol", method.protocol_name)

    def values(self, reproduction: Reproduction, variable: str) -> tuple[np.ndarray, dict[str, str]]:
        """One value a replicate, the mean over folds where they are defined; labels of the cell."""
        if variable not in self.data:
            raise CubeError(f"{self.path} has no variable {variable!r}: it has {', '.join(map(str, self.data))}.")
        case, method = self.cell(reproduction)
        place: dict[str, str | float | None] = {"case": case, "method_label": method}
        run = self.data["status"].sel(place) > 0
        for dim, wanted in (("parties", reproduction.parties), ("epsilon", reproduction.epsilon)):
            filled = run[dim].values[run.any([other for other in run.dims if other != dim]).values].tolist()
            label = wanted if wanted is not None else filled[0] if len(filled) == 1 else None
            if label not in filled:
                raise CubeError(f"{self.path}: {dim} of {case}, {method} is {filled}, the entry has {wanted}.")
            place[dim], run = label, run.sel({dim: label})
        cell = self.data[variable].sel(place)
        by_fold = cell.where(run).transpose("replicate", "fold").values.astype(float)
        if self.data[variable].dtype.kind == "i":
            by_fold = np.where(by_fold < 0, nan, by_fold)
        rows = by_fold[~np.isnan(by_fold).all(axis=1)]
        return np.array([row[~np.isnan(row)].mean() for row in rows]), {dim: str(v) for dim, v in place.items()}


def _has(settings: object, wanted: Mapping[str, object], key: str, name: str) -> bool:
    """Whether settings or options have these values; ``absent`` stands for None, and for what they do not know."""
    known = {key: name}
    for entry, value in wanted.items():
        current = known[entry] if entry in known else getattr(settings, entry, None)
        if (list(current) if isinstance(current, tuple) else current) != (None if value == ABSENT else value):
            return False
    return True


class Cubes:
    """The cubes below ``results``, opened when an entry first asks for one; ``absent`` has those that are not there."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.absent: dict[tuple[str, str], Path] = {}
        self._open: dict[Path, PlannedCube] = {}

    def path(self, study: str, configuration: str) -> Path:
        """Return the path of the cube of a study of a configuration file."""
        return self.results / Path(configuration).stem / study / "cube.nc"

    def cube(self, study: str, configuration: str) -> PlannedCube | None:
        """The cube, or None where it is absent."""
        path = self.path(study, configuration)
        if path not in self._open:
            if not path.is_file():
                self.absent[study, configuration] = path
                return None
            self._open[path] = PlannedCube(path)
        return self._open[path]

    def number(self, reproduction: Reproduction, further: tuple[str, ...] = ()) -> Number | None:
        """Our number, or None where its cube is absent."""
        if reproduction.function:
            computed = Lazy(reproduction.function)(**(reproduction.arguments or {}))
            if isinstance(computed, np.ndarray):
                return Number(*reduce_replicates(computed, reproduction.reduce), len(computed))
            return Number(float(computed), None, 0)
        cube = self.cube(reproduction.study, reproduction.configuration)
        return None if cube is None else of_cube(cube, reproduction, further)


def of_cube(cube: PlannedCube, reproduction: Reproduction, further: tuple[str, ...] = ()) -> Number:
    """A number of a cube with its standard error."""
    values, place = values_of(cube, reproduction)
    others = {}
    for name in further:
        further_values, _ = cube.values(reproduction, name)
        others[name] = float(further_values.max()) if len(further_values) else nan
    value, error = reduce_replicates(values, reproduction.reduce)
    cost = cube.costs.get((place["case"], place["method_label"]))
    return Number(value, error, len(values), place, cost, others)


def values_of(cube: PlannedCube, reproduction: Reproduction) -> tuple[np.ndarray, dict[str, str]]:
    """One value per replicate, less and over those of ``minus`` and ``over``, which may have such keys themselves."""
    values, place = cube.values(reproduction, reproduction.variable)
    for keys, join in ((reproduction.minus, np.subtract), (reproduction.over, ratio)):
        if keys is not None:
            values = join(values, values_of(cube, reproduction.with_keys(keys))[0])
    return values, place
