"""Protocol: Cox regression from one noisy table of bins by the signs of all covariates; a competitor of `scores`.

Public, fixed before data are seen: horizon, bins, sizes n_k, and that covariates are indicators, scaled to -1 and 1:
of others the signs are taken.

Formal guarantee: (epsilon_certified, delta)-DP for replacing one record, by the exact profile of one Gaussian release
of sensitivity sqrt(2).  Trust as of `table`.

Message   from, to            payload
cells     clients, server     2^p (2 J + 1) counts
"""

from __future__ import annotations

from .....federation.run import Run
from ...certified.cells import of_all_groups, piecewise_fit, sign_groups
from ...certified.scores import estimable
from ...model import SurvivalEstimate, SurvivalFacts
from ...options import MOST_SIGNS, OneReleaseOptions
from ...tables import CellTable, equal_edges
from ..common import SERVER, agree_on_noise, mu_of, released_cells, server_estimate, with_coefficients


def server_answer(table: CellTable, p: int, epsilon: float, clients: int) -> SurvivalEstimate:
    """The piecewise-exponential fit of the cells, where events stand out of their noise; the curve of all records."""
    pooled = of_all_groups(table)
    estimate = server_estimate(pooled, epsilon, clients)
    coefficients = piecewise_fit(table, p) if estimable(pooled) else None
    return with_coefficients(estimate, coefficients)


def fit(run: Run) -> SurvivalEstimate:
    """One release."""
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
