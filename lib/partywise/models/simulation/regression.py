"""The law of columns and of a response whose mean is a function of a linear predictor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import digamma, gammaincinv, ndtr, pdtr, pdtrik

from ..families import FAMILIES
from ..family_facts import FACTS, ByFamily, FamilyName
from ..kinds import Kind
from ..links import LOGIT
from .base import Sample
from .columns import LARGEST, SMALLEST, Columns

# Poisson means below are inverted by sums, and beyond drawn as normal; linear predictors of other links than the
# identity are cut, which only a step that is too long meets.
SUMMED_TO, NORMAL_FROM, CUT = 50.0, 1e3, 30.0


@dataclass(frozen=True)
class ResponseLaw:
    """Law of y given the linear predictor eta: a map of one base number e and the dispersion phi.

    draw : y (M,) of eta (M,), e (M,) and log phi; None where both values of y are weighed instead
    by_log_dispersion : derivative of log p by log phi, of y, eta and log phi; None of families without a dispersion
    start : intercept, slopes and dispersion, of the statistic's mean, slopes on columns and residual variance
    """

    draw: Callable[[np.ndarray, np.ndarray, float], np.ndarray] | None
    by_log_dispersion: Callable[[np.ndarray, np.ndarray, float], np.ndarray] | None
    start: Callable[[float, np.ndarray, float], tuple[float, np.ndarray, float]]


def _poisson(eta: np.ndarray, e: np.ndarray, log_phi: float) -> np.ndarray:
    """Invert the distribution function at the normal share of e."""
    mean, share = np.exp(eta), ndtr(e)
    count = np.maximum(np.rint(mean + np.sqrt(mean) * e), 0.0)
    small, middle = mean < SUMMED_TO, (mean >= SUMMED_TO) & (mean < NORMAL_FROM)
    count[small] = _count_by_sums(mean[small], np.minimum(share[small], 1 - 1e-12))
    above = np.ceil(pdtrik(share[middle], mean[middle]))
    below = np.maximum(above - 1, 0.0)
    count[middle] = np.where(pdtr(below, mean[middle]) >= share[middle], below, above)
    return count


def _count_by_sums(mean: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Least count whose probability of at most it reaches the share, by adding up probabilities."""
    count, term = np.zeros(len(mean)), np.exp(-mean)
    reached, left = term.copy(), 1
    while left:
        is_above = share > reached
        count += is_above
        left = int(np.count_nonzero(is_above))
        term = term * mean / count.max(initial=1.0)
        reached += term
    return count


def _gamma(eta: np.ndarray, e: np.ndarray, log_phi: float) -> np.ndarray:
    """Invert the distribution function of shape 1 / phi at the normal share of e."""
    shape = np.exp(-log_phi)
    return np.asarray(np.exp(eta) * np.maximum(gammaincinv(shape, ndtr(e)), 1e-250) / shape)


def _gamma_dispersion(y: np.ndarray, eta: np.ndarray, log_phi: float) -> np.ndarray:
    a, ratio = np.exp(-log_phi), y * np.exp(-eta)
    return np.asarray(-a * (1 - log_phi - digamma(a) + np.log(ratio) - ratio))


LAWS: Mapping[str, ResponseLaw] = ByFamily(
    "law of responses for intervals",
    {
        "gaussian": ResponseLaw(
            lambda eta, e, log_phi: eta + np.exp(log_phi / 2) * e,
            lambda y, eta, log_phi: ((y - eta) ** 2 * np.exp(-log_phi) - 1) / 2,
            lambda mean, slopes, residual: (mean, slopes, residual),
        ),
        "binomial": ResponseLaw(
            None,
            None,
            lambda mean, slopes, residual: (float(LOGIT.inverse(np.asarray(mean))), slopes / (mean * (1 - mean)), 1.0),
        ),
        "poisson": ResponseLaw(
            _poisson, None, lambda mean, slopes, residual: (float(np.log(mean)), slopes / mean, 1.0)
        ),
        "gamma": ResponseLaw(
            _gamma, _gamma_dispersion, lambda mean, slopes, residual: (mean + residual / 2, slopes, residual)
        ),
    },
)


@dataclass(frozen=True)
class Regression:
    """Columns, and a response by family given these: theta is that of `Columns`, the coefficients, and log phi.

    family : whose dispersion phi is the last parameter where it has one
    """

    kinds: tuple[Kind, ...]
    family: FamilyName

    @cached_property
    def columns(self) -> Columns:
        """The law of the columns."""
        return Columns(self.kinds)

    @property
    def response_law(self) -> ResponseLaw:
        """The law of the response."""
        return LAWS[self.family]

    @property
    def name(self) -> str:
        """Name of the family of laws."""
        return f"regression, {self.family}, {self.columns.p} columns"

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.columns.size + self.columns.p + 1 + FACTS[self.family].estimates_dispersion

    @property
    def base_size(self) -> int:
        """Base numbers of one record: one for each column, one for the response unless its values are weighed."""
        return self.columns.p + (self.response_law.draw is not None)

    def coefficients(self, theta: np.ndarray) -> np.ndarray:
        """(1 + p,) coefficients, the intercept first."""
        first = self.columns.size
        return theta[first : first + 1 + self.columns.p]

    def _log_dispersion(self, theta: np.ndarray) -> float:
        return float(theta[-1]) if FACTS[self.family].estimates_dispersion else 0.0

    def draw(self, theta: np.ndarray, base: np.ndarray) -> Sample:
        """Make a record of each row of base numbers (M, b); with both values of y where these are weighed."""
        columns, beta = self.columns.of(theta, base[:, : self.columns.p]), self.coefficients(theta)
        eta = np.clip(beta[0] + columns @ beta[1:], -np.inf if self.family == "gaussian" else -CUT, _top(self.family))
        if self.response_law.draw is not None:
            y = self.response_law.draw(eta, base[:, -1], self._log_dispersion(theta))
            return Sample(base, columns, y, eta, np.ones(len(base)))
        mean = LOGIT.mean(eta)
        y = np.repeat([0.0, 1.0], len(base))
        return Sample(base, np.tile(columns, (2, 1)), y, np.tile(eta, 2), np.concatenate([1 - mean, mean]))

    def score(self, theta: np.ndarray, sample: Sample) -> np.ndarray:
        """Derivatives (M J, size) of the log density of drawn records."""
        log_phi = self._log_dispersion(theta)
        by_columns = self.columns.score(theta, sample.base[:, : self.columns.p])
        r = FAMILIES[self.family].score(sample.response, sample.predictor) * np.exp(-log_phi)
        parts = [np.tile(by_columns, (len(r) // len(by_columns), 1)), r[:, None], sample.columns * r[:, None]]
        if self.response_law.by_log_dispersion is not None:
            parts.append(self.response_law.by_log_dispersion(sample.response, sample.predictor, log_phi)[:, None])
        return np.hstack(parts)

    def start(self, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """Return rough parameters from means (p + 1,) and covariance of columns and the statistic of the response."""
        columns = self.columns.start(mean[:-1], covariance[:-1, :-1])
        values, vectors = np.linalg.eigh(covariance[:-1, :-1])
        values = np.maximum(values, max(values[-1] / 20, 1e-6))
        slopes = (vectors / values) @ (vectors.T @ covariance[:-1, -1])
        residual = max(
            float(covariance[-1, -1] - slopes @ covariance[:-1, -1]), float(abs(covariance[-1, -1])) / 20, 1e-6
        )
        level, slopes, dispersion = self.response_law.start(float(mean[-1]), slopes, residual)
        last = [np.log(dispersion)] if FACTS[self.family].estimates_dispersion else []
        return self.within(np.concatenate([columns, [level - slopes @ mean[:-1]], slopes, last]))

    def within(self, theta: np.ndarray) -> np.ndarray:
        """Cut logarithms of scales."""
        cut = self.columns.within(theta)
        if FACTS[self.family].estimates_dispersion:
            cut[-1] = np.clip(cut[-1], 2 * SMALLEST, LARGEST)
        return cut


def _top(family: str) -> float:
    return np.inf if FACTS[family].link == "identity" else CUT
