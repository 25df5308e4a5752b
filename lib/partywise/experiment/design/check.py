"""Fits of made-up records next to a plan: whether the half-widths and the coverage are those that it states."""

from __future__ import annotations

import math
from collections.abc import Mapping

# Any: numbers and texts of rows.
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import ConfigError
from ...core.randomness import Streams
from ..cells import events_ahead
from .block import checked_block
from .evaluate import Evaluator

if TYPE_CHECKING:
    from .plan import PrecisionPlan

# A plan is refuted by a median that differs by more than this share and by more than so many standard errors.
TOLERANCE, DEVIATIONS = 0.05, 3.0
# Two-sided normal quantile of the order statistics that enclose a median.
REACH = 1.96


def check_plan(plan: PrecisionPlan, replicates: int) -> list[dict[str, Any]]:
    """Fit made-up records of the declared model by the protocol of a plan; rows as of `PrecisionPlan.check`."""
    evaluator = Evaluator(checked_block(plan.block, plan.name), plan.name)
    truth = evaluator.precision(plan.epsilon, plan.n).values
    fits = []
    for number in range(replicates):
        run = evaluator.run(plan.epsilon, plan.n, Streams(0, "check of a design", number))
        ahead = events_ahead(evaluator.protocol.fit, run)
        if ahead.error is not None:
            raise ahead.error
        fits.append(evaluator.model.reported_precision(ahead.estimate, evaluator.targets))
    known = np.array([fit.is_identified for fit in fits])
    if not known.any():
        raise ConfigError(f"{plan.name}: none of {replicates} fits has an interval; give more records.")
    widths, values = (np.array([getattr(fit, part) for fit in fits])[known] for part in ("half_widths", "values"))
    covers = (np.abs(values - truth) <= widths).mean(axis=0)
    return [
        {
            "target": row["target"],
            "planned": row["half_width"],
            "median": float(np.median(reported)),
            "ratio": float(np.median(reported)) / row["half_width"],
            "ratio_error": _median_error(reported) / row["half_width"],
            "coverage": float(cover),
            "standard_error": math.sqrt(cover * (1 - cover) / len(reported)),
            "without_interval": float(1 - known.mean()),
        }
        for row, reported, cover in zip(plan.table, widths.T, covers, strict=True)
    ]


def refutes(row: Mapping[str, Any]) -> bool:
    """Whether the median of a row is not the planned half-width."""
    return bool(abs(row["ratio"] - 1) > max(TOLERANCE, DEVIATIONS * row["ratio_error"]))


def _median_error(values: np.ndarray) -> float:
    """Standard error of the median, from the order statistics that enclose it in 95 % of samples."""
    count = len(values)
    away = REACH * math.sqrt(count) / 2
    ranks = np.clip([math.floor(count / 2 - away), math.ceil(count / 2 + away)], 0, count - 1)
    low, high = np.sort(values)[ranks]
    return float(high - low) / (2 * REACH)
