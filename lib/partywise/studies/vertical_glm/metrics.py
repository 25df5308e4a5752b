"""Distances of a fit from the pooled one, measures of what it explains, and of what was seen on the way.

The evaluator is outside the federation and knows all columns and responses; undefined values are None, never zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...experiment.measures import finite
from ...methods.glm.diagnostics import DiagnosticSums, aic, aic_published, deviance_r2, sums_of
from ...methods.glm.follow_up import FollowUp
from ...methods.glm.model import GlmEstimate, GlmFacts
from ...methods.glm.options import COX
from ...methods.pca.components import components as decomposed
from ...methods.pca.components import loading_angle
from ...models.family_facts import FACTS
from .data import GlmData
from .evaluation.exact_fits import ExactFit, exact_fit, response_at, ties_of
from .evaluation.persons import alignment_measures, used_persons
from .evaluation.reconstruction import reconstruction_shares
from .measures import GlmMeasures

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from ...methods.pca.model import PcaEstimate
    from ...models.follow_up.partial_likelihood import Ties
    from .evaluation.persons import GlmMethodSpec

# Relative rise of an objective that is more than rounding.
RISE = 1e-12


def metrics(estimate: GlmEstimate | PcaEstimate, data: GlmData, train: np.ndarray, spec: GlmMethodSpec) -> GlmMeasures:
    """All scalars of one cell; persons outside ``train`` test where records are aligned."""
    persons = used_persons(estimate, data, train, spec)
    n = len(persons)
    measures = fit_measures(estimate) | GlmMeasures(n_train=n, n_protected=n, rank=rank(data.X[persons]))
    measures |= alignment_measures(estimate, data, spec)
    if isinstance(estimate, GlmEstimate):
        measures |= regression(estimate, data, persons, train, spec)
        measures |= GlmMeasures.of(estimate.known_intervals.numbers(data.truth))
    matrix, kind = matrix_of(estimate, spec.options)
    if matrix is not None:
        measures |= matrix_measures(matrix, truth_of(data.X[persons], kind))
    return measures | reconstruction_shares(estimate, data, persons, spec) | GlmMeasures.of(estimate.numbers)


def estimate_measures(
    estimate: GlmEstimate | PcaEstimate, train: np.ndarray, spec: MethodSpec[object, object, object]
) -> GlmMeasures:
    """Return the measures that follow from the estimate and public facts, without a record."""
    assert isinstance(spec.public, GlmFacts)
    measures, n = fit_measures(estimate), int(train.sum())
    if spec.public.aligned:
        measures |= GlmMeasures(n_train=n, n_protected=n)
    if isinstance(estimate, GlmEstimate) and np.all(np.isfinite(estimate.coefficients)):
        measures |= explanation_measures(estimate, spec.public.family)
        measures |= GlmMeasures.of(estimate.known_intervals.numbers())
    return measures | GlmMeasures.of(estimate.numbers)


def fit_measures(estimate: GlmEstimate | PcaEstimate) -> GlmMeasures:
    """Size and course of a fit, as it reports them."""
    if not isinstance(estimate, GlmEstimate):
        return GlmMeasures(n_features=len(estimate.matrix))
    diverged = estimate.status == "ok" and not np.all(np.isfinite(estimate.coefficients))
    measures = GlmMeasures(status="diverged") if diverged else GlmMeasures()
    return measures | GlmMeasures(
        n_features=len(estimate.coefficients) - 1,
        iterations=estimate.iterations,
        reason=estimate.reason,
        objective_rises=rises(estimate.objective),
    )


def matrix_of(estimate: GlmEstimate | PcaEstimate, options: object) -> tuple[np.ndarray | None, str]:
    """The matrix that a protocol reports, and whether it stands for correlations or covariances."""
    if isinstance(estimate, GlmEstimate):
        return estimate.correlation, "correlation"
    return estimate.matrix, "covariance" if getattr(options, "matrix", "") == "covariance" else "correlation"


def truth_of(X: np.ndarray, kind: str) -> np.ndarray:
    """The matrix of the records themselves."""
    return np.corrcoef(X, rowvar=False) if kind == "correlation" else np.cov(X, rowvar=False)


def rank(X: np.ndarray) -> int:
    """Rank of the columns with the intercept, each standardised: no matter of their units."""
    centred = X - X.mean(axis=0)
    deviations = np.sqrt(np.mean(centred**2, axis=0))
    moving = deviations > 1e-13 * np.max(np.abs(X), axis=0)
    return 1 + int(np.linalg.matrix_rank(centred[:, moving] / deviations[moving], rtol=1e-9))


def regression(
    estimate: GlmEstimate, data: GlmData, persons: np.ndarray, train: np.ndarray, spec: GlmMethodSpec
) -> GlmMeasures:
    """Fit, diagnostics and distance to the pooled fit of the same persons."""
    measures = GlmMeasures()
    if not np.all(np.isfinite(estimate.coefficients)):
        return measures
    exact = exact_fit(data, persons, spec.options)
    if exact.null is None:
        return measures
    with np.errstate(over="ignore"):
        sums = None
        if not isinstance(exact.response, FollowUp):
            sums = sums_of(exact.response, exact.eta(estimate.coefficients))
        measures |= explanation_measures(estimate, data.family, sums)
        if exact.fit is None:
            return measures
        measures |= distance(estimate, exact, spec.options)
        ties = ties_of(spec.options)
        value = excess(exact, estimate.coefficients, data, persons, ties)
        measures |= GlmMeasures(excess_deviance=value)
        test = np.flatnonzero(~train)
        held_out = data.aligned and len(test) > 0
        if held_out:
            value = excess(exact, estimate.coefficients, data, test, ties)
            measures |= GlmMeasures(excess_deviance_test=value)
        worse = None if value is None else value > 1
        return measures | GlmMeasures(in_sample=not held_out, worse_than_null=worse)


def rises(objective: np.ndarray) -> int | None:
    """Count the rises of an objective; None if none was kept."""
    if not len(objective):
        return None
    before, after = objective[:-1], objective[1:]
    return int(np.sum(~(after <= before + RISE * np.abs(before))))


def explanation_measures(estimate: GlmEstimate, family: str, sums: DiagnosticSums | None = None) -> GlmMeasures:
    """Deviances, pseudo-R2, both AIC and the dispersion: as the protocol reports them, else of its coefficients.

    Follow-up times have neither the published AIC nor a dispersion.

    sums : over the records that trained, at the coefficients; without them what no protocol reports is undefined
    """
    q, deviance, null = len(estimate.coefficients), estimate.deviance, estimate.null_deviance
    likelihood, dispersion = estimate.log_likelihood, estimate.dispersion
    if sums is not None:
        deviance = sums.deviance if deviance is None else deviance
        null = sums.null_deviance if null is None else null
        likelihood = sums.log_likelihood if likelihood is None else likelihood
    if family == COX:
        dispersion = None
    elif dispersion is None and not FACTS[family].estimates_dispersion:
        dispersion = 1.0
    elif dispersion is None and sums is not None:
        dispersion = sums.pearson / (sums.n_observations - q)
    return GlmMeasures(
        deviance=finite(deviance),
        null_deviance=finite(null),
        deviance_r2=None if deviance is None or null is None else finite(deviance_r2(deviance, null)),
        aic=None if likelihood is None else finite(aic(likelihood, q, family)),
        aic_published=None if deviance is None or family == COX else finite(aic_published(deviance, q)),
        dispersion=finite(dispersion),
    )


def distance(estimate: GlmEstimate, exact: ExactFit, options: object) -> GlmMeasures:
    """Largest difference of a coefficient, in the largest one of the pooled fit and in standard errors."""
    assert exact.fit is not None
    apart = np.abs(exact.fit.scaling.to_standardised(estimate.coefficients) - exact.fit.beta)
    measures = GlmMeasures(coefficient_error=finite(np.max(apart) / np.max(np.abs(exact.fit.beta))))
    errors = exact.errors(options)
    if errors is None:
        return measures
    units = np.max(np.abs(estimate.coefficients - exact.fit.coefficients) / errors)
    measures |= GlmMeasures(se_units=finite(units))
    if estimate.standard_errors is not None:
        measures |= GlmMeasures(se_error=finite(np.max(np.abs(estimate.standard_errors / errors - 1))))
    return measures


def excess(
    exact: ExactFit, coefficients: np.ndarray, data: GlmData, persons: np.ndarray, ties: Ties = "efron"
) -> float | None:
    """Deviance of some persons above that of the pooled fit, in what its columns explain of them.

    0 of the pooled fit, 1 of the intercept alone; None where the columns explain nothing of these persons.
    """
    assert exact.fit is not None and exact.null is not None
    response = response_at(data, persons, ties)

    def deviance(b: np.ndarray) -> float:
        return response.deviance(data.X[persons] @ b[1:] + b[0] + response.shift)

    least = deviance(exact.fit.coefficients)
    null = deviance(np.concatenate([[exact.null[0]], np.zeros(data.X.shape[1])]))
    return finite((deviance(coefficients) - least) / (null - least)) if null > least else None


def matrix_measures(matrix: np.ndarray, truth: np.ndarray) -> GlmMeasures:
    """Distance of a matrix, its eigenvalues and loadings to those of the records."""
    if not (np.all(np.isfinite(matrix)) and np.all(np.isfinite(truth))):
        return GlmMeasures()
    values, loadings = decomposed(matrix)
    true_values, true_loadings = decomposed(truth)
    return GlmMeasures(
        correlation_error=float(np.max(np.abs(matrix - truth))),
        eigenvalue_error=float(np.max(np.abs(values - true_values))),
        loading_angle=loading_angle(loadings, true_loadings, true_values),
    )
