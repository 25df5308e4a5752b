"""Polynomials that stand for links on shared predictors: least-squares Chebyshev fits, computed here.

With u the linear predictor less that of the intercept alone (binomial: the predictor itself), and t = u / R:

| family | R, degree | fitted on |u| <= R | residuals weighted by |
|---|---|---|---|
| gaussian | 1, 1 | u, exactly | |
| binomial | 8, 9 | 1 / (1 + e^-u) | 1 |
| poisson | 4, 8 | e^u | e^(-u/2) |
| gamma | 4, 8 | e^-u | e^(u/2) |
| inverse_gaussian | 3, 10 and 8 | e^-2u, e^-u | e^u, e^(u/2) |

Weights, Pearson's statistic and the reported deviance are taken once, at the optimum, with polynomials of up to degree
26 of their own.
Outside of [-R, R] they are wrong at once; whoever evaluates a fit looks for records there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import chebyshev, polynomial
from scipy.special import expit

from ..model import Family

__all__ = ["SharedLink", "least_squares", "link_of"]

# Chebyshev points of a fit: the sums over them differ from integrals by less than any digit of the coefficients.
POINTS = 501

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class SharedLink:
    """What a family needs on shares; all coefficients are of powers of t = u / radius, from 0.

    radius : R; widest : multiple of R at which predictors are cut
    scores : p_1, p_2, ...: the score of a record is v_0 + sum_j v_j p_j(u), with v_j of its response and weight alone
    weight : the expected weight of a record is that of its response times this polynomial
    pearson : g_1, g_2, ...: Pearson's statistic is a constant and sum_j <a_j, g_j(u)>
    primitives : functions whose derivatives the p_j stand for; exact : polynomials of them, for the reported deviance
    """

    radius: float
    scores: tuple[np.ndarray, ...]
    weight: np.ndarray
    pearson: tuple[np.ndarray, ...]
    primitives: tuple[Function, ...]
    exact: tuple[np.ndarray, ...]
    widest: float = 64.0

    @property
    def integrals(self) -> tuple[np.ndarray, ...]:
        """Of the scores in u, from 0: minus half the deviance of a record is v_0 u + sum_j v_j times these."""
        return tuple(self.radius * polynomial.polyint(one) for one in self.scores)

    def largest(self, coefficients: np.ndarray, t: float) -> float:
        """Bound of a polynomial on [-t, t]."""
        return float(np.abs(coefficients) @ t ** np.arange(len(coefficients)))


def least_squares(function: Function, radius: float, degree: int, weight: Function | None = None) -> np.ndarray:
    """(degree + 1,) coefficients of t^0, t^1, ... of the least-squares fit to a function of u = radius t.

    Parameters
    ----------
    function : callable
        Of u (points,).
    weight : callable, optional
        Of u: what residuals are multiplied by.
    """
    t = chebyshev.chebpts1(POINTS)
    w = None if weight is None else weight(radius * t)
    return chebyshev.cheb2poly(chebyshev.chebfit(t, function(radius * t), degree, w=w))


def exponential(factor: float, radius: float, degree: int, power: float = 0.5) -> np.ndarray:
    """e^(factor u), its residuals over a power of what is fitted: 1 for relative ones."""
    return least_squares(lambda u: np.exp(factor * u), radius, degree, lambda u: np.exp(-factor * power * u))


def gaussian() -> SharedLink:
    """The identity is a polynomial; the weight and Pearson's statistic follow from it."""
    line = np.array([0.0, 1.0])
    square = np.array([0.0, 0.0, 1.0])
    return SharedLink(1.0, (line,), np.ones(1), (line, square), (lambda u: u**2 / 2,), (square / 2,), 2.0**20)


def binomial() -> SharedLink:
    """The logistic function; its derivative is fitted on its own."""
    p = least_squares(expit, 8.0, 9)
    # Far records weigh little, and one just outside of R must not weigh for thousands: fitted on a wider range.
    wider = 10.4
    w = least_squares(weight, wider, 26, lambda u: 1 / (weight(u) + 0.03)) * (8.0 / wider) ** np.arange(27)
    pearson = exponential(-1, 8.0, 14, 1), exponential(1, 8.0, 14, 1)
    return SharedLink(8.0, (p,), w, pearson, (softplus,), (least_squares(softplus, 8.0, 16),))


def weight(u: np.ndarray) -> np.ndarray:
    """mu (1 - mu) of the logistic function."""
    return expit(u) * expit(-u)


def softplus(u: np.ndarray) -> np.ndarray:
    """log(1 + e^u), whose derivative is the logistic function."""
    return np.logaddexp(0, u)


def poisson() -> SharedLink:
    """e^u."""
    p = exponential(1, 4.0, 8)
    both = exponential(-1, 4.0, 12, 1), exponential(1, 4.0, 12, 1)
    return SharedLink(4.0, (p,), both[1], both, (np.exp,), both[1:])


def gamma() -> SharedLink:
    """e^-u; expected weights are those of the records."""
    p = exponential(-1, 4.0, 8)
    both = exponential(-2, 4.0, 14, 1), exponential(-1, 4.0, 12, 1)
    return SharedLink(4.0, (p,), np.ones(1), both, (lambda u: -np.exp(-u),), (-both[1],))


def inverse_gaussian() -> SharedLink:
    """e^-2u and e^-u."""
    p_2, p_1 = exponential(-2, 3.0, 10), exponential(-1, 3.0, 8)
    pearson = exponential(-3, 3.0, 14, 1), exponential(-2, 3.0, 14, 1), exponential(-1, 3.0, 10, 1)
    primitives = (lambda u: -np.exp(-2 * u) / 2, lambda u: -np.exp(-u))
    return SharedLink(3.0, (p_2, p_1), pearson[2], pearson, primitives, (-pearson[1] / 2, -pearson[2]))


MAKERS: Mapping[Family, Callable[[], SharedLink]] = {
    "gaussian": gaussian,
    "binomial": binomial,
    "poisson": poisson,
    "gamma": gamma,
    "inverse_gaussian": inverse_gaussian,
}


@cache
def link_of(family: Family) -> SharedLink:
    """The polynomials of a family."""
    return MAKERS[family]()
