"""Protocol: Cox regression from one release of moments by class of exit; a competitor of `scores`.

Public, fixed before data are seen: horizon, bins, centre and half width of every covariate, radius, sizes n_k.

Formal guarantee: (epsilon_certified, delta)-DP for replacing one record, by the exact profile of one Gaussian release
of sums, whose sensitivity is the largest distance of two contributions.  Trust as of `table`.

Message   from, to            payload
moments   clients, server     P sums: cells, covariates of events, moments of the covariates by class of exit
"""

from __future__ import annotations

import math

import numpy as np

from .....federation.exchanges.noisy_sums import ReleasedSum, largest_entry, released_sum
from .....federation.parties import Party
from .....federation.run import Run
from .....privacy.statistics.whole import Whole
from ...certified.moments import bound, contributions, largest_distance, length, newton_step, released_table
from ...certified.scores import estimable
from ...certified.whole import whole_scores
from ...model import SurvivalEstimate, SurvivalFacts
from ...options import OneReleaseOptions
from ...tables import equal_edges
from ..common import (
    SERVER,
    agree_on_noise,
    local_rows,
    mu_of,
    server_estimate,
    with_coefficients,
)


def local_moments(client: Party, edges: np.ndarray, radius: float) -> Whole:
    """The client's sums, which stay with it."""
    rows = contributions(local_rows(client, edges[-1]), edges, radius)
    return whole_scores(rows, bound(radius), largest_distance(radius))


def server_answer(
    noisy: ReleasedSum, edges: np.ndarray, sd: float, facts: SurvivalFacts, epsilon: float, clients: int
) -> SurvivalEstimate:
    """One Newton step, where the released events stand out of their noise; the table's curve."""
    table = released_table(noisy.value, edges, sd, facts.records)
    estimate, known = server_estimate(table, epsilon, clients), estimable(table)
    coefficients = newton_step(noisy.value, table, facts.covariates) if known else None
    return with_coefficients(estimate, coefficients)


def fit(run: Run) -> SurvivalEstimate:
    """One release."""
    facts: SurvivalFacts = run.spec.public
    options: OneReleaseOptions = run.spec.options
    facts.require_covariates("moments")
    sums, mu, radius = agree_on_noise(run), mu_of(run), facts.radius
    edges = equal_edges(facts.horizon, options.bins)
    statistics = run.each(sums.clients, local_moments, edges, radius)
    zeros = np.zeros((1, length(facts.covariates, options.bins)))
    total = whole_scores(zeros, bound(radius), largest_distance(radius))
    noisy = released_sum(run, sums, "moments", statistics, total, mu, largest_entry(total, sums.records))
    sd = largest_distance(radius) / mu * math.sqrt(sums.noise_factor)
    return run.at(SERVER, server_answer, noisy, edges, sd, facts, run.epsilon, len(run.parties))
