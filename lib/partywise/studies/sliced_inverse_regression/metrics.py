"""All scalars of one cell: distance to the true subspace, what happened on the way, and what the source printed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...inverse_regression.model import Estimate
from ...inverse_regression.subspace import angle, coordinates, projection_loss, screening_metrics, separation
from .data import SlicingData
from .paper_tables import printed

Arrays = dict[str, tuple[tuple[str, ...], np.ndarray]]


def metrics(estimate: Estimate, data: SlicingData, train: np.ndarray, spec: Any) -> dict[str, Any]:
    """Scalars of one fit; a basis that is not finite has no loss, and the cell says ``diverged``."""
    basis, beta = estimate.basis, data.beta
    scalars: dict[str, Any] = dict(estimate.numbers) | source_numbers(estimate, spec)
    scalars["n_columns"] = len(basis)
    scalars["n_protected"] = data.protected(spec.study.unit, estimate.clients)
    if not np.all(np.isfinite(basis)):
        return scalars | {"diverged": True}
    if beta.shape[1]:
        scalars["loss"] = projection_loss(basis, beta)
        scalars["worse_than_random"] = scalars["loss"] > random_loss(*beta.shape)
        if basis.shape == beta.shape:
            scalars["angle"] = angle(basis, beta)
        scalars["n_records"] = spec.settings.n
    else:
        scalars["separation"] = separation(data.X, data.fixed.codes(data.y), basis)
        scalars["in_sample"] = True
    if estimate.columns is not None:
        scalars["selected"] = len(estimate.columns)
        if beta.shape[1]:
            found = screening_metrics(estimate.columns, np.flatnonzero(np.any(beta != 0, axis=1)))
            scalars |= {name: found[name] for name in ("support_kept", "false_positives")}
    return scalars


def random_loss(p: int, d: int) -> float:
    """Root of the mean squared loss of a subspace that is drawn at random: E ||P - Q||^2 = 2 d (1 - d / p)."""
    return math.sqrt(2 * d * (1 - d / p))


def source_numbers(estimate: Estimate, spec: Any) -> dict[str, float]:
    """Mean and bracket that the source prints for this cell, where it prints one for this method."""
    settings, column = spec.settings, getattr(spec.options, "column", None)
    if column is None or getattr(settings, "row", None) is None:
        return {}
    where = (estimate.epsilon, settings.model, settings.row, column, estimate.clients)
    entry = printed(*where, high=settings.screened)
    return {} if entry is None else {"paper_mean": entry.mean, "paper_bracket": entry.bracket}


def example_fits(estimate: Estimate, data: SlicingData, train: np.ndarray, spec: Any) -> Arrays:
    """Named arrays with their own dimensions; nothing of simulated data.

    projected : (record_shown, direction), shown_response : (record_shown,)
    """
    if not len(data.X):
        return {}
    projected = np.full((len(data.shown), estimate.basis.shape[1]), np.nan)
    if np.all(np.isfinite(estimate.basis)):
        projected = coordinates(data.X, data.fixed.codes(data.y), estimate.basis)[data.shown]
    return {
        "record_coordinates": (("record_shown", "direction"), projected),
        "shown_response": (("record_shown",), data.y[data.shown].astype(float)),
    }
