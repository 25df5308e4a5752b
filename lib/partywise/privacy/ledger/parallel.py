"""Cost of one record that lies in one cell of every partition: cells compose in parallel, partitions add up.

Which cells of two partitions have records in common is not asked: a record may lie in any one of each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from ..accounting.compose import Composition, arrange
from ..strata import EVERYBODY, partition_of

T = TypeVar("T")
# Choices of one cell a partition that are composed one by one; beyond, cells of a partition have a common bound.
CHOICES = 1024


def by_partition(strata: Mapping[str, T]) -> dict[str, dict[str, T]]:
    """Strata but ``"*"`` by the partition that they are cells of."""
    partitions = defaultdict[str, dict[str, T]](dict)
    for name, part in strata.items():
        if name != EVERYBODY:
            partitions[partition_of(name)][name] = part
    return dict(partitions)


def joint_cells(partitions: Iterable[Collection[Composition]]) -> frozenset[Composition]:
    """Compositions of one cell a partition, of which one is at least what any record has cost."""
    cells = [frozenset(part) for part in partitions if part]
    if len(cells) <= 1:
        return cells[0] if cells else frozenset([Composition()])
    joint = frozenset([Composition()])
    for part in cells:
        largest = _largest_cells(part)
        if len(joint) * len(largest) > CHOICES:
            largest = frozenset([_dominating(largest)])
        joint = frozenset(composition.merge(other) for composition in joint for other in largest)
    return joint


def _largest_cells(cells: frozenset[Composition]) -> frozenset[Composition]:
    """Return the largest of the cells with Gaussians alone, and all other cells."""
    gaussians = [cell for cell in cells if cell.gaussian]
    largest = {max(gaussians, key=lambda cell: cell.mu_squared)} if gaussians else set[Composition]()
    return frozenset(largest | (cells - frozenset(gaussians)))


def _dominating(cells: Iterable[Composition]) -> Composition:
    """One that has as much of every profile as any of them."""
    finite: Counter[tuple[float, int | None]] = Counter()
    sampled: Counter[tuple[float, float]] = Counter()
    cells = list(cells)
    for cell in cells:
        finite |= Counter({(epsilon, k): count for epsilon, k, count in cell.finite})
        sampled |= Counter({(mu, rate): count for mu, rate, count in cell.sampled_gaussians})
    squares, rho, numeric, tv = (
        max(getattr(cell, name) for cell in cells) for name in ("mu_squared", "rho", "delta_numeric", "tv")
    )
    return arrange(squares, rho, finite, sampled, numeric, tv)
