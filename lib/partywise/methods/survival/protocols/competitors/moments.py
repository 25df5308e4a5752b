"""Protocol: Cox regression from one release of moments by class of exit; a competitor of `scores`.

At coefficients of 0 score and information of the partial likelihood are made of means over risk sets, which are sums
over later classes of exit.  One Newton step from 0 has a bias that no noise explains: 2.5 standard errors on rotterdam.

Public, fixed before data are seen: horizon, bins, centre and half width of every covariate, radius, sizes n_k.

Formal guarantee: (epsilon_certified, delta)-DP for replacing one record, by the exact profile of one Gaussian release
of sums, whose sensitivity is the largest distance of two contributions.  Trust as of `table`.

Message   from, to            payload
moments   clients, server     P sums: cells, covariates of events, moments of the covariates by class of exit
"""

from __future__ import annotations

import math

import numpy as np

from .....federation.exchanges.noisy_sums import ReleasedSum, largest_entry, mu_of, released_sum
from .....federation.parties import Party
from .....federation.run import Run
from .....privacy.statistics.whole import Whole
from ...certified.scores import FEWEST_AT_RISK, estimable, pack, unpack
from ...certified.whole import whole_scores
from ...model import SurvivalEstimate, SurvivalFacts
from ...options import OneReleaseOptions
from ...records import SurvivalRecords, shrink
from ...tables import CellTable, cells_of, correct_sum, equal_edges
from ..common import (
    SERVER,
    agree_on_noise,
    local_rows,
    server_estimate,
    with_coefficients,
)

# Weights of first and second moments beside the cell and the covariates of an event, by comparison on two data sets.
FIRST, SECOND = 0.9, 0.4


def bound(radius: float) -> float:
    """Gamma: the contribution of no record is longer."""
    return math.sqrt(1 + radius**2 * (1 + FIRST**2) + (SECOND * radius**2) ** 2)


def largest_distance(radius: float) -> float:
    """Largest distance of two contributions, over all records.

    At a given product s of their covariates the squared distance does not fall in their lengths: these are R.  In
    different classes of exit it is largest for two events with opposite covariates.  In the same class two events are
    in one cell, and an event and another record in two, with the covariates of the event alone in the sum of these:
    either way it is concave in s, and its vertex counts where it is between -R^2 and R^2.
    """
    square, first, second = radius**2, FIRST**2, SECOND**2
    apart = 2 + 4 * square + 2 * first * square + 2 * second * square**2

    def together(events: float) -> float:
        s = max(-(events + first) / (2 * second), -square)
        return 2 * (events + first) * (square - s) + 2 * second * (square**2 - s**2)

    return math.sqrt(max(apart, together(1.0), 2 + square + together(0.0)))


def length(p: int, bins: int) -> int:
    """P, entries of a contribution: cells, covariates of an event, moments by class of exit."""
    return 2 * bins + 1 + p + (bins + 1) * (p + p * (p + 1) // 2)


def contributions(records: SurvivalRecords, edges: np.ndarray, radius: float) -> np.ndarray:
    """Return contributions to the release (n, P): of length at most `bound`, no two beyond `largest_distance`."""
    bins, cells, z = len(edges) - 1, cells_of(records, edges), shrink(records.covariates, radius)
    classes = np.where(cells == 2 * bins, bins, cells % bins)
    moments = np.column_stack([FIRST * z, SECOND * pack(z[:, :, None] * z[:, None, :])])
    by_class = np.eye(bins + 1)[classes][:, :, None] * moments[:, None, :]
    return np.column_stack([np.eye(2 * bins + 1)[cells], (cells < bins)[:, None] * z, by_class.reshape(len(z), -1)])


def released_table(sums: np.ndarray, edges: np.ndarray, sd: float, records: int) -> CellTable:
    """The table among the released sums (P,), whose noise has standard deviation ``sd``."""
    return correct_sum(sums[None, : 2 * len(edges) - 1], edges, sd, records)


def newton_step(sums: np.ndarray, table: CellTable, p: int) -> np.ndarray:
    """Coefficients (p,): one step from 0, with a ridge as large as half the noise of the information."""
    bins = table.bins
    by_class = sums[2 * bins + 1 + p :].reshape(bins + 1, -1)
    # At risk in a bin: those who leave later, and half of those who leave in it.
    later = np.cumsum(by_class[::-1], axis=0)[::-1]
    sums_at_risk = (later[:-1] + later[1:]) / 2
    events = np.maximum(table.events[0], 0)
    at_risk = np.maximum(table.at_start[0] - (table.events + table.censorings)[0] / 2, FEWEST_AT_RISK * table.size)
    means = np.clip(sums_at_risk[:, :p] / (FIRST * at_risk[:, None]), -1, 1)
    second = unpack((events / at_risk) @ sums_at_risk[:, p:] / SECOND, p)
    values, vectors = np.linalg.eigh(second - (means.T * events) @ means)
    values = np.maximum(values, 0)
    noise = table.sd / SECOND * float(np.sqrt(np.sum((events / at_risk) ** 2 * (np.arange(bins, 0, -1) + 0.25))))
    ridge = np.sqrt(p / 2) * noise + 1e-9 * max(float(values.max(initial=0.0)), 1.0)
    score = sums[2 * bins + 1 : 2 * bins + 1 + p] - events @ means
    return np.asarray((vectors / (values + ridge)) @ (vectors.T @ score))


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
    """Release the moments once, and take one Newton step."""
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
