"""Example arrays of the first fit of every cell: its path, its matrix, its coefficients, and what leaked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...methods.glm.model import GlmEstimate
from .data import GlmData
from .evaluation.exact_fits import exact_fit, nested_fits
from .evaluation.persons import used_persons
from .evaluation.reconstruction import MESSAGES, space_by_message
from .measures import GlmExamples
from .metrics import matrix_of, truth_of

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from ...methods.pca.model import PcaEstimate
    from .evaluation.persons import GlmMethodSpec

# Points that are kept of a path.
KEPT = 60


def example_fits(
    estimate: GlmEstimate | PcaEstimate, data: GlmData, train: np.ndarray, spec: GlmMethodSpec
) -> GlmExamples:
    """Return the arrays of a fit, its path, and what leaked of it.

    path_iteration, path_excess : (path_point,), objective above the least deviance, in what all columns explain
    coefficients, interval_centres, coefficient_errors, pooled_coefficients, pooled_errors : (coefficient,), the
        intercept first
    nested_deviance, nested_likelihood : (nested_model,), pooled fits of the first 0, 1, ... columns, those with the
        largest ratio to their standard error first
    matrix, pooled_matrix : (matrix_row, matrix_column)
    leaked_messages, leaked_share : (leaked_message,)
    """
    persons, examples = used_persons(estimate, data, train, spec), GlmExamples()
    if isinstance(estimate, GlmEstimate):
        examples |= _coefficients(estimate, data, persons, spec) | _path(estimate, data, persons, spec)
        if estimate.standard_errors is not None:
            deviance, likelihood = nested_fits(data, persons, spec.options)
            examples |= GlmExamples(nested_deviance=deviance, nested_likelihood=likelihood)
    matrix, kind = matrix_of(estimate, spec.options)
    if matrix is not None:
        examples |= GlmExamples(matrix=matrix, pooled_matrix=truth_of(data.X[persons], kind))
    share = space_by_message(estimate, data, persons, spec)
    counted = np.arange(1, MESSAGES + 1, dtype=float)
    return examples | GlmExamples(leaked_messages=counted, leaked_share=share)


def estimate_examples(
    estimate: GlmEstimate | PcaEstimate, train: np.ndarray, spec: MethodSpec[object, object, object]
) -> GlmExamples:
    """Return the example arrays that follow from the estimate alone."""
    examples = _own_coefficients(estimate) if isinstance(estimate, GlmEstimate) else GlmExamples()
    matrix, _ = matrix_of(estimate, spec.options)
    return examples if matrix is None else examples | GlmExamples(matrix=matrix)


def _coefficients(estimate: GlmEstimate, data: GlmData, persons: np.ndarray, spec: GlmMethodSpec) -> GlmExamples:
    """Coefficients and standard errors next to those of the pooled fit; NaN where there are none."""
    exact = exact_fit(data, persons, spec.options)
    undefined = np.full(len(estimate.coefficients), np.nan)
    examples = _own_coefficients(estimate) | GlmExamples(pooled_coefficients=undefined, pooled_errors=undefined)
    pooled_errors = exact.errors(spec.options)
    if exact.fit is None or pooled_errors is None:
        return examples
    return examples | GlmExamples(
        pooled_coefficients=_finite(exact.fit.coefficients), pooled_errors=_finite(pooled_errors)
    )


def _own_coefficients(estimate: GlmEstimate) -> GlmExamples:
    """Coefficients with the middles and standard errors of their intervals; NaN where there are none."""
    intervals = estimate.known_intervals
    centres = estimate.coefficients if intervals.centre is None else intervals.centre
    errors = intervals.standard_errors
    return GlmExamples(
        coefficients=_finite(estimate.coefficients),
        interval_centres=_finite(centres),
        coefficient_errors=np.full(len(centres), np.nan) if errors is None else _finite(errors),
    )


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, np.nan)


def _path(estimate: GlmEstimate, data: GlmData, persons: np.ndarray, spec: GlmMethodSpec) -> GlmExamples:
    """The objective along iterations, of long paths ever fewer of them."""
    exact = exact_fit(data, persons, spec.options)
    points, excess = np.full((2, KEPT), np.nan)
    if len(estimate.objective):
        chosen = np.unique(np.round(np.geomspace(1, len(estimate.objective), KEPT)).astype(int) - 1)
        points[: len(chosen)] = chosen
        if exact.fit is not None and exact.null is not None:
            values = (estimate.objective[chosen] - exact.deviance) / (exact.null[1] - exact.deviance)
            excess[: len(chosen)] = np.where(np.isfinite(values), values, np.nan)
    return GlmExamples(path_iteration=points, path_excess=excess)
