"""Held-out quality of a fit, excess risk, and the evaluator's what-if releases; undefined values are None, never zero.

The evaluator is outside the federation and knows the labels.  Nothing that it draws is sent, so nothing that it
draws is charged: the ledger holds the one release behind the estimate.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from ...experiment.measures import finite
from ...methods.logistic.evaluate import BINS, auc, calibration, log_loss, predict, risk
from ...methods.logistic.model import LabelEstimate, ReleasePlan, dot_product, ridge_vector
from ...methods.logistic.options import BucketsOptions, LabelReferenceOptions, WalrOptions
from ...methods.logistic.planner import fixed_plan
from ...methods.logistic.trainers import fit_walr, ordinary_mini_batch, penalised_optimum, planned_objective
from ...models.links import Link
from ...models.objective import Objective
from .data import LabelData
from .measures import LabelPrivateExamples, LabelPrivateMeasures
from .redraws import audit_measures, classic_limit, evaluator, noise_measures, share_unbounded
from .settings import PATH_RUNS

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from .study import LabelConstants

# Small enough to change nothing, large enough that separable labels have an optimum.
REFERENCE_RIDGE = 1e-6
# Four steps a decade, from 1 to 100 000.
STEPS = np.unique(np.round(10.0 ** (np.arange(21) / 4)).astype(int))
PATH = ("path_passes", "path_norm", "path_log_loss", "path_objective", "path_gap")


def metrics(
    estimate: LabelEstimate, data: LabelData, train: np.ndarray, spec: MethodSpec[object, LabelConstants, object]
) -> LabelPrivateMeasures:
    """All scalars of one cell, on the rows outside ``train``."""
    data = data.of_cells(estimate.cells)
    X, y = data.testing
    theta, link = estimate.theta, estimate.link
    protected = LabelPrivateMeasures(n_protected=data.n_protected(spec.study.unit))
    measures = estimate_measures(estimate, train, spec) | protected
    if not np.all(np.isfinite(theta)):
        return measures
    p, loss = predict(X, theta, link), log_loss(X, y, theta, link)
    slope, intercept, error = calibration(p, y)
    measures |= LabelPrivateMeasures(
        auc=finite(auc(X @ theta, y)),
        log_loss=loss,
        uninformative=loss > log(2),
        calibration_slope=finite(slope),
        calibration_intercept=finite(intercept),
        calibration_error=error,
        excess_risk=excess(theta, data, link),
    )
    if len(data.theta):
        measures |= LabelPrivateMeasures.of(estimate.intervals.numbers(data.theta))
    options = spec.options
    if (
        estimate.plan is not None
        and estimate.noisy_dot is not None
        and isinstance(options, WalrOptions | BucketsOptions)
    ):
        return measures | release_measures(estimate.theta, estimate.noisy_dot, estimate.plan, data, options)
    if isinstance(options, LabelReferenceOptions):
        measures |= LabelPrivateMeasures(objective_gap=reference_gap(theta, data, options.ridge, link))
    return measures


def estimate_measures(
    estimate: LabelEstimate, train: np.ndarray, spec: MethodSpec[object, LabelConstants, object]
) -> LabelPrivateMeasures:
    """Return the measures of estimate and public facts, without a record: the number of persons is not public."""
    theta, n, measures = estimate.theta, int(train.sum()), LabelPrivateMeasures()
    if spec.study.unit != "user_label":
        measures |= LabelPrivateMeasures(n_protected=n)
    if not np.all(np.isfinite(theta)):
        return measures | LabelPrivateMeasures(diverged=True) | LabelPrivateMeasures.of(estimate.numbers)
    norm = float(np.linalg.norm(theta))
    measures |= LabelPrivateMeasures(norm_theta=norm, n_train=n, n_coefficients=len(theta))
    measures |= LabelPrivateMeasures.of(estimate.intervals.numbers())
    plan, released = estimate.plan, estimate.noisy_dot is not None
    takes_formula = isinstance(spec.options, WalrOptions | BucketsOptions) and spec.options.sigma == "classic"
    if plan is not None and released and takes_formula:
        measures |= LabelPrivateMeasures(classic_limit=classic_limit(plan.delta))
    return measures | LabelPrivateMeasures.of(estimate.numbers)


def least_risk(data: LabelData, link: Link) -> float:
    """F0(theta_O) of the training rows without noise, computed once a replicate for each link."""
    if link not in data.memo:
        optimum = penalised_optimum(*data.training, REFERENCE_RIDGE, link)
        data.memo[link] = risk(*data.training, optimum, link)
    return data.memo[link]


def excess(theta: np.ndarray, data: LabelData, link: Link) -> float:
    """F0(theta) - F0(theta_O) on the training rows, without noise and without ridge."""
    return risk(*data.training, theta, link) - least_risk(data, link)


def reference_gap(theta: np.ndarray, data: LabelData, ridge: float, link: Link) -> float:
    """Excess of the penalised objective of a trainer without noise over its least value."""
    X, y = data.training
    objective = Objective(X, y @ X / len(X), ridge_vector(ridge, X.shape[1]), link)
    return objective.at(theta).value - objective.at(penalised_optimum(X, y, ridge, link)).value


def release_measures(
    theta: np.ndarray,
    noisy_dot: np.ndarray,
    plan: ReleasePlan,
    data: LabelData,
    options: WalrOptions | BucketsOptions,
) -> LabelPrivateMeasures:
    """Return the trainer's gap to the optimum of its release, and the results of other draws of the plan."""
    X = data.training[0]
    measures = LabelPrivateMeasures()
    if isinstance(options, WalrOptions) and options.trainer != "newton" and np.any(plan.ridge):
        objective = planned_objective(X, noisy_dot, plan)
        gap = objective.at(theta).value - fit_walr(X, noisy_dot, plan).objective
        measures |= LabelPrivateMeasures(objective_gap=gap)
    if options.noise_draws:
        measures |= noise_measures(
            data, plan, options.noise_draws, theta, lambda coefficients: excess(coefficients, data, plan.link)
        )
    if isinstance(options, WalrOptions) and options.bounded_draws:
        measures |= share_unbounded(data, plan, options.bounded_draws)
    if options.audit_draws:
        measures |= audit_measures(data, plan, options.audit_draws, delta=plan.delta)
    return measures


def example_fits(
    estimate: LabelEstimate, data: LabelData, train: np.ndarray, spec: MethodSpec[object, object, object]
) -> LabelPrivateExamples:
    """Calibration of the test rows, and the path of a trainer.

    calibration_predicted, calibration_observed : (bin,), means in ten bins of equal counts of the test rows
    path_steps : (path_step,); path_passes, path_norm, path_log_loss, path_objective, path_gap : (path_step,), NaN
        without a path
    """
    X, y = data.of_cells(estimate.cells).testing
    predicted, observed = curve(predict(X, estimate.theta, estimate.link), y)
    path = np.full((len(PATH), len(STEPS)), np.nan)
    if isinstance(spec.options, WalrOptions | LabelReferenceOptions) and spec.options.trace_steps:
        path = walk(estimate, data, spec.options)
    examples = LabelPrivateExamples(calibration_predicted=predicted, calibration_observed=observed)
    examples |= LabelPrivateExamples(path_steps=STEPS.astype(float))
    return examples | LabelPrivateExamples.of(dict(zip(PATH, path, strict=True)))


def curve(p: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean prediction and share of positives in ten bins of equal counts; NaN where there are fewer rows."""
    parts = [part for part in np.array_split(np.argsort(p, kind="stable"), BINS)]
    means = [(p[part].mean(), y[part].mean()) if len(part) else (np.nan, np.nan) for part in parts]
    return np.array([m[0] for m in means]), np.array([m[1] for m in means])


def walk(estimate: LabelEstimate, data: LabelData, options: WalrOptions | LabelReferenceOptions) -> np.ndarray:
    """(5, path_step): the trainer again, stopped at each of the steps; mini-batches are the evaluator's.

    A path of mini-batches is the mean over several.
    """
    X, y = data.training
    link = estimate.link
    plan = estimate.plan if estimate.plan is not None else fixed_plan(X, np.inf, 0.5, ridge=options.ridge, link=link)
    dot = estimate.noisy_dot if estimate.noisy_dot is not None else dot_product(X, y)
    objective = planned_objective(X, dot, plan)
    best = objective.at(fit_walr(X, dot, plan).theta).value if np.any(plan.ridge) else np.nan
    batch = len(X) if options.trainer == "full_batch" else min(options.batch_size, len(X))
    path = np.full((len(PATH), len(STEPS)), np.nan)
    for place, steps in enumerate(STEPS[options.trace_steps >= STEPS].tolist()):
        ends = []
        for number in range(1 if options.trainer == "full_batch" else PATH_RUNS):
            theta = first_order_coefficients(data, dot, plan, options, steps, batch, evaluator(data, "path", number))
            value = objective.at(theta).value
            ends.append((float(np.linalg.norm(theta)), log_loss(*data.testing, theta, link), value, value - best))
        path[:, place] = steps * batch / len(X), *np.mean(ends, axis=0)
    return path


def first_order_coefficients(
    data: LabelData,
    dot: np.ndarray,
    plan: ReleasePlan,
    options: WalrOptions | LabelReferenceOptions,
    steps: int,
    batch: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Coefficients of a first-order trainer after some steps from zero."""
    X, y = data.training
    rate = options.learning_rate
    if options.trainer == "minibatch":
        return ordinary_mini_batch(
            X, y, options.ridge, rng, link=plan.link, steps=steps, batch_size=batch, learning_rate=rate
        )
    return fit_walr(X, dot, plan, options.trainer, rng=rng, steps=steps, batch_size=batch, learning_rate=rate).theta
