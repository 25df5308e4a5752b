"""Public facts of released sums before a fit: which sums, of which records, with how much noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TypedDict

import numpy as np

from ....federation.exchanges.column_sums.layout import CONSTANT, SumGroup, SumLayout
from ....federation.exchanges.column_sums.openings import Chunk, NoisySum
from ....federation.exchanges.homomorphic.column_products import LARGEST
from ....privacy.accounted_values import AccountedValue, Public, parents_of
from ....privacy.mechanisms.release import noise_scale
from ....privacy.statistics.geometry import lengths
from ....privacy.statistics.whole import Whole, gram_squares, whole
from ....privacy.strata import cell_of
from .common import CurvePlan
from .noise import rho_of

PARTS = ("zz", "zy", "mean")
FEATURES = ("features",)


class _Origin(TypedDict):
    """Keywords that the sums of every part share: their records and radii."""

    stratum: str
    parents: tuple[str, ...]


@dataclass(frozen=True)
class Aggregation:
    """Public facts of the sums.

    radius : length of all curves of a record; response_radius : of its response
    halves : (fold, half) of the chunks of each half; mu : Gaussian-DP parameter of each part of a chunk
    width : number of coordinates of the response
    step, response_step : of whole curves and responses, the longest radius of each over 2^15
    """

    plan: CurvePlan
    radius: AccountedValue
    response_radius: AccountedValue
    halves: tuple[tuple[tuple[int, int], ...], ...]
    mu: dict[str, float]
    width: int
    step: float
    response_step: float

    @property
    def has_dealer(self) -> bool:
        """Whether a dealer draws the noise."""
        return self.plan.options.dealer != "none"

    def total(self, part: str, stratum: str = "*") -> Whole:
        """Sums of one part in whole steps, as all parties know them: squared lengths of records are whole numbers."""
        size = len(self.plan.coordinates.gram) * len(self.plan.names)
        curves = sum(whole_square(radius, self.step) for radius in self.plan.radius.tolist())
        common: _Origin = {"stratum": stratum, "parents": parents_of(self.radius, self.response_radius)}
        if part == "zz":
            weights = np.concatenate([np.ones(size, dtype=int), np.full(size * (size - 1) // 2, 2)])
            source, squares = "sqrt(2) S^2 from |xx' - yy'|, in whole steps", gram_squares(curves)
            return whole(
                np.zeros_like(weights),
                squares,
                self.step**2,
                source,
                weights=weights,
                unit="features",
                depends_on=FEATURES,
                **common,
            )
        if part == "zy":
            squares = 4 * curves * whole_square(float(self.response_radius.value), self.response_step)
            step, zeros = self.step * self.response_step, np.zeros(size * self.width, dtype=int)
            return whole(zeros, squares, step, "triangle inequality: 2 S_x S_y, in whole steps", **common)
        source = "triangle inequality: 2 S, in whole steps"
        return whole(
            np.zeros(size, dtype=int), 4 * curves, self.step, source, unit="features", depends_on=FEATURES, **common
        )

    @cached_property
    def sd(self) -> dict[str, float]:
        """Noise of each part of a chunk, where it is added once, except S_zy: without a dealer either party adds it."""
        deviations = {part: noise_scale(self.total(part).certificate.value, self.mu[part]) for part in PARTS}
        return deviations if self.has_dealer else deviations | {"zy": math.sqrt(2) * deviations["zy"]}

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
    def slices(self) -> tuple[slice, ...]:
        """Records of every chunk among those."""
        ends = np.cumsum([0, *map(len, self.members)]).tolist()
        return tuple(slice(start, stop) for start, stop in pairwise(ends))

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """Records of every chunk, with what is released of them."""
        chunks = []
        for (f, h), rows in zip(self.places, self.slices, strict=True):
            named = zip(PARTS, names_of(f, h), strict=True)
            terms = ((name, self.total(part, cell_of("chunks", f"{f}/{h}")), self.mu[part]) for part, name in named)
            chunks.append(Chunk(rows, tuple(NoisySum(*total) for total in terms)))
        return tuple(chunks)

    @cached_property
    def layout(self) -> SumLayout:
        """Sums of products of all coordinates of curves, of those with the response, and of coordinates."""
        q = len(self.plan.coordinates.gram)
        size = q * len(self.plan.names)
        owner_coordinates = [tuple(j * q + c for j in columns for c in range(q)) for columns in self.plan.owner_columns]
        response = tuple(range(size, size + self.width))
        every, (rows, others) = np.arange(size), np.triu_indices(size, 1)
        parts = (
            SumGroup(np.concatenate([every, rows]), np.concatenate([every, others])),
            SumGroup(np.repeat(every, self.width), np.tile(response, size)),
            SumGroup(np.full(size, CONSTANT), every),
        )
        return SumLayout((self.plan.active, *self.plan.owners), (response, *owner_coordinates), parts)

    @property
    def copies(self) -> float:
        """Average number of times that an entry of S_zz has its noise."""
        if self.has_dealer:
            return 1.0
        sizes = np.array([len(columns) for columns in self.plan.owner_columns])
        return float(2 - np.sum(sizes**2) / np.sum(sizes) ** 2)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the releases."""
        return tuple(name for where in self.places for name in names_of(*where))


def names_of(fold: int, half: int) -> tuple[str, ...]:
    """Names of the releases of a chunk."""
    return tuple(f"{part} of chunk {fold}/{half}" for part in PARTS)


def aggregation(plan: CurvePlan, response: AccountedValue, width: int) -> Aggregation:
    """The public side of the sums."""
    options, because = plan.options, "root of the sum of squares of the radii"
    total = Public(float(lengths(plan.radius)), because=because, made_of=plan.radii)
    if options.response_radius is not None:
        response = Public(options.response_radius, because="response_radius of the method, an option")
    rho = rho_of(plan.epsilon, plan.delta)
    mu = {part: float(np.sqrt(2 * share * rho)) for part, share in zip(PARTS, options.shares, strict=True)}
    halves = tuple(tuple((f, h) for f in plan.fold.training_folds) for h in (0, 1))
    step, response_step = float(plan.radius.max()) / LARGEST, float(response.value) / LARGEST
    return Aggregation(plan, total, response, halves, mu, width, step, response_step)


def whole_square(length: float, step: float) -> int:
    """Square of a length in whole squared steps, exactly."""
    return math.floor((Fraction(length) / Fraction(step)) ** 2)
