"""Newton and L-BFGS as steps: sums of the records come from outside, the next step goes back.

Whoever drives the steps, the pooled fit or a protocol with secure aggregation, forms at coefficients beta (q,), the
intercept first, of standardised columns X with a column of ones:

| sum | symbol | from |
|---|---|---|
| deviance | D | `Family.deviance` |
| scores | X'(w (z - eta)) | `Family.score` times the weights of records |
| matrix of Newton | X'WX | `Family.observed_weight`; where `newton_direction` finds no step, `Family.majorant` |
| start of L-BFGS | w X'X | the Gram matrix times the mean weight at the start |

The objective is F = D + ridge |beta|^2 without the intercept, and `Point.gradient` is -1/2 of its derivative. Trial
points lie on one line: with eta and the predictor of the direction, a place searches it without any further message
(`line_search`); where every trial is an evaluation by all, `Line.accepts` judges one. An evaluation is one set of sums
at new coefficients: it is what counts of iterations count, the one at the start included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ..models.families import Family

# Armijo's share of the decrease that the slope promises; how often a step is halved; relative rounding of an objective.
ARMIJO, HALVINGS, ROUNDING = 1e-4, 40, 1e-13
# Least eigenvalue of a matrix of unit diagonal that is taken for more than rounding, of secure sums as well.
DEFINITE = 1e-11
# Share of the curvature at the start below which a direction has none left: its coefficient runs off to infinity.
VANISHED = 1e-10
PAIRS = 10
# Relative rounding of a sum of residuals of responses whose mean is far from 0.
LAST_BITS = 2.0**-51


def penalties(q: int, ridge: float) -> np.ndarray:
    """(q,) what is added to the diagonal of X'WX: the ridge, but for the intercept."""
    return np.concatenate([np.zeros(1), np.full(q - 1, float(ridge))])


@dataclass(frozen=True)
class Point:
    """Coefficients (q,), the objective F there, and -1/2 of its derivative (q,)."""

    beta: np.ndarray
    value: float
    gradient: np.ndarray

    @classmethod
    def at(cls, beta: np.ndarray, deviance: float, scores: np.ndarray, ridge: float) -> Point:
        """The point from sums of the records."""
        shrunk = penalties(len(beta), ridge) * beta
        return cls(beta, deviance + float(shrunk @ beta), scores - shrunk)


@dataclass(frozen=True)
class Line:
    """Coefficients beta + step * direction, and what a step along it must gain.

    value : objective F at step 0; slope : gradient @ direction, -1/2 of the derivative of F at step 0
    bend : ridge times the squared length of the direction; lean : ridge times beta @ direction, intercept left out
    penalty : ridge times the squared length of beta
    """

    beta: np.ndarray
    direction: np.ndarray
    value: float
    slope: float
    penalty: float = 0.0
    lean: float = 0.0
    bend: float = 0.0

    @classmethod
    def along(cls, point: Point, direction: np.ndarray, ridge: float) -> Line:
        """The line from a point in a direction."""
        shrunk = penalties(len(direction), ridge)
        beta = point.beta
        products = [float((shrunk * a) @ b) for a, b in ((beta, beta), (beta, direction), (direction, direction))]
        return cls(beta, direction, point.value, float(point.gradient @ direction), *products)

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


def unit_of(family: Family, deviance: float, weight: float) -> float:
    """What steps of linear predictors are measured in: of the identity link the spread of the response, else 1.

    deviance : of the intercept alone; weight : sum of the weights there
    """
    return float(np.sqrt(deviance / weight)) if family.identity and weight > 0 else 1.0


def has_converged(direction: np.ndarray, beta: np.ndarray, tolerance: float, unit: float = 1.0) -> bool:
    """Whether no coefficient of a standardised column would move by more than ``tolerance`` times ``unit``.

    Relative to the largest slope where that is above the unit; the intercept, which the origin of the response decides,
    counts with what its rounding leaves alone. A last step that is this small is added to the coefficients without a
    further evaluation: what it leaves is its square with Newton, about a tenth of it with L-BFGS.

    unit : see `unit_of`
    """
    slopes = float(np.max(np.abs(beta[1:]), initial=unit))
    return float(np.max(np.abs(direction))) <= tolerance * slopes + LAST_BITS * abs(float(beta[0]))


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


def rank_of(matrix: np.ndarray) -> int:
    """Rank of X'WX (q, q) with positive weights, which is the rank of all columns with the intercept."""
    d = np.diag(matrix)
    kept = d > DEFINITE * max(float(np.max(d)), 0.0)
    scale = 1 / np.sqrt(d[kept])
    values = np.linalg.eigvalsh(matrix[np.ix_(kept, kept)] * np.outer(scale, scale))
    return int(np.sum(values > DEFINITE))


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


@dataclass(frozen=True)
class Memory:
    """What L-BFGS remembers: its start matrix and at most ten pairs of steps and changes of the gradient.

    start : (q, q) positive definite, near the matrix of Newton
    """

    start: np.ndarray
    pairs: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    def direction(self, gradient: np.ndarray) -> np.ndarray:
        """(q,) two-loop product of inverse matrix and gradient; LinAlgError if the start matrix is not definite.

        The start matrix is scaled by the curvature that the last pair met: where weights of records range widely, the
        mean weight at the start says little of the optimum.
        """
        left, shares = gradient, []
        for s, y in reversed(self.pairs):
            shares.append(float(s @ left) / float(s @ y))
            left = left - shares[-1] * y
        found = self._solve(left)
        if self.pairs:
            s, y = self.pairs[-1]
            found = found * (float(s @ y) / float(y @ self._solve(y)))
        for (s, y), share in zip(self.pairs, reversed(shares), strict=True):
            found = found + (share - float(y @ found) / float(s @ y)) * s
        return found

    def _solve(self, vector: np.ndarray) -> np.ndarray:
        found = newton_direction(vector, self.start)
        if found is None:
            raise dependent(self.start)
        return found

    def after(self, old: Point, new: Point) -> Memory:
        """With the step from one point to another, if the objective bends upwards along it."""
        s, y = new.beta - old.beta, old.gradient - new.gradient
        if float(s @ y) <= 1e-12 * float(np.linalg.norm(s) * np.linalg.norm(y)):
            return self
        return Memory(self.start, (*self.pairs, (s, y))[-PAIRS:])


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
    """A `Dependent` from inside says which column it is; ``names`` are in the order of the columns of the fit."""
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
