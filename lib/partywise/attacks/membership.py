"""Membership inference against a fitted predictor: descriptive, never a certificate.

Black-box access and known (X, Y): the score of a record is minus its loss, also calibrated by its mean loss under
reference models fitted to fresh data sets.  An AUC near one half without any noise proves nothing.
"""

from __future__ import annotations

import numpy as np

from ..functional.boosting import fit_joint
from ..functional.model import Estimate
from ..functional.moments import Sums, corrected_moments
from ..functional.path_options import BoostingOptions
from ..functional.paths import Penalties
from ..randomness import stream
from ..studies.functional_boosting.data import FunctionalData

FALSE_POSITIVES = 0.01
ATTACK = (
    "attack_auc",
    "attack_auc_calibrated",
    "attack_auc_low",
    "attack_auc_high",
    "attack_tpr",
    "attack_balanced_accuracy",
)


def attack_metrics(estimate: Estimate, data: FunctionalData, train: np.ndarray) -> dict[str, float | None]:
    """Attack figures of one fit; members are the training records, as many held-out records the non-members.

    All are None where no record is held out or the fit left the range of floating-point numbers.
    """
    losses = _losses(estimate.operators, estimate.mean_x, estimate.mean_y, data.X, data.Y)
    reference = np.mean(
        [_reference_losses(x, y, data) for x, y in zip(data.reference_X, data.reference_Y, strict=True)], 0
    )
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


def _losses(operators: np.ndarray, mean_x: np.ndarray, mean_y: np.ndarray, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    fitted = mean_y + (X - mean_x).reshape(len(X), -1) @ operators.reshape(-1, Y.shape[1])
    return np.sum((Y - fitted) ** 2, axis=1)


def _reference_losses(X: np.ndarray, Y: np.ndarray, data: FunctionalData) -> np.ndarray:
    """Losses of the study's records under a non-private least-squares model of a fresh data set."""
    _, p, q = X.shape
    moments = corrected_moments(Sums.of(X.reshape(len(X), -1), Y), np.zeros((p * q, p * q)))
    free = Penalties(np.zeros((p, q, q)), np.zeros((Y.shape[1],) * 2))
    B = fit_joint(moments, free, BoostingOptions(lambda_s=0.0, lambda_t=0.0)).B
    return _losses(B.reshape(p, q, -1), moments.mean_x.reshape(p, q), moments.mean_y, data.X, data.Y)


def true_positive_rate(members: np.ndarray, others: np.ndarray, level: float = FALSE_POSITIVES) -> float:
    """Share of members above the threshold that at most ``level`` of the non-members exceed."""
    allowed = int(np.floor(level * len(others)))
    threshold = np.sort(others)[::-1][allowed] if allowed < len(others) else -np.inf
    return float(np.mean(members > threshold))


def balanced_accuracy(members: np.ndarray, others: np.ndarray) -> float:
    """Best mean of true-positive and true-negative rate over all thresholds."""
    thresholds = np.concatenate([[-np.inf], np.sort(np.concatenate([members, others]))])
    above = 1 - np.searchsorted(np.sort(members), thresholds, "right") / len(members)
    below = np.searchsorted(np.sort(others), thresholds, "right") / len(others)
    return float(np.max((above + below) / 2))


def bootstrap_interval(
    members: np.ndarray, others: np.ndarray, rng: np.random.Generator, draws: int = 1000, level: float = 0.95
) -> tuple[float, float]:
    """Percentile bootstrap interval of the AUC of a score."""
    aucs = [rank_auc(rng.choice(members, len(members)), rng.choice(others, len(others))) for _ in range(draws)]
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(np.array(aucs, dtype=float), [tail, 100 - tail])
    return float(low), float(high)


def rank_auc(positive: np.ndarray, negative: np.ndarray) -> float | None:
    """Area under the ROC curve, ties counted half; None when a class is empty or a score is not finite."""
    both = np.concatenate([positive, negative])
    if not (positive.size and negative.size) or not np.all(np.isfinite(both)):
        return None
    ordered = np.sort(both)
    ranks = (np.searchsorted(ordered, both, "left") + np.searchsorted(ordered, both, "right") + 1) / 2
    wins = ranks[: positive.size].sum() - positive.size * (positive.size + 1) / 2
    return float(wins / (positive.size * negative.size))
