"""Layout of sums of columns of several parties, and of their products: which are wanted, who holds what; public."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

# In the place of a column: 1 for every record.
CONSTANT = -1


@dataclass(frozen=True)
class SumGroup:
    """Some sums that are released together.

    first, second : (d,) columns whose products are summed; `CONSTANT` may be the first
    """

    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True)
class SumLayout:
    """Sums that are wanted, of columns numbered over all parties, and the holders of their parts; public.

    names : of the parties; columns : numbers of the columns of each, in the order of its block
    """

    names: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]
    parts: tuple[SumGroup, ...]

    @cached_property
    def owner(self) -> np.ndarray:
        """(P,) place of the party that holds each column."""
        places = np.empty(sum(map(len, self.columns)), dtype=int)
        for place, numbers in enumerate(self.columns):
            places[list(numbers)] = place
        return places

    @cached_property
    def inside(self) -> np.ndarray:
        """(P,) position of each column in the block of its party."""
        positions = np.empty(len(self.owner), dtype=int)
        for numbers in self.columns:
            positions[list(numbers)] = np.arange(len(numbers))
        return positions

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Slices of the sums of each part among those of all."""
        ends = np.cumsum([0, *(len(part.first) for part in self.parts)]).tolist()
        return tuple(slice(start, stop) for start, stop in pairwise(ends))

    @cached_property
    def pairs(self) -> np.ndarray:
        """(2, D) columns of all sums, that of the earlier party first; `CONSTANT` stays first."""
        first, second = (np.concatenate([getattr(part, name) for part in self.parts]) for name in ("first", "second"))
        swapped = (first != CONSTANT) & (self.owner[first] > self.owner[second])
        return np.where(swapped, [second, first], [first, second])

    @cached_property
    def holders(self) -> np.ndarray:
        """(2, D) parties of all sums, the earlier first; twice the same for a sum of one party's own columns."""
        first, second = self.pairs
        return np.stack([self.owner[np.where(first == CONSTANT, second, first)], self.owner[second]])

    def is_held(self, place: int) -> np.ndarray:
        """(D,) whether a party holds a column of each sum."""
        return (self.holders == place).any(axis=0)

    def held_sums(self, place: int) -> np.ndarray:
        """Numbers of the sums that a party has a share of."""
        return np.flatnonzero(self.is_held(place))

    def seeded_sums(self, place: int) -> np.ndarray:
        """Those whose share of what is dealt it draws from its seed."""
        return np.flatnonzero(self.holders[0] == place)

    def dealt_sums(self, place: int) -> np.ndarray:
        """Those whose share of what is dealt it is sent."""
        return np.flatnonzero((self.holders[1] == place) & (self.holders[0] != place))

    @property
    def crossing(self) -> int:
        """Number of sums of products of two parties' columns."""
        return int(np.count_nonzero(self.holders[0] != self.holders[1]))

    @property
    def crossing_pairs(self) -> tuple[tuple[int, int], ...]:
        """Parties that have such a sum together, the earlier one first."""
        pairs = {(int(j), int(k)) for j, k in self.holders.T if j != k}
        return tuple(sorted(pairs))

    @cached_property
    def alone(self) -> np.ndarray:
        """Sums of one party's own columns: the opener is sent the other share of their noise."""
        return np.flatnonzero(self.holders[0] == self.holders[1])
