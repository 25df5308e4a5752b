"""Protocol: Cox regression from one noisy table of bins by the signs of all covariates; a competitor of `scores`.

A record is in one of 2^p (2 J + 1) cells, so that the sensitivity is the root of 2; but most cells hold few records,
and what noise leaves of them is cut off at 0, which draws the coefficients towards 0.

Public, fixed before data are seen: horizon, bins, sizes n_k, and that covariates are indicators, scaled to -1 and 1:
of others the signs are taken.

Formal guarantee: (epsilon_certified, delta)-DP for replacing one record, by the exact profile of one Gaussian release
of sensitivity sqrt(2).  Trust as of `table`.

Message   from, to            payload
cells     clients, server     2^p (2 J + 1) counts
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .....federation.exchanges.noisy_sums import mu_of
from .....federation.run import Run
from .....models.follow_up.partial_likelihood import Likelihood, WeightedSums, partial_likelihood
from ...certified.scores import estimable
from ...exact import begin_ascent, maximise
from ...model import SurvivalEstimate, SurvivalFacts
from ...options import MOST_SIGNS, OneReleaseOptions
from ...records import SurvivalRecords
from ...tables import CellTable, equal_edges
from ..common import SERVER, agree_on_noise, released_cells, server_estimate, with_coefficients


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


def server_answer(table: CellTable, p: int, epsilon: float, clients: int) -> SurvivalEstimate:
    """The piecewise-exponential fit of the cells, where events stand out of their noise; the curve of all records."""
    pooled = of_all_groups(table)
    estimate = server_estimate(pooled, epsilon, clients)
    coefficients = piecewise_fit(table, p) if estimable(pooled) else None
    return with_coefficients(estimate, coefficients)


def fit(run: Run) -> SurvivalEstimate:
    """Release the cells once, and fit them."""
    facts: SurvivalFacts = run.spec.public
    options: OneReleaseOptions = run.spec.options
    p = facts.covariates
    facts.require_covariates("cells")
    if p > MOST_SIGNS:
        raise ValueError(f"covariates is {p}: cells take at most {MOST_SIGNS}, which make {2**MOST_SIGNS} groups.")
    sums = agree_on_noise(run)
    edges = equal_edges(facts.horizon, options.bins)
    _, table = released_cells(run, sums, edges, mu_of(run), 2**p, sign_groups)
    return run.at(SERVER, server_answer, table, p, run.epsilon, len(run.parties))
