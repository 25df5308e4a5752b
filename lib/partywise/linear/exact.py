"""The minimum of the loss itself: least squares, or logistic regression by Newton steps with halving."""

from __future__ import annotations

import numpy as np

from ..models.links import LOGIT
from .steps import minimiser, shrinkage, with_ones

# Squared Newton decrement below which an objective is within half of that of its minimum, and a step that is none.
TOLERANCE, STANDSTILL = 1e-24, 1e-6
NEWTON_STEPS, HALVINGS = 100, 60


def loss(eta: np.ndarray, response: np.ndarray, model: str) -> float:
    """Mean loss: logistic in nats for a response of -1 and 1, half the squared error of a linear model."""
    if model == "linear":
        return float(np.mean((eta - response) ** 2) / 2)
    return float(np.mean(LOGIT.log_loss(eta, response)))


def objective(b: np.ndarray, X: np.ndarray, response: np.ndarray, model: str, ridge: float) -> float:
    """Mean loss with its ridge at coefficients b (1 + d,), the intercept first."""
    return loss(X @ b[1:] + b[0], response, model) + ridge * float(b[1:] @ b[1:]) / 2


def exact_fit(
    X: np.ndarray, response: np.ndarray, model: str, ridge: float, intercept: bool
) -> tuple[np.ndarray, bool]:
    """Coefficients (1 + d,) of the least objective, and whether they were reached.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    response : ndarray of shape (n,)
        Of -1 and 1 for a logistic model.
    model : {"logistic", "linear"}
    ridge : float
        Without one, separable labels have no minimum: the steps end then without having reached it.
    intercept : bool
    """
    if model == "linear":
        return minimiser(X, response, model, ridge, intercept), True
    columns, shrunk = with_ones(X, intercept)[:, 1 - intercept :], shrinkage(X.shape[1], ridge)[1 - intercept :]
    b, rank = np.zeros(columns.shape[1]), np.linalg.matrix_rank(columns.T @ columns)
    value = _objective(columns, b, response, shrunk)
    for _ in range(NEWTON_STEPS):
        eta = columns @ b
        gradient = -columns.T @ LOGIT.score(eta, response > 0) / len(X) + shrunk * b
        curvature = (columns.T * LOGIT.slope(eta)) @ columns / len(X) + np.diag(shrunk)
        direction = -np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        if -gradient @ direction <= TOLERANCE:
            break
        trials = (b + 0.5**halving * direction for halving in range(HALVINGS))
        values = ((_objective(columns, one, response, shrunk), one) for one in trials)
        better = next((pair for pair in values if pair[0] < value), None)
        if better is None:  # rounding hides what is left of the way down
            break
        value, b = better
    # Separable labels: the steps go on although the loss falls no more, or the curvature vanishes along a direction.
    still = np.linalg.norm(direction) <= STANDSTILL * (1 + np.linalg.norm(b))
    reached = still and (ridge > 0 or np.linalg.matrix_rank(curvature) == rank)
    return b if intercept else np.concatenate([np.zeros(1), b]), bool(reached)


def _objective(columns: np.ndarray, b: np.ndarray, response: np.ndarray, shrunk: np.ndarray) -> float:
    return loss(columns @ b, response, "logistic") + float(shrunk @ b**2) / 2
