"""Declarations about a column before any data are seen; standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt


@dataclass(frozen=True)
class ColumnFacts:
    """Public declarations about a column, made before any data are seen.

    edges : increasing cuts, bin j being ``(edges[j-1], edges[j]]``, or None
    bounds : range (low, high) of a map onto integers, values outside being clipped, or None
    because : where both come from
    """

    edges: tuple[float, ...] | None
    bounds: tuple[float, float] | None
    because: str

    @property
    def moments(self) -> tuple[float, float] | None:
        """Mean and standard deviation of a column that is uniform on its range; None without a range."""
        if self.bounds is None:
            return None
        low, high = self.bounds
        return (low + high) / 2, (high - low) / sqrt(12)


INDICATOR = ColumnFacts(None, (0.0, 1.0), "an indicator")


def levels(count: int, because: str) -> ColumnFacts:
    """A category with so many levels, each a bin."""
    return ColumnFacts(tuple(k + 0.5 for k in range(count - 1)), (0.0, count - 1.0), because)
