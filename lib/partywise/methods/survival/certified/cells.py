"""Cox regression from noisy counts: bins of time by the signs of the covariates, which are meant to be indicators.

A record is in one of 2^p (2 J + 1) cells, so that the sensitivity is the root of 2; but most cells hold few records,
and what noise leaves of them is cut off at 0, which draws the coefficients towards 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..exact import Likelihood, WeightedSums, begin_ascent, maximise, partial_likelihood
from ..records import SurvivalRecords
from ..tables import CellTable


def sign_groups(records: SurvivalRecords) -> SurvivalRecords:
    """The records in 2^p groups by the signs of their covariates."""
    powers = 1 << np.arange(records.covariates.shape[1])
    return replace(records, groups=(records.covariates > 0) @ powers)


def corners(p: int) -> np.ndarray:
    """Covariates (2^p, p) of the groups, -1 or 1."""
    return 2.0 * (np.arange(2**p)[:, None] >> np.arange(p) & 1) - 1


def of_all_groups(table: CellTable) -> CellTable:
    """The table of all groups together."""
    noise = table.sd * float(np.sqrt(len(table.cells)))
    return CellTable(table.cells.sum(axis=0, keepdims=True), table.edges, noise, table.records)


def piecewise_fit(table: CellTable, p: int) -> np.ndarray | None:
    """Coefficients (p,) of the piecewise-exponential model of noisy cells, none below 0; None without a maximum."""
    z, events = corners(p), np.maximum(table.events, 0)
    exposure = np.maximum(table.at_start - (table.events + table.censorings) / 2, 0)
    counts, total = np.rint(events.sum(axis=0)), events.sum(axis=1) @ z
    powers = np.column_stack([np.ones(len(z)), z, (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)])

    def likelihood(coefficients: np.ndarray) -> Likelihood:
        with np.errstate(over="ignore", invalid="ignore"):
            sums = (exposure * np.exp(z @ coefficients)[:, None]).T @ powers
        at_risk = WeightedSums(sums[:, 0], sums[:, 1 : p + 1], sums[:, p + 1 :].reshape(-1, p, p))
        return partial_likelihood(coefficients, counts, total, at_risk)

    try:
        return maximise(likelihood, begin_ascent(p, counts)).coefficients
    except ValueError:
        return None
