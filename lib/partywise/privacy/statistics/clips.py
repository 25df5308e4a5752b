"""Clips of records, before a statistic is computed from them: a clip knows its bound and its share.

A new clip is a class with `length` and `squares`, on which every certificate of clipped records rests, and with `of`
and `steps`, which clip.  Steps are whole numbers: of 2^-b times the size of the clip, or of any public length.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ..accounted_values import AccountedValue, parameter, parents_of
from ..rounding import bounded_entries
from .bounded import clip_curves

# Bits of the length of a record in steps, at most: its squares, and twice their sum, are exact in floats.
LONGEST_BITS = 26


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
    """A map of each record by itself, fixed by a positive radius that states its origin: a bare number is refused."""

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


class WholeClip(Clip):
    """One whose records can be whole numbers of steps: of orthonormal coordinates."""

    def step(self, bits: int) -> float:
        """Length of one of the 2^bits steps to the size of the clip."""
        return self.size / 2.0**bits

    @abstractmethod
    def squares(self, p: int, bits: int) -> int:
        """Largest squared Euclidean length of a record of p entries, in steps."""

    @abstractmethod
    def steps(self, records: np.ndarray, bits: int) -> ClipResult:
        """Records (n, p) of any floats, clipped, as whole steps in floats; entries that are not finite are bounded."""


@dataclass(frozen=True)
class BoxClip(WholeClip):
    """Every entry is clipped to [-R, R]."""

    def length(self, p: int) -> float:
        """R sqrt(p)."""
        return self.size * math.sqrt(p)

    def of(self, records: np.ndarray) -> ClipResult:
        """Clip the records, counted in entries."""
        clipped = np.clip(records, -self.size, self.size)
        return ClipResult(clipped, int(np.count_nonzero(clipped != records)), records.size)

    def squares(self, p: int, bits: int) -> int:
        """p 4^bits."""
        return p << (2 * bits)

    def steps(self, records: np.ndarray, bits: int) -> ClipResult:
        """Clip the records as whole steps, counted in entries."""
        entries, most = bounded_entries(records), 2.0**bits
        nearest = np.rint(np.clip(entries, -self.size, self.size) * (most / self.size))
        # A product may exceed the bound by a rounding.
        return ClipResult(
            np.clip(nearest, -most, most), int(np.count_nonzero(np.abs(entries) > self.size)), entries.size
        )


@dataclass(frozen=True)
class BallClip(WholeClip):
    """A record x is shrunk to x min(1, C / ||x||): its direction stays, and so do elliptical axes."""

    def length(self, p: int) -> float:
        """C."""
        return self.size

    def of(self, records: np.ndarray) -> ClipResult:
        """Clip the records, counted in records."""
        if records.itemsize not in records.strides:  # sums depend on it: every other column of a table, as a copy
            records = records.copy(order="K")
        norms = np.sqrt(np.einsum("ij,ij->i", records, records))
        long = norms > self.size
        shrink = np.divide(self.size, norms, out=np.ones_like(norms), where=long)
        return ClipResult(records * shrink[:, None], int(np.count_nonzero(long)), len(records))

    def squares(self, p: int, bits: int) -> int:
        """4^bits."""
        return 1 << (2 * bits)

    def steps(self, records: np.ndarray, bits: int) -> ClipResult:
        """Clip the records as whole steps, counted in records."""
        return ball_steps(records, self.size, self.step(bits))


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
        """Clip the records, counted in curves."""
        clipped, share = clip_curves(records, self.metric, self.radius.value)
        units = int(np.prod(clipped.shape[:-1]))
        return ClipResult(clipped, round(share * units), units)


def ball_squares(radius: float, step: float) -> int:
    """r2 = floor((radius / step)^2), exactly: the largest squared length of a record in steps.

    More than 2^52, beyond which squares of floats are not exact, is refused: choose a larger step.
    """
    squares = math.floor((Fraction(radius) / Fraction(step)) ** 2)
    if squares > 1 << (2 * LONGEST_BITS):
        raise ValueError(f"radius={radius!r} is more than 2^{LONGEST_BITS} steps of {step!r}: choose a larger step.")
    return squares


def ball_steps(records: np.ndarray, radius: float, step: float) -> ClipResult:
    """Records (n, p) shrunk to a length and rounded to whole steps, none longer than the length afterwards.

    The result counts in records and has whole numbers in floats, with squares that sum to at most `ball_squares` in
    every record. A record that rounding would take beyond that is rounded towards 0, and if it is still too long, it is
    0. Entries that are not finite are bounded (`bounded_entries`), so that nothing raises because of them.
    """
    most, entries = ball_squares(radius, step), bounded_entries(np.asarray(records, dtype=float))
    norms = np.sqrt(np.einsum("ij,ij->i", entries, entries))
    long = norms > radius
    shrink = np.divide(radius, norms, out=np.ones_like(norms), where=long)
    scaled = entries * (shrink / step)[:, None]
    nearest = np.rint(scaled)
    for rounded in (np.trunc, np.zeros_like):
        beyond = np.einsum("ij,ij->i", nearest, nearest) > most
        if not beyond.any():
            break
        nearest[beyond] = rounded(scaled[beyond])
    return ClipResult(nearest, int(np.count_nonzero(long)), len(entries))
