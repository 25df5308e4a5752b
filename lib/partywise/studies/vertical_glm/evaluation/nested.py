"""Nested models of a replicate, by which both forms of Akaike's criterion are compared."""

from __future__ import annotations

import numpy as np

from ....glm.exact import fit_glm
from ..data import GlmData
from .pooled import Pooled, pooled


def nested(data: GlmData, persons: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Deviance and log-likelihood (1 + p,) of pooled fits of 0, 1, ..., p columns, at the dispersion D / n.

    Columns enter by the ratio of their coefficient in the whole fit to its standard error, the largest first. NaN
    where the whole fit has no standard errors.
    """
    key = persons.tobytes(), "nested"
    if key not in data.memo:
        data.memo[key] = _nested(pooled(data, persons, 0.0))
    return data.memo[key]


def _nested(exact: Pooled) -> tuple[np.ndarray, np.ndarray]:
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
        dispersion = value / len(response.y) if family.estimates_dispersion else 1.0
        likelihood.append(family.log_likelihood(response.y, family.mean(eta), dispersion, response.weights))
    return deviance, np.array(likelihood)
