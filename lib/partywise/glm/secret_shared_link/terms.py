"""What the active party puts into a fit whose predictors stay in shares: one number a record for every polynomial.

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

from ..records import Response
from .polynomials import link_of


@dataclass(frozen=True)
class Terms:
    """Vectors (n,) of the records, in the order of the family's polynomials, and what they are scaled by.

    linear : v_0; scores : v_1, v_2, ...; weight : what the polynomial of expected weights multiplies
    pearson : a_1, a_2, ...; constant : Pearson's statistic less the sums of a_j g_j(u)
    shift : part of u that is no coefficient's (binomial), else 0
    scale : deviance over that of these terms; unit : linear predictor over u
    levels : of every finer range the sum of v_0 u + sum_j v_j (integral of the link, as a polynomial) at ``shift``:
        minus half the null deviance, but for a constant
    curvature : mean weight where the columns have coefficients 0, for the start matrix
    """

    linear: np.ndarray
    scores: tuple[np.ndarray, ...]
    weight: np.ndarray
    pearson: tuple[np.ndarray, ...]
    constant: float
    shift: np.ndarray
    scale: float
    unit: float = 1.0
    curvature: float = 1.0
    levels: tuple[float, ...] = ()


def gaussian(response: Response, base: np.ndarray, centre: float) -> Terms:
    """Residuals of the intercept alone, over their deviation."""
    w, mean = _weights(response)
    residual = response.y - base
    unit = float(np.sqrt(w @ residual**2 / len(w)))
    r = residual / unit
    none = np.zeros(len(w))
    return Terms(w * r, (-w,), w, (-2 * w * r, w), float(w @ r**2), none, mean * unit**2, unit)


def binomial(response: Response, base: np.ndarray, centre: float) -> Terms:
    """Responses as they are; what the offset and the centre's rounding leave is part of u."""
    w, mean = _weights(response)
    y, shift = response.y, base - centre
    curvature = float(w @ response.family.weight(base)) / len(w)
    pearson = w * y * np.exp(-centre), w * (1 - y) * np.exp(centre)
    return Terms(w * y, (-w,), w, pearson, 0.0, shift, mean, curvature=curvature)


def poisson(response: Response, base: np.ndarray, centre: float) -> Terms:
    """Counts over the mean count."""
    y, mu, w = response.y, np.exp(base), response.weigh(np.ones(len(base)))
    scale = float(np.mean(w * y))
    fitted, observed = w * mu / scale, w * y / scale
    pearson = (w * y**2 / mu / scale, fitted)
    return Terms(observed, (-fitted,), fitted, pearson, -2 * float(np.sum(observed)), np.zeros(len(y)), scale)


def gamma(response: Response, base: np.ndarray, centre: float) -> Terms:
    """Responses over the mean of the intercept alone."""
    w, mean = _weights(response)
    ratio = response.y * np.exp(-base)
    pearson = (w * ratio**2, -2 * w * ratio)
    return Terms(-w, (w * ratio,), w, pearson, float(np.sum(w)), np.zeros(len(w)), mean)


def inverse_gaussian(response: Response, base: np.ndarray, centre: float) -> Terms:
    """The same; weights are over the mean as well."""
    ratio = response.y * np.exp(-base)
    w = response.weigh(np.exp(-base))
    scale = float(np.mean(w))
    w = w / scale
    none = np.zeros(len(w))
    return Terms(none, (w * ratio, -w), w, (w * ratio**2, -2 * w * ratio, w), 0.0, none, scale)


MAKERS: Mapping[str, Callable[[Response, np.ndarray, float], Terms]] = {
    "gaussian": gaussian,
    "binomial": binomial,
    "poisson": poisson,
    "gamma": gamma,
    "inverse_gaussian": inverse_gaussian,
}


def terms_of(response: Response, intercept: float, centre: float) -> Terms:
    """The vectors of a response, around the fit of the intercept alone, for polynomials around a centre."""
    found = MAKERS[response.family.name](response, response.shift + intercept, centre)
    levels = []
    for fine in link_of(response.family.name, centre).fine:
        t = found.shift / fine.radius
        sums = [v @ polynomial.polyval(t, P) for v, P in zip(found.scores, fine.exact, strict=True)]
        levels.append(float(found.linear @ found.shift + sum(sums)))
    return replace(found, levels=tuple(levels))


def _weights(response: Response) -> tuple[np.ndarray, float]:
    """(n,) weights of mean 1, and their mean."""
    w = response.weigh(np.ones(len(response.y)))
    mean = float(np.mean(w))
    return w / mean, mean
