"""Losses of scores: labels 0 and 1 by the logarithmic loss, numbers by the squared error."""

from __future__ import annotations

import numpy as np

from .criteria import CLASSES, NUMBERS, Criterion
from .links import LOGIT


def losses(scores: np.ndarray, y: np.ndarray, criterion: Criterion) -> np.ndarray:
    """Loss of each score (n,): nats of a log odds at a label, or the squared error of a number."""
    return LOGIT.log_loss(scores, y) if criterion == CLASSES else (scores - y) ** 2


def derivatives(scores: np.ndarray, y: np.ndarray, criterion: Criterion) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivative (n,) of the logarithmic loss, or of half the squared error, by the score."""
    if criterion == NUMBERS:
        return scores - y, np.ones(len(y))
    return LOGIT.mean(scores) - y, LOGIT.slope(scores)


def class_probabilities(scores: np.ndarray) -> np.ndarray:
    """(n, k) probabilities of classes whose scores (n, k) are logarithms of them, up to a constant of each row."""
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def class_losses(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Logarithmic loss (n,), in nats, of scores (n, k) at labels 0 .. k-1."""
    highest = scores.max(axis=1)
    whole = highest + np.log(np.exp(scores - highest[:, None]).sum(axis=1))
    return np.asarray(whole - scores[np.arange(len(y)), y.astype(np.intp)])


def class_derivatives(scores: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First derivatives (n, k) of the logarithmic loss of labels 0 .. k-1 by the scores (n, k), and curvatures (n, k).

    Curvatures 2 p (1 - p) are a diagonal that the matrix of second derivatives, diag(p) - pp', does not exceed.
    """
    p = class_probabilities(scores)
    return p - (y[:, None] == np.arange(p.shape[1])), 2 * p * (1 - p)
