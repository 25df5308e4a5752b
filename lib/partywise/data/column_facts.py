"""Declarations about a column before any data are seen; standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from ..models.kinds import LEVELS, Kind


@dataclass(frozen=True)
class ColumnFacts:
    """Public declarations about a column, made before any data are seen.

    edges : increasing cuts, bin j being ``(edges[j-1], edges[j]]``, or None
    bounds : range (low, high) of a map onto integers, values outside being clipped, or None
    because : where all of them come from
    kind : name of the distribution by the meaning of the column, as of `partywise.models.kinds.Kind`, or None; the ends
        of a ``uniform`` and the values of a ``binary`` column are its range
    """

    edges: tuple[float, ...] | None
    bounds: tuple[float, float] | None
    because: str
    kind: str | None = None

    @property
    def distribution(self) -> Kind | None:
        """Kind of the column; None where none is declared."""
        return None if self.kind is None else Kind(self.kind, self.bounds or (0.0, 1.0), because=self.because)

    @property
    def moments(self) -> tuple[float, float] | None:
        """Mean and standard deviation of a column that is uniform on its range; None without a range."""
        if self.bounds is None:
            return None
        low, high = self.bounds
        return (low + high) / 2, (high - low) / sqrt(12)


INDICATOR = ColumnFacts(None, (0.0, 1.0), "an indicator", "binary")


def levels(count: int, because: str) -> ColumnFacts:
    """A category with so many levels, each a bin."""
    edges = tuple(k + 0.5 for k in range(count - 1))
    return ColumnFacts(edges, (0.0, count - 1.0), because, "binary" if count == 2 else LEVELS)


def check_kind(kind: str | None, bounds: tuple[float, float] | None) -> None:
    """Raise a named error for a kind that the public range of the column excludes, or that needs one."""
    if kind in ("uniform", "binary") and bounds is None:
        raise ValueError(f"kind is {kind!r} without bounds: its ends or its two values are public; declare bounds.")
    if kind == "lognormal" and bounds is not None and bounds[0] < 0:
        raise ValueError(
            f"kind is 'lognormal' with bounds {list(bounds)}: such a column is above 0; give bounds from 0 on, or "
            "another kind."
        )
