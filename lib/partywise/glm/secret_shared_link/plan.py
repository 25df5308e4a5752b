"""Rings and bits of a fit whose predictors stay in shares, from what all know before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...federation.exchanges.residues import Ring, ring_for
from ...models.families import FAMILIES
from ..options import Family, JointOptions
from .polynomials import FineLink, SharedLink, largest, link_of

# Bits after the point: of predictors over R, of columns, of the response's numbers, of coefficients of polynomials.
# A search ends where the objective falls by less than its rounding: that of predictors, over all records.
PREDICTOR, COLUMN, NUMBER, COEFFICIENT = 40, 34, 24, 30
# At the optimum no step depends on them: of predictors at most so many, and so many over the highest degree.
LAST_PREDICTOR, LAST_POWER, LAST_COEFFICIENT = 24, 420, 24


@dataclass(frozen=True)
class Plan:
    """Rings and bits, from the family, the number of records and of columns, which all know.

    link : polynomials; n : records; widths : columns of each party in the order of the fit, the intercept among them
    predictor, score, integral : bits of u / R, of polynomials of it, of their integrals
    ring : of an evaluation; last : at the optimum; gram : of products of columns; columns : of these, the largest
    """

    link: SharedLink
    n: int
    widths: tuple[int, ...]
    ring: Ring
    last: Ring
    gram: Ring

    @property
    def columns(self) -> Ring:
        """The largest ring."""
        return max(self.ring, self.last, self.gram, key=lambda ring: ring.m)

    @property
    def reach(self) -> float:
        """Largest root mean square of u that is tried: none for a link that is a polynomial."""
        return self.link.radius if degree_of(self.link.scores) > 1 else np.inf

    def bound(self, name: str) -> float:
        """Of the numbers of a vector of `Terms`, whatever the responses are; assumed for those of Pearson's sum."""
        return 2.0 * self.n ** (2 if name == "pearson" else 1)

    @property
    def slices(self) -> tuple[slice, ...]:
        """Places of each party's coefficients among all."""
        ends = np.cumsum(self.widths).tolist()
        return tuple(slice(end - width, end) for end, width in zip(ends, self.widths, strict=True))


def make_plan(family: Family, centre: float, n: int, widths: Sequence[int], options: JointOptions) -> Plan:
    """Rings that hold whatever is opened; OverflowError if none does.

    Standardised columns are at most sqrt(n), the numbers of the response sum to n in size (`shared_terms`), predictors
    over R are cut at ``widest``, each party's part at its share of it.
    """
    link = link_of(family, centre)
    degree = degree_of(link.scores)
    tops = [sum(largest(one, link.widest) for one in some) for some in (link.scores, link.integrals)]
    scores = ring_for(2 * n**1.5 * link.radius * (1 + tops[0]), degree * PREDICTOR + COEFFICIENT + NUMBER + COLUMN)
    objective = ring_for(2 * n * (link.radius * link.widest + tops[1]), (degree + 1) * PREDICTOR + COEFFICIENT + NUMBER)
    final = []
    for fine in link.fine:
        every = last_of(fine, family, options)
        bits = last_bits(every)[1] + NUMBER
        final.append(ring_for(2.0 * n * n * (1 + largest(fine.weight, fine.widest)), bits + 2 * COLUMN))
        rest = sum(largest(one, fine.widest) for one in every)
        final.append(ring_for(2.0 * n * n * (fine.radius * fine.widest + rest), bits + COLUMN))
    ring, last = (max(some, key=lambda one: one.m) for some in ((scores, objective), final))
    return Plan(link, n, tuple(widths), ring, last, ring_for(2 * n, 2 * COLUMN))


def last_bits(every: Sequence[np.ndarray]) -> tuple[int, int]:
    """Bits of predictors over R where some polynomials are taken at the optimum, and of the polynomials."""
    degree = degree_of(every)
    low = min(LAST_PREDICTOR, LAST_POWER // degree)
    return low, degree * low + LAST_COEFFICIENT


def pearson_of(fine: FineLink, family: str, options: JointOptions) -> tuple[np.ndarray, ...]:
    """The polynomials of Pearson's statistic, where it is wanted."""
    wanted = FAMILIES[family].estimates_dispersion or options.dispersion == "pearson"
    return fine.pearson if wanted else ()


def last_of(fine: FineLink, family: str, options: JointOptions) -> tuple[np.ndarray, ...]:
    """All polynomials at the optimum: of weight, deviance, scores, power sum of predictors, Pearson's statistic."""
    return (fine.weight, *fine.exact, *fine.scores, *fine.outside, *pearson_of(fine, family, options))


def degree_of(coefficients: Sequence[np.ndarray]) -> int:
    """Highest degree of some polynomials."""
    return max(len(one) for one in coefficients) - 1


def assemble_symmetric(blocks: Sequence[Sequence[np.ndarray | None]], plan: Plan) -> np.ndarray:
    """(q, q) symmetric matrix of its blocks on and above the diagonal; those that nobody opened are 0."""
    total = np.zeros((sum(plan.widths),) * 2)
    for one, row in zip(plan.slices, blocks, strict=True):
        for other, block in zip(plan.slices, row, strict=True):
            if block is not None:
                total[one, other], total[other, one] = block, block.T
    return (total + total.T) / 2
