"""The pooled fit: Newton or L-BFGS on all columns in one place, robust where plain reweighted least squares is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...models.families import FAMILIES, Family
from ...models.newton_step import (
    GOING,
    Line,
    StepPoint,
    curvature_vanished,
    dependent,
    line_search,
    newton_direction,
    newton_step,
    penalties,
    proximal_direction,
    straying_column,
)
from ...models.standardise import Scaling, scaling_of, with_ones
from .follow_up import FollowUp
from .model import Status
from .solvers import Memory, has_converged, unit_of

NO_STEP = "no step lowers the objective"


@dataclass(frozen=True)
class PooledFit:
    """Result of a fit on all columns in one place.

    coefficients : (1 + p,) of the given columns, the intercept first; beta : (1 + p,) of the standardised ones
    eta : (n,) linear predictors, offset included
    information : (1 + p, 1 + p) X'WX of the standardised columns at expected weights, without the ridge
    objective : (t,) penalised deviance by evaluation, the start first; iterations : t
    status, reason : `Status`, and what stopped a fit that is not ``ok``
    """

    coefficients: np.ndarray
    beta: np.ndarray
    eta: np.ndarray
    scaling: Scaling
    information: np.ndarray
    objective: np.ndarray
    status: Status
    reason: str = ""

    @property
    def iterations(self) -> int:
        """Evaluations of all sums, the one at the start included."""
        return len(self.objective)


@dataclass(frozen=True, kw_only=True)
class _Columns:
    """Standardised columns with ones (n, q), an offset, and what all steps need of them.

    names : of the columns, without the intercept; empty where they have none
    """

    X: np.ndarray
    offset: np.ndarray
    ridge: float
    names: Sequence[str] = ()
    lasso: float = 0.0

    def eta(self, beta: np.ndarray) -> np.ndarray:
        return self.X @ beta + self.offset

    def point(self, beta: np.ndarray, eta: np.ndarray) -> StepPoint:
        return StepPoint.at(beta, self.deviance(eta), self.scores(eta), self.ridge, self.lasso)

    def deviance(self, eta: np.ndarray) -> float:
        raise NotImplementedError

    def scores(self, eta: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def information(self, eta: np.ndarray) -> np.ndarray:
        """(q, q) without the penalties."""
        raise NotImplementedError

    def newton(
        self, point: StepPoint, eta: np.ndarray, first: np.ndarray | None
    ) -> tuple[np.ndarray | None, np.ndarray, str]:
        raise NotImplementedError

    def unit(self, deviance: float, first: np.ndarray) -> float:
        """Unit of the coefficients, from the deviance and the matrix at the start."""
        return 1.0

    def search(self, point: StepPoint, direction: np.ndarray, eta: np.ndarray) -> float | None:
        line, slope = Line.along(point, direction, self.ridge, self.lasso), self.X @ direction
        trial = line_search(line, lambda step: self.deviance(eta + step * slope))
        return None if trial is None else trial[0]


@dataclass(frozen=True, kw_only=True)
class _HazardColumns(_Columns):
    """Columns of follow-up times, with zeros in place of ones: the intercept, which there is none of, stays at 0."""

    response: FollowUp

    def deviance(self, eta: np.ndarray) -> float:
        return self.response.deviance(eta)

    def scores(self, eta: np.ndarray) -> np.ndarray:
        return np.asarray(self.X.T @ self.response.residuals(eta))

    def information(self, eta: np.ndarray) -> np.ndarray:
        return with_unit_intercept(self.response.information(eta, self.X[:, 1:]))

    def newton(
        self, point: StepPoint, eta: np.ndarray, first: np.ndarray | None
    ) -> tuple[np.ndarray | None, np.ndarray, str]:
        matrix = self.information(eta) + np.diag(penalties(len(point.beta), self.ridge))
        return newton_step(point.gradient, matrix, first, ridge=self.ridge)


@dataclass(frozen=True, kw_only=True)
class _Data(_Columns):
    """Columns with the responses of a family and their weights."""

    y: np.ndarray
    family: Family
    weights: np.ndarray | None

    def deviance(self, eta: np.ndarray) -> float:
        return self.family.deviance(self.y, eta, self.weights)

    def scores(self, eta: np.ndarray) -> np.ndarray:
        return np.asarray(self.X.T @ self._times(self.family.score(self.y, eta)))

    def information(self, eta: np.ndarray) -> np.ndarray:
        """X'WX at expected weights."""
        return self.matrix(self.family.weight(eta)) - np.diag(penalties(self.X.shape[1], self.ridge))

    def unit(self, deviance: float, first: np.ndarray) -> float:
        return unit_of(self.family, deviance, first[0, 0])

    def matrix(self, w: np.ndarray) -> np.ndarray:
        """X'WX with the penalties."""
        return (self.X.T * self._times(w)) @ self.X + np.diag(penalties(self.X.shape[1], self.ridge))

    def newton(
        self, point: StepPoint, eta: np.ndarray, first: np.ndarray | None
    ) -> tuple[np.ndarray | None, np.ndarray, str]:
        """`newton_step` at observed weights, else at majorant ones; with a lasso the proximal step."""
        matrix = self.matrix(self.family.observed_weight(self.y, eta))
        if self.lasso:
            if newton_direction(point.gradient, matrix) is None:
                matrix = self.matrix(self.family.majorant(self.y, eta))
            return proximal_direction(point, matrix, self.lasso), matrix, GOING
        return newton_step(
            point.gradient,
            matrix,
            first,
            ridge=self.ridge,
            majorant=lambda: self.matrix(self.family.majorant(self.y, eta)),
        )

    def _times(self, w: np.ndarray) -> np.ndarray:
        return w if self.weights is None else w * self.weights


def fit_glm(
    X: np.ndarray,
    y: np.ndarray,
    family: str | Family,
    *,
    weights: np.ndarray | None = None,
    offset: np.ndarray | None = None,
    ridge: float = 0.0,
    tolerance: float = 1e-8,
    max_iter: int = 100,
    solver: Literal["newton", "lbfgs"] = "newton",
    start: np.ndarray | None = None,
    names: Sequence[str] = (),
    lasso: float = 0.0,
) -> PooledFit:
    """Coefficients of the least D + ridge |beta|^2 + 2 lasso |beta|_1, the intercept not penalised.

    Columns are standardised here, and a lasso is of ``newton`` steps. Steps end where no coefficient of a standardised
    column changes by more than ``tolerance`` (Gaussian: in the spread of y). ``start`` is the start matrix (q, q) of
    ``lbfgs``, mean weight times X'X where none is given. ``names`` are those of the columns. Without ridge, LinAlgError
    with the rank if columns depend on each other, and ValueError if there are no more records than coefficients or all
    responses are at an edge.
    """
    family = FAMILIES[family] if isinstance(family, str) else family
    check_size(len(y) if weights is None else int(np.sum(weights > 0)), X.shape[1] + 1, ridge)
    scaling = scaling_of(X, None if weights is None else np.flatnonzero(weights == 0))
    shift = np.zeros(len(y)) if offset is None else offset
    columns = with_ones(scaling.apply(X))
    data = _Data(X=columns, y=y, family=family, weights=weights, offset=shift, ridge=ridge, names=names, lasso=lasso)
    beta = np.concatenate([[intercept_only(y, family, weights, offset)[0]], np.zeros(X.shape[1])])
    if solver == "newton":
        return _newton(data, beta, scaling, tolerance, max_iter)
    return _lbfgs(data, beta, scaling, tolerance, max_iter, start)


def fit_cox(
    X: np.ndarray,
    response: FollowUp,
    *,
    ridge: float = 0.0,
    tolerance: float = 1e-8,
    max_iter: int = 100,
    names: Sequence[str] = (),
) -> PooledFit:
    """Coefficients of the greatest partial likelihood (Cox 1972), by the steps and with the verdicts of `fit_glm`.

    The first coefficient centres the predictors at the means of the columns.
    """
    check_size(len(X), X.shape[1] + 1, ridge)
    scaling = scaling_of(X)
    columns = np.column_stack([np.zeros(len(X)), scaling.apply(X)])
    data = _HazardColumns(X=columns, offset=response.shift, ridge=ridge, names=names, response=response)
    return _newton(data, np.zeros(X.shape[1] + 1), scaling, tolerance, max_iter)


def with_unit_intercept(information: np.ndarray) -> np.ndarray:
    """(1 + p, 1 + p) information with that of an intercept that the model does not have: 1."""
    matrix = np.eye(1 + len(information))
    matrix[1:, 1:] = information
    return matrix


def intercept_only(
    y: np.ndarray, family: Family, weights: np.ndarray | None = None, offset: np.ndarray | None = None
) -> tuple[float, float]:
    """Intercept and deviance of the fit without columns, with the same weights and offset: the null deviance."""
    used = y if weights is None else y[weights > 0]
    intercept = family.start(y, weights, offset)
    if offset is None:
        if np.ptp(used) == 0:
            raise ValueError(f"y is {used[0]:g} in all records: the null deviance is 0, give responses that differ.")
        return intercept, family.deviance(y, np.full(len(y), intercept), weights)
    deviance = family.deviance(y, intercept + offset, weights)
    if deviance == 0:
        raise ValueError("y is all but the offset in all records: the null deviance is 0, give responses that differ.")
    return intercept, deviance


def separating_column(matrix: np.ndarray, first: np.ndarray, ridge: float) -> int | None:
    """Place of the coefficient that runs off, 0 of the intercept, from X'WX (q, q) now and at the start.

    With a ridge no other coefficient runs off (`curvature_vanished`). None if X'WX is not finite.
    """
    return 0 if ridge else straying_column(matrix, first, intercept=True)


def separated_reason(place: int | None = None, names: Sequence[str] = ()) -> str:
    """Sentence, without its full stop, on columns that separate the responses.

    place : of the coefficient that runs off, 0 of the intercept; None if the place that reports must not know it
    names : of the columns, in the order of the coefficients
    """
    if place == 0:
        return "the columns separate the responses: the intercept runs off to infinity; give responses that differ more"
    column = "a column" if place is None else repr(names[place - 1]) if names else f"column {place}"
    return (
        f"the columns separate the responses: the coefficient of {column} runs off to infinity; leave it out, or give "
        "ridge > 0"
    )


def check_size(n: int, q: int, ridge: float) -> None:
    """ValueError if there are no more records than coefficients, and no ridge."""
    if n <= q and not ridge:
        raise ValueError(
            f"n={n} records (of positive weight) for {q} coefficients: give more records, fewer columns or ridge > 0."
        )


def _newton(data: _Columns, beta: np.ndarray, scaling: Scaling, tolerance: float, max_iter: int) -> PooledFit:
    """Newton steps with observed weights, else with majorant ones."""
    eta = data.eta(beta)
    path, first, reason = [], None, f"max_iter={max_iter} evaluations"
    status: Status = "not_converged"
    for _iteration in range(max_iter):
        point = data.point(beta, eta)
        path.append(point.value)
        direction, matrix, verdict = data.newton(point, eta, first)
        if verdict == "singular":
            raise dependent(matrix)
        first = matrix if first is None else first
        if direction is None or verdict == "separated":
            status, reason = "diverged", separated_reason(separating_column(matrix, first, data.ridge), data.names)
            break
        if has_converged(direction, beta, tolerance, data.unit(path[0], first)):
            beta, status, reason = beta + direction, "ok", ""
            break
        step = data.search(point, direction, eta)
        if step is None:
            reason = NO_STEP
            break
        beta = beta + step * direction
        eta = data.eta(beta)
    return _to_fit(data, beta, scaling, path, status, reason)


def _lbfgs(
    data: _Data, beta: np.ndarray, scaling: Scaling, tolerance: float, max_iter: int, start: np.ndarray | None
) -> PooledFit:
    """L-BFGS steps from the Gram matrix times the mean weight."""
    eta = data.eta(beta)
    mean_weight = np.full(len(eta), np.average(data.family.weight(eta), weights=data.weights))
    first = data.matrix(mean_weight) if start is None else start
    memory, point = Memory(first), data.point(beta, eta)
    path, reason = [point.value], f"max_iter={max_iter} evaluations"
    status: Status = "not_converged"
    while True:
        direction = memory.direction(point.gradient)
        if has_converged(direction, beta, tolerance, data.unit(path[0], first)):
            beta, status, reason = beta + direction, "ok", ""
            break
        if len(path) == max_iter:
            break
        step = data.search(point, direction, eta)
        if step is None:
            reason = NO_STEP
            break
        beta = beta + step * direction
        eta = data.eta(beta)
        moved = data.point(beta, eta)
        memory, point = memory.after(point, moved), moved
        path.append(point.value)
    matrix = data.matrix(data.family.weight(eta))
    if curvature_vanished(matrix, first, data.ridge):
        status, reason = "diverged", separated_reason(separating_column(matrix, first, data.ridge), data.names)
    return _to_fit(data, beta, scaling, path, status, reason)


def _to_fit(
    data: _Columns, beta: np.ndarray, scaling: Scaling, path: list[float], status: Status, reason: str
) -> PooledFit:
    eta = data.eta(beta)
    return PooledFit(
        scaling.coefficients(beta), beta, eta, scaling, data.information(eta), np.array(path), status, reason
    )
