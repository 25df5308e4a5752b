"""Rings and bits of a fit whose predictors stay in shares, from what all know before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....federation.exchanges.residues import Ring, ring_for
from ....models.family_facts import FACTS, FamilyName
from ..options import JointOptions
from .polynomials import FineLink, SharedLink, largest, link_of

# Bits after the point: of predictors over R, of columns, of the response's numbers, of coefficients of polynomials.
# A search ends where the objective falls by less than its rounding: that of predictors, over all records.
PREDICTOR, COLUMN, NUMBER, COEFFICIENT = 40, 34, 34, 30
# At the optimum: of predictors at most so many, and so many over the highest degree; of coefficients, whose rounding is
# the same for all records; of the response's numbers.
LAST_PREDICTOR, LAST_POWER, LAST_COEFFICIENT = 40, 420, 40


@dataclass(frozen=True)
class RingPlan:
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
        """The largest ring, in which columns are masked."""
        return max(self.ring, self.last, self.gram, key=lambda ring: ring.m)

    @property
    def reach(self) -> float:
        """Largest root mean square of u that is tried: none for a link that is a polynomial."""
        return self.link.radius if degree_of(self.link.scores) > 1 else np.inf

    @property
    def bound(self) -> float:
        """Bound of the numbers of a vector of `Terms`, for all responses; assumed for those of residuals."""
        return 2.0 * self.n

    @property
    def slices(self) -> tuple[slice, ...]:
        """Places of each party's coefficients among all."""
        ends = np.cumsum(self.widths).tolist()
        return tuple(slice(end - width, end) for end, width in zip(ends, self.widths, strict=True))


def make_plan(family: FamilyName, centre: float, n: int, widths: Sequence[int], options: JointOptions) -> RingPlan:
    """Rings that hold every opened value; OverflowError if none does.

    Standardised columns are at most sqrt(n), the numbers of the response sum to n in size (`shared_terms`), predictors
    over R are cut at ``widest``, each party's part at its share of it.
    """
    link = link_of(family, centre)
    degree = degree_of(link.scores)
    tops = [sum(largest(polynomial, link.widest) for polynomial in some) for some in (link.scores, link.integrals)]
    scores = ring_for(2 * n**1.5 * link.radius * (1 + tops[0]), degree * PREDICTOR + COEFFICIENT + NUMBER + COLUMN)
    objective = ring_for(2 * n * (link.radius * link.widest + tops[1]), (degree + 1) * PREDICTOR + COEFFICIENT + NUMBER)
    final = [ring_for(*sum_) for fine in link.fine for sum_ in last_sums(fine, family, n, options)]
    ring, last = (max(rings, key=lambda ring: ring.m) for rings in ((scores, objective), final))
    return RingPlan(link, n, tuple(widths), ring, last, ring_for(2 * n, 2 * COLUMN))


def last_sums(fine: FineLink, family: str, n: int, options: JointOptions) -> list[tuple[float, int]]:
    """Bound and bits of each sum at the optimum: of information, scores, deviance, powers, squared residuals."""
    low = last_bits(fine)
    wide = 2.0 * n * n

    def bits(some: Sequence[np.ndarray]) -> int:
        return degree_of(some) * low + LAST_COEFFICIENT + NUMBER

    def size(some: Sequence[np.ndarray]) -> float:
        return sum(largest(polynomial, fine.widest) for polynomial in some)

    sums = [(wide * (1 + size((fine.weight,))), bits((fine.weight,)) + 2 * COLUMN)]
    sums += [(wide * (1 + size(some)), bits(some) + COLUMN) for some in (fine.scores,) if some]
    sums += [
        (wide * (fine.radius * fine.widest + size(some)), bits(some)) for some in (fine.exact, fine.outside) if some
    ]
    if wants_pearson(family, options):
        sums.append((2.0 * n * wide * (1 + size(fine.residual)) ** 2, 2 * bits(fine.residual)))
    return sums


def last_bits(fine: FineLink) -> int:
    """Bits of predictors over R where the polynomials of a range are taken at the optimum."""
    return min(LAST_PREDICTOR, LAST_POWER // degree_of(last_of(fine)))


def wants_pearson(family: str, options: JointOptions) -> bool:
    """Whether Pearson's statistic is opened: where the dispersion is estimated."""
    return FACTS[family].estimates_dispersion or options.dispersion == "pearson"


def last_of(fine: FineLink) -> tuple[np.ndarray, ...]:
    """All polynomials at the optimum: of weight, deviance, scores, power sum of predictors, residuals."""
    return (fine.weight, *fine.exact, *fine.scores, *fine.outside, *fine.residual)


def degree_of(coefficients: Sequence[np.ndarray]) -> int:
    """Highest degree of some polynomials."""
    return max(len(polynomial) for polynomial in coefficients) - 1


def assemble_symmetric(blocks: Sequence[Sequence[np.ndarray | None]], plan: RingPlan) -> np.ndarray:
    """(q, q) symmetric matrix of its blocks on and above the diagonal; those that no party opened are 0."""
    total = np.zeros((sum(plan.widths),) * 2)
    for rows, row in zip(plan.slices, blocks, strict=True):
        for columns, block in zip(plan.slices, row, strict=True):
            if block is not None:
                total[rows, columns], total[columns, rows] = block, block.T
    return (total + total.T) / 2
