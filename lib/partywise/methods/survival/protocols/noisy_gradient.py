"""Protocol: Cox regression by noisy gradient steps.

Source: R package FDPCox of arXiv 2508.19640 (state c74cb18); as published, or with the noise that can be proved.

What is protected: each record, against the server.  As published the noise is that of the bound at coefficients of 0,
and the ledger certifies what the largest allowed coefficients leave of it.  Trust, ``central``: an assumed aggregation
sees all records; else no party is trusted.

Message               from, to                     payload
records in shares     clients, aggregator          ``central`` alone
coefficients, by step server, who sends gradients  made of the releases so far
gradient, by step     clients or aggregator,       `Release` (p)
                      server
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ....core.randomness import Rng
from ....federation.exchanges.secure_sum import AGGREGATOR, prepared_once, shared_once, sums_of_shares
from ....federation.parties import Party
from ....federation.run import Run
from ....privacy.accounted_values import AccountedValue, Public
from ....privacy.accounting.calibration import gdp_mu
from ....privacy.ledger.event import Event
from ....privacy.mechanisms.gaussian import Gaussian
from ....privacy.mechanisms.release import Release, announcement
from ....privacy.statistics.bounded import Bounded, sum_certificate
from ....privacy.strata import cell_of
from ..model import SurvivalEstimate, SurvivalFacts
from ..options import CoxNoisyGradientOptions
from ..published.gradient_cox import (
    SortedRecords,
    central_sd,
    client_weights,
    default_steps,
    federated_sd,
    project,
    proved_sensitivity,
    published_sensitivity,
)
from ..records import SurvivalRecords, pool
from .common import SERVER, local_rows

AFTER = "follows from what was released"
ROW = frozenset({"label", "features"})
MECHANISM = "gaussian"


@dataclass(frozen=True)
class GradientPlan:
    """Public facts of a run before its fit.

    sizes : of the clients; epsilon, delta : of the target
    """

    options: CoxNoisyGradientOptions
    facts: SurvivalFacts
    sizes: tuple[int, ...]
    epsilon: float
    delta: float

    @property
    def scale(self) -> float:
        """Factor of the scaled covariates, by which the longest have length C_z."""
        return self.options.c_z / self.facts.radius

    @property
    def cutoff(self) -> float:
        """Events up to and including it count."""
        return self.facts.cutoff(self.options.cutoff)

    @cached_property
    def steps(self) -> int:
        """Number of steps T."""
        n = self.facts.records
        return self.options.steps or default_steps(n, self.facts.covariates, self.options.c_z)

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights of the gradients at the server: one per client, or 1 for that of the aggregation."""
        if self.options.variant == "central":
            return np.ones(1)
        return client_weights(self.sizes, min(self.epsilon, 1e6), self.facts.covariates)

    def records_behind(self, size: int) -> int:
        """Records behind one gradient of a client (or of all) of this size."""
        if self.options.variant == "federated":
            return max(size // self.steps, 1)
        return size

    def sensitivity(self, size: int, norm: float) -> float:
        """Return the proved bound on how far one record moves a gradient at coefficients of this norm."""
        return proved_sensitivity(self.records_behind(size), norm, self.options.c_z)

    def sd(self, size: int, norm: float) -> float:
        """Standard deviation of the noise of one step."""
        options = self.options
        if math.isinf(self.epsilon):
            return 0.0
        if options.sensitivity == "bound":
            mu = float(gdp_mu(self.epsilon, self.delta))
            # Batches are not public cells, so that the ledger adds up all steps, federated ones too.
            return self.sensitivity(size, norm) * math.sqrt(self.steps) / mu
        # One scalar for all clients: that of the last one's n, at coefficients of 0.
        last = sum(self.sizes) if options.variant == "central" else self.sizes[-1]
        bound = published_sensitivity(self.records_behind(last), 0.0, options.c_z)
        if options.variant == "federated":
            return federated_sd(bound, self.epsilon, self.delta)
        return central_sd(bound, self.steps, self.epsilon, self.delta)

    def bounded(self, gradient: np.ndarray, size: int, norm: float, stratum: str) -> Bounded:
        """A gradient with its proved sensitivity; as published over all coefficients that are allowed."""
        most = norm if self.options.sensitivity == "bound" else self.options.c_beta
        certificate = sum_certificate(self.sensitivity(size, most), "mean partial likelihood, C_beta", "row", ROW)
        return Bounded(gradient, certificate, stratum)

    def announcements(self) -> tuple[Event, ...]:
        """Return the cost of all steps to each client, whose records are at the aggregation, at the largest norm."""
        size, most = sum(self.sizes), self.options.c_beta
        certificate = self.bounded(np.zeros(self.facts.covariates), size, most, "*").certificate
        sd = self.sd(size, most if self.options.sensitivity == "bound" else 0.0)
        mu, knows = certificate.value / sd if sd else math.inf, (AGGREGATOR,)
        return tuple(
            announcement(certificate, {"mu": mu}, MECHANISM, f"gradient {step}", trust_model="central", knows=knows)
            for step in range(self.steps)
        )


def batches_of(records: SurvivalRecords, plan: GradientPlan) -> list[SortedRecords]:
    """The records behind the steps: all of them behind every step, or a batch behind each."""
    size, count = plan.records_behind(len(records)), plan.steps if plan.options.variant == "federated" else 1
    scaled = replace(records, covariates=records.covariates * plan.scale)
    parts = (scaled.take(slice(step * size, (step + 1) * size)) for step in range(count))
    return [SortedRecords.of(part, plan.cutoff) for part in parts]


def local_batches(client: Party, plan: GradientPlan) -> list[SortedRecords]:
    """The client's records, which stay with it."""
    return batches_of(local_rows(client, plan.facts.horizon), plan)


def local_gradient(
    client: Party, batches: Sequence[SortedRecords], at: np.ndarray, plan: GradientPlan, step: int, rng_for: Rng
) -> Release:
    """The client's noisy gradient."""
    norm, size, rng = float(np.linalg.norm(at)), len(client.block["times"]), rng_for("gradient", client.name, step)
    # A batch is in no other step, but which records are in it is not public.
    bounded = plan.bounded(batches[step % len(batches)].gradient(at), size, norm, cell_of("clients", client.name))
    name = f"gradient {step} of {client.name}"
    return Gaussian(sigma=plan.sd(size, norm))(bounded, rng, owner=client.name, release_id=name)


def local_matrix(client: Party, horizon: float) -> np.ndarray:
    """The client's records as one matrix (n, 2 + p)."""
    records = local_rows(client, horizon)
    return np.column_stack([records.times, records.events, records.covariates])


def central_records(matrices: Sequence[np.ndarray], plan: GradientPlan) -> SortedRecords:
    """All records together: inside the aggregation."""
    (records,) = batches_of(
        pool([SurvivalRecords(matrix[:, 0], matrix[:, 1].astype(bool), matrix[:, 2:]) for matrix in matrices]), plan
    )
    return records


def central_gradient(
    prepared: Sequence[SortedRecords], at: np.ndarray, plan: GradientPlan, step: int, rng_for: Rng
) -> tuple[Release, ...]:
    """The noisy gradient of all records together: computed inside the aggregation."""
    norm, size, rng = float(np.linalg.norm(at)), sum(plan.sizes), rng_for("gradient", AGGREGATOR, step)
    bounded, mechanism = plan.bounded(prepared[0].gradient(at), size, norm, "*"), Gaussian(sigma=plan.sd(size, norm))
    name, knows = f"gradient {step}", (AGGREGATOR,)
    return (mechanism(bounded, rng, release_id=name, trust_model="central", knows=knows),)


@dataclass(frozen=True, eq=False)
class Trail:
    """Coefficients (k + 1, p) after each step, and the gradients that they are made of."""

    coefficients: np.ndarray
    made_of: tuple[AccountedValue, ...] = ()


def server_coefficients(trail: Trail) -> Public:
    """The coefficients of the next step."""
    return Public(trail.coefficients[-1], because=AFTER, made_of=trail.made_of)


def server_step(trail: Trail, gradients: ArrayLike, parts: Sequence[AccountedValue], plan: GradientPlan) -> Trail:
    """The trail with the coefficients of one more step, by the gradients of all clients or of the aggregation."""
    last, matrix = trail.coefficients[-1], np.asarray(gradients).reshape(-1, trail.coefficients.shape[1])
    moved = project(last + plan.options.step * (plan.weights @ matrix), plan.options.c_beta)
    return Trail(np.vstack([trail.coefficients, moved]), (*trail.made_of, *parts))


def server_answer(trail: Trail, plan: GradientPlan) -> SurvivalEstimate:
    """Coefficients of the scaled covariates; the package gives no standard errors."""
    size = sum(plan.sizes) if plan.options.variant == "central" else plan.sizes[-1]
    longest = plan.options.c_beta
    at_end = float(np.linalg.norm(trail.coefficients[-1])) >= longest * (1 - 1e-12)
    reason = f"the last step ends at the longest coefficients that are allowed, c_beta={longest:g}: " + (
        "noise or separated events drive them on; give a larger epsilon, more records, or a larger c_beta"
    )
    return SurvivalEstimate(
        plan.epsilon,
        len(plan.sizes),
        coefficients=trail.coefficients[-1] * plan.scale,
        path=trail.coefficients * plan.scale,
        numbers={"steps": plan.steps, "noise_sd": plan.sd(size, 0.0), "times_sent": 0},
        status="not_converged" if at_end else "ok",
        reason=reason if at_end else "",
    )


def fit(run: Run) -> SurvivalEstimate:
    """T noisy gradient steps from 0."""
    facts: SurvivalFacts = run.spec.public
    if facts.covariates == 0:
        raise ValueError(
            "covariates is 0: gradient steps fit their log hazard ratios; take another protocol for curves."
        )
    sizes = facts.sizes(len(run.parties))
    plan = GradientPlan(run.spec.options, facts, sizes, run.epsilon, run.spec.study.delta)
    if plan.options.variant == "federated" and plan.steps > min(sizes):
        raise ValueError(
            f"steps={plan.steps} of variant='federated' take a new batch each, and a client has {min(sizes)} "
            f"records: give at most as many steps, steps={min(sizes)}."
        )
    central = plan.options.variant == "central"
    trail, at = run.at(SERVER, Trail, np.zeros((1, facts.covariates))), np.zeros(facts.covariates)
    senders: tuple[Party | str, ...] = (AGGREGATOR,) if central else run.parties
    if central:
        run.charge(run.parties, *plan.announcements())
        shares = shared_once(run, [(run.parties, "records in shares", local_matrix, (facts.horizon,))])
        prepared = prepared_once(run, shares, central_records, plan)
    else:
        batches = run.each(run.parties, local_batches, plan)
    for step in range(plan.steps):
        name = f"gradient {step}"
        if step:
            at = run.broadcast(SERVER, senders, f"coefficients {step}", server_coefficients, trail)
        if central:
            gradients = sums_of_shares(run, prepared, SERVER, (name,), central_gradient, at, plan, step, run.rng_for)
        else:
            gradients = run.gather(run.parties, SERVER, name, local_gradient, batches, at, plan, step, run.rng_for)
        trail = run.at(SERVER, server_step, trail, gradients, run.received(SERVER, name), plan)
    return run.at(SERVER, server_answer, trail, plan)
