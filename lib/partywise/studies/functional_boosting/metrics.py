"""Held-out errors, selection quality and formula bytes; undefined values are None here, NaN in the cube, never zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...audits.attacks.membership import attack_metrics
from ...audits.attacks.roc import rank_auc
from ...methods.functional.boosting import fit_joint
from ...methods.functional.model import BasisSpec, CurveEstimate, CurveFacts
from ...methods.functional.moments import CurveSums, corrected_moments
from ...methods.functional.path_options import BoostingOptions
from ...methods.functional.paths import Penalties
from .data import FunctionalData
from .measures import FunctionalExamples, FunctionalMeasures

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec

GRID = 101
OPERATOR_GRID = 25
CURVE_GRID = 73
SHOWN = 4
# Of the name of a record that a figure shows.
CHARACTERS = 24


def metrics(estimate: CurveEstimate, data: FunctionalData, train: np.ndarray, spec: object) -> FunctionalMeasures:
    """All scalars of one cell, on the records outside ``train`` (on all records when none is held out).

    A path that diverged may have losses beyond the range of floating-point numbers: they are inf.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _metrics(estimate, data, train) | estimate_measures(estimate, train, spec)


def estimate_measures(estimate: CurveEstimate, train: np.ndarray, spec: object) -> FunctionalMeasures:
    """Return the measures that follow from the estimate and public facts, without a record."""
    counts = FunctionalMeasures(n_protected=int(train.sum()), n_selected=int(estimate.selected_predictors.sum()))
    return FunctionalMeasures.of(estimate.numbers) | counts


def _metrics(estimate: CurveEstimate, data: FunctionalData, train: np.ndarray) -> FunctionalMeasures:
    test = ~train if not train.all() else train
    X, Y = data.X[test], data.Y[test]
    predicted = estimate.predict(X, data.basis_x)
    risk = _risk(Y, predicted)
    risk_mean, energy = _risk(Y, np.broadcast_to(data.Y[train].mean(0), Y.shape)), _risk(Y, np.zeros_like(Y))
    measures = FunctionalMeasures(
        il2=risk,
        ril2=_ratio(risk, energy),
        relative_error=_ratio(risk, risk_mean),
        worse_than_mean=bool(risk > risk_mean),
        in_sample=bool(train.all()),
    )
    if estimate.received_curves is not None:
        released = _risk(Y, estimate.predict(estimate.received_curves[test]))
        measures |= FunctionalMeasures(ril2_released=_ratio(released, energy))
    if data.has_truth:
        truth = Y - (X.reshape(len(X), -1) @ data.operators.reshape(-1, Y.shape[1]))
        risk_truth = float(np.mean(np.sum(truth**2, axis=1)))
        excess = (risk - risk_truth) / (risk_mean - risk_truth) if risk_mean > risk_truth else None
        measures |= FunctionalMeasures(excess=excess) | selection(estimate, data)
    measures |= grid_errors(Y, predicted, data)
    if len(data.reference_X):
        references = zip(data.reference_X, data.reference_Y, strict=True)
        attacks = attack_metrics(estimate.predict, (data.X, data.Y), train, references, reference_model)
        measures |= FunctionalMeasures.of(attacks)
    return measures


def reference_model(X: np.ndarray, Y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Non-private least squares on a fresh data set (N, p, Qx), (N, Qy): calibrates the membership attack."""
    _, p, q = X.shape
    moments = corrected_moments(CurveSums.of(X.reshape(len(X), -1), Y), np.zeros((p * q, p * q)))
    free = Penalties(np.zeros((p, q, q)), np.zeros((Y.shape[1],) * 2))
    B = fit_joint(moments, free, BoostingOptions(lambda_s=0.0, lambda_t=0.0)).B
    means = moments.mean_x.reshape(p, q), moments.mean_y
    return CurveEstimate(B.reshape(p, q, -1), *means, np.ones(p, dtype=bool), np.inf).predict


def _risk(Y: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.mean(np.sum((Y - predicted) ** 2, axis=1)))


def _ratio(top: float, bottom: float) -> float | None:
    return top / bottom if bottom > 0 else None


def grid_errors(Y: np.ndarray, predicted: np.ndarray, data: FunctionalData) -> FunctionalMeasures:
    """Pointwise errors of curves given by orthonormal coordinates, on a public grid of 101 points."""
    basis = data.basis_y.build()
    values = basis.evaluate(np.linspace(*data.basis_y.domain, GRID)) @ basis.inverse_root
    y, fitted = Y @ values.T, predicted @ values.T
    error = np.abs(y - fitted)
    scale, span = np.abs(y) + np.abs(fitted), float(y.max() - y.min())
    nonzero = y != 0
    rmse = float(np.sqrt(np.mean(error**2)))
    return FunctionalMeasures(
        rmse=rmse,
        nrmse=_ratio(rmse, span),
        wmape=float(error.sum() / np.abs(y).sum()) if nonzero.any() else None,
        smape=float(np.mean(2 * error / np.where(scale > 0, scale, 1.0))),
        mape=float(np.mean(error[nonzero] / np.abs(y[nonzero]))) if nonzero.any() else None,
        mape_left_out=float(1 - nonzero.mean()),
    )


def selection(estimate: CurveEstimate, data: FunctionalData) -> FunctionalMeasures:
    """Sensitivity and specificity of the touched predictors and of their importance ||B_j||^2."""
    active = np.asarray(data.active, dtype=bool)
    importance = np.sum(estimate.operators**2, axis=(1, 2))
    large = importance >= 0.05 * importance.max() if importance.max() > 0 else np.zeros_like(active)
    return FunctionalMeasures(
        sensitivity=_share(estimate.selected_predictors[active]),
        specificity=_share(~estimate.selected_predictors[~active]),
        sensitivity_importance=_share(large[active]),
        specificity_importance=_share(~large[~active]),
        auc_importance=rank_auc(importance[active], importance[~active]),
    )


def _share(flags: np.ndarray) -> float | None:
    return float(flags.mean()) if flags.size else None


def example_fits(estimate: CurveEstimate, data: FunctionalData, train: np.ndarray, spec: object) -> FunctionalExamples:
    """Kernels of four predictors and curves of four held-out records.

    operator : (predictor_shown, s_grid, t_grid), kernels beta_j(s, t) of four predictors on a regular grid
    predictor_shown_index : which predictors
    curve_observed, curve_predicted : (record_shown, curve_grid), in the unit of the response
    record_label : date as yyyymmdd for day curves, else the number of the record
    record_id : (record_shown, record_character), of own data its name as numbers of characters, cut at 24, then NaN
    """
    by = data.basis_y.build()
    curves = by.evaluate(np.linspace(*data.basis_y.domain, CURVE_GRID)) @ by.inverse_root
    test = np.flatnonzero(~train) if not train.all() else np.arange(len(train))
    records = test[np.linspace(0, len(test) - 1, SHOWN + 2).astype(int)[1:-1]]
    predicted = estimate.predict(data.X[records])
    has_ids = getattr(getattr(spec, "source", None), "owner_outputs", None) is not None
    examples = kernels(estimate, _predictors(data), data.basis_x, data.basis_y) | FunctionalExamples(
        curve_observed=data.y_offset + data.y_scale * data.Y[records] @ curves.T,
        curve_predicted=data.y_offset + data.y_scale * predicted @ curves.T,
        record_label=np.array([_label(data.record_names[i], i) for i in records]),
    )
    return examples | FunctionalExamples(record_id=characters(data.ids[records].tolist())) if has_ids else examples


def estimate_examples(
    estimate: CurveEstimate, train: np.ndarray, spec: MethodSpec[object, object, object]
) -> FunctionalExamples:
    """Kernels of four predictors, as in `example_fits` where no predictor is known to be active."""
    assert isinstance(spec.public, CurveFacts)
    return kernels(estimate, _even_choice(len(estimate.operators)), spec.public.basis_x, spec.public.basis_y)


def kernels(
    estimate: CurveEstimate, predictors: np.ndarray, basis_x: BasisSpec, basis_y: BasisSpec
) -> FunctionalExamples:
    """Kernels of some predictors on a regular grid."""
    bx, by = basis_x.build(), basis_y.build()
    s = bx.evaluate(np.linspace(*basis_x.domain, OPERATOR_GRID)) @ bx.inverse_root
    t = by.evaluate(np.linspace(*basis_y.domain, OPERATOR_GRID)) @ by.inverse_root
    return FunctionalExamples(
        operator=s @ estimate.operators[predictors] @ t.T, predictor_shown_index=predictors.astype(float)
    )


def _predictors(data: FunctionalData) -> np.ndarray:
    """Four predictors to show: the first three active ones and the last inactive one, or an even choice."""
    p = data.X.shape[1]
    if data.has_truth and data.active.any() and not data.active.all():
        active, inactive = np.flatnonzero(data.active)[: SHOWN - 1], np.flatnonzero(~data.active)
        chosen = [*active, *inactive[::-1][: SHOWN - len(active)]]
        return np.array((chosen + [chosen[-1]] * SHOWN)[:SHOWN])
    return _even_choice(p)


def _even_choice(p: int) -> np.ndarray:
    return np.linspace(0, p - 1, SHOWN).astype(int)


def _label(name: str, index: int) -> float:
    digits = str(name).replace("-", "")
    return float(digits) if digits.isdigit() and len(digits) == 8 else float(index)


def characters(names: list[str]) -> np.ndarray:
    """(n, 24) names as the numbers of their characters, since example fits are arrays of numbers."""
    codes = np.full((len(names), CHARACTERS), np.nan)
    for row, name in zip(codes, names, strict=True):
        text = name if len(name) <= CHARACTERS else f"{name[: CHARACTERS - 1]}…"
        row[: len(text)] = [ord(character) for character in text]
    return codes
