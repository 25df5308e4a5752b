"""Held-out quality of linear models, their distance to exact and pooled fits, and what the key holder saw."""

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
    N_FEATURES,
    N_TRAIN,
    WORSE_THAN_MEAN,
    ExampleFits,
    Measures,
    example,
    measure,
)

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class LinearMeasures(Measures):
    """Numbers of a fit; those of the summary come first, in its order."""

    log_loss: float | None = measure(LOG_LOSS, summary=True, headline=1)
    mse: float | None = measure(MSE, summary=True, headline=2)
    worse_than_mean: bool | None = measure(WORSE_THAN_MEAN, summary=True)
    excess_loss: float | None = measure(
        "training loss above that of the exact fit", heading="excess loss", better="lower", summary=True
    )
    rows_recovered: int | None = measure(
        "rows of the first batch whose direction the key holder's view holds",
        heading="rows recovered",
        better="lower",
        summary=True,
    )
    auc: float | None = measure(AUC)
    accuracy: float | None = measure(ACCURACY)
    limit_excess: float | None = measure(
        "training loss above that of the exact fit where the steps lead, Taylor's formula included"
    )
    max_coefficient_difference: float | None = measure("largest difference to the same steps on pooled columns")
    rows_attacked: int | None = measure("rows of the first batch")
    epsilon_server: float | None = measure("epsilon that the ledger certifies for the key holder's view")
    encryptions: int | None = measure(ENCRYPTIONS)
    rerandomisations: int | None = measure("ciphertexts that were closed anew")
    multiplications: int | None = measure("ciphertexts that were weighed by a feature")
    decryptions: int | None = measure(DECRYPTIONS)
    ciphertexts: int | None = measure("ciphertexts that crossed")
    n_train: int | None = measure(N_TRAIN)
    n_features: int | None = measure(N_FEATURES)
    diverged: bool | None = measure(DIVERGED)


@dataclass(frozen=True, kw_only=True)
class LinearExamples(ExampleFits):
    """Arrays of an example fit."""

    path_rounds: np.ndarray | None = example("rounds of gradient steps", "path_round")
    path_loss: np.ndarray | None = example("training loss along the rounds", "path_round")
    path_loss_excess: np.ndarray | None = example(
        "training loss above that of the exact fit, along the rounds", "path_round"
    )
