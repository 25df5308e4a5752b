"""Report for the owners of tables: predictions of the records, and trees and tables by column names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...data.own.grammar import ColumnBlock
from ...experiment.owner_outputs import OwnerReport
from ...federation.folds import Fold
from ...methods.trees.model import LEAF, Ensemble, StepFunction, Tree, TreeEstimate, TreeFacts
from ...methods.trees.protocols.common import held_out
from .data import TreeData
from .metrics import options_of, predictions, select_trees

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from .own_settings import TreeTableSettings

SCALE = (
    "score = base + weight times the sum of the leaves in which a record ends + the sum of the values of the tables; "
    "a record goes left if its column is at most the threshold, in its own units, or has one of the levels; bin j "
    "of a table reaches from edge j - 1 to edge j, which belongs to it. All trees are told, as only somebody who "
    "holds all parts has them"
)


def owner_outputs(
    estimate: TreeEstimate, data: TreeData, train: np.ndarray, spec: MethodSpec[object, object, TreeTableSettings]
) -> OwnerReport:
    """Return the report on all records, in the order of the first file, by the trees whose errors the cube has."""
    if data.ids is None:
        raise ValueError("ids are unknown: own tables name their records.")
    options = options_of(estimate, spec)
    ensemble, _ = select_trees(estimate.ensemble, data.X[~train], data.y[~train], options, data.criterion)
    scores = ensemble.scores(data.X)
    with np.errstate(over="ignore", invalid="ignore"):
        predicted = predictions(scores, options, data.criterion)
    values = {"observed": data.y, "predicted": predicted if predicted.ndim == 1 else predicted.argmax(axis=1) * 1.0}
    for level, probabilities in zip(spec.settings.class_names, predicted.T if predicted.ndim > 1 else (), strict=True):
        values[f"probability of {level}"] = probabilities
    return OwnerReport(data.ids, ~train, values, model(replace(estimate, ensemble=ensemble), spec))


def own_predictions(
    estimate: TreeEstimate,
    block: Mapping[str, np.ndarray],
    fold: Fold,
    spec: MethodSpec[object, object, TreeTableSettings],
) -> np.ndarray:
    """(n,) predictions of the held-out records that all parties scored together, nan of others."""
    predicted, public = np.full(len(fold.of), np.nan), spec.public
    assert isinstance(public, TreeFacts)
    if estimate.scores is not None:
        rows = np.flatnonzero(held_out(fold))[: len(estimate.scores)]
        predicted[rows] = predictions(estimate.scores, options_of(estimate, spec), public.criterion)
    return predicted


def model(estimate: TreeEstimate, spec: MethodSpec[object, object, TreeTableSettings]) -> dict[str, object]:
    """Trees and tables by column names; thresholds of columns that are unknown here are undefined."""
    options, public = options_of(estimate, spec), spec.public
    assert isinstance(public, TreeFacts)
    levels, columns = spec.settings.class_names, spec.settings.columns
    if levels:
        what = f"{SCALE}; each class has a score, and probabilities are in proportion to e to the power of scores."
        models = zip(levels, estimate.ensemble.by_output(), strict=True)
        return {
            "kind": "trees",
            "scale": what,
            "classes": [{"name": c} | tree_rows(ensemble, columns) for c, ensemble in models],
        }
    raw = predictions(np.ones(1), options, public.criterion)[0] == 1.0
    what = "the prediction is the score" if raw else "the score is the log odds of label 1"
    about = {"kind": "trees", "scale": f"{SCALE}; {what}."}
    return about | tree_rows(estimate.ensemble, columns)


def tree_rows(ensemble: Ensemble, columns: tuple[ColumnBlock, ...]) -> dict[str, object]:
    """Trees as nested nodes, tables as edges and values."""
    return {
        "base": ensemble.base,
        "weight": ensemble.weight,
        "trees": [_node(tree, 0, columns) for tree in ensemble.trees],
        "tables": [_table(table, columns[table.feature]) for table in ensemble.tables],
    }


def _node(tree: Tree, at: int, columns: tuple[ColumnBlock, ...]) -> dict[str, object]:
    if tree.feature[at] == LEAF:
        return {"value": tree.value[at]}
    column, threshold = columns[tree.feature[at]], float(tree.threshold[at])
    limit: dict[str, object] = {"threshold": threshold}
    if np.isnan(threshold):
        # Its owner knows which of its ranks that is.
        limit |= {"rank": int(tree.cut[at])}
    elif column.levels is not None:
        limit = {"levels": [level for code, level in enumerate(column.levels) if code <= threshold]}
    sides = {"left": _node(tree, int(tree.left[at]), columns), "right": _node(tree, int(tree.right[at]), columns)}
    return {"column": column.name} | limit | sides


def _table(table: StepFunction, column: ColumnBlock) -> dict[str, object]:
    fields: dict[str, object] = {"column": column.name, "edges": table.edges, "values": table.values}
    if table.shares is not None:
        names = [f"share up to {edge:g}" for edge in table.edges] + [f"share above {table.edges[-1]:g}"]
        if column.levels is not None and len(column.levels) == len(names):
            names = [f"share of {level}" for level in column.levels]
        names.append("share of missing cells")
        # The last name is of tables with missing cells alone.
        numbers = zip(names, table.shares.tolist(), strict=False)
        fields["shares"] = [{"name": name, "estimate": share, "interval": ends} for name, (share, *ends) in numbers]
    return fields | ({} if column.levels is None else {"levels": column.levels})
