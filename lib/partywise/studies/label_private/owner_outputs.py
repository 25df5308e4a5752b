"""Report for the owner of a table: probabilities of the records, and coefficients in the units of the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from ...data.own.columns import feature_names, feature_rows, scale_of
from ...experiment.owner_outputs import OwnerReport
from ...federation.folds import Fold
from ...methods.logistic.evaluate import predict
from ...methods.logistic.model import LabelEstimate
from ...models.links import require_logit
from .data import LabelData

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from .own_settings import OwnLabelSettings

SCALE = (
    "log odds of label 1 = intercept + sum of coefficient times the column in its own units; a value outside the "
    "bounds counts as the nearest bound, a level as 1 where the record has it. The scaling is public: bounds and "
    "levels of the configuration. Fits see features as 32-bit floats, so that the last digits may differ."
)

CELLS = "log odds of label 1 = intercept + coefficients of the cells that a record is in, one of each table"


def owner_outputs(
    estimate: LabelEstimate, data: LabelData, train: np.ndarray, spec: MethodSpec[object, object, OwnLabelSettings]
) -> OwnerReport:
    """Return the report on all records, in the order of the file."""
    model_fields = model(estimate, spec)
    finite = bool(np.all(np.isfinite(estimate.theta)))
    predicted = predict(estimate.design(data.X), estimate.theta) if finite else np.full(len(data.y), np.nan)
    return OwnerReport(data.ids, ~train, {"observed": data.labels, "predicted": predicted}, model_fields)


def own_predictions(estimate: LabelEstimate, block: Mapping[str, np.ndarray], fold: Fold, spec: object) -> np.ndarray:
    """(n,) probabilities of label 1, by the holder of the features."""
    return predict(estimate.design(block["X"]), estimate.theta)


def model(estimate: LabelEstimate, spec: MethodSpec[object, object, OwnLabelSettings]) -> dict[str, object]:
    """Coefficients with the noise in them and 95 % intervals, where the method has some."""
    require_logit(estimate.link, "coefficients are taken home as log odds", "read the estimate itself")
    theta, columns = estimate.theta, spec.settings.columns
    if estimate.cells is not None:
        return cell_model(estimate, feature_names(columns))
    scale = scale_of(columns, 0.0)
    coefficients, gain = scale.coefficients(theta[1:])
    noise, bounds = estimate.noise_errors, estimate.intervals.bounds()
    intervals = centre = None
    if bounds is not None and estimate.intervals.centre is not None:
        centre = scale.coefficients(estimate.intervals.centre[1:])[0]
        ends = np.transpose([scale.coefficients(end[1:])[0] for end in bounds.T])
        intervals = [sorted(both) for both in ends.tolist()]
    noise_sd = None if noise is None else scale.slope * noise[1:]
    rows = feature_rows(columns, coefficient=coefficients, noise_sd=noise_sd, interval=intervals, centre=centre)
    return {"kind": "logistic regression", "scale": SCALE, "intercept": theta[0] + gain, "coefficients": rows}


def cell_model(estimate: LabelEstimate, names: Sequence[str]) -> dict[str, object]:
    """One coefficient per cell, by the parts of public ranges and the levels that make it."""
    cells, noise = estimate.cells, estimate.noise_errors
    assert cells is not None
    levels = list[list[str]]()
    for columns, numeric in zip(cells.features, cells.numeric, strict=True):
        indicators = [names[column - 1] for column in columns]
        parts = [f"{indicators[0]}, part {part} of {cells.bins}" for part in range(1, cells.bins + 1)]
        levels.append(parts if numeric else [f"not {' or '.join(indicators)}", *indicators])
    places = (cell for table in cells.tables for cell in product(*(levels[place] for place in table)))
    rows: list[dict[str, object]] = [{"name": " and ".join(cell)} for cell in places]
    for place, row in enumerate(rows, 1):
        row |= {"coefficient": estimate.theta[place]} | ({} if noise is None else {"noise_sd": noise[place]})
    return {"kind": "logistic regression", "scale": CELLS, "intercept": estimate.theta[0], "coefficients": rows}
