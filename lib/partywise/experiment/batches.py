"""Blocks, the work of one fit job (cases, methods, numbers of parties, replicates and folds), and blocks of data.

A grid that grows leaves finished blocks as they are.  Replicates and folds are cut at multiples of a size.  Cases and
methods have no lasting order, since a new one may appear anywhere: the hash of a name decides whether a block ends
after it, so that a new name changes only the block that it joins.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import product
from math import prod
from typing import TYPE_CHECKING, TypedDict

from .plan import CasePlan, Plan

if TYPE_CHECKING:
    from .cells import Coords

# So many times the cases and replicates of a fit job are drawn by one generate job.
DATA_SHARE = 10
# What methods, numbers of parties, replicates and folds are cut into.
Cuts = tuple[list[list[str]], list[Sequence[int]], list[Sequence[int]], list[Sequence[int]]]


class PlainShare(TypedDict):
    """A `CaseShare` among the parameters of a job."""

    case: str
    methods: list[str]
    parties: list[int]
    replicates: list[int]
    folds: list[int]


@dataclass(frozen=True)
class CaseShare:
    """The cells of one case in a block: methods x parties x replicates x folds x the epsilons of each method."""

    case: str
    methods: tuple[str, ...]
    parties: tuple[int, ...]
    replicates: tuple[int, ...]
    folds: tuple[int, ...]

    def holds(self, cell: Coords) -> bool:
        """Whether a cell is among them, at any epsilon."""
        return cell["case"] == self.case and (
            cell["method"] in self.methods
            and cell["parties"] in self.parties
            and cell["replicate"] in self.replicates
            and cell["fold"] in self.folds
        )

    @property
    def plain(self) -> PlainShare:
        """The share as plain data."""
        return {
            "case": self.case,
            "methods": list(self.methods),
            "parties": list(self.parties),
            "replicates": list(self.replicates),
            "folds": list(self.folds),
        }


@dataclass(frozen=True)
class JobBlock:
    """Work of one fit job; ``name`` is its path below the folder of all blocks, ``data`` that of its data."""

    name: str
    shares: tuple[CaseShare, ...]
    data: str

    @property
    def methods(self) -> dict[str, tuple[str, ...]]:
        """Methods of each case."""
        return {share.case: share.methods for share in self.shares}

    def plain(self) -> list[PlainShare]:
        """The shares as plain data, for the parameters of a job."""
        return [share.plain for share in self.shares]


def blocks(plan: Plan) -> dict[str, JobBlock]:
    """All blocks of a plan by name: every cell is in one of them.

    Cases that need the same files may share a job: one that needs none never waits for a download.
    """
    by_name = dict[str, JobBlock]()
    data = {key: name for name, replicates in data_blocks(plan).items() for key in _pairs(replicates)}
    for cases, cuts in _cuts(plan):
        labels, counts, numbers, held_out = cuts
        for methods, parties, replicates, folds in product(labels, counts, numbers, held_out):
            shares = [_share(case, methods, parties, replicates, folds) for case in cases]
            shares = [share for share in shares if all(asdict(share).values())]
            if shares:
                block = _block(shares, data[shares[0].case, shares[0].replicates[0]])
                by_name[block.name] = block
    return by_name


def data_blocks(plan: Plan) -> dict[str, dict[str, list[int]]]:
    """Return the replicates per case that each generate job draws, by the name of its file.

    All that a fit job reads is in one file, of `DATA_SHARE` times as many cases and replicates at most: drawing costs
    little compared with fitting, and less than the start of a job.
    """
    files = dict[str, dict[str, list[int]]]()
    for names in (run for group in _by_files(plan) for run in runs(group, DATA_SHARE * plan.batch.cases_per_job)):
        most = max(plan.cases[name].replicates for name in names)
        for piece in pieces(range(most), DATA_SHARE * plan.batch.replicates_per_job):
            drawn = {name: [r for r in piece if r < plan.cases[name].replicates] for name in names}
            drawn = {name: replicates for name, replicates in drawn.items() if replicates}
            files[f"{_ends(list(drawn))}/{_span(drawn.values())}"] = drawn
    return files


def _pairs(replicates: Mapping[str, Iterable[int]]) -> list[tuple[str, int]]:
    return [(case, number) for case, numbers in replicates.items() for number in numbers]


def _span(replicates: Iterable[Iterable[int]]) -> str:
    numbers = [number for part in replicates for number in part]
    return f"r{min(numbers):04d}-{max(numbers):04d}"


def most_blocks(plan: Plan) -> int:
    """Return an upper bound on the number of blocks of a plan: if grids of cases differ, some blocks are empty."""
    return sum(prod(len(part) for part in cuts) for _, cuts in _cuts(plan))


def _cuts(plan: Plan) -> Iterator[tuple[list[CasePlan], Cuts]]:
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
    groups: list[list[str]] = [[]]
    for name in names:
        groups[-1].append(name)
        if int.from_bytes(sha256(name.encode()).digest()[:8]) % size == 0:
            groups.append([])
    return [run for run in groups if run]


def pieces(values: Sequence[int], size: int) -> list[Sequence[int]]:
    """Values in order, ``size`` at a time."""
    return [values[first : first + size] for first in range(0, len(values), size)]


def _by_files(plan: Plan) -> list[list[str]]:
    """Names of the cases by the data sets and own files that they need."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, case in plan.cases.items():
        files = getattr(case.settings, "files", {}).values()
        groups.setdefault((*case.resources, *files), []).append(name)
    return list(groups.values())


def _share(
    case: CasePlan, methods: Sequence[str], parties: Sequence[int], replicates: Sequence[int], folds: Sequence[int]
) -> CaseShare:
    return CaseShare(
        case.name,
        tuple(label for label in methods if label in case.methods),
        tuple(count for count in parties if count in case.parties),
        tuple(number for number in replicates if number < case.replicates),
        tuple(number for number in folds if number < case.folds),
    )


def _block(shares: Sequence[CaseShare], data: str) -> JobBlock:
    """A block under the first and last of everything that it holds."""
    cases = _ends([share.case for share in shares])
    methods = _ends([label for share in shares for label in share.methods])
    parties = _ends(sorted({count for share in shares for count in share.parties}))
    folds = [number for share in shares for number in share.folds]
    numbers = f"{_span(share.replicates for share in shares)}_f{min(folds):02d}-{max(folds):02d}"
    return JobBlock(f"{cases}/{methods}/k{parties}_{numbers}", tuple(shares), data)


def _ends(values: Sequence[str | int]) -> str:
    return "-".join(map(str, dict.fromkeys([values[0], values[-1]])))
