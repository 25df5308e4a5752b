"""What everyone knows of released sums before a fit: which sums, of which records, with how much noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...federation.exchanges.column_sums.layout import CONSTANT, Layout, Part
from ...federation.exchanges.column_sums.noisy_moments import Chunk, Draw
from ...federation.exchanges.residues import Ring, ring_for
from ...privacy.accounted_values import AccountedValue, Public, parents_of
from ...privacy.mechanisms.shared_gaussian import SharedGaussian
from ...privacy.statistics.bounded import SensitivityCertificate
from ...privacy.statistics.geometry import lengths
from ...privacy.statistics.moments import cross_moment, record_sum, second_moment
from ...privacy.strata import cell_of
from .common import Plan
from .noise import rho_of

PARTS = ("zz", "zy", "mean")
BITS = 40
# Noise beyond so many deviations has a probability below 1e-800: sums are read back modulo the ring.
LONGEST = 64.0


@dataclass(frozen=True)
class Aggregation:
    """What everyone knows of the sums.

    radius : length of all curves of a record; response_radius : of its response
    halves : (fold, half) of the chunks of each half; mu : Gaussian-DP parameter of each part of a chunk
    width : number of coordinates of the response
    """

    plan: Plan
    radius: AccountedValue
    response_radius: AccountedValue
    halves: tuple[tuple[tuple[int, int], ...], ...]
    mu: dict[str, float]
    width: int

    @cached_property
    def certificates(self) -> dict[str, SensitivityCertificate]:
        """Of the sums over the records of a chunk, under replacement of one.

        S_zz: sqrt(2) S_tot^2 as isometric vector; S_zy: 2 S_tot S_y; the mean: 2 S_tot.
        """
        none = np.zeros((1, 1))
        bounded = {
            "zz": second_moment(none, self.radius),
            "zy": cross_moment(none, none, self.radius, self.response_radius),
            "mean": record_sum(none, self.radius),
        }
        return {part: one.certificate for part, one in bounded.items()}

    @cached_property
    def sd(self) -> dict[str, float]:
        """Noise of each part of a chunk."""
        return {part: SharedGaussian(self.mu[part]).deviation(self.certificates[part]) for part in PARTS}

    @cached_property
    def places(self) -> tuple[tuple[int, int], ...]:
        """(fold, half) of all chunks, in order."""
        return tuple(where for half in self.halves for where in half)

    @cached_property
    def members(self) -> tuple[np.ndarray, ...]:
        """Positions of the records of every chunk."""
        return tuple(np.flatnonzero(self.plan.fold.chunk(f, h)) for f, h in self.places)

    @cached_property
    def rows(self) -> np.ndarray:
        """(n,) positions of the training records, chunk after chunk."""
        return np.concatenate(self.members)

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """Records of every chunk among those, with the noise of its parts."""
        parents = parents_of(self.radius, self.response_radius)
        ends = np.cumsum([0, *map(len, self.members)]).tolist()
        found = []
        for (f, h), start, stop in zip(self.places, ends, ends[1:], strict=False):
            draws = [
                Draw(name, self.certificates[part], self.mu[part], ("moments", part, f, h), parents)
                for part, name in zip(PARTS, names_of(f, h), strict=True)
            ]
            found.append(Chunk(slice(start, stop), cell_of("chunks", f"{f}/{h}"), tuple(draws)))
        return tuple(found)

    @cached_property
    def layout(self) -> Layout:
        """Sums of products of all coordinates of curves, of those with the response, and of coordinates."""
        q = len(self.plan.coordinates.gram)
        size, step = q * len(self.plan.names), 2.0**-BITS
        held = [tuple(j * q + c for j in columns for c in range(q)) for columns in self.plan.owner_columns]
        response = tuple(range(size, size + self.width))
        every, (rows, others) = np.arange(size), np.triu_indices(size, 1)
        scale = np.concatenate([np.ones(size), np.full(len(rows), np.sqrt(2))])
        parts = (
            Part(np.concatenate([every, rows]), np.concatenate([every, others]), scale * step**2),
            Part(np.repeat(every, self.width), np.tile(response, size), np.full(size * self.width, step**2)),
            Part(np.full(size, CONSTANT), every, np.full(size, step)),
        )
        return Layout((self.plan.active, *self.plan.owners), (response, *held), parts)

    @cached_property
    def ring(self) -> Ring:
        """Residues that hold every noisy sum."""
        longest = max(float(self.radius.value), float(self.response_radius.value))
        largest = max(map(len, self.members)) * longest**2
        return ring_for(largest + LONGEST * max(self.sd.values()), 2 * BITS)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the releases."""
        return tuple(name for where in self.places for name in names_of(*where))


def names_of(fold: int, half: int) -> tuple[str, ...]:
    """Names of the releases of a chunk."""
    return tuple(f"{part} of chunk {fold}/{half}" for part in PARTS)


def aggregation(plan: Plan, response: AccountedValue, width: int) -> Aggregation:
    """The public side of the sums."""
    options, because = plan.options, "root of the sum of squares of the radii"
    total = Public(float(lengths(plan.radius)), because=because, made_of=plan.radii)
    if options.response_radius is not None:
        response = Public(options.response_radius, because="response_radius of the method, an option")
    rho = rho_of(plan.epsilon, plan.delta)
    mu = {part: float(np.sqrt(2 * share * rho)) for part, share in zip(PARTS, options.shares, strict=True)}
    halves = tuple(tuple((f, h) for f in plan.fold.training_folds) for h in (0, 1))
    return Aggregation(plan, total, response, halves, mu, width)
