"""What records go through before a statistic is computed of them: a clip knows its bound and its share.

A new clip is a class with `length`, on which every certificate of clipped records rests, and `of`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from ..accounted_values import AccountedValue, parameter, parents_of
from .bounded import clip_curves


@dataclass(frozen=True, eq=False)
class ClipResult:
    """Records (n, ..., p) that went through a clip, and the number of ``units`` (entries, or records) it moved."""

    records: np.ndarray
    number: int
    units: int

    @property
    def share(self) -> float:
        """Share of the units that were moved: it depends on the data, and no certificate reads it."""
        return self.number / self.units if self.units else 0.0


@dataclass(frozen=True)
class Clip(ABC):
    """A map of each record by itself, fixed by a radius that says where it comes from.

    Raises
    ------
    TypeError
        If the radius is a bare number.
    ValueError
        Unless it is positive.
    """

    radius: AccountedValue = field(compare=False)
    size: float = field(init=False)

    def __post_init__(self) -> None:
        size = parameter("radius", self.radius)
        if not size > 0:
            raise ValueError(f"radius={size!r} must be positive.")
        object.__setattr__(self, "size", float(size))

    @property
    def parents(self) -> tuple[str, ...]:
        """Ids of the releases that the radius came from."""
        return self.radius.parents

    @abstractmethod
    def length(self, p: int) -> float:
        """Largest Euclidean length of a clipped record of p entries."""

    @abstractmethod
    def of(self, records: np.ndarray) -> ClipResult:
        """Finite records (n, p), clipped; the given ones stay as they are."""


@dataclass(frozen=True)
class BoxClip(Clip):
    """Every entry is clipped to [-R, R]."""

    def length(self, p: int) -> float:
        """R sqrt(p)."""
        return self.size * math.sqrt(p)

    def of(self, records: np.ndarray) -> ClipResult:
        """As of `Clip`, counted in entries."""
        kept = np.clip(records, -self.size, self.size)
        return ClipResult(kept, int(np.count_nonzero(kept != records)), records.size)


@dataclass(frozen=True)
class BallClip(Clip):
    """A record x is shrunk to x min(1, C / ||x||): its direction stays, and so do the axes of an elliptical law."""

    def length(self, p: int) -> float:
        """C."""
        return self.size

    def of(self, records: np.ndarray) -> ClipResult:
        """As of `Clip`, counted in records."""
        if records.itemsize not in records.strides:  # sums depend on it: every other column of a table, as a copy
            records = records.copy(order="K")
        norms = np.sqrt(np.einsum("ij,ij->i", records, records))
        long = norms > self.size
        shrink = np.divide(self.size, norms, out=np.ones_like(norms), where=long)
        return ClipResult(records * shrink[:, None], int(np.count_nonzero(long)), len(records))


@dataclass(frozen=True)
class NormClip(Clip):
    """A record or curve c is shrunk to S in the norm sqrt(c' M c), however large or small its entries are.

    Without ``gram`` M coordinates are orthonormal. The radius may be infinite, or one for each curve of a record.
    """

    gram: AccountedValue | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", float(np.max(parameter("radius", self.radius))))

    @property
    def metric(self) -> np.ndarray | None:
        """M; None for the identity."""
        return None if self.gram is None else np.asarray(parameter("gram", self.gram), dtype=float)

    @property
    def parents(self) -> tuple[str, ...]:
        """Ids of the releases that the radius and M came from."""
        return parents_of(self.gram, self.radius)

    def length(self, p: int) -> float:
        """S, in the norm of M."""
        return self.size

    def of(self, records: np.ndarray) -> ClipResult:
        """As of `Clip`, counted in curves."""
        kept, share = clip_curves(records, self.metric, self.radius.value)
        units = int(np.prod(kept.shape[:-1]))
        return ClipResult(kept, round(share * units), units)
