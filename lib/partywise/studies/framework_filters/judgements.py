"""What the lines of the page come to: each is the exposure that the audit attacks, at the pair that is worst."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from ...audits.exposure import Task, Verdict
from ...audits.worlds import World
from ...privacy.ledger.ledger import Ledger
from ...privacy.mechanisms.release import Release
from ...randomness import stream
from .claims import LayerClaim, Line, all_lines

Status = Literal["keeps", "zero-out only", "not composed", "not proved", "refuted", "no claim"]
# Draws of pairs whose epsilon is not computed: what they show is beyond any confidence.
DRAWS, CONFIDENCE = 1000, 1 - 1e-9


class Judgement(NamedTuple):
    """Epsilons of a line: what is said (nan: nothing), what holds, and that by zero-out (nan: not known).

    lower : lower bound, of the pair that is known to be the worst, or by an attack
    """

    claim: float
    epsilon: float
    zero_out: float
    lower: float

    def status(self, claim: LayerClaim) -> Status:
        """In words; a claim holds up to the digits with which a line says its epsilon."""
        most = self.claim * (1 + 1e-6)
        if math.isnan(self.claim):
            return "no claim"
        if claim.states == "none":
            return "not composed"
        if self.epsilon <= most:
            return "keeps"
        if claim.zero_out and self.zero_out <= most:
            return "zero-out only"
        return "refuted" if self.lower > most else "not proved"


def judge(claim: LayerClaim, line: Line, delta: float) -> Judgement:
    """One line: the epsilon of the worst pair where it is known, else what the ledger certifies.

    By zero-out the first update becomes 0 in place of another one.
    """
    settings = claim.settings(**line.settings)

    def rng_for(*names: str) -> np.random.Generator:
        return stream(0, "judgement", claim.name, *names)

    data = claim.generate(settings, None, rng_for, Path())
    x, other = data.x[0], data.x[1]
    opposite, gone = (np.concatenate([factor * x[:1], x[1:]]) for factor in (-1, 0))
    first, second, zero = (World(rows, data.y[0]) for rows in (x, opposite if claim.zero_out else other, gone))
    pairs = (first, second), (first, zero)
    exposure = claim.published.expose(
        Task(settings, line.epsilon or 1.0, delta, *pairs, ("client",), "client", rng_for)
    )
    payload, certified = exposure.payloads[0], math.inf
    if isinstance(payload, Release):
        certified = Ledger([payload.event]).total((), claim.unit, delta).epsilon_certified
    held, zero_out = (pair.audit(rng_for("attack"), DRAWS, delta, CONFIDENCE) for pair in exposure.pairs)

    def epsilon(verdict: Verdict, else_: float) -> float:
        return else_ if verdict.exact is None else verdict.exact

    return Judgement(
        math.nan if line.epsilon is None else line.epsilon,
        epsilon(held, certified),
        epsilon(zero_out, math.inf if math.isinf(certified) else math.nan),
        max(bound for bound in (0.0, held.lower, held.exact) if bound is not None),
    )


def judgements(delta: float) -> list[Judgement]:
    """All lines, in their order."""
    return [judge(claim, line, delta) for claim, line in all_lines()]
