"""Five response families with the link that document 004 gives each: mean, weights, score, deviance, likelihood.

| family | link | domain of y | variance |
|---|---|---|---|
| gaussian | identity | numbers | 1 |
| binomial | logit | 0, 1 | mu (1 - mu) |
| poisson | log | 0, 1, 2, ... | mu |
| gamma | log | > 0 | mu^2 |
| inverse_gaussian | log | > 0 | mu^3 |

Weights are prior weights, as of ``glm`` in R and ``var_weights`` of statsmodels: record i has the variance
phi V(mu) / w_i, and one of weight 0 is absent. Exponents are cut at +-LIMIT, so that nothing overflows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, logsumexp, xlogy

from .family_facts import FACTS, ByFamily, FamilyFacts
from .links import LARGEST_EXPONENT as LIMIT
from .links import LOGIT, Link

# Least response of families of positive ones: its square and its reciprocal are floats.
LEAST = 1e-100


class Family(ABC):
    """A response distribution with its link (document 004, "Iteratively Reweighted Least Squares").

    All functions are vectorised, and none overflows. eta (n,) are linear predictors, offset included; y (n,) responses.
    ``name`` is its key in `FAMILIES` and in `partywise.models.family_facts.FACTS`.
    """

    name: ClassVar[str]

    @property
    def facts(self) -> FamilyFacts:
        """Facts that need no formula."""
        return FACTS[self.name]

    @property
    def domain(self) -> str:
        """Domain of y, for messages."""
        return self.facts.domain

    @abstractmethod
    def mean(self, eta: np.ndarray) -> np.ndarray:
        """(n,) means mu at linear predictors."""

    @abstractmethod
    def link(self, mu: np.ndarray) -> np.ndarray:
        """Linear predictors at means."""

    @abstractmethod
    def variance(self, mu: np.ndarray) -> np.ndarray:
        """Variance function V(mu), the variance of y at dispersion 1."""

    @abstractmethod
    def weight(self, eta: np.ndarray) -> np.ndarray:
        """Expected weights w = mu'(eta)^2 / V(mu)."""

    @abstractmethod
    def score(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        """w (z - eta), minus half the derivative of the deviance in eta."""

    @abstractmethod
    def working(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        """z - eta, the working response less the predictor: (y - mu) / mu'(eta)."""

    @abstractmethod
    def unit_deviance(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        """(n,) terms of the deviance, with 0 log 0 = 0."""

    @abstractmethod
    def contains(self, y: np.ndarray) -> np.ndarray:
        """(n,) bool, whether each value is a response of this family."""

    @abstractmethod
    def nearest(self, y: np.ndarray) -> np.ndarray:
        """(n,) the response of this family nearest to each finite value; responses stay what they are."""

    @abstractmethod
    def start_with_offset(self, y: np.ndarray, weights: np.ndarray | None, offset: np.ndarray, plain: float) -> float:
        """`start` with an offset; ``plain``: without."""

    def log_density(self, y: np.ndarray, mu: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        """(n,) log densities at means and dispersions phi / w_i of records; nan of a family without a closed one.

        A fit of such a family needs link, variance and deviance only: it has no likelihood and no AIC.
        """
        return np.full(np.broadcast_shapes(np.shape(y), np.shape(mu)), np.nan)

    def observed_weight(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        """Observed weights, half the second derivative of the deviance in eta; negative where it is not convex."""
        return self.weight(eta)

    def majorant(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        """Positive weights near the observed ones, for steps where those give no definite matrix."""
        return self.observed_weight(y, eta)

    def deviance(self, y: np.ndarray, eta: np.ndarray, weights: np.ndarray | None = None) -> float:
        """Deviance D, weighted: twice the distance of the log-likelihood from that of a perfect fit, times phi."""
        return total(self.unit_deviance(y, eta), weights)

    def log_likelihood(
        self, y: np.ndarray, mu: np.ndarray, dispersion: float, weights: np.ndarray | None = None
    ) -> float:
        """Log-likelihood at means mu, at dispersions phi / w_i; of binomial and Poisson w times the log density."""
        if weights is not None:
            used = weights > 0
            y, mu, weights = y[used], mu[used], weights[used]
        if not self.facts.estimates_dispersion:
            return total(self.log_density(y, mu, np.ones(1)), weights) / dispersion
        return float(np.sum(self.log_density(y, mu, dispersion / (np.ones(1) if weights is None else weights))))

    def check(self, y: np.ndarray, name: str = "y") -> None:
        """ValueError for the first response that the family does not have, with the families that fit all values."""
        responses = np.asarray(y, dtype=float)
        wrong = np.flatnonzero(~(np.isfinite(responses) & self.contains(responses)))
        if not len(wrong):
            return
        value = float(responses[wrong[0]])
        if not np.isfinite(value):
            raise ValueError(f"{name} has the value {value}: fill or drop records without a response first.")
        finite = responses[np.isfinite(responses)]
        fitting = ", ".join(family.name for family in FAMILIES.values() if np.all(family.contains(finite)))
        raise ValueError(
            f"{name} has the value {value:g}: family '{self.name}' takes {self.domain}. Families that fit all "
            f"values: {fitting}."
        )

    def start(self, y: np.ndarray, weights: np.ndarray | None = None, offset: np.ndarray | None = None) -> float:
        """Intercept of the least deviance without columns: the link of the weighted mean if no offset is given.

        ValueError if the mean lies on the edge of the domain, where the link is infinite: all responses are 0, or all
        are 1.
        """
        mean = float(np.average(y, weights=weights))
        with np.errstate(divide="ignore", invalid="ignore"):
            intercept = float(self.link(np.array(mean)))
        if not np.isfinite(intercept):
            raise ValueError(
                f"y has the mean {mean:g}, where the link of family '{self.name}' is infinite: the null deviance is 0, "
                "give responses that differ."
            )
        return intercept if offset is None else self.start_with_offset(y, weights, offset, intercept)


class Gaussian(Family):
    """Normal with the identity link: D = sum (y - mu)^2."""

    name = "gaussian"

    def mean(self, eta: np.ndarray) -> np.ndarray:
        return np.asarray(eta, dtype=float)

    def link(self, mu: np.ndarray) -> np.ndarray:
        return np.asarray(mu, dtype=float)

    def variance(self, mu: np.ndarray) -> np.ndarray:
        return np.ones_like(mu)

    def weight(self, eta: np.ndarray) -> np.ndarray:
        return np.ones_like(eta)

    def score(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return y - eta

    working = score

    def unit_deviance(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return (y - eta) ** 2

    def start_with_offset(self, y: np.ndarray, weights: np.ndarray | None, offset: np.ndarray, plain: float) -> float:
        return plain - float(np.average(offset, weights=weights))

    def contains(self, y: np.ndarray) -> np.ndarray:
        return np.isfinite(y)

    def nearest(self, y: np.ndarray) -> np.ndarray:
        return y

    def log_density(self, y: np.ndarray, mu: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        return -((y - mu) ** 2 / dispersion + np.log(2 * np.pi * dispersion)) / 2


class Binomial(Family):
    """One trial: D = 2 sum [y log(y/mu) + (1 - y) log((1 - y)/(1 - mu))], with the logit as its link or another.

    Weights of another link are the expected ones, so that Newton's steps are those of Fisher's scoring.
    """

    name = "binomial"

    def __init__(self, curve: Link = LOGIT) -> None:
        self.curve = curve

    def mean(self, eta: np.ndarray) -> np.ndarray:
        return self.curve.mean(eta)

    def link(self, mu: np.ndarray) -> np.ndarray:
        return self.curve.inverse(mu)

    def variance(self, mu: np.ndarray) -> np.ndarray:
        return mu * (1 - mu)

    def weight(self, eta: np.ndarray) -> np.ndarray:
        return self.curve.information(eta)

    def score(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return self.curve.score(eta, y)

    def working(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return self.curve.residual(eta, y)

    def unit_deviance(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return 2 * self.curve.log_loss(eta, y)

    def start_with_offset(self, y: np.ndarray, weights: np.ndarray | None, offset: np.ndarray, plain: float) -> float:
        """Root of the sum of w (y - mu), which lies between the intercepts at the ends of the offset."""
        return root_of_score(self, y, weights, offset, plain - float(np.max(offset)), plain - float(np.min(offset)))

    def contains(self, y: np.ndarray) -> np.ndarray:
        return (y == 0) | (y == 1)

    def nearest(self, y: np.ndarray) -> np.ndarray:
        return (y > 0.5).astype(float)

    def log_density(self, y: np.ndarray, mu: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        return xlogy(y, mu) + xlogy(1 - y, 1 - mu)


class Shares(Binomial):
    """Shares of successes among trials, which are the weights: the binomial family of numbers from 0 to 1."""

    @property
    def domain(self) -> str:
        return "numbers from 0 to 1"

    def working(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        ones, zeros = (self.curve.residual(eta, np.full(len(eta), label)) for label in (1.0, 0.0))
        return y * ones + (1 - y) * zeros

    def unit_deviance(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        ones, zeros = (self.curve.log_loss(eta, np.full(len(eta), label)) for label in (1.0, 0.0))
        return 2 * np.maximum(y * ones + (1 - y) * zeros + xlogy(y, y) + xlogy(1 - y, 1 - y), 0)

    def contains(self, y: np.ndarray) -> np.ndarray:
        return (y >= 0) & (y <= 1)


class LogLink(Family):
    """Formulas that families with the logarithm as their link share."""

    def start_with_offset(self, y: np.ndarray, weights: np.ndarray | None, offset: np.ndarray, plain: float) -> float:
        """exp(b) = sum of w y exp((1 - k) o) over sum of w exp((2 - k) o) with V = mu^k; else the root of the score."""
        if self.facts.variance_power is None:
            low, high = plain - float(np.max(offset)), plain - float(np.min(offset))
            while total(self.score(y, low + offset), weights) < 0:
                low -= 1.0
            while total(self.score(y, high + offset), weights) > 0:
                high += 1.0
            return root_of_score(self, y, weights, offset, low, high)
        power, w = self.facts.variance_power - 1, np.ones(len(y)) if weights is None else weights
        return float(logsumexp(-power * offset, b=w * y) - logsumexp((1 - power) * offset, b=w))

    def mean(self, eta: np.ndarray) -> np.ndarray:
        return _exp(eta)

    def link(self, mu: np.ndarray) -> np.ndarray:
        return np.log(mu)

    def working(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return y * _exp(-eta) - 1


class Poisson(LogLink):
    """Counts: D = 2 sum [y log(y/mu) - (y - mu)]."""

    name = "poisson"

    def variance(self, mu: np.ndarray) -> np.ndarray:
        return mu

    def weight(self, eta: np.ndarray) -> np.ndarray:
        return _exp(eta)

    def score(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return y - _exp(eta)

    def unit_deviance(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        # With t = log(y / mu): y (t + e^-t - 1), which loses no digits where y is near mu.
        t = np.log(np.maximum(y, 1)) - eta
        return 2 * np.where(y > 0, y * (t + np.expm1(np.clip(-t, -LIMIT, LIMIT))), _exp(eta))

    def contains(self, y: np.ndarray) -> np.ndarray:
        return (y >= 0) & (y == np.floor(y))

    def nearest(self, y: np.ndarray) -> np.ndarray:
        return np.floor(np.maximum(y, 0.0))

    def log_density(self, y: np.ndarray, mu: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        return xlogy(y, mu) - mu - gammaln(y + 1)


class Gamma(LogLink):
    """Gamma with the log link: D = 2 sum [-log(y/mu) + (y - mu)/mu]; shape 1 / phi."""

    name = "gamma"

    def variance(self, mu: np.ndarray) -> np.ndarray:
        return mu**2

    def weight(self, eta: np.ndarray) -> np.ndarray:
        return np.ones_like(eta)

    def observed_weight(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        """y / mu."""
        return y * _exp(-eta)

    def score(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return np.expm1(_log_ratio(y, eta))

    def unit_deviance(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return 2 * (np.expm1(_log_ratio(y, eta)) - (np.log(y) - eta))

    def contains(self, y: np.ndarray) -> np.ndarray:
        return y > 0

    def nearest(self, y: np.ndarray) -> np.ndarray:
        return np.maximum(y, LEAST)

    def log_density(self, y: np.ndarray, mu: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        shape = 1 / dispersion
        return shape * np.log(shape * y / mu) - shape * y / mu - np.log(y) - gammaln(shape)


class InverseGaussian(LogLink):
    """Inverse Gaussian with the log link: D = sum (y - mu)^2 / (mu^2 y); not convex where mu > 2 y."""

    name = "inverse_gaussian"

    def variance(self, mu: np.ndarray) -> np.ndarray:
        return mu**3

    def weight(self, eta: np.ndarray) -> np.ndarray:
        return _exp(-eta)

    def observed_weight(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        """(2 y / mu - 1) / mu."""
        inverse = _exp(-eta)
        return (2 * y * inverse - 1) * inverse

    def majorant(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        """max(2 y / mu - 1, 0.01) / mu."""
        inverse = _exp(-eta)
        return np.maximum(2 * y * inverse - 1, 0.01) * inverse

    def score(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return np.expm1(_log_ratio(y, eta)) * _exp(-eta)

    def unit_deviance(self, y: np.ndarray, eta: np.ndarray) -> np.ndarray:
        return np.expm1(_log_ratio(y, eta)) ** 2 / y

    def contains(self, y: np.ndarray) -> np.ndarray:
        return y > 0

    def nearest(self, y: np.ndarray) -> np.ndarray:
        return np.maximum(y, LEAST)

    def log_density(self, y: np.ndarray, mu: np.ndarray, dispersion: np.ndarray) -> np.ndarray:
        return -((y / mu - 1) ** 2 / (y * dispersion) + np.log(2 * np.pi * dispersion) + 3 * np.log(y)) / 2


def total(terms: np.ndarray, weights: np.ndarray | None) -> float:
    """Sum over records, weighted."""
    return float(np.sum(terms) if weights is None else weights @ terms)


def root_of_score(
    family: Family, y: np.ndarray, weights: np.ndarray | None, offset: np.ndarray, low: float, high: float
) -> float:
    """Intercept between two bounds where the sum of scores falls through 0: Newton steps, halved where they leave."""
    b = (low + high) / 2
    for _ in range(200):
        slope = total(family.score(y, b + offset), weights)
        low, high = (b, high) if slope > 0 else (low, b)
        bend, last = total(family.weight(b + offset), weights), b
        b = b + slope / bend if bend > 0 else np.inf
        b = b if low < b < high else (low + high) / 2
        if abs(b - last) <= 1e-15 * abs(b):
            break
    return b


def _exp(eta: np.ndarray) -> np.ndarray:
    return np.exp(np.clip(eta, -LIMIT, LIMIT))


def _log_ratio(y: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """log(y / mu), cut off."""
    return np.clip(np.log(y) - eta, -LIMIT, LIMIT)


SHARES = Shares()
_ALL = (Gaussian(), Binomial(), Poisson(), Gamma(), InverseGaussian())
FAMILIES: Mapping[str, Family] = ByFamily("response distribution", {family.name: family for family in _ALL})
