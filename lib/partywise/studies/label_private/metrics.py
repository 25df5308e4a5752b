"""Held-out quality of a fit, excess risk, and the evaluator's what-if releases; undefined values are None, never zero.

The evaluator stands outside the federation and knows the labels.  Nothing that it draws is sent, so nothing that it
draws is charged: the ledger holds the one release behind the estimate.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from ...logistic.evaluate import auc, calibration, log_loss, predict
from ...logistic.model import Estimate, Plan
from ...logistic.objective import Objective, ridge_vector
from ...logistic.trainers import fit_walr, penalised_optimum, planned_objective
from .data import LabelData
from .redraws import audited, classic_limit, expected, share_unbounded

# Small enough to change nothing, large enough that separable labels have an optimum.
REFERENCE_RIDGE = 1e-6


def metrics(estimate: Estimate, data: LabelData, train: np.ndarray, spec: Any) -> dict[str, Any]:
    """All scalars of one cell, on the rows outside ``train``."""
    X, y = data.testing
    theta = estimate.theta
    if not np.all(np.isfinite(theta)):
        return {"diverged": True, "n_protected": int(train.sum())} | estimate.numbers
    p, loss = predict(X, theta), log_loss(X, y, theta)
    slope, intercept, error = calibration(p, y)
    scalars: dict[str, Any] = {
        "auc": defined(auc(X @ theta, y)),
        "log_loss": loss,
        "uninformative": loss > log(2),
        "calibration_slope": defined(slope),
        "calibration_intercept": defined(intercept),
        "calibration_error": error,
        "excess_risk": excess(theta, data),
        "norm_theta": float(np.linalg.norm(theta)),
        "n_train": int(train.sum()),
        "n_protected": int(train.sum()),
        "n_features": X.shape[1],
    }
    scalars |= estimate.numbers
    if estimate.plan is not None and estimate.noisy_dot is not None:
        scalars |= released(estimate.theta, estimate.noisy_dot, estimate.plan, data, spec.options)
    elif hasattr(spec.options, "trainer"):
        scalars["objective_gap"] = reference_gap(theta, data, spec.options.ridge)
    return scalars


def defined(value: float) -> float | None:
    """The value, or None where it is not a number."""
    return float(value) if np.isfinite(value) else None


def optimum(data: LabelData) -> np.ndarray:
    """Coefficients (k,) of the training rows without noise, computed once a replicate."""
    if "optimum" not in data.kept:
        data.kept["optimum"] = penalised_optimum(*data.training, REFERENCE_RIDGE)
        data.kept["risk"] = log_loss(*data.training, data.kept["optimum"])
    return data.kept["optimum"]


def excess(theta: np.ndarray, data: LabelData) -> float:
    """F0(theta) - F0(theta_O) on the training rows, without noise and without ridge."""
    optimum(data)
    return log_loss(*data.training, theta) - data.kept["risk"]


def reference_gap(theta: np.ndarray, data: LabelData, ridge: float) -> float:
    """How far a trainer without noise stays above the least penalised objective."""
    X, y = data.training
    objective = Objective(X, y @ X / len(X), ridge_vector(ridge, X.shape[1]))
    return objective.at(theta).value - objective.at(penalised_optimum(X, y, ridge)).value


def released(theta: np.ndarray, noisy_dot: np.ndarray, plan: Plan, data: LabelData, options: Any) -> dict[str, Any]:
    """How near the trainer came to the optimum of its release, and what other draws of the plan would have given."""
    X = data.training[0]
    found: dict[str, Any] = {}
    if options.trainer != "newton" and np.any(plan.ridge):
        objective = planned_objective(X, noisy_dot, plan)
        found["objective_gap"] = objective.at(theta).value - fit_walr(X, noisy_dot, plan).objective
    if options.sigma == "classic":
        found["classic_limit"] = classic_limit(plan.delta)
    if options.noise_draws:
        found |= expected(data, plan, options.noise_draws, theta, lambda one: excess(one, data))
    if options.bounded_draws:
        found |= share_unbounded(data, plan, options.bounded_draws)
    if options.audit_draws:
        found |= audited(data, plan, options.audit_draws, delta=plan.delta)
    return found
