"""Fits of made-up records next to a plan: whether the half-widths and the coverage are those that it states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

# Any: numbers and texts of rows.
from typing import Any

import numpy as np

from ...core.errors import ConfigError
from ...federation.estimators.precision import NORMAL_95, mid_quantiles
from .evaluate import Evaluator

# A plan is refuted by a median that differs by more than this share and by more than so many standard errors.
TOLERANCE, DEVIATIONS = 0.05, 3.0


def compare_fits(
    evaluator: Evaluator, epsilon: float, n: int, planned: Sequence[float], replicates: int
) -> list[dict[str, Any]]:
    """Fit made-up records by the protocol of a design, next to its half-widths; rows as of `PrecisionPlan.check`."""
    truth = evaluator.precision(epsilon, n).values
    fits = [
        evaluator.model.reported_precision(evaluator.estimate(epsilon, n, number), evaluator.targets)
        for number in range(replicates)
    ]
    known = np.array([fit.is_identified for fit in fits])
    if not known.any():
        raise ConfigError(f"{evaluator.where}: none of {replicates} fits has an interval; give more records.")
    widths, values = (np.array([getattr(fit, part) for fit in fits])[known] for part in ("half_widths", "values"))
    covers = (np.abs(values - truth) <= widths).mean(axis=0)
    # A standard error from the quantiles that enclose the median in 95 % of samples.
    away = NORMAL_95 / (2 * math.sqrt(len(widths)))
    low, medians, high = mid_quantiles(widths, [0.5 - away, 0.5, 0.5 + away])
    errors = (high - low) / (2 * NORMAL_95)
    return [
        {
            "target": target,
            "planned": width,
            "median": float(median),
            "ratio": float(median) / width,
            "ratio_error": float(error) / width,
            "covered": float(cover),
            "standard_error": math.sqrt(cover * (1 - cover) / len(widths)),
            "without_interval": float(1 - known.mean()),
        }
        for target, width, median, error, cover in zip(evaluator.targets, planned, medians, errors, covers, strict=True)
    ]


def refutes(row: Mapping[str, Any]) -> bool:
    """Whether the median of a row is not the planned half-width."""
    return bool(abs(row["ratio"] - 1) > max(TOLERANCE, DEVIATIONS * row["ratio_error"]))
