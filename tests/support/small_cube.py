"""Small cubes in memory, without the files of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from partywise.experiment.blocks import Part, read_entries, write_block
from partywise.experiment.cells import run
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan, plan
from partywise.experiment.results.assemble import header_of
from partywise.experiment.results.columns import CubeColumns
from partywise.experiment.results.cube import DIMS
from partywise.experiment.results.provenance import config_json
from partywise.experiment.tables.ledger import ledger_total, ledgers
from partywise.experiment.tables.run_totals import RunTotals


def read_block(path: Path) -> tuple[Part, ...]:
    """All parts of a file."""
    return tuple(entry.read() for entry in read_entries(path))


def computed(study: str, block: dict[str, Any], root_seed: int, folder: Path) -> xr.Dataset:
    """The cube of a study's block, every cell computed and stored as a job does."""
    made = plan(study, block, root_seed)
    return assemble(made, computed_parts(made, folder)).assign_attrs(config_json=config_json(made))


def computed_parts(made: Plan, folder: Path) -> list[Part]:
    """The parts of all cases and methods of a plan."""
    parts = list[Part]()
    for name, entry in made.cases.items():
        data = generate(made, name, range(entry.replicates), folder)
        for method in entry.methods:
            cells = run(made, name, method, entry.parties, range(entry.replicates), range(entry.folds), data)
            write_block(folder / "block.npz", cells)
            parts += read_block(folder / "block.npz")
    return parts


def assemble(plan: Plan, parts: Iterable[Part]) -> xr.Dataset:
    """Every part in its place, NaN outside the design; CubeError names the first cell that is missing or too many."""
    parts = list(parts)
    columns = CubeColumns(plan)
    for part in parts:
        columns.add(part)
    columns.check()
    RunTotals(plan, columns).close()
    header = header_of(plan, columns, parts)
    every: dict[Any, Any] = {**header.data_vars, **variables(columns)}
    return header.assign({name: every[name] for name in sorted(every, key=str)})


def variables(columns: CubeColumns) -> dict[str, xr.Variable]:
    """The layers of a cube as they are read back from its file."""
    shape, found = columns.places.shape, {}
    for layer in columns.layers():
        values, encoding = layer.block(0, int(np.prod(shape))), {"dtype": layer.dtype.name}
        if layer.fill is not None:
            encoding["_FillValue"] = layer.fill
            values = np.where(values == layer.fill, np.nan, values)
        elif layer.dtype.kind == "S":
            values, encoding = values.astype(str), {"dtype": "S1"}
        found[layer.name] = xr.Variable(DIMS, values.reshape(shape), layer.attributes, encoding)
    return found


def ledger_totals(plan: Plan, parts: Sequence[Part]) -> list[dict[str, Any]]:
    """The totals of all groups of some parts."""
    return [ledger_total(plan, group, names, ledger) for group, names, ledger in ledgers(parts)]
