"""Membership inference against a fitted predictor: descriptive, never a certificate.

Black-box access and known (X, Y): the score of a record is minus its loss, also calibrated by its mean loss under
reference models fitted to fresh data sets.  An AUC near one half without any noise proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ...core.randomness import stream
from .roc import balanced_accuracy, bootstrap_interval, rank_auc, true_positive_rate

ATTACK = (
    "attack_auc",
    "attack_auc_calibrated",
    "attack_auc_low",
    "attack_auc_high",
    "attack_tpr",
    "attack_balanced_accuracy",
)
Predict = Callable[[np.ndarray], np.ndarray]
Records = tuple[np.ndarray, np.ndarray]


def attack_metrics(
    predict: Predict,
    records: Records,
    train: np.ndarray,
    references: Iterable[Records],
    fit: Callable[[np.ndarray, np.ndarray], Predict],
) -> dict[str, float | None]:
    """The entries of `ATTACK` of one fit: members are the training records, as many held-out records the non-members.

    ``references`` are fresh data sets of the same distribution, on which ``fit`` makes models like ``predict``. All
    entries are None where no record is held out or a loss is not finite.
    """
    X, Y = records
    losses = _losses(predict, X, Y)
    reference = np.mean([_losses(fit(*fresh), X, Y) for fresh in references], 0)
    n = min(int(train.sum()), int((~train).sum()))
    members, others = np.flatnonzero(train)[:n], np.flatnonzero(~train)[:n]
    calibrated = reference - losses
    if not (n and np.all(np.isfinite(calibrated))):
        return dict.fromkeys(ATTACK)
    low, high = bootstrap_interval(calibrated[members], calibrated[others], stream(0, "membership", "bootstrap"), 200)
    return {
        "attack_auc_low": low,
        "attack_auc_high": high,
        "attack_auc": rank_auc(-losses[members], -losses[others]),
        "attack_auc_calibrated": rank_auc(calibrated[members], calibrated[others]),
        "attack_tpr": true_positive_rate(calibrated[members], calibrated[others]),
        "attack_balanced_accuracy": balanced_accuracy(calibrated[members], calibrated[others]),
    }


def _losses(predict: Predict, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return np.sum((Y - predict(X)) ** 2, axis=1)
