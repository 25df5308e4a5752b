"""Losses of scores, along the trees, and the choice of trees by the loss on test rows: an evaluator's work."""

from __future__ import annotations

import numpy as np

from ...methods.trees.model import Ensemble
from ...methods.trees.options import TreeOptions
from ...models.criteria import CLASSES, Criterion
from ...models.links import LOGIT
from ...models.losses import class_losses, class_probabilities, losses

# Probabilities of a forest may be 0 and 1; their logarithm is taken this far inside.
EDGE = float(np.finfo(float).eps)


def predictions(scores: np.ndarray, options: TreeOptions, criterion: Criterion) -> np.ndarray:
    """(n,) probabilities of label 1, or predicted responses, from scores (n,); of more classes (n, k) theirs."""
    if scores.ndim == 2:
        return class_probabilities(scores)
    return scores if criterion != CLASSES or options.algo == "rf" else LOGIT.mean(scores)


def loss(scores: np.ndarray, y: np.ndarray, options: TreeOptions, criterion: Criterion) -> float:
    """Mean squared error, or log-loss in nats, of scores (n,) or (n, k) at responses y (n,); NaN without rows."""
    if not len(y):
        return float("nan")
    if scores.ndim == 2:
        return float(np.mean(class_losses(scores, y)))
    if criterion == CLASSES and options.algo == "rf":
        return float(np.mean(_forest_loss(scores, y)))
    return float(np.mean(losses(scores, y, criterion)))


def published_loss(scores: np.ndarray, y: np.ndarray, options: TreeOptions) -> float:
    """Mean of -y ln p, which the source minimises over trees: what negative records lose is missing in it."""
    surprise = _forest_loss(scores, y) if options.algo == "rf" else losses(scores, y, CLASSES)
    return float(np.mean(np.where(y == 1, surprise, 0.0)))


def steps(ensemble: Ensemble, options: TreeOptions) -> np.ndarray:
    """Numbers of trees after which a loss is kept: none, every ``eval_freq`` of them, and all."""
    n_trees = len(ensemble.trees) // ensemble.outputs
    return np.unique([*range(0, n_trees, options.eval_freq), n_trees])


def along(ensemble: Ensemble, X: np.ndarray, y: np.ndarray, options: TreeOptions, criterion: Criterion) -> np.ndarray:
    """(steps,) loss after these numbers of trees."""
    path = ensemble.path(X)
    return np.array([loss(path[count], y, options, criterion) for count in steps(ensemble, options)])


def choose_trees(
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


def _forest_loss(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Negative log-likelihood (n,) of each label, in nats, at a forest's probabilities."""
    p = np.clip(scores, EDGE, 1 - EDGE)
    return np.asarray(-np.where(y == 1, np.log(p), np.log1p(-p)))
