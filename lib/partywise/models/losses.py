"""What scores are judged by: labels 0 and 1 by the logarithmic loss, numbers by the squared error."""

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
