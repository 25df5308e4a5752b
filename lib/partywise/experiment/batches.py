"""Which cells one job computes: a block of cases, methods, numbers of parties, replicates and folds.

A grid that grows leaves finished blocks as they are.  Replicates and folds are cut at multiples of a size.  Cases and
methods have no order that lasts, since a new one may stand anywhere: a block ends after a name whose hash says so, so
that a new name changes the block that it joins and no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import product
from math import prod
from typing import Any

from .plan import CasePlan, Plan


@dataclass(frozen=True)
class Share:
    """The cells of one case in a block: methods x parties x replicates x folds x the epsilons of each method."""

    case: str
    methods: tuple[str, ...]
    parties: tuple[int, ...]
    replicates: tuple[int, ...]
    folds: tuple[int, ...]


@dataclass(frozen=True)
class Block:
    """What one job computes; ``name`` is its path below the folder of all blocks."""

    name: str
    shares: tuple[Share, ...]

    @property
    def methods(self) -> dict[str, tuple[str, ...]]:
        """Methods of each case."""
        return {share.case: share.methods for share in self.shares}

    def plain(self) -> list[dict[str, Any]]:
        """The shares as plain data, for the parameters of a job."""
        return [{key: _plain(value) for key, value in asdict(share).items()} for share in self.shares]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def blocks(plan: Plan) -> dict[str, Block]:
    """All blocks of a plan by name: every cell is in one of them.

    Cases that need the same files may share a job: one that needs none never waits for a download.
    """
    found = dict[str, Block]()
    for cases, cuts in _cuts(plan):
        for methods, parties, replicates, folds in product(*cuts):
            shares = [_share(case, methods, parties, replicates, folds) for case in cases]
            block = _named([share for share in shares if all(asdict(share).values())])
            if block.shares:
                found[block.name] = block
    return found


def most_blocks(plan: Plan) -> int:
    """How many blocks a plan has at most, without making them: of cases that differ in their grids some are empty."""
    return sum(prod(map(len, cuts)) for _, cuts in _cuts(plan))


def _cuts(plan: Plan) -> Iterator[tuple[list[CasePlan], tuple[Sequence[Any], ...]]]:
    """Cases that share jobs, and what their methods, parties, replicates and folds are cut into."""
    batch = plan.batch
    for names in (run for group in _by_files(plan) for run in runs(group, batch.cases_per_job)):
        cases = [plan.cases[name] for name in names]
        used = [label for label in plan.methods if any(label in case.methods for case in cases)]
        counts = sorted({count for case in cases for count in case.parties})
        yield (
            cases,
            (
                runs(used, batch.methods_per_job),
                pieces(counts, batch.parties_per_job),
                pieces(range(max(case.replicates for case in cases)), batch.replicates_per_job),
                pieces(range(max(case.folds for case in cases)), batch.folds_per_job),
            ),
        )


def runs(names: Sequence[str], size: int) -> list[list[str]]:
    """Names in order, cut after every one whose hash is a multiple of ``size``: runs of about so many names."""
    found: list[list[str]] = [[]]
    for name in names:
        found[-1].append(name)
        if int.from_bytes(sha256(name.encode()).digest()[:8]) % size == 0:
            found.append([])
    return [run for run in found if run]


def pieces(values: Sequence[int], size: int) -> list[Sequence[int]]:
    """Values in order, ``size`` at a time."""
    return [values[first : first + size] for first in range(0, len(values), size)]


def _by_files(plan: Plan) -> list[list[str]]:
    """Names of the cases by the data sets and own files that they need."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name, case in plan.cases.items():
        own = getattr(case.settings, "files", {}).values()
        found.setdefault((*case.resources, *own), []).append(name)
    return list(found.values())


def _share(
    case: CasePlan, methods: Sequence[str], parties: Sequence[int], replicates: Sequence[int], folds: Sequence[int]
) -> Share:
    return Share(
        case.name,
        tuple(label for label in methods if label in case.methods),
        tuple(count for count in parties if count in case.parties),
        tuple(number for number in replicates if number < case.replicates),
        tuple(number for number in folds if number < case.folds),
    )


def _named(shares: Sequence[Share]) -> Block:
    """A block under the first and last of everything that it holds."""
    cases = _ends([share.case for share in shares])
    methods = _ends([label for share in shares for label in share.methods])
    parties = _ends(sorted({count for share in shares for count in share.parties}))
    replicates = [number for share in shares for number in share.replicates]
    folds = [number for share in shares for number in share.folds]
    numbers = f"r{min(replicates, default=0):04d}-{max(replicates, default=0):04d}"
    numbers += f"_f{min(folds, default=0):02d}-{max(folds, default=0):02d}"
    return Block(f"{cases}/{methods}/k{parties}_{numbers}", tuple(shares))


def _ends(values: Sequence[Any]) -> str:
    return "-".join(map(str, dict.fromkeys([values[0], values[-1]]))) if values else ""
