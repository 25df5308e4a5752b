"""L-BFGS where every trial is an evaluation by all parties: one state, the next trial, what an evaluation changes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ....models.newton_step import Line, StepPoint
from ..model import Status
from ..solvers import Memory, has_converged

# Steps below this share of a direction are rounding.
SHORTEST = 2.0**-30


@dataclass(frozen=True)
class LbfgsSearch:
    """State of an L-BFGS search between two evaluations.

    trial : (q,) coefficients to evaluate next; of an ended search the result
    memory : of L-BFGS; ridge : of the objective
    point : last accepted; line, step : of the trial, none at the start
    path : accepted objectives; evaluations : so far
    status : None while it goes on; reason : what stopped one that is not ``ok``
    reach : largest root mean square of the predictors, less the intercept's, that is tried
    """

    trial: np.ndarray
    memory: Memory
    ridge: float
    reach: float = np.inf
    point: StepPoint | None = None
    line: Line | None = None
    step: float = 1.0
    path: tuple[float, ...] = ()
    evaluations: int = 0
    status: Status | None = None
    reason: str = ""


def start_search(matrix: np.ndarray, ridge: float, reach: float = np.inf) -> LbfgsSearch:
    """A search from coefficients 0.

    matrix : (q, q) near X'WX there, with the ridge
    """
    return LbfgsSearch(np.zeros(len(matrix)), Memory(matrix), ridge, reach)


def advance(
    search: LbfgsSearch,
    deviance: float,
    scores: np.ndarray,
    gram: np.ndarray,
    *,
    tolerance: float,
    max_iter: int,
    rounding: float,
    bounded: bool = False,
) -> LbfgsSearch:
    """The search after the trial was evaluated: its deviance, scores X'(w (z - eta)) (q,), and X'X / n or its blocks.

    ``rounding`` is the relative error of the deviance. ``bounded`` states whether a deviance below 0 ends the search:
    that of a polynomial has no bound where records lie far out.
    """
    with np.errstate(all="ignore"):
        point = StepPoint.at(search.trial, deviance, scores, search.ridge)
    search = replace(search, evaluations=search.evaluations + 1)
    last = search.evaluations >= max_iter
    if bounded and not deviance >= 0:
        return replace(search, status="not_converged", reason="the polynomial's deviance is below 0")
    if search.line is not None and not search.line.accepts(search.step, point.value, rounding):
        return _shorter(search, search.step / 2, last, max_iter)
    memory = search.memory if search.point is None else search.memory.after(search.point, point)
    search = replace(search, memory=memory, point=point, path=(*search.path, point.value))
    direction = memory.direction(point.gradient)
    if has_converged(direction, point.beta, tolerance):
        return replace(search, trial=point.beta + direction, status="ok")
    line, step = Line.along(point, direction, search.ridge), 1.0
    while step > SHORTEST and _size(line.at(step), gram) > search.reach:
        step /= 2
    return _shorter(replace(search, line=line), step, last, max_iter)


def _shorter(search: LbfgsSearch, step: float, last: bool, max_iter: int) -> LbfgsSearch:
    """The search with its trial at a step along its line, or ended."""
    assert search.line is not None
    if step <= SHORTEST or last:
        reason = "no step lowers the objective" if step <= SHORTEST else f"max_iter={max_iter} evaluations"
        return replace(search, trial=search.line.beta, status="not_converged", reason=reason)
    return replace(search, step=step, trial=search.line.at(step))


def _size(beta: np.ndarray, gram: np.ndarray) -> float:
    """Root mean square of the predictors of all columns but the first, the intercept's."""
    slopes = beta[1:]
    return float(np.sqrt(max(slopes @ gram[1:, 1:] @ slopes, 0.0)))
