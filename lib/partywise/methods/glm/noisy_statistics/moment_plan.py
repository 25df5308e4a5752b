"""Public plan of released second moments before a fit: which sums, in which steps, with how much noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ....federation.exchanges.column_sums.layout import CONSTANT, SumGroup, SumLayout
from ....federation.exchanges.column_sums.openings import Chunk, NoisySum
from ....federation.exchanges.homomorphic.column_products import LARGEST
from ....federation.roles import records_together, roles
from ....federation.run import Run
from ....privacy.accounted_values import parents_of
from ....privacy.ledger.event import Event
from ....privacy.mechanisms.integer import MECHANISM
from ....privacy.mechanisms.release import announcement
from ....privacy.statistics.whole import Whole, gram_squares, whole
from ..model import GlmFacts
from .clip_counts import CountPlan, with_counts
from .moments import MomentScale
from .scaling import facts_of, radius_of, record_scale, split_budget, total_radius

RELEASE = "second moments"
BOUND = "sqrt(2) r^2 / n of the mean of v v', v of length r at most, in whole steps"


@dataclass(frozen=True)
class MomentPlan:
    """Public facts of a run before its fit.

    groups : columns of each party; active : place of the active party, whose last column is the response statistic
    radii : of the parties' blocks; mu : Gaussian-DP parameter of the release, infinite for none
    delta : of all releases together
    parents : releases that public constants came from
    step : of whole columns, the longest radius over 2^15; has_dealer : whether one draws the noise
    counts : of clipped records, which are released next to the moments; None of none
    """

    public: GlmFacts
    n: int
    names: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]
    active: int
    radii: tuple[float, ...]
    scale: MomentScale
    mu: float
    delta: float
    parents: tuple[str, ...]
    step: float
    has_dealer: bool
    counts: CountPlan | None = None

    @classmethod
    def of(cls, run: Run, n: int) -> MomentPlan:
        """The plan of a run on n records."""
        parties, public = run.parties, facts_of(run)
        active, _ = roles(parties)
        radii, total = [radius_of(public, party) for party in parties], total_radius(public, parties)
        numbers = tuple(float(radius.value) for radius in radii)
        step = max(*numbers, float(total.value) / 2) / LARGEST
        shares = with_counts((1.0,), run.spec.options.count_clipped, public, parties)
        mu, *counts = split_budget(run.epsilon, run.spec.study.delta, shares, records_together(run.spec))
        return cls(
            public=public,
            n=n,
            names=tuple(party.name for party in parties),
            groups=tuple(party.columns for party in parties),
            active=[party.name for party in parties].index(active.name),
            radii=numbers,
            scale=record_scale(public, parties, step),
            mu=mu,
            delta=run.spec.study.delta,
            parents=parents_of(*radii, public.statistic),
            step=step,
            has_dealer=run.spec.options.dealer != "none",
            counts=CountPlan.of(run, n, counts),
        )

    @cached_property
    def layout(self) -> SumLayout:
        """Products of all columns and of the response statistic, and their sums."""
        size = self.scale.columns + 1
        columns = [*self.groups]
        columns[self.active] = (*columns[self.active], size - 1)
        rows, others = np.triu_indices(size, 1)
        first = np.concatenate([np.arange(size), rows, np.full(size, CONSTANT)])
        second = np.concatenate([np.arange(size), others, np.arange(size)])
        return SumLayout(self.names, tuple(columns), (SumGroup(first, second),))

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """One chunk of all records, whose products are opened together."""
        return (Chunk(slice(0, self.n), (NoisySum(RELEASE, self.total, self.mu),)),)

    @cached_property
    def total(self) -> Whole:
        """The vector in whole steps, as all parties know it: lengths of blocks, of the response and of the constant."""
        size, constant = self.scale.columns + 1, round(self.scale.constant / self.step)
        lengths = [Fraction(radius) / Fraction(self.step) for radius in (*self.radii, self.scale.radius / 2)]
        pairs = np.full(size * (size - 1) // 2, 2)
        weights = np.concatenate([np.ones(size, dtype=int), pairs, np.full(size, 2 * constant**2)])
        longest = constant**2 + sum(math.floor(length**2) for length in lengths)
        step = self.step**2 / self.n
        return whole(np.zeros_like(weights), gram_squares(longest), step, BOUND, weights=weights, parents=self.parents)

    @cached_property
    def event(self) -> Event:
        """Row of the release, as far as it is public before the fit."""
        return announcement(
            self.total.certificate, {"mu": self.mu}, MECHANISM, RELEASE, self.parents, trust_model="distributed"
        )

    @property
    def copies(self) -> np.ndarray:
        """(p + 1, p + 1) how often the noise is added: without a dealer by either of two parties."""
        owner = self.layout.owner
        return np.ones((len(owner), len(owner))) if self.has_dealer else 1 + (owner[:, None] != owner)

    def widths(self) -> list[int]:
        """Columns of every party, the response statistic among those of the active one."""
        return [len(columns) for columns in self.layout.columns]
