"""Memory of collect on synthetic blocks: ``python growth_driver.py dense 10000`` prints bytes a cell at peak.

Blocks hold the cells of one toy fit again and again, releases and messages included.  A sparse design has one case
with many replicates, one with many numbers of parties and one with many epsilons, of which a cube is the product.
"""

from __future__ import annotations

import os
import sys
import tempfile
from dataclasses import replace
from math import prod
from pathlib import Path

import toy
from partywise.experiment.blocks import write_block as write
from partywise.experiment.cells import run
from partywise.experiment.collect import collect
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan
from partywise.experiment.results.columns import Places

OUTPUTS = (
    *("cube", "tidy", "predictions", "models", "dictionary", "ledger", "totals", "wire", "summary", "text", "tables"),
    "findings",
)


def design(kind: str, cells: int) -> Plan:
    """A plan of about so many cells."""
    grid = {"methods": ("noisy",), "folds": 2, "epsilon": (1.0, 2.0, 4.0, 8.0, 16.0)}
    if kind == "dense":
        cases = {f"c{i}": {**grid, "replicates": max(1, cells // 200), "parties": (1, 2, 3, 4, 5)} for i in range(4)}
    else:
        few = {**grid, "replicates": 2, "parties": (1, 2), "epsilon": (1.0, 2.0)}
        side = max(1, cells // 30)
        wide = tuple(range(1, int(side**0.5) + 1))
        cases = {"long": {**few, "replicates": max(1, cells // 12)}, "wide": {**few, "parties": wide}}
        cases |= {"deep": {**few, "epsilon": tuple(float(e) for e in wide)}, "same": few}
    return toy.toy_plan(toy.varied(example_fits=None), **cases)


def write_blocks(plan: Plan, folder: Path) -> list[Path]:
    """All blocks of a plan, in jobs of ten replicates."""
    paths = []
    for name, case in plan.cases.items():
        fits = run(plan, name, "noisy", 1, [0], range(case.folds), generate(plan, name, [0], folder))
        made = {cell.coords["fold"]: cell for cell in fits}
        for parties in case.parties:
            for first in range(0, case.replicates, 10):
                chosen = range(first, min(first + 10, case.replicates))
                block = [
                    replace(
                        made[fold],
                        coords={**made[fold].coords, "replicate": r, "parties": parties, "fold": fold, "epsilon": e},
                        wire=made[fold].wire if (r, fold) == (0, 0) else [],
                        example_fits={},
                    )
                    for r in chosen
                    for fold in range(case.folds)
                    for e in case.epsilon
                ]
                paths.append(folder / f"{name}_{parties}_{first}.npz")
                write(paths[-1], block)
    return paths


def peak(anew: bool = False) -> int:
    """Largest memory of this process in bytes, since it was last asked anew."""
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def main(kind: str, cells: int) -> None:
    """Make the blocks in a process of their own, then collect them in this one."""
    plan = design(kind, cells)
    places = Places(plan)
    count, dense = len(places.cells), prod(places.shape)
    del places
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if (child := os.fork()) == 0:
            write_blocks(plan, folder)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        paths = sorted(folder.glob("*.npz"))
        before = peak(anew=True)
        collect(plan, paths, {name: folder / name for name in OUTPUTS}, code_sha256="c" * 64, root=folder)
        used = peak() - before
    print(f"{kind}: {count} cells of {dense}, {used / 2**20:.1f} MiB, {used / count:.0f} bytes a cell")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
