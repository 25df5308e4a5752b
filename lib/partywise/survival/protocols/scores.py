"""Protocol: Cox regression by noisy scores of the piecewise-exponential model, with the table that it starts from.

Public, fixed before data are seen: horizon, bins, centre and half width of every covariate, radius, sizes n_k, the
number of rounds and what each of them may cost.

Formal guarantee: (epsilon_certified, delta)-DP for replacing one record, by exact composition of Gaussian releases: the
table (sensitivity sqrt(2)) and T rounds of sums whose contributions are of length Gamma at most, whatever the model
that was sent (sensitivity 2 Gamma).  Trust as of `table`.

Message           from, to            payload
cells             clients, server     as of `table`
model, by round   server, clients     `Public`, made of the releases so far: log hazards (B) and coefficients (p)
scores, by round  clients, server     P sums: residual, residual covariates, curvature
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.accounted_values import Public
from ...privacy.statistics.whole import Whole
from ..certified.scores import Baseline, Fit, Model, Terms, baseline, contributions, estimable, start, update
from ..certified.whole import whole_scores
from ..model import Estimate, PublicFacts
from ..options import ScoresOptions
from ..tables import Table, equal_edges
from .cells import released_cells, server_estimate
from .common import SERVER, ReleasedSum, agree_on_noise, largest_entry, local_rows, mu_of, released_sum

AFTER = "follows from what was released"


def terms_of(facts: PublicFacts, options: ScoresOptions, records: int, mu: float, noise_factor: float) -> Terms:
    """What everyone knows before the fit."""
    return Terms(
        horizon=facts.horizon,
        records=records,
        covariates=facts.covariates,
        radius=facts.radius,
        mu=mu,
        noise_factor=noise_factor,
        shares=options.shares,
        bins=options.bins,
        merge_count=options.merge_count,
        level=options.level,
        curvature=options.curvature,
        stop=options.stop,
    )


def local_scores(client: Party, sent: np.ndarray, terms: Terms) -> Whole:
    """The client's sums at the model that was sent, which stay with it."""
    bins = len(sent) - terms.covariates
    found = contributions(local_rows(client), Model(sent[:bins], sent[bins:]), terms)
    return whole_scores(found, terms.bound)


def server_started(found: Baseline, terms: Terms) -> tuple[Fit, ...]:
    """The fit without effects, from which the rounds start."""
    return (start(found, terms),)


def server_model(fits: tuple[Fit, ...], released: tuple[ReleasedSum, ...]) -> Public:
    """Log hazards, then coefficients, for the clients."""
    model = fits[-1].model
    sent = np.concatenate([model.log_hazards, model.coefficients])
    made_of = tuple(payload for one in released for payload in one.releases)
    return Public(sent, because=AFTER, made_of=made_of)


def server_updated(fits: tuple[Fit, ...], noisy: ReleasedSum, found: Baseline, terms: Terms) -> tuple[Fit, ...]:
    """The fits of all rounds and one more."""
    return (*fits, update(fits[-1], noisy.value, found, terms))


def server_answer(fits: tuple[Fit, ...], table: Table, terms: Terms, epsilon: float, clients: int) -> Estimate:
    """Coefficients with their covariance, where the released events stand out of their noise; the table's curve."""
    last, known = fits[-1], estimable(table)
    estimate = server_estimate(table, epsilon, clients)
    return replace(
        estimate,
        coefficients=last.model.coefficients if known else None,
        covariance=last.covariance if known else None,
        path=np.stack([one.model.coefficients for one in fits]),
        model=last.model if known else None,
        terms=terms,
        numbers=estimate.numbers | {"steps": last.rounds, "stopped_at": terms.stopped_at, "not_estimable": not known},
    )


def fit(run: Run) -> Estimate:
    """The table, then T rounds of scores."""
    facts: PublicFacts = run.spec.public
    options: ScoresOptions = run.spec.options
    facts.require_covariates("scores")
    sums = agree_on_noise(run)
    terms = terms_of(facts, options, sums.records, mu_of(run), sums.noise_factor)
    cells, table = released_cells(run, sums, equal_edges(facts.horizon, terms.bins), terms.mu_of(0), groups=1)
    released: tuple[ReleasedSum, ...] = (cells,)
    found = run.at(SERVER, baseline, table, terms)
    fits = run.at(SERVER, server_started, found, terms)
    total = whole_scores(np.zeros((1, terms.length)), terms.bound)
    largest = largest_entry(total, sums.records)
    for number in range(1, terms.rounds + 1):
        sent = run.broadcast(SERVER, sums.clients, f"model {number}", server_model, fits, released)
        statistics = run.each(sums.clients, local_scores, sent, terms)
        noisy = released_sum(run, sums, f"scores {number}", statistics, total, terms.mu_of(number), largest)
        released = (*released, noisy)
        fits = run.at(SERVER, server_updated, fits, noisy, found, terms)
    return run.at(SERVER, server_answer, fits, table, terms, run.epsilon, len(run.parties))
