"""Decisions of the analyst of a joint fit: the next direction from opened sums, and when the steps end."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....models.families import FAMILIES, Family
from ....models.newton_step import (
    GOING,
    Line,
    StepPoint,
    dependent,
    newton_step,
    penalties,
    proximal_direction,
)
from ..exact import NO_STEP, separated_reason, separating_column
from ..options import JointOptions
from ..solvers import Memory, has_converged, unit_of

# Verdicts beside the statuses of an estimate: another step, the last one, other weights for the same step.
STEP, LAST, MAJORANT = "step", "last step", "other weights"


@dataclass(frozen=True)
class Steering:
    """State of a joint fit between two evaluations.

    beta : (q,) coefficients of standardised columns, the intercept first
    path : penalised deviance by evaluation
    verdict, reason : what comes next, and why it ends
    point : the last evaluation; direction : (q,) the next step
    first : (q,) Newton's matrix at the start, or that of L-BFGS; memory : of L-BFGS
    names : (q - 1,) of the columns, in the order of the coefficients
    lasso : added to half the deviance per unit of |beta|_1
    """

    beta: np.ndarray
    path: tuple[float, ...] = ()
    verdict: str = STEP
    reason: str = ""
    point: StepPoint | None = None
    direction: np.ndarray | None = None
    first: np.ndarray | None = None
    memory: Memory | None = None
    names: tuple[str, ...] = ()
    lasso: float = 0.0

    def line(self, ridge: float) -> Line:
        """The line of the next step."""
        if self.point is None or self.direction is None:
            raise ValueError("direction is None: evaluate first.")
        return Line.along(self.point, self.direction, ridge, self.lasso)

    def end_as_separated(self, matrix: np.ndarray, ridge: float) -> Steering:
        """End where X'WX (q, q) has lost the curvature of a direction; the reason names the column."""
        place = None if self.first is None else separating_column(matrix, self.first, ridge)
        return replace(self, direction=None, verdict="diverged", reason=separated_reason(place, self.names))


def analyst_started(
    begun: np.ndarray, names: Sequence[str], matrix: np.ndarray | None, ridge: float, lasso: float = 0.0
) -> Steering:
    """Return the state at an intercept.

    begun : (2,) intercept, mean weight; matrix : (q, q) X'X for L-BFGS, or its substitute, None for Newton
    """
    intercept, mean_weight = begun.tolist()
    beta = np.concatenate([[intercept], np.zeros(len(names))])
    now = Steering(beta, names=tuple(names), lasso=lasso)
    if matrix is None:
        return now
    first = mean_weight * matrix + np.diag(penalties(len(beta), ridge))
    return replace(now, first=first, memory=Memory(first))


def analyst_newton(
    now: Steering,
    deviance: tuple[float],
    scores: np.ndarray,
    information: np.ndarray,
    family: str,
    options: JointOptions,
) -> Steering:
    """Return the state after an evaluation with X'WX (q, q), of majorant weights where the verdict asked for them."""
    again = now.verdict == MAJORANT
    point = StepPoint.at(now.beta, deviance[0], scores, options.ridge, now.lasso)
    matrix = information + np.diag(penalties(len(now.beta), options.ridge))
    direction, _, verdict = newton_step(point.gradient, matrix, now.first, ridge=options.ridge)
    if now.lasso and (direction is not None or again):
        direction, verdict = proximal_direction(point, matrix, now.lasso), GOING
    path = now.path if again else (*now.path, point.value)
    if direction is None and not again and type(FAMILIES[family]).majorant is not Family.majorant:
        return replace(now, path=path, point=point, verdict=MAJORANT)
    if verdict == "singular":
        raise dependent(matrix)
    now = replace(now, path=path, point=point, first=matrix if now.first is None else now.first)
    if direction is None or verdict == "separated":
        return now.end_as_separated(matrix, options.ridge)
    return _next_verdict(now, direction, family, options)


def analyst_lbfgs(
    now: Steering, deviance: tuple[float], scores: np.ndarray, family: str, options: JointOptions
) -> Steering:
    """Return the state after an evaluation of L-BFGS."""
    if now.memory is None:
        raise ValueError("memory is None: start L-BFGS with a matrix.")
    point = StepPoint.at(now.beta, deviance[0], scores, options.ridge, now.lasso)
    memory = now.memory if now.point is None else now.memory.after(now.point, point)
    direction = memory.direction(point.gradient)
    if now.lasso:
        direction = proximal_direction(point, memory.matrix(), now.lasso)
    return _next_verdict(
        replace(now, path=(*now.path, point.value), point=point, memory=memory), direction, family, options
    )


def analyst_moved(now: Steering, step: float) -> Steering:
    """Return the state after a step along the direction; 0 states that none lowers the objective."""
    if not step:
        return replace(now, verdict="not_converged", reason=NO_STEP, direction=None)
    return now if now.direction is None else replace(now, beta=now.beta + step * now.direction)


def in_blocks(sizes: Sequence[int]) -> list[slice]:
    """Return the slice of every party's coefficients."""
    ends = [0, *itertools.accumulate(sizes)]
    return [slice(*pair) for pair in itertools.pairwise(ends)]


def _next_verdict(now: Steering, direction: np.ndarray, family: str, options: JointOptions) -> Steering:
    linked = now.first is not None and family in FAMILIES
    unit = unit_of(FAMILIES[family], now.path[0], float(now.first[0, 0])) if linked and now.first is not None else 1.0
    if has_converged(direction, now.beta, options.tolerance, unit):
        return replace(now, direction=direction, verdict=LAST)
    if len(now.path) >= options.max_iter:
        return replace(now, direction=None, verdict="not_converged", reason=f"max_iter={options.max_iter} evaluations")
    return replace(now, direction=direction, verdict=STEP)
