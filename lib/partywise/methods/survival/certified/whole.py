"""The released sums in whole numbers, and how far one record moves them.

Every record is counted or rounded by itself, and only integers are added.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np

from ....privacy.statistics.clips import LONGEST_BITS, ball_squares, ball_steps
from ....privacy.statistics.whole import Whole, whole
from ..tables import Relation

CELLS = "a record is in one cell"
SCORES = "the largest distance of two contributions, and of their rounding"
# Steps to the length of the longest contribution: its sums over 2^33 records are exact in floats.
STEP_BITS = 20
assert STEP_BITS <= LONGEST_BITS
# By how much floats of contributions and of their largest distance may be off, as a share of it: amply.
FLOAT_SHARE = Fraction(1, 2**30)


def whole_cells(counts: np.ndarray, relation: Relation = "replace_one", *, stratum: str = "*") -> Whole:
    """Counts of cells (A, 2 J + 1): a replaced record moves two of them by 1, an added or removed one a single one.

    Formal guarantee: l2 sensitivity sqrt(2), or 1; both are reached.
    """
    moved = 2 if relation == "replace_one" else 1
    return whole(counts, moved, 1.0, CELLS, relation=relation, stratum=stratum)


def largest_distance(radius: float, stop: float, curvature: float, level: float) -> float:
    """Largest distance of the contributions of two records to the scores, over all records and models.

    Write (r, L) for residual and cumulative hazard of a record, a = |z|^2 and s = z_1'z_2.  With |(1, z)(1, z)'|^2 =
    (1 + a)^2 the squared distance is

    level^2 (r_1 - r_2)^2 + r_1^2 a_1 + r_2^2 a_2 - 2 r_1 r_2 s
    + curvature^2 (L_1^2 (1 + a_1)^2 + L_2^2 (1 + a_2)^2 - 2 L_1 L_2 (1 + s)^2).

    (a) A contribution is affine in (r, L), which lies between (0, 0) and (-C, C) without an event and between (1, 0)
    and (1 - C, C) with one.  The squared distance is convex along each of these, so that ends are the largest.
    (b) At a given s it does not fall in a_1 and a_2, and |s| <= sqrt(a_1 a_2) is the weaker the larger they are: both
    are R^2, and s is in [-R^2, R^2].  With one covariate s is -R^2 or R^2 then, which this contains.
    (c) In s it is linear where L_1 L_2 is 0 or nothing of the curvature is released, and concave otherwise, with the
    vertex -1 - r_1 r_2 / (2 curvature^2 L_1 L_2): the ends, and the vertex where it is between them.
    """
    square, ends = radius**2, ((0.0, 0.0), (1.0, 0.0), (-stop, stop), (1 - stop, stop))
    largest = 0.0
    for (r_1, hazard_1), (r_2, hazard_2) in product(ends, repeat=2):
        products = curvature**2 * hazard_1 * hazard_2
        vertex = -1 - r_1 * r_2 / (2 * products) if products > 0 else square
        for s in (-square, square, min(max(vertex, -square), square)):
            scores = level**2 * (r_1 - r_2) ** 2 + (r_1**2 + r_2**2) * square - 2 * r_1 * r_2 * s
            information = curvature**2 * (hazard_1**2 + hazard_2**2) * (1 + square) ** 2 - 2 * products * (1 + s) ** 2
            largest = max(largest, scores + information)
    return math.sqrt(largest)


def whole_scores(contributions: np.ndarray, bound: float, distance: float, *, stratum: str = "*") -> Whole:
    """The sum of contributions (n, P), each shrunk to length ``bound`` and rounded to whole steps.

    distance : the largest of two contributions

    Formal guarantee: the l2 sensitivity for replacing one record is ``distance`` and what rounding adds, for any
    records and model, and at most ``2 bound``.  Rounding moves an entry by less than a step, and two contributions
    of P entries by less than 2 sqrt(P) steps.  A contribution rounded to 0 is that of a record without follow-up.
    """
    step = bound / 2.0**STEP_BITS
    steps = ball_steps(contributions, bound, step)
    rounding = 2 * (math.isqrt(contributions.shape[1]) + 1)
    reach = Fraction(distance) * (1 + FLOAT_SHARE) / Fraction(step) + rounding
    squares = min(math.ceil(reach**2), 4 * ball_squares(bound, step))
    return whole(steps.records.sum(axis=0), squares, step, SCORES, stratum=stratum, clip_share=steps.share)
