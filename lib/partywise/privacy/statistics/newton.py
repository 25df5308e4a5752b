"""Tables of sums of gradients and hessians over public cells, with their sensitivity to one record's features.

A record has a gradient and a hessian, which belong to the receiver of the tables, and one bin of every feature of a
party. Against that receiver the certificates name features alone; to other readers the tables show its labels and its
own features without a bound, so that a release of them has these in the clear among its parts. Its gradient is added
to d cells, one for each feature; its hessian to the same d cells and to one cell for every pair of features. Another
record in its place moves each of these sums in two cells.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ...core.errors import CertificationError
from ..accounted_values import AccountedValue, parameter
from .bounded import SensitivityCertificate, sum_certificate

# Gradients and hessians are whole multiples of it.
GRID = 2.0**-32
ONE = 1 << 32
GOLDEN5 = ((1 + math.sqrt(5)) / 2) ** 5


@dataclass(frozen=True)
class Cells:
    """The public cells of one party's tables: those of each feature in order, then those of each pair f < e.

    sizes : number of bins of every feature
    """

    sizes: tuple[int, ...]

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of features (f, e), f < e, in the order of their cells."""
        return tuple(itertools.combinations(range(len(self.sizes)), 2))

    @property
    def margins(self) -> int:
        """Number of cells of single features."""
        return sum(self.sizes)

    @property
    def count(self) -> int:
        """Number of all cells."""
        return self.margins + sum(self.sizes[f] * self.sizes[e] for f, e in self.pairs)

    def places(self, codes: np.ndarray) -> np.ndarray:
        """(n, d + pairs) the cells of every record, from its bins (n, d)."""
        starts = np.concatenate(
            ([0], np.cumsum([*self.sizes, *(self.sizes[f] * self.sizes[e] for f, e in self.pairs)]))
        )
        wide = codes.astype(np.int64)
        pairs = [wide[:, f] * self.sizes[e] + wide[:, e] for f, e in self.pairs]
        return np.column_stack([*wide.T, *pairs]) + starts[:-1]

    def sums(self, codes: np.ndarray, g: np.ndarray, h: np.ndarray) -> np.ndarray:
        """(margins + count,) integer sums: g over the cells of single features, then h over all cells."""
        places, d = self.places(codes), len(self.sizes)
        total = np.zeros(self.margins + self.count, dtype=np.int64)
        for column in range(places.shape[1]):
            if column < d:
                np.add.at(total, places[:, column], g)
            np.add.at(total, self.margins + places[:, column], h)
        return total

    def units(self, ratio: float, grid: float = GRID) -> np.ndarray:
        """(margins + count,) what a step of each sum is worth: the grid, for h over the ratio of noises."""
        # Rounded down, so that noise in whole steps is rounded up.
        fine = math.nextafter(grid / ratio, 0.0)
        return np.concatenate((np.full(self.margins, grid), np.full(self.count, fine)))


def hessians(g: np.ndarray) -> np.ndarray:
    """(n,) integers h of gradients g with |g| at most 1, both in steps of `GRID`: |g| (1 - |g|), rounded down."""
    t = np.abs(g)
    return (t * (ONE - t)) >> 32


def free_ratio(d: int, classes: int = 2) -> float:
    """Least ratio rho of the noise on h to that on g at which h is free: rho^2 = (d + 1) / (2 phi^5), phi^5 = 11.09.

    With more than two classes rho^2 = (d + 1) / 8.
    """
    ratio = math.sqrt((d + 1) / (2 * (GOLDEN5 if classes == 2 else 4)))
    while not is_free(d, ratio, classes):
        ratio = math.nextafter(ratio, math.inf)
    return ratio


def is_free(d: int, ratio: float, classes: int = 2) -> bool:
    """Whether kappa = (d + 1) / (2 rho^2) is at most phi^5 = (11 + 5 sqrt 5) / 2, or 4, decided in whole numbers."""
    if not ratio > 0:
        return False
    twice = Fraction(d + 1) / Fraction(ratio) ** 2
    return twice <= 8 if classes > 2 else twice <= 11 or (twice - 11) ** 2 <= 125


def softmax_certificate(d: int, ratio: float) -> SensitivityCertificate:
    """l2 sensitivity sqrt(4 d) of the tables of d features of all classes together; replace one.

    There are more than two classes, one table of g and one of h for each; of a record |g| sums to 2 at most over the
    classes, as p less the indicator of its class does, and h = |g| (1 - |g|) at most. The noise on h is ``ratio`` times
    that on g, and h is divided by it; CertificationError below `free_ratio`, where h is not free. Formal guarantee. The
    moved sums have the square 2 d sum_j f(t_j) at most, t_j = |g_j| and f(t) = t^2 (1 + kappa (1 - t)^2) with kappa =
    (d + 1) / (2 rho^2), as in `newton_certificate`. f(t) <= t on [0, 1] if and only if kappa t (1 - t) <= 1 there,
    which is kappa <= 4; then sum_j f(t_j) <= 2, reached where the model is sure of another class. Above 4 it is not: t
    = 1 for the class of the record and 1/2 for two others give 3/2 + kappa / 8.
    """
    if not is_free(d, ratio, 3):
        kappa = (d + 1) / (2 * ratio**2) if ratio > 0 else math.inf
        raise CertificationError(
            f"ratio={ratio!r} of the noise on h gives kappa={kappa:.6g}, above 4: a record whose class is held for "
            f"impossible and two others for equally likely would move the tables further than sqrt(4 d); give at "
            f"least {free_ratio(d, 3)!r}."
        )
    source = "2 d sum_j t_j^2 (1 + kappa (1 - t_j)^2) <= 2 d sum_j t_j <= 4 d for kappa <= 4"
    return sum_certificate(_root(Fraction(4 * d)), source, "features", ("features",))


def newton_certificate(d: int, ratio: float) -> SensitivityCertificate:
    """l2 sensitivity sqrt(2 d) of the tables of d features with h = t (1 - t) at most, t = |g| at most 1; replace one.

    The noise on h is ``ratio`` times that on g, and h is divided by it; CertificationError below `free_ratio`, where h
    is not free. Formal guarantee. The moved sums have the square 2 d t^2 + d (d + 1) h^2 / rho^2 at most: two cells for
    each of d gradients, d hessians and d (d - 1) / 2 pairs of them. With h = t (1 - t) and kappa = (d + 1) / (2 rho^2)
    it is 2 d f(t), f(t) = t^2 (1 + kappa (1 - t)^2). f is stationary where kappa (1 - t)(2 t - 1) = 1; its inner
    maximum reaches f(1) = 1 where also kappa t^2 (1 - t) = 1 + t. Both hold at t^2 + t = 1 only, where kappa = phi^5.
    So f is at most 1 on [0, 1] if and only if kappa is at most phi^5, and integers with h at most t (1 - t) stay below
    it. Source: document 003 has no such method; see docs/vertical_trees.md.
    """
    if not is_free(d, ratio):
        kappa = (d + 1) / (2 * ratio**2) if ratio > 0 else math.inf
        raise CertificationError(
            f"ratio={ratio!r} of the noise on h gives kappa={kappa:.6g}, above phi^5={GOLDEN5:.6g}: a record with "
            f"|g|=0.618 would move the tables further than sqrt(2 d); give at least {free_ratio(d)!r}."
        )
    source = "2 d t^2 (1 + kappa (1 - t)^2) is largest at t = 1 for kappa <= phi^5: sqrt(2 d)"
    return sum_certificate(_root(Fraction(2 * d)), source, "features", ("features",))


def residual_certificate(d: int, bound: AccountedValue, hessian: float, ratio: float) -> SensitivityCertificate:
    """Sensitivity of the tables of d features with |g| at most a public bound R and one h for all records."""
    R = parameter("bound", bound)
    if not (0 < R < math.inf and 0 < ratio < math.inf and hessian >= 0):
        raise ValueError(
            f"bound={R!r}, hessian={hessian!r} and ratio={ratio!r} must be finite, the first and the last positive."
        )
    square = 2 * d * Fraction(R) ** 2 + d * (d + 1) * (Fraction(hessian) / Fraction(ratio)) ** 2
    source = "two cells for each of d gradients and d (d + 1) / 2 hessians: sqrt(2 d R^2 + d (d + 1) h^2 / rho^2)"
    return sum_certificate(_root(square), source, "features", ("features",))


def _root(square: Fraction) -> float:
    """The least float that is not below the root."""
    root = math.sqrt(square)
    while Fraction(root) ** 2 < square:
        root = math.nextafter(root, math.inf)
    return root
