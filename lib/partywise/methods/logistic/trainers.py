"""Fits from a noisy dot-product: Newton, and the first-order trainers of the source. None of them sees a label.

`ordinary_mini_batch`, the comparison that the source argues against, is the exception: it reads labels in every step
and is not private.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.verdicts import OK, Verdict
from ...models.links import LOGIT, Link
from ...models.newton import TOLERANCE, newton, no_minimiser
from ...models.objective import Objective, Point, check_features, check_labels, check_vector
from .model import ReleasePlan, check_intercept, check_ridge
from .noise import attainable
from .zonotope import LP_ROWS, boundedness, minimiser_status

SOLVERS = ("newton", "hybrid", "full_batch")


@dataclass(frozen=True, eq=False)
class WalrFit:
    """A fit from a noisy dot-product, with the objective and its gradient's norm at theta."""

    theta: np.ndarray
    steps: int
    # Newton: the decrement fell below the tolerance. First-order: the gradient did, which they rarely reach.
    converged: bool
    # Whether the objective has a minimiser; None if that is not known.
    bounded: bool | None
    objective: float
    gradient_norm: float

    def verdict(self, trainer: str) -> Verdict:
        """Whether Newton's steps reached their optimum; gradient descents take all their steps."""
        if trainer != "newton" or self.converged:
            return OK
        state = f"{self.steps} Newton steps have not reached an optimum (trainer={trainer!r})"
        return Verdict("not_converged", f"{state}: give a ridge or fewer columns")


def fit_walr(
    X,
    noisy_dot,
    plan: ReleasePlan,
    solver: str = "newton",
    *,
    rng: np.random.Generator | None = None,
    steps: int = 2000,
    batch_size: int = 256,
    learning_rate: float = 1.0,
    tolerance: float = TOLERANCE,
    start: np.ndarray | None = None,
) -> WalrFit:
    """Fit from a released dot-product: post-processing, at no privacy cost.

    ``newton`` finds the exact optimum (and raises `UnboundedObjectiveError` without ridge where none exists);
    ``hybrid`` and ``full_batch`` are the published descents, which always take all their steps.
    """
    objective = planned_objective(X, noisy_dot, plan)
    if solver not in SOLVERS:
        raise ValueError(f"solver={solver!r} is unknown; use one of {SOLVERS}.")
    if solver == "newton":
        if not np.any(objective.ridge):
            _refuse(objective)
        fit = newton(objective, start=start, tolerance=tolerance)
        return WalrFit(fit.theta, fit.steps, fit.converged, True, fit.objective, fit.gradient_norm)
    theta = np.zeros(objective.X.shape[1]) if start is None else np.array(start, dtype=float)
    # The published trainer, the hybrid: a mini-batch on the left, the dot-product of all N examples on the right.
    size, ridge = batch_size if solver == "hybrid" else None, objective.ridge
    theta = _descent(
        objective.X,
        lambda step, rows: objective.v,
        steps,
        learning_rate,
        theta,
        ridge=ridge,
        rng=rng,
        batch_size=size,
        link=objective.link,
    )
    point = objective.at(theta)
    norm = float(np.linalg.norm(objective.gradient(point)))
    return WalrFit(theta, steps, norm <= tolerance, has_minimiser(objective, point), point.value, norm)


def planned_objective(X, noisy_dot, plan: ReleasePlan) -> Objective:
    """Objective of a plan; with a ridge, the release is moved to where labels can put it (see `attainable`)."""
    X = check_features(X)
    check_intercept(X, plan.intercept)
    dot = attainable(X, check_vector("noisy_dot", noisy_dot, X.shape[1]), plan)
    return Objective(X, dot, plan.ridge, plan.link)


def gradient_descent(
    X,
    noisy_dots,
    learning_rate: float,
    rng: np.random.Generator | None = None,
    *,
    batch_size: int | None = None,
    link: Link = LOGIT,
) -> np.ndarray:
    """Descend from 0 with another noisy dot-product (T, k) in every step, theta of shape (k,).

    The learning rate is fixed before any label is read. ``rng`` draws the trainer's own batches, independent of those
    that the labels were sampled in.
    """
    X = check_features(X)
    dots = np.atleast_2d(np.asarray(noisy_dots, dtype=float))
    if dots.ndim != 2 or dots.shape[1] != X.shape[1] or not np.all(np.isfinite(dots)):
        raise ValueError(f"noisy_dots has shape {dots.shape}: give finite values of shape (T, {X.shape[1]}).")
    return _descent(
        X, lambda step, rows: dots[step], len(dots), learning_rate, rng=rng, batch_size=batch_size, link=link
    )


def ordinary_mini_batch(
    X,
    y,
    ridge,
    rng: np.random.Generator,
    *,
    steps: int = 2000,
    batch_size: int = 256,
    learning_rate: float = 1.0,
    link: Link = LOGIT,
) -> np.ndarray:
    """Mini-batch gradient descent with labels in every step, theta of shape (k,): not private, for comparison."""
    X = check_features(X)
    y = check_labels(y, len(X))
    ridge = check_ridge(ridge, X.shape[1])

    def right(step: int, rows: np.ndarray) -> np.ndarray:
        return y[rows] @ X[rows] / len(rows)

    return _descent(X, right, steps, learning_rate, ridge=ridge, rng=rng, batch_size=batch_size, link=link)


def penalised_optimum(X, y, ridge=0.0, link: Link = LOGIT) -> np.ndarray:
    """Non-private optimum, shape (k,): reads the labels; for the evaluator and the baseline without privacy."""
    X = check_features(X)
    v = check_labels(y, len(X)) @ X / len(X)
    return newton(Objective(X, v, check_ridge(ridge, X.shape[1]), link)).theta


def _descent(
    X: np.ndarray,
    right: Callable[[int, np.ndarray], np.ndarray],
    steps: int,
    learning_rate: float,
    theta: np.ndarray | None = None,
    *,
    ridge: np.ndarray | float = 0.0,
    rng: np.random.Generator | None = None,
    batch_size: int | None = None,
    link: Link,
) -> np.ndarray:
    """theta <- theta - lr ((1/B) X_B'p - right(step, B) + Lambda theta), with a batch B drawn in every step or all."""
    n, rows = len(X), np.arange(len(X))
    if steps < 1 or steps != int(steps):
        raise ValueError(f"steps={steps!r} must be a whole number from 1.")
    if not (np.isfinite(learning_rate) and learning_rate > 0):
        raise ValueError(f"learning_rate={learning_rate!r} must be positive and finite.")
    if batch_size is not None and not 1 <= batch_size <= n:
        raise ValueError(f"batch_size={batch_size!r} must lie between 1 and N={n}.")
    if batch_size is not None and rng is None:
        raise ValueError("rng=None: mini-batches are drawn; give a numpy Generator.")
    theta, batch = np.zeros(X.shape[1]) if theta is None else theta, X
    with np.errstate(over="ignore", invalid="ignore"):  # Steps that run off: coefficients that are not finite say so.
        for step in range(steps):
            if batch_size is not None and rng is not None:
                rows = rng.choice(n, batch_size, replace=False, shuffle=False)
                batch = X[rows]
            gradient = link.mean(batch @ theta) @ batch / len(batch) - right(step, rows) + ridge * theta
            theta = theta - learning_rate * gradient
    return theta


def _refuse(objective: Objective) -> None:
    """Ask the boundedness tests first; above the size of the LP, Newton itself watches its iterates."""
    test = boundedness(objective.X, objective.v)
    if test.direction is None or (test.status == "boundary" and len(objective.X) > LP_ROWS):
        return
    kind = "falls without end" if test.status == "unbounded" else "reaches its infimum nowhere"
    raise no_minimiser(test.direction, f"the objective {kind} (margin {test.margin:.3g})")


def has_minimiser(objective: Objective, point: Point) -> bool | None:
    """Whether an objective has a minimiser, None if no test can decide; ``point`` is where a trainer left it."""
    if np.any(objective.ridge):
        return True
    status = minimiser_status(objective.X, objective.v, objective.link)
    if status != "unknown":
        return status == "bounded"
    falls = objective.recession(point) < -1e-12 * float(np.abs(point.margins).max(initial=1.0))
    return False if falls else None
