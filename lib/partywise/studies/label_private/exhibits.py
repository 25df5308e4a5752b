"""Arrays worth looking at, kept for one fit of each method: calibration curves, the path of a first-order trainer."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...logistic.evaluate import BINS, log_loss, predict
from ...logistic.model import Estimate, Plan
from ...logistic.objective import dot_product
from ...logistic.planner import fixed_plan
from ...logistic.trainers import fit_walr, ordinary_mini_batch, planned_objective
from .data import LabelData
from .redraws import evaluator

Exhibits = dict[str, tuple[tuple[str, ...], np.ndarray]]
# Four steps a decade, from 1 to 100 000.
STEPS = np.unique(np.round(10.0 ** (np.arange(21) / 4)).astype(int))
REPEATS = 5
PATH = ("path_passes", "path_norm", "path_log_loss", "path_objective", "path_gap")


def exhibits(estimate: Estimate, data: LabelData, train: np.ndarray, spec: Any) -> Exhibits:
    """Named arrays with their own dimensions.

    calibration_predicted, calibration_observed : (bin,), means in ten bins of equal counts of the test rows
    path_steps : (path_step,); path_passes, path_norm, path_log_loss, path_objective, path_gap : (path_step,), NaN
        where there is no path
    """
    X, y = data.testing
    predicted, observed = curve(predict(X, estimate.theta), y)
    found: Exhibits = {
        "calibration_predicted": (("bin",), predicted),
        "calibration_observed": (("bin",), observed),
        "path_steps": (("path_step",), STEPS.astype(float)),
    }
    path = np.full((len(PATH), len(STEPS)), np.nan)
    if getattr(spec.options, "trace_steps", 0):
        path = walk(estimate, data, spec.options)
    return found | {name: (("path_step",), values) for name, values in zip(PATH, path, strict=True)}


def curve(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean prediction and share of positives in ten bins of equal counts; NaN where there are fewer rows."""
    parts = [part for part in np.array_split(np.argsort(p, kind="stable"), BINS)]
    means = [(p[part].mean(), y[part].mean()) if len(part) else (np.nan, np.nan) for part in parts]
    return np.array([m[0] for m in means]), np.array([m[1] for m in means])


def walk(estimate: Estimate, data: LabelData, options: Any) -> np.ndarray:
    """(5, path_step): the trainer again, stopped at each of the steps; mini-batches are the evaluator's.

    A path of mini-batches is the mean over several.
    """
    X, y = data.training
    plan = estimate.plan if estimate.plan is not None else fixed_plan(X, np.inf, 0.5, ridge=options.ridge)
    dot = estimate.noisy_dot if estimate.noisy_dot is not None else dot_product(X, y)
    objective = planned_objective(X, dot, plan)
    best = objective.at(fit_walr(X, dot, plan).theta).value if np.any(plan.ridge) else np.nan
    batch = len(X) if options.trainer == "full_batch" else min(options.batch_size, len(X))
    path = np.full((len(PATH), len(STEPS)), np.nan)
    for place, steps in enumerate(STEPS[options.trace_steps >= STEPS].tolist()):
        ends = []
        for number in range(1 if options.trainer == "full_batch" else REPEATS):
            theta = stopped(data, dot, plan, options, steps, batch, evaluator(data, "path", number))
            value = objective.at(theta).value
            ends.append((float(np.linalg.norm(theta)), log_loss(*data.testing, theta), value, value - best))
        path[:, place] = steps * batch / len(X), *np.mean(ends, axis=0)
    return path


def stopped(
    data: LabelData, dot: np.ndarray, plan: Plan, options: Any, steps: int, batch: int, rng: np.random.Generator
) -> np.ndarray:
    """Coefficients of a first-order trainer after some steps from zero."""
    (X, y), rate = data.training, options.learning_rate
    if options.trainer == "minibatch":
        return ordinary_mini_batch(X, y, options.ridge, rng, steps=steps, batch_size=batch, learning_rate=rate)
    fitted = fit_walr(X, dot, plan, options.trainer, rng=rng, steps=steps, batch_size=batch, learning_rate=rate)
    return fitted.theta
