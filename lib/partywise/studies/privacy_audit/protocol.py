"""Protocol: the owner sends what a source lets it send; the server, and then the experimenter, attack it.

The release that is sent is booked by the ledger.  The experimenter, who knows both worlds, draws the same law many
times to certify how much it tells apart; nobody else sees these draws, so they cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isnan
from typing import Any

import numpy as np

from ...audits.exposure import Exposure, Task, Verdict, claimed
from ...audits.worlds import AuditEstimate, World
from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.accounting.calibration import gaussian_epsilon
from ...privacy.audit.one_run import audit_one_run
from ..functional_boosting import exposures as curves
from ..label_private import exposures as labels
from ..sliced_inverse_regression import exposures as slicing
from ..sliced_inverse_regression import tracing
from ..vertical_glm import exposures as exchange
from ..vertical_trees import exposures as trees
from .options import AuditOptions

MECHANISMS: dict[str, Callable[[Task], Exposure]] = {
    "covariance": curves.covariance,
    "orthonormal": curves.orthonormal,
    "radius": curves.radius,
    "budget": curves.budget,
    "messages": curves.messages,
    "public_slices": slicing.slices,
    "quantile_slices": slicing.slices,
    "fixed_covariance": slicing.fixed_covariance,
    "printed_covariance": slicing.printed_covariance,
    "near_tie": slicing.near_tie,
    "symmetric": slicing.symmetric,
    "scale": slicing.scale,
    "screening": slicing.screening,
    "label_sum": labels.label_sum,
    "public_buckets": trees.public_buckets,
    "quantile_buckets": trees.quantile_buckets,
    "many_features": trees.many_features,
    "distance": trees.distance,
    "adjusting": trees.adjusting,
    "affine": trees.affine,
    "encryption": trees.encryption,
    "scores": exchange.scores,
    "predictor": exchange.predictor,
    "hashes": exchange.hashes,
    "tracing": tracing.tracing,
}
SERVER = "server"
# A bound refutes a claim by more than rounding errors.
ROUNDING = 1e-9


def local_worlds(party: Party) -> tuple[tuple[World, World], tuple[World, World]]:
    """The four data sets of the experimenter as two pairs of neighbours: the worst one, an ordinary one."""
    first, second, third, fourth = (World(x, y) for x, y in zip(party.block["x"], party.block["y"], strict=True))
    return (first, second), (third, fourth)


def local_exposure(task: Task) -> Exposure:
    """What the owners make of the first data set, by the formula of the row."""
    return MECHANISMS[task.settings.row](task)


def server_bounds(worst: Verdict, ordinary: Verdict, claim: float, delta: float) -> dict[str, Any]:
    """What the two attacks prove; a claim is refuted by a bound above it, or by the exact epsilon of one pair."""
    from_mu = None if worst.mu_lower is None else float(gaussian_epsilon(worst.mu_lower, delta))
    bounds = [bound for bound in (worst.lower, from_mu, worst.exact) if bound is not None]
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
        "claim_refuted": bool(max(bounds) > claim * (1 + ROUNDING)) if bounds and not isnan(claim) else None,
    }


def server_one_run(exposure: Exposure, rng: np.random.Generator, options: AuditOptions, delta: float) -> dict[str, Any]:
    """The audit that needs one run only: guess the world of every record."""
    if exposure.one_run is None:
        return {}
    found = audit_one_run(*exposure.one_run(rng, options.canaries), delta, confidence=options.canary_confidence)
    return {"one_run_lower": found.eps_lower, "one_run_correct": found.correct}


def fit(run: Run) -> AuditEstimate:
    """Send once, ask the ledger, attack."""
    parties, channel, epsilon, rng_for, spec = run.parties, run.channel, run.epsilon, run.rng_for, run.spec
    options, settings = spec.options, spec.settings
    delta = settings.claim_delta(spec.study.delta)
    worst, ordinary = local_worlds(parties[0])
    owners = tuple(party.name for party in parties)
    task = Task(settings, options.variant, epsilon, delta, worst, ordinary, owners, rng_for, options.trials)

    # 1. what the source, or its repair, sends
    exposure = local_exposure(task)
    for owner, name, payload in exposure.payloads:
        channel.send(owner, SERVER, name, payload)

    # 2. what is proved of it, for the unit and at the delta of the claim
    total = channel.ledger.worst_total(channel.names, settings.entry.unit, delta)
    numbers = {"certified_for_claim": total.epsilon_certified, "claim_unit": total.unit, "claim_delta": delta}

    # 3. what attacks show
    verdicts = [
        pair.audit(rng_for("audit", name), options.draws, delta, options.confidence)
        for name, pair in zip(("worst", "ordinary"), exposure.pairs, strict=True)
    ]
    claim = claimed(task, exposure)
    numbers |= server_bounds(verdicts[0], verdicts[1], claim, delta) | {"audit_confidence": options.confidence}
    numbers |= server_one_run(exposure, rng_for("canaries"), options, delta) | exposure.numbers
    return AuditEstimate(claim, numbers, exposure.curves)
