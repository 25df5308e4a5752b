"""Separation of two groups by scores: areas and rates of the receiver operating curve.  They bound no epsilon."""

from __future__ import annotations

import numpy as np

FALSE_POSITIVES = 0.01


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
    if not (positive.size and negative.size) or not np.all(np.isfinite(np.concatenate([positive, negative]))):
        return None
    return area(positive, negative)


def area(positive: np.ndarray, negative: np.ndarray) -> float:
    """The share of pairs, one score of each, in which the positive is larger; ties count half."""
    ordered = np.sort(negative)
    wins = np.searchsorted(ordered, positive, side="left") + np.searchsorted(ordered, positive, side="right")
    return float(wins.sum() / (2 * len(positive) * len(negative)))
