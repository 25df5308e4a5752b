"""Blocks of a plan on disk, gathered into a cube and all its tables: what tests of both start from."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

from partywise.experiment.blocks import Part, write_block
from partywise.experiment.cells import run
from partywise.experiment.collect import collect
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan
from small_cube import read_block

OUTPUTS = {
    "cube": "cube.nc",
    "tidy": "tidy.csv",
    "predictions": "predictions.csv",
    "models": "models.json",
    "dictionary": "dictionary.csv",
    "ledger": "ledger.csv",
    "totals": "ledger_totals.csv",
    "wire": "wire.md",
    "summary": "summary.csv",
    "text": "summary.txt",
    "findings": "findings.json",
    "tables": "tables.html",
}


def data_of(plan: Plan, folder: Path) -> Callable[[str, int], Any]:
    """The data of a case and replicate, made anew without a file."""
    return lambda case, replicate: generate(plan, case, [replicate], folder)[replicate]


def make_blocks(plan: Plan, folder: Path, size: int = 100) -> list[Path]:
    """All blocks of a plan, of at most ``size`` replicates."""
    paths = []
    for name, case in plan.cases.items():
        data = generate(plan, name, range(case.replicates), folder)
        for method in case.methods:
            for count in case.parties:
                for first in range(0, case.replicates, size):
                    block = range(first, min(first + size, case.replicates))
                    path = folder / f"{name}_{method}_{count}_{first}.npz"
                    write_block(path, run(plan, name, method, count, block, range(case.folds), data))
                    paths.append(path)
    return paths


def read_part(path: Path) -> Part:
    """The only part of a file."""
    (part,) = read_block(path)
    return part


def gather(plan: Plan, blocks: list[Path], folder: Path) -> Path:
    """The folder of the cube and the tables that these blocks make."""
    folder.mkdir(exist_ok=True)
    outputs = {key: folder / name for key, name in OUTPUTS.items()}
    collect(plan, blocks, outputs, code_sha256="c" * 64, root=folder)
    return folder


def table(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file."""
    with path.open() as handle:
        return list(csv.DictReader(handle))
