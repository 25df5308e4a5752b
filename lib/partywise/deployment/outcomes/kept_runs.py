"""Runs of parties as processes, kept with the results of their configuration: each is a fit that the pipeline takes
instead of making it.

Of every party ``run.json`` and ``run.jsonl`` are kept, which hold no data, and of who has the estimate ``cell.npz``.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...core.errors import AccountError, ConfigError, CubeError, PartyError
from ...experiment.blocks import Part, read_entries
from ...experiment.cells import RUN_APART, RUN_MODE, Cell, Coords
from ...experiment.results.folder import KEPT
from ...federation.account.account import EXTRACT
from .joint_results import join_results
from .run_files import CELL, OUTCOME, RECORD, Record, fit_folders, read_record

if TYPE_CHECKING:
    from ...core.checks import Scalar
    from ...experiment.batches import PlainShare
    from ...experiment.jobs import Timings
    from ...experiment.measures import Arrays
    from ...experiment.plan import Plan


@dataclass(frozen=True)
class KeptRun:
    """Run that is kept. record : of one of its parties; coords : its place in the cube; folders : of its parties"""

    record: Record
    coords: Coords
    folders: tuple[Path, ...]

    @property
    def files(self) -> list[str]:
        """Names of all files that its cell is made of."""
        names = RECORD, EXTRACT, CELL
        return [str(folder / name) for folder in self.folders for name in names if (folder / name).exists()]


def runs_in(folders: Iterable[Path]) -> list[list[Path]]:
    """Group the folders of parties by run; each given folder is of one run, or holds those of several."""
    runs: dict[str, list[Path]] = {}
    for folder in folders:
        for path in fit_folders(folder) or [folder]:
            runs.setdefault(read_record(path).run, []).append(path)
    return list(runs.values())


def keep_run(folders: Sequence[Path], results: Path) -> Path:
    """Keep a verified run in the place of an earlier one of the same fit; return the folder in which it is."""
    record, coords = read_record(folders[0]), _coords(folders)
    place = hashlib.sha256(json.dumps([record.study, *coords.values()]).encode()).hexdigest()[:12]
    target, written = results / KEPT / place, results / KEPT / f".{place}"
    for old in (written, target):
        shutil.rmtree(old, ignore_errors=True)
    for number, folder in enumerate(folders):
        (written / str(number)).mkdir(parents=True)
        for name in (RECORD, EXTRACT, CELL):
            if (folder / name).exists():
                shutil.copyfile(folder / name, written / str(number) / name)
    written.rename(target)
    return target


def kept_runs(results: Path, plans: Mapping[str, Plan], configuration: str) -> dict[str, list[KeptRun]]:
    """Return the runs that are kept with some results, by study; ConfigError for one of another configuration.

    configuration : digest of what all parties share
    """
    runs: dict[str, list[KeptRun]] = {name: [] for name in plans}
    for place in sorted((results / KEPT).glob("[!.]*/")):
        try:
            folders = tuple(sorted(place.glob("*/"))) or (place,)
            record, coords = read_record(folders[0]), _coords(folders)
        except (AccountError, CubeError, PartyError) as error:
            raise ConfigError(f"{place} is not a kept run: {error} Keep it again, or remove it.") from None
        if record.configuration != configuration or record.study not in plans:
            raise ConfigError(
                f"{place} is run {record.run[:12]} of configuration {record.configuration[:12]}, and this one is "
                f"{configuration[:12]}: give the file that the parties shared, as it was, or remove that folder."
            )
        runs[record.study].append(KeptRun(record, coords, folders))
    return runs


def compute(plan: Plan, share: PlainShare, runs: Mapping[str, Sequence[str]], timings: Timings) -> list[Cell]:
    """Compute the cells of one case in a job, as `partywise.experiment.cells.compute`.

    runs : folders of the parties of each run by its id
    """
    cells = list[Cell]()
    for folders in runs.values():
        coords = _coords([Path(folder) for folder in folders])
        if coords["case"] == share["case"]:
            with timings.measure(coords["case"], coords["method"]) as cost:
                cells.append(cell_of_run(plan, [Path(folder) for folder in folders]))
                cost.cells = 1
    return cells


def cell_of_run(plan: Plan, folders: Sequence[Path]) -> Cell:
    """Return the cell of a run: the estimate from the file of its holder, the channel replayed from all accounts."""
    joint, parts = join_results(folders), _parts(folders)
    coords, first = _coords(folders), parts[0]
    record = next(iter(joint.records.values()))
    # What needs the records of all parties is undefined.
    numbers: dict[str, Scalar] = {RUN_APART: record.run, RUN_MODE: record.mode}
    undefined = dict.fromkeys(name for name, measure in plan.study.own_measures.items() if not measure.dims)
    for part in parts:
        for name, value in _numbers(part).items():
            if repr(numbers.setdefault(name, value)) != repr(value):
                raise PartyError(
                    f"{name} is {numbers[name]!r} in one {CELL} of run {record.run[:12]} and {value!r} in another: one "
                    "of them was changed."
                )
    report = next(iter(first.owner_reports.values()), None)
    return joint.cell(plan, coords, undefined | numbers, _example_fits(plan, first), report)


def _example_fits(plan: Plan, part: Part) -> Arrays:
    """Return arrays of an example fit; an array that needs records is NaN, if other arrays give its shape."""
    arrays: Arrays = {name: (dims, values[0]) for name, (dims, values) in part.example_fits.items()}
    sizes = {dim: size for dims, values in arrays.values() for dim, size in zip(dims, values.shape, strict=True)}
    for name, measure in plan.study.own_measures.items():
        if measure.dims and name not in arrays and sizes.keys() >= set(measure.dims):
            arrays[name] = measure.dims, np.full([sizes[dim] for dim in measure.dims], np.nan)
    return arrays


def _numbers(part: Part) -> dict[str, Scalar]:
    """Return the numbers of a part of one cell, as they were reported."""
    read = {"bool": bool, "int": int, "float": float, "str": str, "none": float}
    values = {name: read[part.kinds[name]](array.item()) for name, array in part.numbers.items()}
    return {
        name: None if isinstance(number, float) and math.isnan(number) else number for name, number in values.items()
    }


def _parts(folders: Sequence[Path]) -> list[Part]:
    """Read the cell files of the parties that have the estimate; PartyError if no folder has one."""
    parts = [read_entries(folder / CELL)[0].read() for folder in folders if (folder / CELL).exists()]
    if not parts:
        raise PartyError(
            f"none of {', '.join(map(str, folders))} has {CELL}: give the whole folder of a party that has the "
            f"estimate, or a part of it; {OUTCOME} of every folder names these parties."
        )
    return parts


def _coords(folders: Sequence[Path]) -> Coords:
    """Return the place of a run in the cube; AccountError if its files do not agree on it."""
    record, parts = read_record(folders[0]), _parts(folders)
    coords: list[Coords] = [
        {
            "case": part.case,
            "method": part.method,
            "replicate": part.replicates[0],
            "parties": part.parties,
            "fold": part.folds[0],
            "epsilon": part.epsilon[0],
        }
        for part in parts
    ]
    first = coords[0]
    if any(other != first for other in coords) or (first["case"], first["method"], first["fold"]) != (
        record.case,
        record.method,
        record.fold,
    ):
        raise AccountError(f"{CELL} and {RECORD} of run {record.run[:12]} are of two fits: one of them was changed.")
    return first
