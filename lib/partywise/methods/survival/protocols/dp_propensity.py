"""Protocol: a logistic model of the treatment, by rounds of clipped and noised gradient steps at every client.

Source: FedECA (state 135f89e; Nature Communications 16:7496), its propensity model; the Cox sums and event tables that
follow it there are in the clear (`risk_sets`).

What is protected: each record, against all but its client, as far as the noise goes: with the fixed seed nothing,
since readers who know the algorithm subtract it; with seeds of the clients' own what the steps made cost, for a record
that is replaced and without the gain by sampling, which is proved for records that are added or removed.

Message                 from, to          payload
coefficients, by round  server, clients   made of the models so far
model, by round         clients, server   made of a `Release` (p) for each step, or `Clear`
                                          of rows with the fixed seed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....core.randomness import Rng
from ....federation.parties import Party
from ....federation.payloads import Payload
from ....federation.run import Run
from ....privacy.accounted_values import AccountedValue, Clear
from ....privacy.mechanisms.gaussian import Gaussian
from ....privacy.mechanisms.release import Release, derive
from ....privacy.statistics.bounded import Bounded, sum_certificate
from ....privacy.strata import cell_of
from ..model import SurvivalEstimate, SurvivalFacts
from ..options import DpPropensityOptions
from ..published.propensity import PropensityTraining, descend, noise_multiplier, propensity_table, seeded_noise
from .common import SERVER, local_rows, sizes_of

ROW = frozenset(("label", "features"))


@dataclass(frozen=True)
class PropensityPlan:
    """Public facts of a run before its fit."""

    options: DpPropensityOptions
    training: PropensityTraining
    horizon: float
    epsilon: float
    delta: float

    def sd(self, size: int) -> float:
        """Standard deviation of the noise of a step."""
        return self.training.clip * noise_multiplier(self.training, size, self.epsilon, self.delta)

    def steps(self, size: int) -> int:
        """Steps of a client in a round."""
        return self.training.steps_of_round(size, self.options.steps)


def local_model(client: Party, at: np.ndarray, plan: PropensityPlan, number: int, rng_for: Rng) -> Payload:
    """The client's coefficients after its steps of a round."""
    records, training = local_rows(client, plan.horizon), plan.training
    X, y = propensity_table(records.covariates, plan.options.treatment)
    size = len(records)
    sd, steps, batches = plan.sd(size), plan.steps(size), rng_for("batches", client.name, number)
    if plan.options.seed == "fixed":
        model = descend(X, y, at, training, steps, batches, seeded_noise(sd, number * steps * X.shape[1]))
        return Clear(model, units=("row",), owner=client.name)
    # A replaced record moves a sum of clipped gradients by 2 C; which records are in a batch ignores the data.
    certificate = sum_certificate(2 * training.clip, "sum of clipped gradients of a batch", "row", ROW)
    stratum, rng, mechanism = cell_of("clients", client.name), rng_for("noise", client.name, number), Gaussian(sigma=sd)
    parts: list[Release] = []

    def release(total: np.ndarray) -> np.ndarray:
        name = f"gradient {number * steps + len(parts)} of {client.name}"
        parts.append(mechanism(Bounded(total, certificate, stratum), rng, owner=client.name, release_id=name))
        return np.asarray(parts[-1].value)

    model = descend(X, y, at, training, steps, batches, release)
    return derive(model, parts, name=f"model {number} of {client.name}", owner=client.name)


def server_coefficients(models: Sequence[np.ndarray], parts: Sequence[AccountedValue], number: int) -> Payload:
    """The mean of the clients' models."""
    return derive(np.mean(models, axis=0), parts, name=f"coefficients {number}", owner=SERVER)


def server_answer(models: Sequence[np.ndarray], plan: PropensityPlan, sizes: Sequence[int]) -> SurvivalEstimate:
    """Coefficients of the treatment, intercept first."""
    steps = max(plan.training.rounds * plan.steps(size) for size in sizes)
    return SurvivalEstimate(
        plan.epsilon,
        len(sizes),
        propensity=np.mean(models, axis=0),
        numbers={"steps": steps, "noise_sd": max(map(plan.sd, sizes)), "times_sent": 0},
    )


def fit(run: Run) -> SurvivalEstimate:
    """Rounds of local steps and averaging from 0."""
    facts: SurvivalFacts = run.spec.public
    treatment = run.spec.options.treatment
    if not treatment < facts.covariates:
        raise ValueError(f"treatment is {treatment}: it must number one of the {facts.covariates} covariates, from 0.")
    plan = PropensityPlan(run.spec.options, PropensityTraining(), facts.horizon, run.epsilon, run.spec.study.delta)
    sizes = sizes_of(run)
    at = np.zeros(facts.covariates)
    models = run.gather(run.parties, SERVER, "model 0", local_model, at, plan, 0, run.rng_for)
    for number in range(1, plan.training.rounds):
        parts = run.received(SERVER, f"model {number - 1}")
        at = run.broadcast(SERVER, run.parties, f"coefficients {number}", server_coefficients, models, parts, number)
        models = run.gather(run.parties, SERVER, f"model {number}", local_model, at, plan, number, run.rng_for)
    return run.at(SERVER, server_answer, models, plan, sizes)
