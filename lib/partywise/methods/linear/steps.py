"""Gradient steps of linear models on columns in one place, and where they lead; the minimum of the loss itself."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...core.errors import UnboundedObjectiveError
from ...models.links import LOGIT
from ...models.newton import newton
from ...models.objective import Objective
from .model import Path
from .options import LinearPooledOptions

# Share of the linear predictor and of the response in the residual: u = slope eta - weight y.  Taylor's formula of the
# logistic loss about 0, where its gradient is 1/4 eta - 1/2 y for y of -1 and 1.
SLOPES = {"logistic": 0.25, "linear": 1.0}
WEIGHTS = {"logistic": 0.5, "linear": 1.0}


def responses(y: np.ndarray, model: str) -> np.ndarray:
    """(n,) the response of a model: labels 0 and 1 become -1 and 1, numbers stay."""
    if model == "linear":
        return y
    labels = set(np.unique(y).tolist())
    if labels != {0.0, 1.0}:
        raise ValueError(
            f"y of model 'logistic' has the values {sorted(labels)[:4]}: give both labels, 0 and 1, or use model "
            "'linear'."
        )
    return 2 * y - 1


def residuals(eta: np.ndarray, response: np.ndarray, model: str) -> np.ndarray:
    """(n,) derivative of the quadratic loss of a model by the linear predictor eta (n,)."""
    return SLOPES[model] * eta - WEIGHTS[model] * response


def batches(n: int, batch_size: int | None, rounds: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Numbers of the rows of every step: shuffled passes over ``n`` rows, the last batch of a pass may be smaller."""
    if batch_size is None or batch_size >= n:
        return (np.arange(n),) * rounds
    drawn: list[np.ndarray] = []
    for _ in range(math.ceil(rounds / math.ceil(n / batch_size))):
        order = rng.permutation(n)
        drawn += [order[start : start + batch_size] for start in range(0, n, batch_size)]
    return tuple(drawn[:rounds])


def with_ones(X: np.ndarray, intercept: bool) -> np.ndarray:
    """(n, 1 + d): a column of ones before the others, or of zeros without an intercept."""
    return np.column_stack([np.full(len(X), float(intercept)), X])


def shrinkage(d: int, ridge: float) -> np.ndarray:
    """(1 + d,) ridge of every coefficient; the intercept has none."""
    return np.concatenate([np.zeros(1), np.full(d, ridge)])


def descend(
    X: np.ndarray, response: np.ndarray, drawn: Sequence[np.ndarray], options: LinearPooledOptions
) -> tuple[np.ndarray, Path]:
    """The coefficients (1 + d,) after a step along every batch of X (n, d), and their path.

    response : (n,) as `responses` has it; drawn : rows of each step
    """
    columns, ridge = with_ones(X, options.intercept), shrinkage(X.shape[1], options.ridge)
    b = np.zeros(columns.shape[1])
    coefficients = [b]
    with np.errstate(over="ignore", invalid="ignore"):  # Steps that run off: coefficients that are not finite show it.
        for step, rows in enumerate(drawn, start=1):
            part = columns[rows]
            gradient = part.T @ residuals(part @ b, response[rows], options.model) / len(rows)
            b = b - options.learning_rate * (gradient + ridge * b)
            if is_kept(step, len(drawn), options.eval_freq):
                coefficients.append(b)
    return b, Path(kept_rounds(len(drawn), options.eval_freq), np.array(coefficients))


def is_kept(step: int, rounds: int, eval_freq: int) -> bool:
    """Whether the path has a point after a step; the last one is always there."""
    return step % eval_freq == 0 or step == rounds


def kept_rounds(rounds: int, eval_freq: int) -> np.ndarray:
    """(e,) rounds after which the path has a point, 0 among them."""
    return np.array([0, *(step for step in range(1, rounds + 1) if is_kept(step, rounds, eval_freq))])


def minimiser(X: np.ndarray, response: np.ndarray, model: str, ridge: float, intercept: bool) -> np.ndarray:
    """(1 + d,) where the steps on all rows lead: the least mean quadratic loss of a model with its ridge.

    By orthogonal transformations of columns that are centred and scaled first, whose products would lose the digits
    that shifts and scales take. Where columns depend on each other and nothing shrinks them, one solution of many.
    """
    n, target = len(X), WEIGHTS[model] / SLOPES[model] * response
    centre, level = (X.mean(axis=0), float(target.mean())) if intercept else (np.zeros(X.shape[1]), 0.0)
    centred = X - centre
    scale = np.sqrt(np.mean(centred**2, axis=0))
    # What centring leaves of a constant column is rounding.
    flat = scale <= np.finfo(float).eps * np.abs(X).max(axis=0, initial=0.0)
    scale = np.where(flat, 1.0, scale)
    columns = np.where(flat, 0.0, centred / scale)
    shrunk = np.diag(np.sqrt(n * ridge / SLOPES[model]) / scale)
    both = np.concatenate([columns, shrunk]), np.concatenate([target - level, np.zeros(len(scale))])
    slopes = np.linalg.lstsq(*both, rcond=None)[0] / scale
    return np.concatenate([[level - slopes @ centre], slopes])


# Enough to give separable labels a minimum, too little to be seen otherwise.
LEAST_RIDGE = 1e-9


def loss(eta: np.ndarray, response: np.ndarray, model: str) -> float:
    """Mean loss: logistic in nats for a response of -1 and 1, half the squared error of a linear model."""
    if model == "linear":
        return float(np.mean((eta - response) ** 2) / 2)
    return float(np.mean(LOGIT.log_loss(eta, response)))


def exact_fit(
    X: np.ndarray, response: np.ndarray, model: str, ridge: float, intercept: bool
) -> tuple[np.ndarray, bool]:
    """Coefficients (1 + d,) of the least objective on X (n, d), and whether there is one that was reached.

    Without a ridge, separable labels have no minimum: the coefficients are then those of ``LEAST_RIDGE``.
    """
    if model == "linear":
        return minimiser(X, response, model, ridge, intercept), True
    columns, shrunk = with_ones(X, intercept)[:, 1 - intercept :], shrinkage(X.shape[1], ridge)[1 - intercept :]
    problem = Objective(columns, columns.T @ (response > 0) / len(X), shrunk)
    try:
        fit = newton(problem)
    except UnboundedObjectiveError:
        return exact_fit(X, response, model, LEAST_RIDGE, intercept)[0], False
    b = fit.theta
    if not ridge:  # where columns depend on each other, the shortest of many
        b = np.linalg.lstsq(columns, columns @ b, rcond=None)[0]
    return b if intercept else np.concatenate([np.zeros(1), b]), fit.converged
