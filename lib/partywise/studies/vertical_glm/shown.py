"""What the first fit of every cell shows: its path, its matrix, its coefficients, and what leaked on the way."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...glm.model import Estimate as GlmEstimate
from .data import GlmData
from .evaluation.nested import nested
from .evaluation.pooled import pooled
from .evaluation.seen import MESSAGES, space_by_message
from .evaluation.used import used_persons
from .metrics import matrix_of, ridge_of, truth_of

# Points that are kept of a path.
KEPT = 60
Arrays = dict[str, tuple[tuple[str, ...], np.ndarray]]


def example_fits(estimate: Any, data: GlmData, train: np.ndarray, spec: Any) -> Arrays:
    """Named arrays with their own dimensions.

    path_iteration, path_excess : (path_point,), objective above the least deviance, in what all columns explain
    coefficients, coefficient_errors, pooled_coefficients, pooled_errors : (coefficient,), the intercept first
    nested_deviance, nested_likelihood : (nested_model,), pooled fits of the first 0, 1, ... columns, those with the
        largest ratio to their standard error first
    matrix, pooled_matrix : (matrix_row, matrix_column)
    leaked_messages, leaked_share : (leaked_message,)
    """
    persons, found = used_persons(estimate, data, train, spec), Arrays()
    if isinstance(estimate, GlmEstimate):
        found |= _coefficients(estimate, data, persons, spec) | _path(estimate, data, persons, spec)
        if estimate.standard_errors is not None:
            deviance, likelihood = nested(data, persons)
            found |= {
                "nested_deviance": (("nested_model",), deviance),
                "nested_likelihood": (("nested_model",), likelihood),
            }
    matrix, kind = matrix_of(estimate, spec.options)
    if matrix is not None:
        pair = {"matrix": matrix, "pooled_matrix": truth_of(data.X[persons], kind)}
        found |= {name: (("matrix_row", "matrix_column"), values) for name, values in pair.items()}
    share = space_by_message(estimate, data, persons, spec)
    counted = np.arange(1, MESSAGES + 1, dtype=float)
    return found | {
        name: (("leaked_message",), values) for name, values in (("leaked_messages", counted), ("leaked_share", share))
    }


def _coefficients(estimate: GlmEstimate, data: GlmData, persons: np.ndarray, spec: Any) -> Arrays:
    """Coefficients and standard errors beside those of the pooled fit; NaN where there are none."""
    exact = pooled(data, persons, ridge_of(spec.options))
    undefined = np.full(len(estimate.coefficients), np.nan)
    errors = undefined if estimate.standard_errors is None else estimate.standard_errors
    columns = {"coefficients": estimate.coefficients, "coefficient_errors": errors}
    columns |= {"pooled_coefficients": undefined, "pooled_errors": undefined}
    pooled_errors = exact.errors(getattr(spec.options, "dispersion", "family"))
    if exact.fit is not None and pooled_errors is not None:
        columns |= {"pooled_coefficients": exact.fit.coefficients, "pooled_errors": pooled_errors}
    return {name: (("coefficient",), np.where(np.isfinite(v), v, np.nan)) for name, v in columns.items()}


def _path(estimate: GlmEstimate, data: GlmData, persons: np.ndarray, spec: Any) -> Arrays:
    """The objective along iterations, of long paths ever fewer of them."""
    exact = pooled(data, persons, ridge_of(spec.options))
    points, excess = np.full((2, KEPT), np.nan)
    if len(estimate.objective):
        chosen = np.unique(np.round(np.geomspace(1, len(estimate.objective), KEPT)).astype(int) - 1)
        points[: len(chosen)] = chosen
        if exact.fit is not None and exact.null is not None:
            values = (estimate.objective[chosen] - exact.deviance) / (exact.null[1] - exact.deviance)
            excess[: len(chosen)] = np.where(np.isfinite(values), values, np.nan)
    return {"path_iteration": (("path_point",), points), "path_excess": (("path_point",), excess)}
