"""Losses of scores, along the trees, and the choice of trees by the loss on test rows: an evaluator's work."""

from __future__ import annotations

import numpy as np

from ...models.links import LOGIT
from ...trees.model import Criterion, Ensemble
from ...trees.options import TreeOptions
from .settings import CLASSES

# Probabilities of a forest may be 0 and 1; their logarithm is taken this far inside.
EDGE = float(np.finfo(float).eps)


def predicted(scores: np.ndarray, options: TreeOptions, criterion: Criterion) -> np.ndarray:
    """(n,) probabilities of label 1, or predicted responses, from scores (n,)."""
    return scores if criterion != CLASSES or options.algo == "rf" else LOGIT.mean(scores)


def loss(scores: np.ndarray, y: np.ndarray, options: TreeOptions, criterion: Criterion) -> float:
    """Mean squared error, or log-loss in nats, of scores (n,) at responses y (n,); NaN without rows."""
    if not len(y):
        return float("nan")
    if criterion != CLASSES:
        return float(np.mean((scores - y) ** 2))
    return float(np.mean(_log_loss(scores, y, options)))


def published_loss(scores: np.ndarray, y: np.ndarray, options: TreeOptions) -> float:
    """Mean of -y ln p, which the source minimises over trees: what negative records lose is missing in it."""
    return float(np.mean(np.where(y == 1, _log_loss(scores, y, options), 0.0)))


def steps(ensemble: Ensemble, options: TreeOptions) -> np.ndarray:
    """Numbers of trees after which a loss is kept: none, every ``eval_freq`` of them, and all."""
    n_trees = len(ensemble.trees)
    return np.unique([*range(0, n_trees, options.eval_freq), n_trees])


def along(ensemble: Ensemble, X: np.ndarray, y: np.ndarray, options: TreeOptions, criterion: Criterion) -> np.ndarray:
    """(steps,) loss after these numbers of trees."""
    path = ensemble.path(X)
    return np.array([loss(path[count], y, options, criterion) for count in steps(ensemble, options)])


def chosen(
    ensemble: Ensemble, X: np.ndarray, y: np.ndarray, options: TreeOptions, criterion: Criterion
) -> tuple[Ensemble, int]:
    """The ensemble up to the least loss on test rows, at least one tree, and how many trees it keeps.

    The key is `published_loss` for classes with ``as_published``, else `loss`; of equal losses the fewer trees.
    """
    counts, path = steps(ensemble, options)[1:], ensemble.path(X)
    if not len(counts):
        return ensemble, 0
    if options.as_published and criterion == CLASSES:
        losses = [published_loss(path[count], y, options) for count in counts]
    else:
        losses = [loss(path[count], y, options, criterion) for count in counts]
    best = int(counts[int(np.argmin(losses))])
    return ensemble.first(best), best


def _log_loss(scores: np.ndarray, y: np.ndarray, options: TreeOptions) -> np.ndarray:
    """Negative log-likelihood (n,) of each label, in nats."""
    if options.algo == "rf":
        p = np.clip(scores, EDGE, 1 - EDGE)
        return -np.where(y == 1, np.log(p), np.log1p(-p))
    return LOGIT.log_loss(scores, y)
