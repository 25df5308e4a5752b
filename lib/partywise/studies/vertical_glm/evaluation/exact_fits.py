"""The exact fit of a replicate, which every method is compared with, and of nested models; made once for all cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....methods.glm.diagnostics import diagnose, sums_of
from ....methods.glm.exact import PooledFit, fit_glm
from ....methods.glm.options import Dispersion
from ....methods.glm.records import WeightedResponse
from ....models.families import FAMILIES
from ..data import GlmData


@dataclass(frozen=True)
class ExactFit:
    """Records that a method used, and the exact fit of them.

    X : (n, p); response : of the used records
    null : intercept and deviance of the fit without columns, None where nothing is left to explain
    fit : None where the columns depend on each other; ridge : of the fit
    """

    X: np.ndarray
    response: WeightedResponse
    null: tuple[float, float] | None
    fit: PooledFit | None
    ridge: float

    @property
    def deviance(self) -> float:
        """Deviance of the exact fit, nan where there is none."""
        return np.nan if self.fit is None else self.response.deviance(self.fit.eta)

    def eta(self, coefficients: np.ndarray) -> np.ndarray:
        """(n,) linear predictors, offset included."""
        return np.asarray(self.X @ coefficients[1:] + coefficients[0] + self.response.shift)

    def errors(self, dispersion: Dispersion) -> np.ndarray | None:
        """(1 + p,) standard errors of the exact fit, on the scale of the given columns, if it has any."""
        if self.fit is None or self.fit.status != "ok":
            return None
        sums, family = sums_of(self.response, self.fit.eta), self.response.family.name
        return diagnose(
            sums, self.fit.information, self.fit.scaling, family, ridge=self.ridge, dispersion=dispersion
        ).standard_errors


def exact_fit(data: GlmData, persons: np.ndarray, ridge: float) -> ExactFit:
    """The exact fit of some persons, with a ridge on standardised columns."""
    key = persons.tobytes(), ridge
    if key not in data.memo.exact_fits:
        data.memo.exact_fits[key] = _exact_fit(data, persons, ridge)
    return data.memo.exact_fits[key]


def _exact_fit(data: GlmData, persons: np.ndarray, ridge: float) -> ExactFit:
    X, response = data.X[persons], response_at(data, persons)
    null, fit = None, None
    try:
        null = response.null()
        fit = fit_glm(X, response.y, response.family, ridge=ridge, weights=response.weights, offset=response.offset)
    except (ValueError, np.linalg.LinAlgError):
        # Nothing to compare with: what depends on it stays undefined.
        pass
    return ExactFit(X, response, null, fit, ridge)


def response_at(data: GlmData, persons: np.ndarray) -> WeightedResponse:
    """Responses of some persons with their weights and offset."""
    weights, offset = (None if values is None else values[persons] for values in (data.weights, data.offset))
    return WeightedResponse(data.y[persons], FAMILIES[data.family], weights, offset)


def nested_fits(data: GlmData, persons: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Deviance and log-likelihood (1 + p,) of pooled fits of 0, 1, ..., p columns, at the dispersion D / n.

    Columns enter by the ratio of their coefficient in the whole fit to its standard error, the largest first. NaN
    where the whole fit has no standard errors.
    """
    key = persons.tobytes()
    if key not in data.memo.nested_fits:
        data.memo.nested_fits[key] = _nested_deviances(exact_fit(data, persons, 0.0))
    return data.memo.nested_fits[key]


def _nested_deviances(exact: ExactFit) -> tuple[np.ndarray, np.ndarray]:
    undefined, errors = np.full(exact.X.shape[1] + 1, np.nan), exact.errors("family")
    if exact.fit is None or errors is None or exact.null is None:
        return undefined, undefined
    response, family = exact.response, exact.response.family
    order = np.argsort(-np.abs(exact.fit.coefficients[1:] / errors[1:]))
    etas = [np.full(len(response.y), exact.null[0]) + response.shift]
    for size in range(1, len(order) + 1):
        X = exact.X[:, order[:size]]
        fit = fit_glm(X, response.y, family, weights=response.weights, offset=response.offset)
        etas.append(fit.eta)
    deviance = np.array([response.deviance(eta) for eta in etas])
    likelihood = []
    for eta, value in zip(etas, deviance, strict=True):
        dispersion = value / len(response.y) if family.facts.estimates_dispersion else 1.0
        likelihood.append(response.log_likelihood(family.mean(eta), dispersion))
    return deviance, np.array(likelihood)
