"""Held-out quality of a fit, its distance to the exact one and to pooled steps, and what the key holder saw.

The evaluator is outside the federation and knows all columns and labels; undefined values are None, never zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from ...audits.attacks.messages import directions_seen
from ...audits.attacks.roc import rank_auc
from ...methods.linear.model import LinearEstimate
from ...methods.linear.options import LinearPooledOptions
from ...methods.linear.steps import descend, exact_fit, loss, minimiser, responses
from ...models.criteria import CLASSES
from ...privacy.ledger.ledger import Ledger
from .data import LinearData
from .measures import LinearExamples, LinearMeasures

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from .study import LinearConstants

KEY_HOLDER = "server"


def metrics(
    estimate: LinearEstimate, data: LinearData, train: np.ndarray, spec: MethodSpec[object, object, object]
) -> LinearMeasures:
    """All scalars of one cell; the test rows are those outside ``train``."""
    measures = estimate_measures(estimate, train, spec)
    if not np.all(np.isfinite(estimate.coefficients)):
        return measures
    least = exact_loss(data, train, spec.options)
    model = model_of(spec.options)
    excess = training_loss(estimate.scores(data.X[train]), data, train, model) - least
    measures |= LinearMeasures(excess_loss=excess) | prediction_measures(estimate, data, ~train, model)
    return measures | pooled_measures(estimate, data, train, spec, least)


def estimate_measures(
    estimate: LinearEstimate, train: np.ndarray, spec: MethodSpec[object, object, object]
) -> LinearMeasures:
    """Return the measures of the estimate, or of the part of it that one party has, and of public facts."""
    n, known = int(train.sum()), estimate.coefficients
    measures = LinearMeasures(n_train=n, n_features=len(known) - 1, n_protected=n) | LinearMeasures.of(estimate.numbers)
    if not np.all(np.isfinite(known if estimate.part is None else known[list(estimate.part)])):
        return measures | LinearMeasures(diverged=True)
    return measures


def prediction_measures(estimate: LinearEstimate, data: LinearData, test: np.ndarray, model: str) -> LinearMeasures:
    """Quality on the test rows, if there are any; a linear model of labels predicts 1 from one half on."""
    if not test.any():
        return LinearMeasures()
    scores, y = estimate.scores(data.X[test]), data.y[test]
    if model == "linear":
        squared = float(np.mean((scores - y) ** 2))
        worse = squared > float(np.mean((data.y[~test].mean() - y) ** 2))
        measures = LinearMeasures(mse=squared * data.label_scale**2, worse_than_mean=worse)
    else:
        surprise = loss(scores, 2 * y - 1, "logistic")
        worse = surprise > base_loss(float(data.y[~test].mean()), y)
        measures = LinearMeasures(log_loss=surprise, worse_than_mean=worse)
    if data.criterion == CLASSES:
        half = 0.5 if model == "linear" else 0.0
        accuracy = float(np.mean((scores > half) == (y == 1)))
        measures |= LinearMeasures(auc=rank_auc(scores[y == 1], scores[y == 0]), accuracy=accuracy)
    return measures


def base_loss(p: float, y: np.ndarray) -> float:
    """Logarithmic loss on labels (n,) of one probability for all records, the share of ones among the training rows."""
    share = float(np.mean(y))
    with np.errstate(divide="ignore"):
        parts = [(share, np.log(p)), (1 - share, np.log1p(-p))]
    return -float(sum(weight * value for weight, value in parts if weight))


def training_loss(scores: np.ndarray, data: LinearData, train: np.ndarray, model: str) -> float:
    """Mean loss of linear predictors of the training rows, without a ridge."""
    return loss(scores, responses(data.y[train], model), model)


def exact_loss(data: LinearData, train: np.ndarray, options: object) -> float:
    """Training loss of the fit that a method approaches: with its intercept and its ridge, if it has any."""
    ridge, intercept = getattr(options, "ridge", 0.0), getattr(options, "intercept", False)
    model, X = model_of(options), data.X[train]
    key = train.tobytes(), model, ridge, intercept
    if key not in data.memo:
        b, _ = exact_fit(X, responses(data.y[train], model), model, ridge, intercept)
        data.memo[key] = training_loss(X @ b[1:] + b[0], data, train, model)
    return data.memo[key]


def model_of(options: object) -> str:
    """The model that a method fits; the published one is logistic."""
    return str(getattr(options, "model", "logistic"))


def pooled_measures(
    estimate: LinearEstimate,
    data: LinearData,
    train: np.ndarray,
    spec: MethodSpec[object, object, object],
    least: float,
) -> LinearMeasures:
    """Return measures of the same steps on pooled columns, of their limit, and of the rows that the key holder sees.

    least : training loss of the exact fit
    """
    if not estimate.batches:
        return LinearMeasures()
    X, options = data.X[train], pooled_options(spec.options)
    response = responses(data.y[train], options.model)
    b, _ = descend(X, response, estimate.batches, options)
    end = minimiser(X, response, options.model, options.ridge, options.intercept)
    measures = LinearMeasures(
        limit_excess=training_loss(X @ end[1:] + end[0], data, train, options.model) - least,
        max_coefficient_difference=float(np.abs(b - estimate.coefficients).max()),
    )
    if estimate.key_holder_view is not None:
        rows = X[estimate.batches[0]]
        recovered = int(directions_seen(estimate.key_holder_view, rows).sum())
        measures |= LinearMeasures(rows_recovered=recovered, rows_attacked=len(rows))
    return measures


def pooled_options(options: object) -> LinearPooledOptions:
    """Options of pooled steps that are those of a method; the published one has no intercept, ridge or other model."""
    values = {
        entry.name: getattr(options, entry.name)
        for entry in fields(LinearPooledOptions)
        if hasattr(options, entry.name)
    }
    return replace(LinearPooledOptions(model="logistic", ridge=0.0, intercept=False), **values)


def server_epsilon(
    ledger: Ledger, names: Sequence[str], spec: MethodSpec[object, LinearConstants, object]
) -> LinearMeasures:
    """Return the epsilon that the ledger certifies for the key holder's view alone, if there is one."""
    if KEY_HOLDER not in names:
        return LinearMeasures()
    group = getattr(spec.settings, "rows_per_user", None)
    total = ledger.total(KEY_HOLDER, spec.study.unit, spec.study.delta, rows_per_user=group)
    return LinearMeasures(epsilon_server=total.epsilon_certified)


def example_fits(
    estimate: LinearEstimate, data: LinearData, train: np.ndarray, spec: MethodSpec[object, object, object]
) -> LinearExamples:
    """The path of the training loss.

    path_rounds, path_loss, path_loss_excess : (path_round,), NaN beyond the last round that is kept
    """
    if estimate.path is None:
        return LinearExamples()
    scores = estimate.path.coefficients[:, 1:] @ data.X[train].T + estimate.path.coefficients[:, :1]
    with np.errstate(over="ignore"):
        losses = np.array([training_loss(step_scores, data, train, model_of(spec.options)) for step_scores in scores])
    finite = np.where(np.isfinite(losses), losses, math.nan)
    excess = finite - exact_loss(data, train, spec.options)
    rounds = estimate.path.rounds.astype(float)
    return LinearExamples(path_rounds=rounds, path_loss=finite, path_loss_excess=excess)
