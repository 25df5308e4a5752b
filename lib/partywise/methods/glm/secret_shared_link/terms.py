"""Inputs of the active party to a fit whose predictors stay in shares: one number per record and polynomial.

With u the linear predictor less that of the intercept alone, over ``unit`` of the Gaussian family (binomial: less a
centre near it, `polynomials.centre_of`), the score of a record is v_0 + sum_j v_j p_j(u) times ``scale``
(`polynomials`). Every v_j sums to at most n in size, since the fit of the intercept alone makes scores sum to 0: bounds
of secure products follow from n. Offsets of the log links and of the Gaussian family are part of the v_j and widen no
range.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import polynomial

from ....models.family_facts import ByFamily
from ..records import WeightedResponse
from .polynomials import link_of


@dataclass(frozen=True)
class LinkTerms:
    """Vectors (n,) of the records, in the order of the family's polynomials, and what they are scaled by.

    linear : v_0; scores : v_1, v_2, ...; weight : what the polynomial of expected weights multiplies
    residual : a_0, a_1, a_2, ...: the root of a record's part of Pearson's statistic is a_0 + sum_j a_j h_j(u)
    shift : part of u that does not come from a coefficient (binomial), else 0
    scale : deviance over that of these terms; unit : linear predictor over u
    levels : of every finer range the sum of v_0 u + sum_j v_j (integral of the link, as a polynomial) at ``shift``:
        minus half the null deviance, up to a constant
    curvature : mean weight where the columns have coefficients 0, for the start matrix
    """

    linear: np.ndarray
    scores: tuple[np.ndarray, ...]
    weight: np.ndarray
    residual: tuple[np.ndarray, ...]
    shift: np.ndarray
    scale: float
    unit: float = 1.0
    curvature: float = 1.0
    levels: tuple[float, ...] = ()


def gaussian(response: WeightedResponse, base: np.ndarray, centre: float) -> LinkTerms:
    """Residuals of the intercept alone, over their deviation."""
    w, mean = _weights(response)
    residual = response.y - base
    unit = float(np.sqrt(w @ residual**2 / len(w)))
    r = residual / unit
    root = np.sqrt(w)
    return LinkTerms(w * r, (-w,), w, (root * r, -root), np.zeros(len(w)), mean * unit**2, unit)


def binomial(response: WeightedResponse, base: np.ndarray, centre: float) -> LinkTerms:
    """Responses as they are; what the offset and the centre's rounding leave is part of u."""
    w, mean = _weights(response)
    y, shift = response.y, base - centre
    curvature = float(w @ response.family.weight(base)) / len(w)
    root = np.sqrt(w)
    residual = np.zeros(len(w)), root * y * np.exp(-centre / 2), -root * (1 - y) * np.exp(centre / 2)
    return LinkTerms(w * y, (-w,), w, residual, shift, mean, curvature=curvature)


def poisson(response: WeightedResponse, base: np.ndarray, centre: float) -> LinkTerms:
    """Counts over the mean count."""
    y, mu, w = response.y, np.exp(base), response.weigh(np.ones(len(base)))
    scale = float(np.mean(w * y))
    fitted, observed = w * mu / scale, w * y / scale
    none, root = np.zeros(len(y)), np.sqrt(w / scale)
    residual = none, root * y / np.sqrt(mu), -root * np.sqrt(mu)
    return LinkTerms(observed, (-fitted,), fitted, residual, none, scale)


def gamma(response: WeightedResponse, base: np.ndarray, centre: float) -> LinkTerms:
    """Responses over the mean of the intercept alone."""
    w, mean = _weights(response)
    ratio = response.y * np.exp(-base)
    root = np.sqrt(w)
    return LinkTerms(-w, (w * ratio,), w, (-root, root * ratio), np.zeros(len(w)), mean)


def inverse_gaussian(response: WeightedResponse, base: np.ndarray, centre: float) -> LinkTerms:
    """Inverse Gaussian terms: as for Gamma, with weights divided by the mean."""
    ratio = response.y * np.exp(-base)
    w = response.weigh(np.exp(-base))
    scale = float(np.mean(w))
    w = w / scale
    none, root = np.zeros(len(w)), np.sqrt(w)
    return LinkTerms(none, (w * ratio, -w), w, (none, root * ratio, -root), none, scale)


MAKERS: Mapping[str, Callable[[WeightedResponse, np.ndarray, float], LinkTerms]] = ByFamily(
    "numbers of the response for protocol 'joint' with link 'shared'",
    {
        "gaussian": gaussian,
        "binomial": binomial,
        "poisson": poisson,
        "gamma": gamma,
        "inverse_gaussian": inverse_gaussian,
    },
    remedy="link='opened'",
)


def terms_of(response: WeightedResponse, intercept: float, centre: float) -> LinkTerms:
    """The vectors of a response, around the fit of the intercept alone, for polynomials around a centre."""
    terms = MAKERS[response.family.name](response, response.shift + intercept, centre)
    levels = []
    for fine in link_of(response.family.name, centre).fine:
        t = terms.shift / fine.radius
        # No sums where the deviance is the square of residuals, which has no level.
        sums = [v @ polynomial.polyval(t, P) for v, P in zip(terms.scores, fine.exact, strict=False)]
        levels.append(float(terms.linear @ terms.shift + sum(sums)))
    return replace(terms, levels=tuple(levels))


def _weights(response: WeightedResponse) -> tuple[np.ndarray, float]:
    """(n,) weights of mean 1, and their mean."""
    w = response.weigh(np.ones(len(response.y)))
    mean = float(np.mean(w))
    return w / mean, mean
