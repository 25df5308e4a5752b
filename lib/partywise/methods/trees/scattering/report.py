"""Report of a fit by label scattering: the whole model, operations, bytes, labels read off gradients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..codes import CodedColumns, side_by_side
from ..ensemble import Draws, with_thresholds
from ..gathering.routing import pooled_difference, rows_rerouted
from ..model import ColumnGroups, TreeEstimate, TreeSpec
from ..options import ScatteringOptions
from .plan import STEP, ScatteringPlan, wire


@dataclass(frozen=True, eq=False)
class Work:
    """Report of a passive party: its additions, and the labels that it reads off the first gradients."""

    additions: int = 0
    guess: np.ndarray | None = None


def to_estimate(
    estimate: TreeEstimate,
    work: Mapping[str, Work],
    labels: np.ndarray,
    draws: Sequence[Draws],
    groups: ColumnGroups,
    plan: ScatteringPlan,
    codes: Mapping[str, CodedColumns],
    rows: Mapping[str, np.ndarray],
    spec: TreeSpec[ScatteringOptions],
) -> TreeEstimate:
    """The estimate, as only an evaluator sees it; no guarantee is claimed.

    codes, rows : of the training records, by party; labels : of the training records
    """
    columns = dict(groups)
    others = {name: columns[name] for name in work}
    raw = {
        c: cuts
        for name, party_columns in others.items()
        for c, cuts in zip(party_columns, codes[name].thresholds, strict=True)
    }
    ensemble = estimate.ensemble
    whole = with_thresholds(ensemble, raw)
    X = np.empty((plan.n, sum(map(len, columns.values()))))
    for name, block in rows.items():
        X[:, columns[name]] = block
    data = side_by_side([codes[name] for name in columns], list(columns.values()))
    options, criterion = spec.options, spec.public.criterion
    numbers = wire(ensemble, [columns for columns, _ in draws], list(others.values()), plan, options) | {
        "additions": sum(report.additions for report in work.values()),
        "rows_rerouted": rows_rerouted(whole, data, X),
        "max_prediction_difference": pooled_difference(
            whole, data.thresholds, X, labels, options, criterion, draws, STEP, plan.unit, spec.public.response_bounds
        ),
    }
    guess = next((report.guess for report in work.values()), None)
    if guess is not None and criterion == "CrossEntropyLoss":
        numbers["labels_recovered"] = float(np.mean(guess == (labels > 0)))
    return replace(estimate, ensemble=whole, numbers=numbers)
