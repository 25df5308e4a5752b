"""Convergence and L-BFGS as steps: sums of the records come from outside, the next step goes back.

The driver of the steps, the pooled fit or a protocol with secure aggregation, forms at coefficients beta (q,), the
intercept first, of standardised columns X with a column of ones:

| sum | symbol | from |
|---|---|---|
| deviance | D | `Family.deviance` |
| scores | X'(w (z - eta)) | `Family.score` times the weights of records |
| matrix of Newton | X'WX | `Family.observed_weight`; where `newton_direction` finds no step, `Family.majorant` |
| start of L-BFGS | w X'X | the Gram matrix times the mean weight at the start |

The objective is F of `models.newton_step`, with the direction of Newton and the search along it. An evaluation is one
set of sums at new coefficients: it is what counts of iterations count, the one at the start included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...models.families import Family
from ...models.newton_step import StepPoint, dependent, newton_direction

PAIRS = 10
# Relative rounding of a sum of residuals of responses whose mean is far from 0.
LAST_BITS = 2.0**-51


def unit_of(family: Family, deviance: float, weight: float) -> float:
    """Return the unit of steps of linear predictors: for the identity link the spread of the response, else 1.

    deviance : of the intercept alone; weight : sum of the weights there
    """
    return float(np.sqrt(deviance / weight)) if family.facts.link == "identity" and weight > 0 else 1.0


def has_converged(direction: np.ndarray, beta: np.ndarray, tolerance: float, unit: float = 1.0) -> bool:
    """Whether no coefficient of a standardised column would move by more than ``tolerance`` times ``unit``.

    Relative to the largest slope where that is above the unit; the intercept, which the origin of the response decides,
    counts with what its rounding leaves alone. A last step that is this small is added to the coefficients without a
    further evaluation: what it leaves is its square with Newton, about a tenth of it with L-BFGS.

    unit : see `unit_of`
    """
    slopes = float(np.max(np.abs(beta[1:]), initial=unit))
    return float(np.max(np.abs(direction))) <= tolerance * slopes + LAST_BITS * abs(float(beta[0]))


@dataclass(frozen=True)
class Memory:
    """Memory of L-BFGS: its start matrix and at most ten pairs of steps and changes of the gradient.

    start : (q, q) positive definite, near the matrix of Newton
    """

    start: np.ndarray
    pairs: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """(q,) two-loop product of inverse matrix and gradient; LinAlgError if the start matrix is not definite.

        The start matrix is scaled by the curvature that the last pair met: where weights of records range widely, the
        mean weight at the start is far from that at the optimum.
        """
        left, shares = gradient, []
        for s, y in reversed(self.pairs):
            shares.append(float(s @ left) / float(s @ y))
            left = left - shares[-1] * y
        product = self._solve(left)
        if self.pairs:
            s, y = self.pairs[-1]
            product = product * (float(s @ y) / float(y @ self._solve(y)))
        for (s, y), share in zip(self.pairs, reversed(shares), strict=True):
            product = product + (share - float(y @ product) / float(s @ y)) * s
        return product

    def matrix(self) -> np.ndarray:
        """(q, q) the matrix whose inverse `direction` applies."""
        matrix = self.start
        if self.pairs:
            s, y = self.pairs[-1]
            matrix = matrix * (float(y @ self._solve(y)) / float(s @ y))
        for s, y in self.pairs:
            along = matrix @ s
            matrix = matrix - np.outer(along, along) / float(s @ along) + np.outer(y, y) / float(s @ y)
        return matrix

    def _solve(self, vector: np.ndarray) -> np.ndarray:
        solution = newton_direction(vector, self.start)
        if solution is None:
            raise dependent(self.start)
        return solution

    def after(self, old: StepPoint, new: StepPoint) -> Memory:
        """Return the memory with the step from one point to another, if the objective bends upwards along it."""
        s, y = new.beta - old.beta, old.gradient - new.gradient
        if float(s @ y) <= 1e-12 * float(np.linalg.norm(s) * np.linalg.norm(y)):
            return self
        return Memory(self.start, (*self.pairs, (s, y))[-PAIRS:])
