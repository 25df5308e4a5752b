"""Judgements of the lines of the page: each is the exposure that the audit attacks, at the worst pair."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from ...audits.exposure import Task
from ...audits.worlds import World
from ...core.randomness import stream
from ...privacy.accounting.calibration import gaussian_epsilon, gdp_mu
from ...privacy.ledger.ledger import Ledger
from ...privacy.mechanisms.release import Release
from .claims import ClaimLine, LayerClaim, all_lines

Status = Literal["keeps", "zero-out only", "not composed", "not proved", "refuted", "no claim"]
# Draws of pairs whose epsilon is not computed: what they show is beyond any confidence.
DRAWS, CONFIDENCE = 1000, 1 - 1e-9


class Judgement(NamedTuple):
    """Epsilons of a line: what is claimed (nan: nothing), what holds, and that by zero-out (nan: not known).

    lower : lower bound, of the pair that is known to be the worst, or by an attack
    """

    claim: float
    epsilon: float
    zero_out: float
    lower: float

    def status(self, claim: LayerClaim) -> Status:
        """Return the status in words; a claim holds up to the digits with which a line states its epsilon."""
        most = self.claim * (1 + 1e-6)
        if math.isnan(self.claim):
            return "no claim"
        if claim.states == "none":
            return "not composed"
        if self.epsilon <= most:
            return "keeps"
        if claim.relation == "zero_out" and self.zero_out <= most:
            return "zero-out only"
        return "refuted" if self.lower > most else "not proved"


def judge(claim: LayerClaim, line: ClaimLine, delta: float) -> Judgement:
    """One line: the epsilon of the worst pair where it is known, else what the ledger certifies.

    By zero-out the first update becomes 0 in place of another one.
    """
    settings = claim.settings(**line.settings)

    def rng_for(*names: str) -> np.random.Generator:
        return stream(0, "judgement", claim.name, *names)

    data = claim.generate(settings, None, rng_for, Path())
    gone = np.concatenate([np.zeros_like(data.x[0, :1]), data.x[0, 1:]])
    first, other, zero = (World(rows, data.y[0]) for rows in (data.x[0], data.x[1], gone))
    pairs = (first, other), (first, zero)
    exposure = claim.published.expose(
        Task(settings, line.epsilon or 1.0, delta, *pairs, ("client",), "client", rng_for)
    )
    payload, certified = exposure.payloads[0], math.inf
    if isinstance(payload, Release):
        certified = Ledger([payload.event]).total((), claim.unit, delta).epsilon_certified
    worst, by_zero = (pair.audit(rng_for("attack"), DRAWS, delta, CONFIDENCE) for pair in exposure.pairs)
    epsilon = certified if worst.exact is None else worst.exact
    if claim.relation != "replace_one":
        # The worlds are as far apart as by zero-out; another update moves a Gaussian twice as far.
        zero_out = epsilon
        epsilon = (
            float(gaussian_epsilon(2 * gdp_mu(epsilon, delta), delta)) if claim.relation == "zero_out" else epsilon
        )
    elif by_zero.exact is not None:
        zero_out = by_zero.exact
    else:
        zero_out = math.inf if math.isinf(certified) else math.nan
    lower = epsilon if worst.exact is not None else max(worst.lower or 0.0, 0.0)
    return Judgement(math.nan if line.epsilon is None else line.epsilon, epsilon, zero_out, lower)


def judgements(delta: float) -> list[Judgement]:
    """All lines, in their order."""
    return [judge(claim, line, delta) for claim, line in all_lines()]
