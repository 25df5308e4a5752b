"""Newton steps at the end of a search in shares, with finer polynomials: to the link's own root, or the reason why not.

A search (`search`) ends at the root of a short polynomial, which is not that of the link. An evaluation with finer ones
opens what Newton needs, and its decrement delta (the length of the step in standard errors) is how far the search was
off; the next step leaves its square. A fit is `ok` where all of this holds of what is opened:

- delta is at most `SETTLED`, and the step moves no record's predictor by more than `MOVED` (the sum of squares of its
  moves, n d'Gd with G = X'X / n, bounds every one of them): responses that are separated move some of them by about 1
  in every step, however small delta is;
- no direction has less than `LEAST` of the curvature that it has without columns;
- the sum over records of (u / R)^power is at most `OUTSIDE`: so many records at most lie outside of the polynomial's
  range, and none of them far;
- X'WX is definite, and the deviance lies between 0 and that without columns.

A fit whose deviance is below ``least``, the errors of its polynomials, is ``not_estimable``: its coefficients hold.

Ranges are tried from the narrowest: the power sum shows which one holds the records. If the search ended where no range
does, or where the deviance is above that without columns, the steps start without columns instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....models.newton_step import Line, StepPoint, newton_direction, newton_step, penalties
from ..exact import separated_reason, separating_column
from ..model import Status

SETTLED, MOVED, LEAST, OUTSIDE = 0.1, 0.5, 1e-3, 3.0
# Relative error of an opened deviance, of few bits; shortest step; evaluations at most.
ROUNDING, SHORTEST, EVALUATIONS = 2e-5, 0.125, 20
FAR = (
    "the opened power sum of predictors shows records where the polynomial is not the link, as those of separated "
    "responses are: give ridge > 0, drop a column, or use link 'opened'"
)
INDEFINITE = "X'WX of the polynomial weights is not definite: give ridge > 0 or use link 'opened'"
UNRESOLVED = (
    "the deviance of a record is below what polynomials in shares resolve, so that no dispersion, standard error or "
    "likelihood follows from it: use link 'opened'"
)
IMPLAUSIBLE = "the opened deviance is not between 0 and that without columns: give ridge > 0 or use link 'opened'"


@dataclass(frozen=True)
class Optimum:
    """Sums of an evaluation, in units of u and of the deviance over ``scale``.

    information : (q, q) X'WX of standardised columns; scores : (q,) X'(w (z - u)), None where the search's are exact
    deviance; pearson : 0 where it was not wanted; outside : sum of (u / R)^power, 0 without a range
    """

    information: np.ndarray
    scores: np.ndarray | None
    deviance: float
    pearson: float
    outside: float


@dataclass(frozen=True)
class Refinement:
    """State of the steps at the end of a search.

    trial : (q,) coefficients to evaluate next; of ended steps the result
    optimum : of the last evaluation, with the deviance after the last step of an ``ok`` one
    point, line, step : as of `partywise.methods.glm.secret_shared_link.search.LbfgsSearch`
    range : which of the ranges the trial is evaluated on
    evaluations; status : None while they go on; reason : what stopped steps that are not ``ok``
    """

    trial: np.ndarray
    optimum: Optimum | None = None
    point: StepPoint | None = None
    line: Line | None = None
    step: float = 1.0
    range: int = 0
    evaluations: int = 0
    status: Status | None = None
    reason: str = ""


def advanced_finer(
    at: Refinement,
    optimum: Optimum,
    *,
    start: np.ndarray,
    ridge: float,
    unit: float,
    null: float,
    spread: np.ndarray,
    ranges: Sequence[tuple[float, int]],
    most: int = EVALUATIONS,
    least: float = 0.0,
    names: Sequence[str] = (),
) -> Refinement:
    """Return the state after the trial was evaluated.

    ``start`` (q, q) is X'WX without columns, with the ridge, ``null`` the deviance without columns. ``unit`` is the
    dispersion in units of ``optimum.deviance``: a decrement over it is one in standard errors. Of a step d, d' spread d
    is at least the sum over records of the squares by which their predictors move. ``names`` are of the columns, in the
    order of the coefficients: the analyst, who has X'WX, names the one that separates the responses.
    """
    at = replace(at, optimum=optimum, evaluations=at.evaluations + 1)
    if optimum.scores is None:
        definite = newton_direction(np.zeros(len(at.trial)), optimum.information + _penalty(at, ridge)) is not None
        return _judge_resolution(at, least) if definite else replace(at, status="diverged", reason=INDEFINITE)
    last, wider = at.evaluations >= most, _range(optimum.outside, at.range, ranges)
    if wider is not None and wider > at.range and not last:
        return replace(at, range=wider)
    with np.errstate(all="ignore"):
        point = StepPoint.at(at.trial, optimum.deviance, optimum.scores, ridge)
    matrix = optimum.information + _penalty(at, ridge)
    direction, _, verdict = newton_step(point.gradient, matrix, start, ridge=ridge, share=LEAST)
    definite = direction is not None and np.isfinite(point.value)
    fault = FAR if wider != at.range else "" if definite else INDEFINITE
    if at.line is None and np.any(at.trial) and not last and (fault or point.value > null):
        return replace(at, trial=np.zeros(len(at.trial)))
    if fault or (at.line is not None and not at.line.accepts(at.step, point.value, ROUNDING)):
        return _halve_step(at, fault, last)
    assert direction is not None
    separated = f"{separated_reason(separating_column(matrix, start, ridge), names)}, or use link 'opened'"
    if verdict == "separated":
        return replace(at, status="diverged", reason=separated)
    settled = float(point.gradient @ direction) <= SETTLED**2 * unit
    if settled and float(direction @ spread @ direction) <= MOVED**2:
        deviance = optimum.deviance - float((2 * optimum.scores - optimum.information @ direction) @ direction)
        plausible = -ROUNDING * null <= deviance <= (1 + ROUNDING) * null
        ended = replace(at, trial=at.trial + direction, optimum=replace(optimum, deviance=deviance))
        return _judge_resolution(ended, least) if plausible else replace(ended, status="diverged", reason=IMPLAUSIBLE)
    if last:
        return replace(at, status="diverged", reason=separated)
    line = Line.along(point, direction, ridge)
    return replace(at, point=point, line=line, step=1.0, trial=line.at(1.0))


def _judge_resolution(at: Refinement, least: float) -> Refinement:
    """The end of steps that arrived: ``ok`` where the deviance is above its errors."""
    assert at.optimum is not None
    if at.optimum.deviance < least:
        return replace(at, status="not_estimable", reason=UNRESOLVED)
    return replace(at, status="ok")


def _range(outside: float, now: int, ranges: Sequence[tuple[float, int]]) -> int | None:
    """The first range from now on that holds the records, by a power sum on the present one; None if none does."""
    radius, power = ranges[now]
    for place in range(now, len(ranges)):
        # Of (u / R)^power on a wider range; a higher power of what lies within is smaller.
        if abs(outside) * (radius / ranges[place][0]) ** power <= OUTSIDE:
            return place
    return None


def _halve_step(at: Refinement, fault: str, last: bool) -> Refinement:
    """Half of the step that ended badly, or the end."""
    if at.line is None or last or at.step <= SHORTEST:
        return replace(at, status="diverged", reason=fault or "no step lowers the deviance of the link")
    return replace(at, step=at.step / 2, trial=at.line.at(at.step / 2))


def _penalty(at: Refinement, ridge: float) -> np.ndarray:
    return np.diag(penalties(len(at.trial), ridge))
