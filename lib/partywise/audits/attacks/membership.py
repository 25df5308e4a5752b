"""Membership attacks: tracing on a discriminant direction (document 001, Example 1, Figure 1), and inference by losses.

Descriptive: the area under the curve shows how well an attack does on these data. Near one half it fails; another
attack need not. It bounds no epsilon, and nothing here enters the ledger.

Inference by losses has black-box access to a fitted predictor and knows (X, Y): the score of a record is minus its
loss, also calibrated by its mean loss under reference models fitted to fresh data sets.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...core.randomness import stream
from .roc import area, balanced_accuracy, bootstrap_interval, rank_auc, true_positive_rate

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


@dataclass(frozen=True)
class Trace:
    """Scores of one random split: (m,) of the records that the direction was computed from, and (m,) of others."""

    members: np.ndarray
    nonmembers: np.ndarray


def signed_records(X: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Records times +1 where the label is 1 and -1 where it is 0, (n, p); whitened for the discriminant reading."""
    features, labels = np.asarray(X, dtype=float), np.asarray(y)
    if features.ndim != 2 or labels.shape != features.shape[:1]:
        raise ValueError(f"X of shape {features.shape} and y of shape {labels.shape}: give (n, p) and (n,).")
    if not np.all((labels == 0) | (labels == 1)):
        raise ValueError("y must hold labels 0 and 1; code the two classes so.")
    return features * np.where(labels == 1, 1.0, -1.0)[:, None]


def discriminant_direction(X: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Mean of the signed records, shape (p,): the discriminant direction of white columns (document 001, Example 1)."""
    return signed_records(X, y).mean(axis=0)


def tracing_scores(X: ArrayLike, y: ArrayLike, direction: ArrayLike, reference: ArrayLike = 0.0) -> np.ndarray:
    """Score of each record: <x c - reference, direction>, c = +1 or -1 by label (document 001, Example 1).

    The reference replaces the unknown true direction. It moves all scores of one direction alike, so within one split
    no threshold, curve or area depends on it.
    """
    return (signed_records(X, y) - reference) @ np.asarray(direction, dtype=float)


def trace_split(
    X: ArrayLike,
    y: ArrayLike,
    rng: np.random.Generator,
    estimate: Callable[..., np.ndarray] = discriminant_direction,
    size: int | None = None,
) -> Trace:
    """Split the records at random as the source does, publish a direction of one half, and score both halves.

    ``estimate`` turns (X, y) of the members into a direction (p,), by a mechanism if it is private. Each half has
    ``size`` records, by default half of those left when one record is set aside as reference.
    """
    features, labels = np.asarray(X, dtype=float), np.asarray(y)
    half = (len(features) - 1) // 2 if size is None else int(size)
    if half < 1 or 2 * half + 1 > len(features):
        raise ValueError(f"size={half}: two halves and one reference record do not fit into {len(features)} records.")
    order = rng.permutation(len(features))
    inside, outside = order[1 : half + 1], order[half + 1 : 2 * half + 1]
    reference = signed_records(features[order[:1]], labels[order[:1]])[0]
    direction = estimate(features[inside], labels[inside])
    return Trace(*(tracing_scores(features[s], labels[s], direction, reference) for s in (inside, outside)))


def tracing_auc(members: ArrayLike, nonmembers: ArrayLike) -> float:
    """Area under the curve: the probability that a member scores above a non-member, ties counting one half.

    A description of one attack, no bound on anything. ValueError if scores are absent or not finite.
    """
    return area(*_scores(members, nonmembers))


def roc_curve(members: ArrayLike, nonmembers: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """False and true positive rates of the rule "in above a threshold", for falling thresholds.

    From (0, 0) to (1, 1), one point per distinct score; the trapezium rule gives `tracing_auc`.
    """
    inside, outside = _scores(members, nonmembers)
    thresholds = np.unique(np.concatenate([inside, outside]))[::-1]
    rates = []
    for scores in (outside, inside):
        reached = len(scores) - np.searchsorted(np.sort(scores), thresholds, side="left")
        rates.append(np.concatenate([[0.0], reached / len(scores)]))
    return rates[0], rates[1]


def _scores(members: ArrayLike, nonmembers: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    inside, outside = (np.asarray(scores, dtype=float) for scores in (members, nonmembers))
    if inside.ndim != 1 or outside.ndim != 1 or not len(inside) or not len(outside):
        raise ValueError(f"scores of shapes {inside.shape} and {outside.shape}: give two vectors with an entry each.")
    if not np.all(np.isfinite(inside)) or not np.all(np.isfinite(outside)):
        raise ValueError("scores are not all finite; an attack must score every record with a number.")
    return inside, outside


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
