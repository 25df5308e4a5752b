"""The exact fit of a replicate, which every method is compared with, and of nested models; made once for all cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....methods.glm.diagnostics import diagnose, hazard_covariance, sums_of
from ....methods.glm.exact import PooledFit, fit_cox, fit_glm
from ....methods.glm.follow_up import FollowUp
from ....methods.glm.options import COX, Dispersion
from ....methods.glm.records import WeightedResponse
from ....models.families import FAMILIES
from ....models.follow_up.partial_likelihood import Ties
from ..data import GlmData


@dataclass(frozen=True)
class ExactFit:
    """Records that a method used, and the exact fit of them.

    X : (n, p); response : of the used records
    null : intercept and deviance of the fit without columns, None where nothing is left to explain
    fit : None where the columns depend on each other; ridge : of the fit
    """

    X: np.ndarray
    response: WeightedResponse | FollowUp
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

    def errors(self, options: object = None) -> np.ndarray | None:
        """(1 + p,) standard errors of the exact fit, on the scale of the given columns, if it has any."""
        if self.fit is None or self.fit.status != "ok":
            return None
        if isinstance(self.response, FollowUp):
            covariance = hazard_covariance(self.fit.information, self.fit.scaling, self.ridge)
            return np.sqrt(np.maximum(np.diag(covariance), 0))
        dispersion: Dispersion = getattr(options, "dispersion", "family")
        sums, family = sums_of(self.response, self.fit.eta), self.response.family.name
        return diagnose(
            sums, self.fit.information, self.fit.scaling, family, ridge=self.ridge, dispersion=dispersion
        ).standard_errors


def exact_fit(data: GlmData, persons: np.ndarray, options: object = None) -> ExactFit:
    """The exact fit of some persons that a method with these options approaches.

    The ridge is that on standardised columns, which the published one is not.
    """
    published = getattr(options, "variant", None) == "published"
    ridge = 0.0 if published else float(getattr(options, "ridge", 0.0))
    return _known_fit(data, persons, ridge, ties_of(options))


def ties_of(options: object) -> Ties:
    """Return how tied events are counted."""
    return getattr(options, "ties", None) or "efron"


def _known_fit(data: GlmData, persons: np.ndarray, ridge: float, ties: Ties) -> ExactFit:
    key = persons.tobytes(), ridge, ties
    if key not in data.memo.exact_fits:
        data.memo.exact_fits[key] = _exact_fit(data, persons, ridge, ties)
    return data.memo.exact_fits[key]


def _fit(X: np.ndarray, response: WeightedResponse | FollowUp, ridge: float = 0.0) -> PooledFit:
    if isinstance(response, FollowUp):
        return fit_cox(X, response, ridge=ridge)
    return fit_glm(X, response.y, response.family, ridge=ridge, weights=response.weights, offset=response.offset)


def _exact_fit(data: GlmData, persons: np.ndarray, ridge: float, ties: Ties) -> ExactFit:
    X, response = data.X[persons], response_at(data, persons, ties)
    null, fit = None, None
    try:
        null = (0.0, response.deviance(response.shift)) if isinstance(response, FollowUp) else response.null()
        fit = _fit(X, response, ridge)
    except (ValueError, np.linalg.LinAlgError):
        # Nothing to compare with: what depends on it stays undefined.
        pass
    return ExactFit(X, response, null, fit, ridge)


def response_at(data: GlmData, persons: np.ndarray, ties: Ties = "efron") -> WeightedResponse | FollowUp:
    """Responses of some persons with their weights and offset, or their follow-up."""
    chosen = {name: values[persons] for name, values in data.labels.items()}
    if data.family == COX:
        none = np.zeros(len(persons))
        strata, shift = chosen.get("strata", none), chosen.get("offset", none)
        return FollowUp(chosen["y"], chosen["status"] == 1, strata, ties, shift)
    return WeightedResponse(chosen["y"], FAMILIES[data.family], chosen.get("weights"), chosen.get("offset"))


def nested_fits(data: GlmData, persons: np.ndarray, options: object = None) -> tuple[np.ndarray, np.ndarray]:
    """Deviance and log-likelihood (1 + p,) of pooled fits of 0, 1, ..., p columns, at the dispersion D / n.

    Columns enter by the ratio of their coefficient in the whole fit to its standard error, the largest first. NaN
    where the whole fit has no standard errors.
    """
    key = persons.tobytes(), ties_of(options)
    if key not in data.memo.nested_fits:
        data.memo.nested_fits[key] = _nested_deviances(_known_fit(data, persons, 0.0, ties_of(options)))
    return data.memo.nested_fits[key]


def _nested_deviances(exact: ExactFit) -> tuple[np.ndarray, np.ndarray]:
    undefined, errors = np.full(exact.X.shape[1] + 1, np.nan), exact.errors()
    if exact.fit is None or errors is None or exact.null is None:
        return undefined, undefined
    response = exact.response
    order = np.argsort(-np.abs(exact.fit.coefficients[1:] / errors[1:]))
    etas = [exact.null[0] + response.shift]
    etas += [_fit(exact.X[:, order[:size]], response).eta for size in range(1, len(order) + 1)]
    deviance = np.array([response.deviance(eta) for eta in etas])
    if isinstance(response, FollowUp):
        return deviance, -deviance / 2
    likelihood, family = [], response.family
    for eta, value in zip(etas, deviance, strict=True):
        dispersion = value / len(response.y) if family.facts.estimates_dispersion else 1.0
        likelihood.append(response.log_likelihood(family.mean(eta), dispersion))
    return deviance, np.array(likelihood)
