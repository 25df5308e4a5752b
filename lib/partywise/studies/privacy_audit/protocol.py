"""Protocol: the owners send what a source lets them send, or its repair; the experimenter attacks it.

What is sent is booked by the ledger.  The experimenter sits with the first owner and knows all four data sets: it draws
the same distribution many times to certify how much it reveals; no other party sees these draws, so they cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import TypedDict

import numpy as np

from ...audits.exposure import EpsilonBounds, Exposure, Payload, Task
from ...audits.worlds import AuditEstimate, World
from ...core.checks import Scalar
from ...core.randomness import Rng
from ...experiment.claims import ClaimSettings, Mechanism
from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.accounting.calibration import gaussian_epsilon
from ...privacy.audit.one_run import audit_one_run
from .study import AuditOptions

SERVER = "server"
# A bound refutes a claim by more than rounding errors.
ROUNDING = 1e-9


class TaskFacts(TypedDict):
    """Public facts of the task of every owner."""

    epsilon: float
    delta: float
    trials: int
    rng_for: Rng
    owners: tuple[str, ...]


def local_exposure(party: Party, mechanism: Mechanism, settings: ClaimSettings, public: TaskFacts) -> Exposure:
    """Return what a party releases of the first of its data sets, and the attacks of a reader who knows all four."""
    worlds = [World(x, y) for x, y in zip(party.block["x"], party.block["y"], strict=True)]
    worst, ordinary = (worlds[0], worlds[1]), (worlds[2], worlds[3])
    exposure: Exposure = mechanism.expose(Task(settings, worst=worst, ordinary=ordinary, owner=party.name, **public))
    return exposure


def local_release(party: Party, exposure: Exposure, number: int) -> Payload:
    """One of the payloads of a party."""
    return exposure.payloads[number]


def local_audit(
    party: Party,
    exposure: Exposure,
    claim: float,
    delta: float,
    options: AuditOptions,
    rng_for: Callable[..., np.random.Generator],
) -> AuditEstimate:
    """Return the results of the attacks; the experimenter sits with this party."""
    worst, ordinary = (
        pair.audit(rng_for("audit", name), options.draws, delta, options.confidence)
        for name, pair in zip(("worst", "ordinary"), exposure.pairs, strict=True)
    )
    numbers = bounds(worst, ordinary, claim, delta) | {"audit_confidence": options.confidence}
    numbers |= one_run(exposure, rng_for("canaries"), options, delta) | dict(exposure.numbers)
    return AuditEstimate(claim, numbers, exposure.curves)


def bounds(worst: EpsilonBounds, ordinary: EpsilonBounds, claim: float, delta: float) -> dict[str, Scalar]:
    """Return the bounds of both attacks; a claim is refuted by one above it, or by the exact epsilon of one pair."""
    from_mu = None if worst.mu_lower is None else float(gaussian_epsilon(worst.mu_lower, delta))
    proved = [bound for bound in (worst.lower, from_mu, worst.exact) if bound is not None]
    return {
        "audited_lower": worst.lower,
        "audited_lower_ordinary": ordinary.lower,
        "mu_lower": worst.mu_lower,
        "epsilon_mu_lower": from_mu,
        "exact_epsilon": worst.exact,
        "exact_epsilon_ordinary": ordinary.exact,
        "audit_kind": worst.kind,
        "audit_draws": worst.draws,
        "at_sample_limit": worst.at_limit,
        "claim_refuted": bool(max(proved) > claim * (1 + ROUNDING)) if proved and not isnan(claim) else None,
    }


def one_run(exposure: Exposure, rng: np.random.Generator, options: AuditOptions, delta: float) -> dict[str, Scalar]:
    """The audit that needs one run only: guess the world of every record."""
    if exposure.one_run is None:
        return {}
    guessed = audit_one_run(*exposure.one_run(rng, options.canaries), delta, confidence=options.canary_confidence)
    return {"one_run_lower": guessed.eps_lower, "one_run_correct": guessed.correct}


def expose(run: Run) -> Exposure:
    """Every owner sends what the source, or its corrected form, lets out; what the owners know of it."""
    claim, settings, options = run.spec.source, run.spec.settings, run.spec.options
    mechanism, delta = claim.form(options.variant), claim.delta(settings, run.spec.study.delta)
    public: TaskFacts = {
        "epsilon": run.epsilon,
        "delta": delta,
        "trials": options.trials,
        "rng_for": run.rng_for,
        "owners": tuple(party.name for party in run.parties),
    }

    exposures = run.each(run.parties, local_exposure, mechanism, settings, public)
    for number in range(settings.releases):
        owner = run.parties[number % len(run.parties)]
        name = mechanism.name(number, settings.releases)
        run.send(owner, SERVER, name, local_release, exposures, number)
    return exposures


def fit(run: Run) -> AuditEstimate:
    """Send what the source, or its corrected form, sends; then attack it."""
    claim, options = run.spec.source, run.spec.options
    exposures = expose(run)
    claimed = claim.epsilon(options.variant, run.epsilon)
    delta = claim.delta(run.spec.settings, run.spec.study.delta)
    return run.at(run.parties[0], local_audit, exposures, claimed, delta, options, run.rng_for)
