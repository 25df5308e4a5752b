"""The minimum of the loss itself: least squares, or logistic regression by Newton's steps."""

from __future__ import annotations

import numpy as np

from ...core.errors import UnboundedObjectiveError
from ...models.links import LOGIT
from ...models.newton import newton
from ...models.objective import Objective
from .steps import minimiser, shrinkage, with_ones

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
    """Coefficients (1 + d,) of the least objective, and whether there is one that was reached.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    response : ndarray of shape (n,)
        Of -1 and 1 for a logistic model.
    model : {"logistic", "linear"}
    ridge : float
        Without one, separable labels have no minimum: the coefficients are then those of ``LEAST_RIDGE``.
    intercept : bool
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
