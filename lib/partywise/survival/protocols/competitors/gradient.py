"""Protocol: Cox regression by noisy gradient steps with momentum, after a table; a competitor of `scores`.

Public, fixed before data are seen: as of `scores`, with the number of steps, their rate and momentum.

Formal guarantee: (epsilon_certified, delta)-DP for replacing one record, by exact composition of Gaussian releases: the
table (sensitivity sqrt(2)) and T gradients whose contributions are no longer than max(1, C) sqrt(1 + R^2), whatever the
model that was sent.  Trust as of `table`.

Message           from, to            payload
cells             clients, server     as of `table`
model, by step    server, clients     `Public`, made of the releases so far: log hazards (J) and coefficients (p)
gradient, by step clients, server     1 + p sums: residual, residual covariates
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ....federation.parties import Party
from ....federation.run import Run
from ....privacy.accounted_values import Public
from ....privacy.statistics.whole import Whole
from ...certified.gradient import ascend, average, gradients, model_at, public_rate
from ...certified.scores import Baseline, Model, Terms, baseline, estimable
from ...certified.whole import whole_scores
from ...model import Estimate, PublicFacts
from ...options import GradientOptions
from ...tables import Table
from ..cells import released_cells, server_estimate
from ..common import SERVER, ReleasedSum, agree_on_noise, largest_entry, local_rows, mu_of, released_sum

AFTER = "follows from what was released"


def terms_of(facts: PublicFacts, options: GradientOptions, records: int, mu: float, noise_factor: float) -> Terms:
    """What everyone knows before the fit."""
    share = (1 - options.table_share) / options.steps
    return Terms(
        horizon=facts.horizon,
        records=records,
        covariates=facts.covariates,
        radius=facts.radius,
        mu=mu,
        noise_factor=noise_factor,
        shares=(options.table_share, *(share,) * options.steps),
        bins=options.bins,
        merge_count=1,
        curvature=0.0,
        stop=options.stop,
    )


def local_gradient(client: Party, sent: np.ndarray, terms: Terms) -> Whole:
    """The client's sums at the model that was sent, which stay with it."""
    model = Model(sent[: terms.bins], sent[terms.bins :])
    return whole_scores(gradients(local_rows(client), model, terms), terms.bound)


def server_start(p: int) -> np.ndarray:
    """Level and coefficients of 0, the only row of the trail (1, 1 + p)."""
    return np.zeros((1, 1 + p))


def server_model(trail: np.ndarray, found: Baseline, terms: Terms, released: tuple[ReleasedSum, ...]) -> Public:
    """Log hazards, then coefficients, for the clients."""
    model = model_at(trail[-1], found, terms)
    made_of = tuple(payload for one in released for payload in one.releases)
    return Public(np.concatenate([model.log_hazards, model.coefficients]), because=AFTER, made_of=made_of)


def server_step(
    trail: np.ndarray, noisy: ReleasedSum, options: GradientOptions, found: Baseline, terms: Terms
) -> np.ndarray:
    """The trail with one more step."""
    rate = options.rate or public_rate(terms.radius, options.momentum)
    return ascend(trail, noisy.value, rate, options.momentum, found, terms.radius)


def server_answer(
    trail: np.ndarray, found: Baseline, table: Table, terms: Terms, epsilon: float, clients: int
) -> Estimate:
    """Mean coefficients, where the released events stand out of their noise, without standard errors."""
    estimate, known = server_estimate(table, epsilon, clients), estimable(table)
    model = model_at(average(trail), found, terms)
    return replace(
        estimate,
        coefficients=model.coefficients if known else None,
        path=trail[:, 1:],
        model=model if known else None,
        terms=terms,
        numbers=estimate.numbers | {"steps": terms.rounds, "stopped_at": terms.stopped_at, "not_estimable": not known},
    )


def fit(run: Run) -> Estimate:
    """The table, then T noisy gradients."""
    facts: PublicFacts = run.spec.public
    options: GradientOptions = run.spec.options
    facts.require_covariates("gradients")
    sums = agree_on_noise(run)
    terms = terms_of(facts, options, sums.records, mu_of(run), sums.noise_factor)
    cells, table = released_cells(run, sums, terms.edges, terms.mu_of(0), groups=1)
    released: tuple[ReleasedSum, ...] = (cells,)
    found = run.at(SERVER, baseline, table, terms)
    trail = run.at(SERVER, server_start, facts.covariates)
    total = whole_scores(np.zeros((1, 1 + facts.covariates)), terms.bound)
    largest = largest_entry(total, sums.records)
    for number in range(1, terms.rounds + 1):
        sent = run.broadcast(SERVER, sums.clients, f"model {number}", server_model, trail, found, terms, released)
        statistics = run.each(sums.clients, local_gradient, sent, terms)
        noisy = released_sum(run, sums, f"gradient {number}", statistics, total, terms.mu_of(number), largest)
        released = (*released, noisy)
        trail = run.at(SERVER, server_step, trail, noisy, options, found, terms)
    return run.at(SERVER, server_answer, trail, found, table, terms, run.epsilon, len(run.parties))
