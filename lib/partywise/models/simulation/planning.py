"""Standard errors of intervals before data: the law of released sums at declared parameters, and around these.

A fit finds parameters near the declared ones, and states the errors of the law where it ends. Planned is their median
over draws of such parameters: at the declared ones alone it would be short where noise is large.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ...core.arrays import symmetric_root
from ...core.randomness import stream
from .fit import COARSE, DRAWS, MOST_DRAWS, Fit, RecordMoments, law_from, record_moments
from .targets import DRAWS_PER_RECORD, Question

# Antithetic pairs of parameters around the declared ones, and records that are simulated at each.
PAIRS, SIMULATED = 8, 2 * DRAWS
# Share of fits that are to have intervals.
IDENTIFIED = 0.8


@dataclass(frozen=True, eq=False)
class PlannedErrors:
    """Standard errors (t,) that intervals of targets will have.

    without_noise : (t,) over records alone
    excess : error of what must be seen, over its limit, which four of five fits do not exceed
    """

    standard_errors: np.ndarray
    without_noise: np.ndarray
    excess: float


@dataclass(eq=False)
class PlannedLaw:
    """Law of released sums at declared parameters: records are simulated once for all noise and numbers of records."""

    moments: dict[bytes, RecordMoments] = field(default_factory=dict)

    def errors(self, question: Question, theta: np.ndarray, is_rough: bool = False) -> PlannedErrors:
        """Return the standard errors at parameters (size,); rough ones are those of the law exactly there."""
        center = self._fit(question, theta)
        noise_free = [replace(part, covariance=0 * part.covariance) for part in question.sums]
        floor = _errors(question, self._law(replace(question, sums=noise_free), theta, center.draws))
        errors, excess = _errors(question, center), question.identification.excess(center)
        if is_rough or not excess <= 1:
            return PlannedErrors(errors, floor, excess)
        # Of roots the one that no choice of eigenvectors turns, so that draws are the same on any machine.
        root = symmetric_root(center.covariance)
        steps = stream(0, "planned errors", question.model.name).standard_normal((PAIRS, len(theta)))
        laws = [
            self._law(question, question.model.within(theta + root @ step), center.draws)
            for step in np.concatenate([steps, -steps])
        ]
        excesses = np.array([question.identification.excess(law) for law in laws])
        around = [_errors(question, law) for law, over in zip(laws, excesses, strict=True) if over <= 1]
        return PlannedErrors(
            np.median(around, axis=0) if around else errors,
            floor,
            max(excess, float(np.quantile(excesses, IDENTIFIED))),
        )

    def _fit(self, question: Question, theta: np.ndarray) -> Fit:
        """Return the law on as many draws as a fit would end with."""
        draws, least = SIMULATED, DRAWS_PER_RECORD * question.sums[0].n if question.tested else 0
        while True:
            law = self._law(question, theta, draws)
            total, _, by_simulation = law.covariance_of(question.target)
            if draws >= MOST_DRAWS or (draws >= least and np.all(by_simulation <= COARSE * total)):
                return law
            draws *= 2

    def _law(self, question: Question, theta: np.ndarray, draws: int) -> Fit:
        """Return the law at parameters with the error that so many draws have, from the records simulated there."""
        key = theta.tobytes()
        if key not in self.moments:
            self.moments[key] = record_moments(question.model, question.sums, theta, SIMULATED)
        moments = self.moments[key]
        return law_from(replace(moments, error=moments.error * SIMULATED / draws), question.sums, theta, draws)


def _errors(question: Question, law: Fit) -> np.ndarray:
    """Standard errors (t,) of the targets."""
    return np.asarray(np.sqrt(law.covariance_of(question.target)[0]))
