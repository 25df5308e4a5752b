"""Polynomials that stand for links on shared predictors: least-squares Chebyshev fits, computed here.

u is the linear predictor less a centre that all know: that of the intercept alone, of the binomial family rounded to a
multiple of 1/4 (`centre_of`; the active party sends it). A search goes along a short polynomial p of t = u / R and ends
near its root; a few Newton steps with a finer one lead to the link's own root and show how far the search was from it
(`refinement`).

| family | R, degree of p | fitted on abs(u) <= R | residuals weighted by | finer: R, degree |
|---|---|---|---|---|
| gaussian | 1, 1 | u, exactly | | |
| binomial | 5, 9 | mu = 1 / (1 + e^-(c + u)) | (mu (1 - mu))^(-1/2) | 6, 26; 9, 30; 12, 30 |
| poisson | 4, 8 | e^u | e^(-u/2) | 4, 18 |
| gamma | 4, 8 | e^-u | e^(u/2) | 4, 18 |
| inverse_gaussian | 3, 10 and 8 | e^-2u, e^-u | e^u, e^(u/2) | 3, 18 |

Outside of [-R, R] they are wrong at once: the sum over records of a high power of t is opened with the finer ones. It
bounds from above how many records lie there, and shows which of several ranges is wide enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import chebyshev, polynomial

from ....models.family_facts import FACTS, ByFamily, FamilyName
from ....models.links import LOGIT

# Chebyshev points of a fit: the sums over them differ from integrals by less than any digit of the coefficients.
POINTS = 501

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class FineLink:
    """Polynomials at the end of a search; all coefficients are of powers of t = u / radius, from 0.

    radius : R; widest : multiple of R at which predictors are cut
    scores : as those of `SharedLink`, nearer to the link; none where those are the link itself
    weight : the expected weight of a record is that of its response times this polynomial
    exact : integrals of the link: minus half the deviance of a record is v_0 u + sum_j v_j times these; none where the
        deviance is Pearson's statistic
    residual : h_1, h_2, ...: Pearson's residual of a record is a_0 + sum_j a_j h_j(u). It is squared in shares, so that
        errors of the h_j count as errors of predictors do; those of polynomials of the square would not shrink with it
    power : even; the sum over records of t^power bounds how many of them lie outside of [-R, R]
    least : mean deviance of a record, over ``Terms.scale``, below which errors of polynomials or of shares are in it
    """

    radius: float
    scores: tuple[np.ndarray, ...]
    weight: np.ndarray
    exact: tuple[np.ndarray, ...]
    residual: tuple[np.ndarray, ...]
    power: int
    least: float
    widest: float = 64.0

    @property
    def outside(self) -> tuple[np.ndarray, ...]:
        """t^power, where there is a range."""
        return (np.eye(1 + self.power)[self.power],) if self.scores else ()

    @property
    def name(self) -> str:
        """Status that announces an evaluation on this range."""
        return f"going on within {self.radius:g}"


@dataclass(frozen=True)
class SharedLink:
    """Polynomials of a family during a search on shares; all coefficients are of powers of t = u / radius, from 0.

    radius : R; widest : multiple of R at which predictors are cut
    scores : p_1, p_2, ...: the score of a record is v_0 + sum_j v_j p_j(u), with v_j of its response and weight alone
    fine : polynomials at the end, on ranges from the narrowest to the widest
    """

    radius: float
    scores: tuple[np.ndarray, ...]
    fine: tuple[FineLink, ...]
    widest: float = 64.0

    @property
    def integrals(self) -> tuple[np.ndarray, ...]:
        """Integrals of the scores in u from 0: a record adds -2 (v_0 u + sum_j v_j times these) to the deviance."""
        return tuple(self.radius * polynomial.polyint(coefficients) for coefficients in self.scores)


def largest(coefficients: np.ndarray, t: float) -> float:
    """Bound of a polynomial on [-t, t]."""
    return float(np.abs(coefficients) @ t ** np.arange(len(coefficients)))


def least_squares(function: Function, radius: float, degree: int, weight: Function | None = None) -> np.ndarray:
    """(degree + 1,) coefficients of t^0, t^1, ... of the (weighted) least-squares fit to a function of u = radius t."""
    t = chebyshev.chebpts1(POINTS)
    w = None if weight is None else weight(radius * t)
    return chebyshev.cheb2poly(chebyshev.chebfit(t, function(radius * t), degree, w=w))


def exponential(factor: float, radius: float, degree: int, power: float = 0.5) -> np.ndarray:
    """e^(factor u), its residuals over a power of what is fitted: 1 for relative ones."""
    return least_squares(lambda u: np.exp(factor * u), radius, degree, lambda u: np.exp(-factor * power * u))


def gaussian(centre: float) -> SharedLink:
    """The identity is a polynomial; the weight, the residual and its square, the deviance, follow from it."""
    line = np.array([0.0, 1.0])
    fine = FineLink(1.0, (), np.ones(1), (), (line,), 0, 1e-19, 2.0**20)
    return SharedLink(1.0, (line,), (fine,), 2.0**20)


def binomial(centre: float) -> SharedLink:
    """The logistic function around a centre; its derivative serves as weight, so that Newton's steps are their own."""

    def fit_weighted(function: Function, radius: float, degree: int, power: float) -> np.ndarray:
        """A function of the predictor, residuals over a power of mu (1 - mu)."""
        return least_squares(
            lambda u: function(centre + u), radius, degree, lambda u: LOGIT.slope(centre + u) ** -power
        )

    def finer(radius: float, degree: int, powers: int) -> FineLink:
        score = fit_weighted(LOGIT.mean, radius, degree, 0.5)
        integral = fit_weighted(LOGIT.antiderivative, radius, degree, 0.25)
        residual = exponential(-0.5, radius, powers, 1), exponential(0.5, radius, powers, 1)
        slope = polynomial.polyder(score) / radius
        return FineLink(radius, (score,), slope, (integral,), residual, 2 * (degree // 2), 1e-5, 16.0)

    ranges = finer(6.0, 26, 12), finer(9.0, 30, 14), finer(12.0, 30, 18)
    return SharedLink(5.0, (fit_weighted(LOGIT.mean, 5.0, 9, 0.5),), ranges)


def poisson(centre: float) -> SharedLink:
    """Polynomials of the Poisson link, e^u."""
    residual = exponential(-0.5, 4.0, 12, 1), exponential(0.5, 4.0, 12, 1)
    up = exponential(1, 4.0, 18, 1)
    return SharedLink(4.0, (exponential(1, 4.0, 8),), (FineLink(4.0, (up,), up, (up,), residual, 20, 2e-9),))


def gamma(centre: float) -> SharedLink:
    """Polynomials of the Gamma link, e^-u; expected weights are those of the records."""
    once = exponential(-1, 4.0, 18, 1)
    fine = FineLink(4.0, (once,), np.ones(1), (-once,), (exponential(-1, 4.0, 12, 1),), 20, 2e-9)
    return SharedLink(4.0, (exponential(-1, 4.0, 8),), (fine,))


def inverse_gaussian(centre: float) -> SharedLink:
    """Polynomials of the inverse Gaussian link, e^-2u and e^-u."""
    twice, once = exponential(-2, 3.0, 20, 1), exponential(-1, 3.0, 18, 1)
    residual = exponential(-1.5, 3.0, 12, 1), exponential(-0.5, 3.0, 12, 1)
    fine = FineLink(3.0, (twice, once), once, (-twice / 2, -once), residual, 20, 2e-9)
    return SharedLink(3.0, (exponential(-2, 3.0, 10), exponential(-1, 3.0, 8)), (fine,))


MAKERS: Mapping[str, Callable[[float], SharedLink]] = ByFamily(
    "polynomial for protocol 'joint' with link 'shared'",
    {
        "gaussian": gaussian,
        "binomial": binomial,
        "poisson": poisson,
        "gamma": gamma,
        "inverse_gaussian": inverse_gaussian,
    },
    remedy="link='opened'",
)


def is_centred(family: str) -> bool:
    """Whether polynomials depend on where they are centred: those of other links change by a factor only."""
    return FACTS[family].link == "logit"


def centre_of(family: str, intercept: float) -> float:
    """Return the centre of the polynomials: the predictor of the intercept alone, to a multiple of 1/4, or 0."""
    return round(4 * intercept) / 4 if is_centred(family) else 0.0


@cache
def link_of(family: FamilyName, centre: float = 0.0) -> SharedLink:
    """The polynomials of a family around a centre."""
    return MAKERS[family](centre)
