"""Common parts of `scores` and `gradient`: a table, then rounds of noisy sums at a model that the server sends.

Public, fixed before data are seen: horizon, bins, centre and half width of every covariate, radius, sizes n_k, the
number of rounds and the budget of each of them.

Message           from, to            payload
cells             clients, server     as of `table`
model, by round   server, clients     `Public`, made of the releases so far: log hazards (B) and coefficients (p)
scores, by round  clients, server     sums at the model (``gradient`` of a gradient): residual, residual covariates,
                                      and for scores the curvature
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from ....federation.exchanges.noisy_sums import ReleasedSum, largest_entry, mu_of, released_sum
from ....federation.parties import Party
from ....federation.run import Run
from ....privacy.accounted_values import Public
from ....privacy.statistics.whole import Whole
from ..certified.scores import Baseline, HazardModel, ScoreTerms, baseline, contributions, estimable
from ..certified.whole import whole_scores
from ..model import SurvivalEstimate, SurvivalFacts
from ..tables import CellTable, equal_edges
from .common import (
    SERVER,
    agree_on_noise,
    local_rows,
    released_cells,
    server_estimate,
    with_coefficients,
)

AFTER = "follows from what was released"
State = TypeVar("State")
# A model with the coefficients (T + 1, p) on the way to it, and their covariance (p, p) where there is one, or the
# reason why it is missing, where that is not the method.
Answer = tuple[HazardModel, np.ndarray, np.ndarray | None, str]


@dataclass(frozen=True)
class NoisyRounds(Generic[State]):
    """Functions that the server applies to noisy sums: all of it is post-processing.

    name : of the sums; terms : makes `ScoreTerms` of public facts, records, mu and the factor of the noise
    start, update : its state before and after a round; model : the model that it sends; answer : its result
    """

    name: str
    terms: Callable[..., ScoreTerms]
    start: Callable[[Baseline, ScoreTerms], State]
    model: Callable[[State, Baseline, ScoreTerms], HazardModel]
    update: Callable[[State, ReleasedSum, Baseline, ScoreTerms], State]
    answer: Callable[[State, Baseline, ScoreTerms], Answer]


def local_sums(client: Party, sent: np.ndarray, terms: ScoreTerms) -> Whole:
    """The client's sums at the model that was sent, which stay with it."""
    bins = len(sent) - terms.covariates
    records = local_rows(client, terms.horizon)
    rows = contributions(records, HazardModel(sent[:bins], sent[bins:]), terms)
    return whole_scores(rows, terms.bound, terms.sensitivity)


def server_model(
    method: NoisyRounds[State], state: State, baseline: Baseline, terms: ScoreTerms, released: tuple[ReleasedSum, ...]
) -> Public:
    """Log hazards, then coefficients, for the clients."""
    model = method.model(state, baseline, terms)
    made_of = tuple(payload for noisy in released for payload in noisy.releases)
    return Public(np.concatenate([model.log_hazards, model.coefficients]), because=AFTER, made_of=made_of)


def server_answer(
    method: NoisyRounds[State],
    state: State,
    baseline: Baseline,
    table: CellTable,
    terms: ScoreTerms,
    epsilon: float,
    clients: int,
) -> SurvivalEstimate:
    """Coefficients, where the released events stand out of their noise; the table's curve."""
    estimate, known = server_estimate(table, epsilon, clients), estimable(table)
    model, path, covariance, reason = method.answer(state, baseline, terms)
    numbers = estimate.numbers | {"steps": terms.rounds, "stopped_at": terms.stopped_at}
    estimate = replace(estimate, path=path, model=model if known else None, terms=terms, numbers=numbers)
    estimate = with_coefficients(estimate, model.coefficients if known else None, covariance)
    # Coefficients may be known where their intervals would miss.
    return replace(estimate, status="not_estimable", reason=reason) if known and reason else estimate


def fit_rounds(run: Run, method: NoisyRounds[State]) -> SurvivalEstimate:
    """Release the table, then sums in T rounds."""
    facts: SurvivalFacts = run.spec.public
    facts.require_covariates(method.name)
    sums = agree_on_noise(run)
    known = facts.horizon, sums.records, facts.covariates, facts.radius
    terms = method.terms(*known, mu_of(run), sums.noise_factor)
    cells, table = released_cells(run, sums, equal_edges(terms.horizon, terms.bins), terms.mu_of(0), groups=1)
    released: tuple[ReleasedSum, ...] = (cells,)
    released_baseline = run.at(SERVER, baseline, table, terms)
    state = run.at(SERVER, method.start, released_baseline, terms)
    total = whole_scores(np.zeros((1, terms.length)), terms.bound, terms.sensitivity)
    largest = largest_entry(total, sums.records)
    for number in range(1, terms.rounds + 1):
        inputs = method, state, released_baseline, terms, released
        sent = run.broadcast(SERVER, sums.clients, f"model {number}", server_model, *inputs)
        statistics, cost = run.each(sums.clients, local_sums, sent, terms), terms.mu_of(number)
        noisy = released_sum(run, sums, f"{method.name} {number}", statistics, total, cost, largest)
        released = (*released, noisy)
        state = run.at(SERVER, method.update, state, noisy, released_baseline, terms)
    return run.at(SERVER, server_answer, method, state, released_baseline, table, terms, run.epsilon, len(run.parties))
