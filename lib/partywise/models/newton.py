"""Damped Newton for the penalised objective of a binary response: the optimum itself, in few passes over X."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..core.errors import UnboundedObjectiveError
from .objective import Objective, Point, check_vector

# Half the squared Newton decrement estimates the gap to the optimum; one more full step is taken once it is below.
TOLERANCE = 1e-13
LIMIT = 50
# Where the plain steps fail (a ridge so small that theta is huge), the ridge is lowered to its value by these factors.
DESCENT = 10.0 ** np.arange(8, -1, -1)
# Sufficient decrease of the line search, and what rounding may add to an objective of unit size.
ARMIJO = 1e-4
ROUNDING = 64 * np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class NewtonFit:
    """Result of `newton`: theta (k,), steps taken, whether it converged, objective and gradient norm at theta."""

    theta: np.ndarray
    steps: int
    converged: bool
    objective: float
    gradient_norm: float


def newton(
    objective: Objective, *, start: np.ndarray | None = None, tolerance: float = TOLERANCE, limit: int = LIMIT
) -> NewtonFit:
    """Minimise the objective (N rows, k columns) by Newton steps with a line search, by default from 0.

    ``tolerance`` is on half the squared Newton decrement, an estimate of the objective gap; the last step squares it.
    ``limit`` is the most steps from one start; where they do not suffice and every ridge is positive, the optima of ten
    times smaller and smaller ridges lead to the wanted one, and otherwise ``converged`` is False. Without ridge
    `UnboundedObjectiveError`, where an iterate proves that F falls without end along it, or runs off to infinity.
    """
    begin = np.zeros(objective.X.shape[1]) if start is None else check_vector("start", start, objective.X.shape[1])
    fit = _steps(objective, begin, tolerance, limit)
    if fit.converged or np.any(objective.ridge == 0):
        return fit
    done, theta = fit.steps, np.zeros_like(fit.theta)
    for factor in DESCENT:
        easier = replace(objective, ridge=factor * objective.ridge)
        # Far out, theta grows as the ridge falls; near the data it stays where it is.
        grown = min((theta, 10 * theta), key=lambda candidate: easier.at(candidate).value)
        fit = _steps(easier, grown, tolerance, limit)
        done, theta = done + fit.steps, fit.theta
    return replace(fit, steps=done)


def _steps(objective: Objective, start: np.ndarray, tolerance: float, limit: int) -> NewtonFit:
    """Damped Newton from a start."""
    point = objective.at(start)
    free = bool(np.any(objective.ridge == 0))
    for step in range(limit + 1):
        gradient = objective.gradient(point)
        direction = -solve_positive(objective.hessian(point), gradient)
        decrement = float(-gradient @ direction)
        done = decrement / 2 <= tolerance * max(1.0, abs(point.value))
        if free:
            refuse_runaway(objective, point, done)
        if done or step == limit:
            if done:
                point = refine(objective, objective.at(point.theta + direction), tolerance)
            norm = float(np.linalg.norm(objective.gradient(point)))
            return NewtonFit(point.theta, step + int(done), done, point.value, norm)
        point = line_search(objective, point, direction, decrement)
    raise AssertionError("unreachable")


def refine(objective: Objective, point: Point, tolerance: float) -> Point:
    """A few more steps where rounding left a gradient that strong convexity cannot turn into a small gap."""
    for _ in range(5):
        gradient = objective.gradient(point)
        weakest = float(objective.ridge.min())
        if weakest == 0 or gradient @ gradient <= 2 * weakest * tolerance * max(1.0, abs(point.value)):
            break
        closer = objective.at(point.theta - solve_positive(objective.hessian(point), gradient))
        if np.linalg.norm(objective.gradient(closer)) >= np.linalg.norm(gradient):
            break
        point = closer
    return point


def line_search(objective: Objective, point: Point, direction: np.ndarray, decrement: float) -> Point:
    """The first of the steps 1, 1/2, 1/4, ... with sufficient decrease, up to what rounding hides.

    The margins move along a line, so a trial costs no product with X.
    """
    along = objective.X @ direction
    slack = ROUNDING * max(1.0, abs(point.value))
    length = 1.0
    for _ in range(60):
        trial = objective.at(point.theta + length * direction, point.margins + length * along)
        if trial.value <= point.value - ARMIJO * length * decrement + slack:
            return trial
        length /= 2
    return point


def solve_positive(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Solve with a positive semi-definite matrix by Cholesky, lifting the diagonal only as far as it needs."""
    lift, scale = 0.0, float(np.trace(matrix)) / len(matrix)
    for _ in range(40):
        try:
            lifted = matrix if lift == 0 else matrix + lift * np.eye(len(matrix))
            return cho_solve(cho_factor(lifted, lower=True, check_finite=False), vector, check_finite=False)
        except np.linalg.LinAlgError:
            lift = max(10 * lift, 1e-14 * scale, np.finfo(float).tiny ** 0.5)
    raise np.linalg.LinAlgError("the Hessian is not finite; check the features.")


def refuse_runaway(objective: Objective, point: Point, final: bool) -> None:
    """Raise `UnboundedObjectiveError` where theta proves, or its size leaves no doubt, that no minimiser exists.

    A negative recession slope along an unpenalised theta is a proof: F falls at that rate for ever. Labels that a
    plane separates have a slope that only tends to 0, and then F does not grow along theta at all.
    """
    size = float(np.abs(point.margins).max(initial=0.0))
    if size == 0 or np.any(objective.ridge * point.theta):
        return
    slope = objective.recession(point)
    if slope < -1e-12 * max(size, 1.0):
        reason = f"the objective falls by {-slope / np.linalg.norm(point.theta):.3g} a unit of length"
    elif (final or size > objective.link.far_margin) and slope <= 1e-9 * size:
        reason = "the objective tends to its infimum and never reaches it"
    else:
        return
    raise no_minimiser(point.theta, reason)


def no_minimiser(direction: np.ndarray, reason: str) -> UnboundedObjectiveError:
    """The error of a problem without minimiser; its attribute ``direction`` is a unit vector of shape (k,)."""
    unit = direction / np.linalg.norm(direction)
    text = np.array2string(unit, precision=3, threshold=12, max_line_width=100)
    error = UnboundedObjectiveError(
        f"ridge=0 and the noisy dot-product admits no minimiser: {reason} along the direction {text}; give a ridge "
        "(plan_label_dp chooses one), or use a first-order trainer with a fixed number of steps."
    )
    error.direction = unit  # type: ignore[attr-defined]
    return error
