"""Rings and bits of a fit whose predictors stay in shares, from what all know before anything is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...federation.exchanges.residues import Ring, ring_for
from ..families import FAMILIES
from ..options import JointOptions
from .links import SharedLink, link_of

# Bits after the point: of predictors over R, of columns, of the response's numbers, of coefficients of polynomials.
# A search ends where the objective falls by less than its rounding: that of predictors, over all records.
PREDICTOR, COLUMN, NUMBER, COEFFICIENT = 40, 34, 24, 30
# At the optimum no step depends on them: of predictors at most so many, and so many over the highest degree.
LAST_PREDICTOR, LAST_POWER, LAST_COEFFICIENT = 24, 380, 24


@dataclass(frozen=True)
class Plan:
    """Rings and bits, from the family, the number of records and of columns, which all know.

    link : polynomials; n : records; widths : columns of each party in the order of the fit, the intercept among them
    predictor, score, integral : bits of u / R, of polynomials of it, of their integrals
    ring : of an evaluation; last : at the optimum; gram : of products of columns; columns : of these, the largest
    cut : what a party's part of u / R is cut at
    """

    link: SharedLink
    n: int
    widths: tuple[int, ...]
    ring: Ring
    last: Ring
    gram: Ring
    cut: float

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


def planned(family: str, n: int, widths: Sequence[int], options: JointOptions) -> Plan:
    """Rings that hold whatever is opened.

    Standardised columns are at most sqrt(n), the numbers of the response sum to n in size (`shared_terms`), predictors
    over R are cut at `SharedLink.widest`, each party's part at its share of it.

    Raises
    ------
    OverflowError
        If no ring does.
    """
    link = link_of(family)
    degree, last = degree_of(link.scores), degree_of(last_of(link, family, options))
    tops = [sum(link.largest(one, link.widest) for one in some) for some in (link.scores, link.integrals)]
    scores = ring_for(2 * n**1.5 * link.radius * (1 + tops[0]), degree * PREDICTOR + COEFFICIENT + NUMBER + COLUMN)
    objective = ring_for(2 * n * (link.radius * link.widest + tops[1]), (degree + 1) * PREDICTOR + COEFFICIENT + NUMBER)
    bits, top = last * last_bits(last) + LAST_COEFFICIENT + NUMBER, link.largest(link.weight, link.widest)
    weights = ring_for(2.0 * n * n * (1 + top), bits + 2 * COLUMN)
    rest = sum(link.largest(one, link.widest) for one in last_of(link, family, options))
    pearson = ring_for(2.0 * n * n * (link.radius * link.widest + rest), bits)
    deviance = ring_for(2.0 * n * (link.radius * link.widest + rest), bits)
    ring = max(scores, objective, deviance, key=lambda one: one.m)
    final = max(weights, pearson, key=lambda one: one.m)
    return Plan(link, n, tuple(widths), ring, final, ring_for(2 * n, 2 * COLUMN), link.widest / len(widths))


def last_bits(degree: int) -> int:
    """Bits of predictors over R where polynomials of a degree are taken at the optimum."""
    return min(LAST_PREDICTOR, LAST_POWER // degree)


def pearson_of(link: SharedLink, family: str, options: JointOptions) -> tuple[np.ndarray, ...]:
    """The polynomials of Pearson's statistic, where it is wanted."""
    wanted = FAMILIES[family].estimates_dispersion or options.dispersion == "pearson"
    return link.pearson if wanted else ()


def last_of(link: SharedLink, family: str, options: JointOptions) -> tuple[np.ndarray, ...]:
    """All polynomials at the optimum: of the weight, of the deviance, of Pearson's statistic."""
    return (link.weight, *link.exact, *pearson_of(link, family, options))


def degree_of(coefficients: Sequence[np.ndarray]) -> int:
    """Highest degree of some polynomials."""
    return max(len(one) for one in coefficients) - 1


def assembled(blocks: Sequence[Sequence[np.ndarray | None]], plan: Plan) -> np.ndarray:
    """(q, q) symmetric matrix of its blocks on and above the diagonal; those that nobody opened are 0."""
    total = np.zeros((sum(plan.widths),) * 2)
    for one, row in zip(plan.slices, blocks, strict=True):
        for other, block in zip(plan.slices, row, strict=True):
            if block is not None:
                total[one, other], total[other, one] = block, block.T
    return (total + total.T) / 2
