"""Report for the owners of tables: predictions of the records, and coefficients in the units of the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...data.own.columns import feature_rows, scale_of
from ...experiment.owner_outputs import OwnerReport
from ...methods.linear.model import LinearEstimate
from ...models.links import LOGIT
from .data import LinearData
from .metrics import model_of

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from .own_settings import LinearTableSettings

SCALE = (
    "intercept + sum of coefficient times the column in its own units; a value outside the bounds counts as the "
    "nearest bound, a level as 1 where the record has it. The scaling is public: bounds and levels of the "
    "configuration."
)


def owner_outputs(
    estimate: LinearEstimate, data: LinearData, train: np.ndarray, spec: MethodSpec[object, object, LinearTableSettings]
) -> OwnerReport:
    """Return the report on all records, in the order of the first file."""
    centre, half = _response_scale(spec.settings)
    scores = centre + half * estimate.scores(data.X)
    predicted = LOGIT.mean(scores) if model_of(spec.options) == "logistic" else scores
    columns = {"observed": centre + half * data.y, "predicted": predicted}
    return OwnerReport(_ids(data), ~train, columns, model(estimate, spec))


def model(estimate: LinearEstimate, spec: MethodSpec[object, object, LinearTableSettings]) -> dict[str, object]:
    """Coefficients by column names; of a part of the estimate what it adds to the intercept."""
    kind, columns = model_of(spec.options), spec.settings.columns
    centre, half = _response_scale(spec.settings)
    fitted, part = estimate.coefficients * half, estimate.part
    coefficients, gain = scale_of(columns, -1.0).coefficients(fitted[1:])
    intercept = {"intercept": fitted[0] + gain + centre}
    if part is not None:
        part_coefficients = np.zeros(len(fitted))
        part_coefficients[list(part)] = fitted[list(part)]
        _, gain = scale_of(columns, -1.0).coefficients(part_coefficients[1:])
        intercept = {"part_of_intercept": part_coefficients[0] + gain + centre * (0 in part)}
    rows = feature_rows(columns, coefficient=coefficients)
    what = "log odds of label 1" if kind == "logistic" else "prediction of the label"
    return {"kind": f"{kind} model", "scale": f"{what} = {SCALE}", **intercept, "coefficients": rows}


def _response_scale(settings: LinearTableSettings) -> tuple[float, float]:
    """Middle and half width of the response's range, in whose units it is fitted."""
    if settings.response_bounds is None:
        return 0.0, 1.0
    low, high = settings.response_bounds
    return (low + high) / 2, (high - low) / 2


def _ids(data: LinearData) -> np.ndarray:
    if data.ids is None:
        raise ValueError("ids are unknown: own tables name their records.")
    return data.ids
