"""Held-out errors, selection of predictors, formula bytes and attacks of functional boosting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...experiment.measures import (
    DIVERGED,
    NOISE_SD,
    PROJECTED,
    STEPS,
    WORSE_THAN_MEAN,
    ExampleFits,
    Measures,
    example,
    measure,
)

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class FunctionalMeasures(Measures):
    """Numbers of a fit; those of the summary come first, in its order."""

    excess: float | None = measure(
        "excess risk: 0 at the true operators, 1 at the mean curve",
        heading="excess risk",
        better="lower",
        summary=True,
        headline=1,
    )
    relative_error: float | None = measure(
        "held-out risk relative to that of the training mean curve (1 - R2)",
        heading="relative error",
        better="lower",
        summary=True,
        headline=2,
    )
    worse_than_mean: bool | None = measure(WORSE_THAN_MEAN, summary=True)
    curve_clip_share: float | None = measure(
        "share of released curves that were clipped", heading="clipped share", summary=True
    )
    sensitivity: float | None = measure(
        "share of active predictors touched on the returned path",
        heading="active ones found",
        better="higher",
        summary=True,
    )
    specificity: float | None = measure(
        "share of inactive predictors never touched on the returned path",
        heading="others left out",
        better="higher",
        summary=True,
    )
    published_mib: float | None = measure(
        "communication by the published formula", "MiB", heading="MiB by the source", better="lower", summary=True
    )
    il2: float | None = measure("mean integrated squared error on held-out records")
    ril2: float | None = measure("integrated squared error relative to the squared norm of the response")
    ril2_released: float | None = measure("the same when predictions use the released instead of the clean predictors")
    rmse: float | None = measure("root mean squared error on 101 public grid points")
    nrmse: float | None = measure("RMSE divided by the range of the response on the grid")
    wmape: float | None = measure("sum of absolute errors divided by the sum of absolute responses")
    smape: float | None = measure("mean of 2|e| / (|y| + |prediction|), 0/0 counted as 0")
    mape: float | None = measure("mean of |e/y| over grid points with y != 0")
    mape_left_out: float | None = measure("share of grid points with y = 0, left out of mape")
    sensitivity_importance: float | None = measure(
        "share of active predictors with at least 5 % of the largest importance"
    )
    specificity_importance: float | None = measure("share of inactive predictors below 5 % of the largest importance")
    auc_importance: float | None = measure("area under the ROC curve of the importance ||B_j||^2 for being active")
    n_selected: int | None = measure("predictors touched on the returned path")
    release_bytes: int | None = measure("bytes of the released curves by formula, 8 N m_g Qx over the parties", "byte")
    moments_bytes: int | None = measure("bytes of released second moments by formula", "byte")
    steps: int | None = measure(STEPS)
    criterion: float | None = measure("stopping criterion of the returned state")
    df: float | None = measure("exact degrees of freedom of the returned path")
    min_eigenvalue: float | None = measure("least eigenvalue of the corrected training covariance before projection")
    radius: float | None = measure("clipping radius, mean over predictors")
    noise_sd: float | None = measure(NOISE_SD)
    projected: bool | None = measure(PROJECTED)
    solver_fallbacks: int | None = measure(
        "blocks whose published system has no Cholesky factor, so that the general solver is used"
    )
    null_model: bool | None = measure("1 if no step improved on the mean curve")
    hit_max_steps: bool | None = measure("1 if all steps were used without a stop")
    diverged: bool | None = measure(DIVERGED)
    attack_auc: float | None = measure("membership attack: area under the ROC curve")
    attack_auc_calibrated: float | None = measure(
        "membership attack calibrated by reference models: area under the ROC curve"
    )
    attack_auc_low: float | None = measure("lower end of the 95 % bootstrap interval of the calibrated AUC")
    attack_auc_high: float | None = measure("upper end of the 95 % bootstrap interval of the calibrated AUC")
    attack_tpr: float | None = measure("membership attack: true-positive rate at 1 % false positives, calibrated score")
    attack_balanced_accuracy: float | None = measure("membership attack: best balanced accuracy, calibrated score")


@dataclass(frozen=True, kw_only=True)
class FunctionalExamples(ExampleFits):
    """Arrays of an example fit."""

    operator: np.ndarray | None = example(
        "kernel beta_j(s, t) of four predictors, one fit of each method", "predictor_shown", "s_grid", "t_grid"
    )
    predictor_shown_index: np.ndarray | None = example("number of the predictor shown", "predictor_shown")
    curve_observed: np.ndarray | None = example(
        "held-out response curves, smoothed, in the unit of the response", "record_shown", "curve_grid"
    )
    curve_predicted: np.ndarray | None = example(
        "their predictions from clean predictors", "record_shown", "curve_grid"
    )
    record_label: np.ndarray | None = example("date of the record as yyyymmdd, or its number", "record_shown")
    record_id: np.ndarray | None = example(
        "name of the record, as the numbers of its characters", "record_shown", "record_character"
    )
