"""Losses of scores, along the trees, and the choice of trees by held-out loss: an evaluator's work, nothing is sent."""

from __future__ import annotations

import numpy as np

from .ensemble import sigmoid
from .model import Criterion, Ensemble
from .options import TreeOptions

# Probabilities of a forest may be 0 and 1, whose logarithm is taken this far inside.
EDGE = 1e-12


def predicted(scores: np.ndarray, options: TreeOptions, criterion: Criterion) -> np.ndarray:
    """(n,) probabilities of label 1, or predicted responses, from scores (n,)."""
    if criterion == "RegressionMSELoss":
        return scores
    return np.clip(scores, 0.0, 1.0) if options.algo == "rf" else sigmoid(scores)


def loss(scores: np.ndarray, y: np.ndarray, options: TreeOptions, criterion: Criterion) -> float:
    """Mean squared error, or log-loss in nats, of scores (n,) at responses y (n,)."""
    if criterion == "RegressionMSELoss":
        return float(np.mean((scores - y) ** 2))
    positive, negative = _surprises(scores, options)
    return float(np.mean(np.where(y == 1, positive, negative)))


def published_loss(scores: np.ndarray, y: np.ndarray, options: TreeOptions, criterion: Criterion) -> float:
    """The source's key of selection: of classification only the half ``mean(-y ln p)``."""
    if criterion == "RegressionMSELoss":
        return loss(scores, y, options, criterion)
    return float(np.mean(np.where(y == 1, _surprises(scores, options)[0], 0.0)))


def losses_along(
    ensemble: Ensemble, X: np.ndarray, y: np.ndarray, options: TreeOptions, criterion: Criterion
) -> tuple[np.ndarray, np.ndarray]:
    """Loss along the trees: every ``eval_freq`` of them, and after the last.

    Parameters
    ----------
    ensemble : Ensemble
        With all raw thresholds.
    X, y : ndarray of shape (n, d), (n,)
        Rows to score, n at least 1.

    Returns
    -------
    counts, losses : ndarray of shape (steps,)
        Numbers of trees, increasing from 0; the key of selection at each (`published_loss` if ``as_published``).
    """
    counts = np.unique([*range(0, len(ensemble.trees), options.eval_freq), len(ensemble.trees)])
    key = published_loss if options.as_published else loss
    path = ensemble.path(X)
    return counts, np.array([key(path[count], y, options, criterion) for count in counts])


def chosen(
    ensemble: Ensemble, X: np.ndarray, y: np.ndarray, options: TreeOptions, criterion: Criterion
) -> tuple[Ensemble, int]:
    """The ensemble up to the least loss on held-out rows, and how many trees it keeps.

    It looks at the test, so whoever reports it marks it (``selected_on_test``, ``best_trees``).
    Only what ``eval_freq`` evaluates is chosen from, at least one tree; equal losses keep fewer trees.
    """
    counts, losses = losses_along(ensemble, X, y, options, criterion)
    if len(counts) == 1:
        return ensemble, int(counts[0])
    best = int(counts[1:][np.argmin(losses[1:])])
    return ensemble.first(best), best


def _surprises(scores: np.ndarray, options: TreeOptions) -> tuple[np.ndarray, np.ndarray]:
    """Negative logarithms (n,) of the probabilities of labels 1 and 0."""
    if options.algo == "rf":
        p = np.clip(scores, EDGE, 1 - EDGE)
        return -np.log(p), -np.log1p(-p)
    # log(1 + e^(-s)) without overflow.
    rest = np.log1p(np.exp(-np.abs(scores)))
    return rest + np.maximum(-scores, 0), rest + np.maximum(scores, 0)
