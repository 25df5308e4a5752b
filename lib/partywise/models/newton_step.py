"""One Newton step with its verdict: from sums over records to a direction, its length, or the reason why there is none.

The driver of the steps, a pooled fit or a protocol that adds the sums of several parties, forms at coefficients beta
(q,) the deviance D (minus twice a log-likelihood), -1/2 of its derivative (the scores), and -1/2 of the derivative of
those (the matrix of Newton, or an information).  The objective is F = D + ridge |beta|^2, where an intercept, the first
coefficient, is not penalised; `StepPoint.gradient` is -1/2 of its derivative.

`newton_step` gives the direction or the reason why there is none, to all who step by Newton.  Trial points lie on one
line.  Where a place knows the deviance along it, the place searches it without a message (`line_search`); where every
trial is an evaluation by all, `Ascent` drives the steps, and `Line.accepts` judges one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from .coordinate_descent import descend
from .standardise import moments_of

# Armijo's share of the decrease that the slope promises; how often a step is halved; relative rounding of an objective.
ARMIJO, HALVINGS, ROUNDING = 1e-4, 40, 1e-13
# Least eigenvalue of a matrix of unit diagonal that is taken for more than rounding, of secure sums as well.
DEFINITE = 1e-11
# Share of the curvature at the start below which a direction has none left: its coefficient runs off to infinity.
VANISHED = 1e-10
# Status of steps that have not ended.
GOING = "going"


def penalties(q: int, ridge: float) -> np.ndarray:
    """Return what is added to the diagonal of X'WX (q,): 0 for the intercept, else the ridge."""
    return np.concatenate([np.zeros(1), np.full(q - 1, float(ridge))])


def absolute(beta: np.ndarray, lasso: float) -> float:
    """Return lasso times the sum of the absolute coefficients (q,), without the intercept."""
    return lasso * float(np.sum(np.abs(beta[1:])))


@dataclass(frozen=True)
class StepPoint:
    """Coefficients (q,), the objective F there, and -1/2 of its derivative (q,)."""

    beta: np.ndarray
    value: float
    gradient: np.ndarray

    @classmethod
    def at(cls, beta: np.ndarray, deviance: float, scores: np.ndarray, ridge: float, lasso: float = 0.0) -> StepPoint:
        """The point from sums of the records; F has 2 lasso |beta|_1 as well, of which the gradient has nothing."""
        shrunk = penalties(len(beta), ridge) * beta
        return cls(beta, deviance + float(shrunk @ beta) + 2 * absolute(beta, lasso), scores - shrunk)


@dataclass(frozen=True)
class Line:
    """Coefficients beta + step * direction, and what a step along it must gain.

    value : objective F at step 0; slope : gradient @ direction, -1/2 of the derivative of F at step 0
    bend : ridge times the squared length of the direction; lean : ridge times beta @ direction, intercept left out
    penalty : ridge times the squared length of beta
    With a lasso these are those of the chord of |beta|_1 between steps 0 and 1, which lies above it.
    """

    beta: np.ndarray
    direction: np.ndarray
    value: float
    slope: float
    penalty: float = 0.0
    lean: float = 0.0
    bend: float = 0.0

    @classmethod
    def along(cls, point: StepPoint, direction: np.ndarray, ridge: float, lasso: float = 0.0) -> Line:
        """The line from a point in a direction."""
        shrunk = penalties(len(direction), ridge)
        beta = point.beta
        penalty, lean, bend = (
            float((shrunk * a) @ b) for a, b in ((beta, beta), (beta, direction), (direction, direction))
        )
        size = absolute(beta, lasso)
        rise = absolute(beta + direction, lasso) - size
        slope = float(point.gradient @ direction) - rise
        return cls(beta, direction, point.value, slope, penalty + 2 * size, lean + rise, bend)

    def at(self, step: float) -> np.ndarray:
        """(q,) coefficients at a step."""
        return self.beta + step * self.direction

    def objective(self, deviance: float, step: float) -> float:
        """F at a step, from the deviance there."""
        return deviance + self.penalty + 2 * step * self.lean + step**2 * self.bend

    def accepts(self, step: float, value: float, rounding: float = ROUNDING) -> bool:
        """Armijo's rule: F falls by a share of what the slope promises, up to the rounding of F."""
        return value <= self.value - 2 * ARMIJO * step * self.slope + rounding * abs(self.value)


def line_search(
    line: Line, deviance: Callable[[float], float], rounding: float = ROUNDING
) -> tuple[float, float] | None:
    """First of the steps 1, 1/2, 1/4, ... that Armijo's rule accepts, and F there; None if there is none."""
    for halving in range(HALVINGS):
        step = 0.5**halving
        value = line.objective(deviance(step), step)
        if line.accepts(step, value, rounding):
            return step, value
    return None


def newton_direction(gradient: np.ndarray, matrix: np.ndarray) -> np.ndarray | None:
    """(q,) solution of matrix @ direction = gradient by Cholesky's factor; None if the matrix is not definite.

    matrix : (q, q) X'WX with the penalties on its diagonal
    """
    scale = _unit_scale(matrix)
    if scale is None:
        return None
    unit = matrix * np.outer(scale, scale)
    try:
        factor = np.linalg.cholesky(unit - DEFINITE * np.eye(len(unit)))
    except np.linalg.LinAlgError:
        return None
    del factor  # It shows that the least eigenvalue exceeds DEFINITE; steps are solved without the shift.
    return scale * np.linalg.solve(unit, scale * gradient)


def proximal_direction(point: StepPoint, matrix: np.ndarray, lasso: float) -> np.ndarray:
    """(q,) step to the least value of the quadratic at a point together with 2 lasso |beta|_1."""
    q = len(point.beta)
    target = matrix @ point.beta + point.gradient
    return descend(matrix, target, penalties(q, lasso), np.zeros(q), point.beta) - point.beta


def rank_of(matrix: np.ndarray) -> int:
    """Rank of X'WX (q, q) with positive weights, which is the rank of all columns with the intercept."""
    d = np.diag(matrix)
    positive = d > DEFINITE * max(float(np.max(d)), 0.0)
    scale = 1 / np.sqrt(d[positive])
    values = np.linalg.eigvalsh(matrix[np.ix_(positive, positive)] * np.outer(scale, scale))
    return int(np.sum(values > DEFINITE))


def dependent_columns(X: np.ndarray, intercept: bool = True) -> list[int]:
    """Places of the columns (n, p) that add nothing to those before them: the judgement of `rank_of`, without X'X.

    intercept : whether one comes before them all, so that constant columns add nothing
    """
    columns = X - moments_of(X)[0] if intercept else X
    sizes = np.linalg.norm(columns, axis=0)
    basis, places = np.zeros(X.shape), []
    for place, column in enumerate((columns / np.where(sizes > 0, sizes, 1.0)).T):
        rest = column - basis @ (basis.T @ column)
        rest = rest - basis @ (basis.T @ rest)  # What rounding left of the first projection.
        size = float(np.linalg.norm(rest))
        if size**2 <= DEFINITE:
            places.append(place)
        else:
            basis[:, place] = rest / size
    return places


def curvature_vanished(matrix: np.ndarray, first: np.ndarray, ridge: float = 0.0, share: float = VANISHED) -> bool:
    """Whether a direction has lost its curvature since the start: the coefficients run off, responses are separated.

    With a ridge only the intercept, which is not penalised, can run off.

    matrix, first : (q, q) X'WX now, and at the start, where it was definite
    share : of the curvature at the start that is none
    """
    if ridge:
        return bool(matrix[0, 0] < share * first[0, 0])
    factor = np.linalg.cholesky(first)
    half = np.linalg.solve(factor, matrix)
    least = float(np.linalg.eigvalsh(np.linalg.solve(factor, half.T))[0])
    return least < share


class Dependent(np.linalg.LinAlgError):
    """Columns depend on each other; ``place``: the first that adds nothing to those before it, 0 is the intercept."""

    def __init__(self, rank: int, size: int, place: int, name: str | None = None) -> None:
        self.rank, self.size, self.place, self.name = rank, size, place, name
        which = f"column {place} of all, 0 is the intercept," if name is None else repr(name)
        super().__init__(
            f"the columns of all parties with the intercept have rank {rank}, not {size}: drop dependent or constant "
            f"ones ({which} depends on those before it), or give a larger ridge."
        )

    def __reduce__(self) -> tuple[type[Dependent], tuple[int, int, int, str | None]]:
        """Exceptions of several arguments cross processes by these."""
        return Dependent, (self.rank, self.size, self.place, self.name)


@contextmanager
def column_names(names: Sequence[str]) -> Iterator[None]:
    """Make a `Dependent` from inside name its column; ``names`` are in the order of the columns of the fit."""
    try:
        yield
    except Dependent as error:
        name = names[error.place - 1] if error.place else "the intercept"
        raise Dependent(error.rank, error.size, error.place, name) from None


def dependent(matrix: np.ndarray) -> Dependent:
    """The error of columns that depend on each other, from X'WX (q, q)."""
    sizes = range(1, len(matrix) + 1)
    place = next((k - 1 for k in sizes if rank_of(matrix[:k, :k]) < k), len(matrix) - 1)
    return Dependent(rank_of(matrix), len(matrix), place)


def _unit_scale(matrix: np.ndarray) -> np.ndarray | None:
    """(q,) 1 / sqrt of the diagonal; None where it has an entry that is not positive."""
    diagonal = np.diag(matrix)
    if not np.all(np.isfinite(matrix)) or not np.all(diagonal > DEFINITE * np.max(np.abs(diagonal))):
        return None
    return 1 / np.sqrt(diagonal)


def newton_step(
    gradient: np.ndarray,
    matrix: np.ndarray,
    first: np.ndarray | None = None,
    *,
    ridge: float = 0.0,
    share: float = VANISHED,
    majorant: Callable[[], np.ndarray] | None = None,
) -> tuple[np.ndarray | None, np.ndarray, str]:
    """Return the direction (q,), the matrix (q, q) that it comes from, and ``going`` or what ends the steps.

    ``singular``: columns depend on each other; ``separated``: a coefficient runs off to infinity.

    first : matrix at the start of the steps, None there; share : see `curvature_vanished`
    majorant : forms the matrix to take where the first one is not definite
    """
    direction = newton_direction(gradient, matrix)
    if direction is None and majorant is not None:
        matrix = majorant()
        direction = newton_direction(gradient, matrix)
    if first is None:
        return direction, matrix, "singular" if direction is None else GOING
    lost = direction is None or curvature_vanished(matrix, first, ridge, share)
    return direction, matrix, "separated" if lost else GOING


@dataclass(frozen=True, eq=False)
class Ascent:
    """Damped Newton steps between two evaluations, each of which is sums over the records of all parties.

    beta : (q,) coefficients at which sums are needed next; at the end the final ones
    value : F at the last point that was accepted; first, matrix : (q, q) of Newton at the start, and there
    line, length : of the step whose end is beta; evaluations : how many so far
    status : ``going``, then ``ok``, ``singular`` (columns depend on each other), ``separated`` (a coefficient runs off
        to infinity), ``not_finite`` or ``not_converged``
    column : place of the coefficient that ``singular`` and ``separated`` name
    """

    beta: np.ndarray
    value: float = np.inf
    first: np.ndarray | None = None
    matrix: np.ndarray | None = None
    line: Line | None = None
    length: float = 1.0
    evaluations: int = 0
    status: str = GOING
    column: int | None = None

    def after(
        self,
        value: float,
        gradient: np.ndarray,
        matrix: np.ndarray,
        *,
        tolerance: float,
        limit: int,
        ridge: float = 0.0,
    ) -> Ascent:
        """Return the steps after one more evaluation at beta.

        value, gradient, matrix : F, -1/2 of its derivative, and the matrix of Newton, penalties included
        tolerance : least squared decrement, relative to F where that is above 1; limit : most evaluations
        """
        now = replace(self, evaluations=self.evaluations + 1)
        finite = np.isfinite(value) and np.isfinite(gradient).all() and np.isfinite(matrix).all()
        if self.line is not None and not (finite and self.line.accepts(self.length, value)):
            return now._halve(self.line, limit)
        if not finite:
            return replace(now, status="not_finite")
        direction, _, status = newton_step(gradient, matrix, self.first, ridge=ridge)
        first = matrix if self.first is None else self.first
        now = replace(now, value=value, first=first, matrix=matrix, line=None, length=1.0)
        if direction is None or status != GOING:
            column = dependent(matrix).place if status == "singular" else straying_column(matrix, first)
            return replace(now, status=status, column=column)
        if float(gradient @ direction) <= tolerance * max(1.0, abs(value)):
            return replace(now, beta=self.beta + direction, status="ok")
        if now.evaluations >= limit:
            return replace(now, status="not_converged")
        line = Line.along(StepPoint(self.beta, value, gradient), direction, ridge)
        return replace(now, beta=line.at(1.0), line=line)

    def _halve(self, line: Line, limit: int) -> Ascent:
        length = self.length / 2
        if length < 0.5**HALVINGS or self.evaluations >= limit:
            return replace(self, beta=line.beta, status="not_converged")
        return replace(self, beta=line.at(length), length=length)


def straying_column(matrix: np.ndarray, first: np.ndarray, *, intercept: bool = False) -> int | None:
    """Place of the coefficient that is largest, in units of its scale, along the direction that lost most curvature.

    None where the matrix (q, q) is not finite, so that it has no such direction.

    intercept : whether the first coefficient is one: it follows the others and is not the cause, however large
    """
    if not np.isfinite(matrix).all():
        return None
    factor = np.linalg.cholesky(first)
    half = np.linalg.solve(factor, matrix)
    least = np.linalg.eigh(np.linalg.solve(factor, half.T))[1][:, 0]
    lengths = np.abs(np.linalg.solve(factor.T, least)) * np.sqrt(np.diag(first))
    return int(intercept + np.argmax(lengths[int(intercept) :]))
