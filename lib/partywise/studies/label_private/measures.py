"""Quality of label-private logistic regression, its distance to the optimum, and audits of its noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...experiment.measures import (
    AUC,
    COVERAGE_WITHOUT_NOISE,
    DIVERGED,
    HALF_WIDTH,
    HALF_WIDTH_WITHOUT_NOISE,
    IDENTIFIED,
    INTERVAL_COVERAGE,
    LOG_LOSS,
    N_TRAIN,
    STEPS,
    ExampleFits,
    Measures,
    example,
    measure,
)

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class LabelPrivateMeasures(Measures):
    """Numbers of a fit; those of the summary come first, in its order."""

    log_loss: float | None = measure(LOG_LOSS, summary=True, headline=1)
    uninformative: bool | None = measure(
        "1 if the test log-loss is above log 2, that of one half for everybody",
        heading="no better than 1/2",
        better="lower",
        summary=True,
    )
    auc: float | None = measure(AUC, summary=True)
    excess_risk: float | None = measure(
        "training log-loss above that of the optimum without noise", heading="excess risk", better="lower", summary=True
    )
    share_unbounded: float | None = measure(
        "share of noise draws without a minimiser where there is no ridge",
        heading="draws without minimiser",
        better="lower",
        summary=True,
    )
    calibration_slope: float | None = measure("slope of the labels on the logit of the prediction, test rows")
    calibration_intercept: float | None = measure("intercept of the labels on the logit of the prediction, test rows")
    calibration_error: float | None = measure("expected calibration error in 10 bins of equal counts, test rows")
    objective_gap: float | None = measure("training objective above its least value, for the same release and ridge")
    expected_log_loss: float | None = measure("mean test log-loss over further draws of the noise")
    expected_auc: float | None = measure("mean test AUC over further draws of the noise")
    expected_excess: float | None = measure("mean excess risk over further draws of the noise")
    noise_sd_log_loss: float | None = measure("standard deviation of the test log-loss over draws of the noise")
    noise_sd_auc: float | None = measure("standard deviation of the test AUC over draws of the noise")
    noise_sd_excess: float | None = measure("standard deviation of the excess risk over draws of the noise")
    predicted_excess: float | None = measure("excess risk that the planner predicts")
    chosen_distribution: str | None = measure("distribution of the noise on the labels")
    interval_coverage: float | None = measure(INTERVAL_COVERAGE)
    interval_coverage_without_noise: float | None = measure(COVERAGE_WITHOUT_NOISE)
    half_width: float | None = measure(HALF_WIDTH)
    half_width_without_noise: float | None = measure(HALF_WIDTH_WITHOUT_NOISE)
    identified: bool | None = measure(IDENTIFIED)
    ridge: float | None = measure("weight of the ridge on the coefficients")
    steps: int | None = measure(STEPS)
    learning_rate: float | None = measure("learning rate that was kept")
    bounded: bool | None = measure("1 if the objective has a minimiser, 0 if not, undefined where no test can tell")
    share_unknown: float | None = measure("share of noise draws of which the test could not tell")
    audited_mu: float | None = measure("mu that the attack certifies, a lower bound")
    audited_epsilon: float | None = measure("epsilon at that mu, a lower bound")
    classic_limit: float | None = measure("largest epsilon that the classic noise formula keeps at this delta")
    norm_theta: float | None = measure("Euclidean norm of the coefficients")
    n_train: int | None = measure(N_TRAIN)
    n_coefficients: int | None = measure("coefficients, the intercept included")
    diverged: bool | None = measure(DIVERGED)


@dataclass(frozen=True, kw_only=True)
class LabelPrivateExamples(ExampleFits):
    """Arrays of an example fit."""

    calibration_predicted: np.ndarray | None = example("mean prediction in a bin, one fit of each method", "bin")
    calibration_observed: np.ndarray | None = example(
        "share of positive labels in a bin, one fit of each method", "bin"
    )
    path_steps: np.ndarray | None = example("steps of a first-order trainer", "path_step")
    path_passes: np.ndarray | None = example("passes over the training rows, a batch of m counts m / N", "path_step")
    path_norm: np.ndarray | None = example("norm of the coefficients along the steps", "path_step")
    path_log_loss: np.ndarray | None = example("test log-loss along the steps", "path_step")
    path_objective: np.ndarray | None = example("training objective along the steps", "path_step")
    path_gap: np.ndarray | None = example("training objective above its least value along the steps", "path_step")
