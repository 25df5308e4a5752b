"""Held-out quality of trees and tables, what they cost, and what crosses between parties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...experiment.measures import (
    ACCURACY,
    AUC,
    DECRYPTIONS,
    DIVERGED,
    ENCRYPTIONS,
    LOG_LOSS,
    MSE,
    WORSE_THAN_MEAN,
    ExampleFits,
    Measures,
    example,
    measure,
)

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class TreeMeasures(Measures):
    """Numbers of a fit; those of the summary come first, in its order."""

    log_loss: float | None = measure(LOG_LOSS, summary=True, headline=1)
    auc: float | None = measure(AUC, summary=True)
    mse: float | None = measure(MSE, summary=True, headline=2)
    worse_than_mean: bool | None = measure(WORSE_THAN_MEAN, summary=True)
    residual_clip_share: float | None = measure(
        "share of the residuals of the active party's own trees that the public bound clips",
        heading="clipped share",
        summary=True,
    )
    accuracy: float | None = measure(ACCURACY)
    published_loss: float | None = measure("mean of -y ln p on the test rows, the source's key of selection")
    epsilon_label: float | None = measure("epsilon that the ledger certifies for a label, for the worst coalition")
    n_trees: int | None = measure("trees that are kept")
    best_trees: float | None = measure("trees up to the least loss on the test rows, where they were chosen so")
    selected_on_test: bool | None = measure("1 if the number of trees was chosen by the loss on the test rows")
    diverged: bool | None = measure(DIVERGED)
    scored_rows: int | None = measure("held-out rows that the parties scored together")
    scored_log_loss: float | None = measure("logarithmic loss on the rows that the parties scored, nats")
    scored_auc: float | None = measure("area under the ROC curve on the rows that the parties scored")
    scored_accuracy: float | None = measure("share of right classes on the rows that the parties scored")
    scored_mse: float | None = measure("mean squared error on the rows that the parties scored")
    score_difference: float | None = measure("largest difference of a score to the evaluator's")
    rows_rerouted: float | None = measure("share of training rows that thresholds route to another leaf than codes did")
    epsilon_per_index: float | None = measure("pure epsilon of one released index or value")
    features_released: int | None = measure("columns of passive parties that were released, of each record")
    bytes_formula: int | None = measure("bytes by the formula of the protocol", "byte")
    encryptions: int | None = measure(ENCRYPTIONS)
    additions: int | None = measure("additions of ciphertexts in training")
    labels_recovered: float | None = measure(
        "share of training labels that a passive party reads off the first gradients"
    )
    decryptions: int | None = measure(DECRYPTIONS)
    sigma: float | None = measure("standard deviation of the noise on sums of gradients")
    stumps: int | None = measure("stumps that tables were made of")
    least_eigenvalue: float | None = measure("least eigenvalue of the hessians before it is raised to 0")
    max_prediction_difference: float | None = measure("largest difference to the pooled fit of the same codes")


@dataclass(frozen=True, kw_only=True)
class TreeExamples(ExampleFits):
    """Arrays of an example fit."""

    path_trees: np.ndarray | None = example("trees", "path_step")
    path_train_loss: np.ndarray | None = example("loss on the training rows along the trees", "path_step")
    path_test_loss: np.ndarray | None = example("loss on the test rows along the trees", "path_step")
    table_column: np.ndarray | None = example("number of the column of a table", "table")
    table_class: np.ndarray | None = example("number of the class to whose score a table adds", "table")
    table_edges: np.ndarray | None = example("right end of a bin, in the unit of its column", "table", "bucket")
    table_values: np.ndarray | None = example("what the bin adds to the score", "table", "bucket")
    table_noise: np.ndarray | None = example(
        "standard deviation that noise gives to one Newton step of the bin", "table", "bucket"
    )
