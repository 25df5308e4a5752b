"""Held-out quality of trees and tables, as an evaluator outside the federation sees it; what is undefined is None.

The evaluator also chooses the number of trees by the loss on test rows, where a method asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...audits.attacks.roc import rank_auc
from ...methods.trees.model import Ensemble, TreeEstimate
from ...methods.trees.options import TreeOptions
from ...models.criteria import CLASSES, Criterion
from ...models.links import LOGIT
from ...models.losses import class_losses, class_probabilities, losses
from ...privacy.ledger.ledger import Ledger
from ...privacy.ledger.reach import clear_event
from .data import TreeData
from .measures import TreeExamples, TreeMeasures

if TYPE_CHECKING:
    from ...data.columns.settings import RowSettings
    from ...experiment.study import MethodSpec
    from .study import TreeConstants


# Probabilities of a forest may be 0 and 1; their logarithm is taken this far inside.
EDGE = float(np.finfo(float).eps)


def metrics(
    estimate: TreeEstimate, data: TreeData, train: np.ndarray, spec: MethodSpec[object, object, object]
) -> TreeMeasures:
    """All scalars of one cell, on the rows outside ``train``."""
    X, y, options = data.X[~train], data.y[~train], options_of(estimate, spec)
    ensemble, selection = select_trees(estimate.ensemble, X, y, options, data.criterion)
    measures = (
        estimate_measures(estimate, train, spec)
        | TreeMeasures(n_trees=len(ensemble.trees) // ensemble.outputs)
        | selection
    )
    scores, numbers = ensemble.scores(X), TreeMeasures.of(estimate.numbers)
    if not np.isfinite(scores).all():
        return measures | numbers | TreeMeasures(diverged=True)
    # What clips reports its share among the numbers of the estimate.
    measures |= quality(scores, y, options, data.criterion) | TreeMeasures(residual_clip_share=None) | numbers
    measures |= TreeMeasures(worse_than_mean=worse_than_mean(scores, y, data.y[train], options, data.criterion))
    if estimate.scores is not None:
        measures |= _deployment_measures(estimate.scores, estimate.ensemble.scores(X), y, options, data.criterion)
    return measures


def estimate_measures(
    estimate: TreeEstimate, train: np.ndarray, spec: MethodSpec[object, object, object]
) -> TreeMeasures:
    """Return the measures that follow from the estimate and public facts, without a record."""
    measures = TreeMeasures(n_protected=int(train.sum())) | TreeMeasures.of(estimate.numbers)
    if options_of(estimate, spec).select_by != "none" and not train.all():
        return measures
    return measures | TreeMeasures(
        n_trees=int(steps(estimate.ensemble, options_of(estimate, spec))[-1]), best_trees=None, selected_on_test=False
    )


def ledger(
    releases: Ledger, names: tuple[str, ...], spec: MethodSpec[object, TreeConstants, RowSettings]
) -> TreeMeasures:
    """Return the epsilon of the worst coalition for one label; the study's unit is the features.

    Where the evaluator chose the trees by the loss on held-out rows, their number depends on the labels and columns of
    these rows, without noise: a row for every party.
    """
    if isinstance(spec.options, TreeOptions) and spec.options.select_by != "none":
        for name in spec.settings.party_names(spec.n_parties):
            units = ("label",) if name == "active" else ("features",)
            releases.append(clear_event(f"choice/{name}/number of trees", name, units, ("*",)))
    return TreeMeasures(epsilon_label=releases.worst_total(names, "label", spec.study.delta).epsilon_certified)


def options_of(estimate: TreeEstimate, spec: MethodSpec[object, object, object]) -> TreeOptions:
    """Return the options of the growth of trees; of a method from elsewhere only whether they are a forest."""
    if isinstance(spec.options, TreeOptions):
        return spec.options
    return TreeOptions(algo="rf" if estimate.ensemble.averaged else "xgb")


def quality(scores: np.ndarray, y: np.ndarray, options: TreeOptions, criterion: Criterion) -> TreeMeasures:
    """Quality of scores (n,) at responses (n,): what the criterion defines, None for the rest and without rows.

    ``published_loss`` is the source's key of selection. Of more than two classes, scores (n, k), the area is the mean
    over classes of that of a class against the rest.
    """
    measures = TreeMeasures(log_loss=None, auc=None, accuracy=None, mse=None, published_loss=None)
    if not len(y):
        return measures
    if criterion != CLASSES:
        return measures | TreeMeasures(mse=loss(scores, y, options, criterion))
    if scores.ndim == 2:
        p = predictions(scores, options, criterion)
        areas = [rank_auc(p[y == j, j], p[y != j, j]) for j in range(p.shape[1])]
        known = [area for area in areas if area is not None]
        return measures | TreeMeasures(
            log_loss=loss(scores, y, options, criterion),
            auc=float(np.mean(known)) if len(known) == len(areas) else None,
            accuracy=float(np.mean(p.argmax(axis=1) == y)),
        )
    return measures | TreeMeasures(
        log_loss=loss(scores, y, options, criterion),
        auc=rank_auc(scores[y == 1], scores[y == 0]),
        accuracy=float(np.mean((predictions(scores, options, criterion) > 0.5) == (y == 1))),
        published_loss=published_loss(scores, y, options),
    )


def worse_than_mean(
    scores: np.ndarray, y: np.ndarray, training: np.ndarray, options: TreeOptions, criterion: Criterion
) -> bool | None:
    """Whether the loss exceeds that of the mean of the training responses for all records; None without test rows."""
    if not len(y):
        return None
    mean = float(training.mean())
    if scores.ndim == 2:
        shares = np.bincount(training.astype(np.intp), minlength=scores.shape[1]) / len(training)
        with np.errstate(divide="ignore"):
            surprise = -np.log(shares[y.astype(np.intp)])
        return loss(scores, y, options, criterion) > float(surprise.mean())
    if criterion != CLASSES:
        return loss(scores, y, options, criterion) > float(np.mean((y - mean) ** 2))
    constant = np.full(len(y), mean)
    with np.errstate(divide="ignore"):
        surprise = -np.log(np.where(y == 1, constant, 1 - constant))
    return loss(scores, y, options, criterion) > float(surprise.mean())


def select_trees(
    ensemble: Ensemble, X: np.ndarray, y: np.ndarray, options: TreeOptions, criterion: Criterion
) -> tuple[Ensemble, TreeMeasures]:
    """The trees up to the least loss on test rows where that is asked for, which is marked: it flatters the result."""
    if options.select_by == "none" or not len(y):
        return ensemble, TreeMeasures(best_trees=None, selected_on_test=False)
    best, count = choose_trees(ensemble, X, y, options, criterion)
    return best, TreeMeasures(best_trees=count, selected_on_test=True)


def _deployment_measures(
    scores: np.ndarray, expected: np.ndarray, y: np.ndarray, options: TreeOptions, criterion: Criterion
) -> TreeMeasures:
    """Quality of the rows that were scored together, and how far their scores are from the evaluator's."""
    n = len(scores)
    measures = quality(scores, y[:n], options, criterion)
    difference = float(np.max(np.abs(scores - expected[:n]), initial=0.0))
    return TreeMeasures(
        scored_log_loss=measures.log_loss,
        scored_auc=measures.auc,
        scored_accuracy=measures.accuracy,
        scored_mse=measures.mse,
        scored_rows=n,
        score_difference=difference,
    )


def example_fits(
    estimate: TreeEstimate, data: TreeData, train: np.ndarray, spec: MethodSpec[object, object, object]
) -> TreeExamples:
    """Loss along the trees on training and test rows, and what the fit itself shows (tables with bands)."""
    options, ensemble = options_of(estimate, spec), estimate.ensemble
    examples = TreeExamples(
        path_train_loss=along(ensemble, data.X[train], data.y[train], options, data.criterion),
        path_test_loss=along(ensemble, data.X[~train], data.y[~train], options, data.criterion),
    )
    return examples | estimate_examples(estimate, train, spec)


def estimate_examples(
    estimate: TreeEstimate, train: np.ndarray, spec: MethodSpec[object, object, object]
) -> TreeExamples:
    """Return the example arrays that follow from the estimate alone."""
    counts = steps(estimate.ensemble, options_of(estimate, spec)).astype(float)
    examples = TreeExamples(path_trees=counts) | shown_tables(estimate.ensemble)
    return examples | TreeExamples.with_dims(estimate.arrays)


def shown_tables(ensemble: Ensemble) -> TreeExamples:
    """Columns, cuts, values and noise of the tables of a model, padded by NaN; nothing where it has none.

    table_column : (table,), and table_class of more than two classes
    table_edges, table_values, table_noise : (table, bin), an edge is the right end of its bin
    """
    if not ensemble.tables:
        return TreeExamples()
    shape = len(ensemble.tables), max(len(table.values) for table in ensemble.tables)
    edges, values, noise = np.full((3, *shape), np.nan)
    for row, table in enumerate(ensemble.tables):
        edges[row, : len(table.edges)] = table.edges
        values[row, : len(table.values)] = table.values
        if table.noise is not None:
            noise[row, : len(table.noise)] = table.noise
    columns = np.array([table.feature for table in ensemble.tables], dtype=float)
    examples = TreeExamples(table_column=columns, table_edges=edges, table_values=values, table_noise=noise)
    if ensemble.outputs == 1:
        return examples
    return examples | TreeExamples(table_class=np.array([table.output for table in ensemble.tables], dtype=float))


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
