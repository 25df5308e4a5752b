"""What the owners of tables take home: predictions of the records, and coefficients in the units of the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...datasets.own.records.original import feature_rows, scale_of
from ...experiment.owner_outputs import OwnerReport
from ...linear.model import Estimate
from ...models.links import LOGIT
from .data import LinearData
from .metrics import model_of

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from .own_settings import TableSettings

SCALE = (
    "intercept + sum of coefficient times the column in its own units; a value outside the bounds counts as the "
    "nearest bound, a level as 1 where the record has it. The scaling is public: bounds and levels of the "
    "configuration."
)


def owner_outputs(
    estimate: Estimate, data: LinearData, train: np.ndarray, spec: MethodSpec[object, object, TableSettings]
) -> OwnerReport:
    """Of all records, in the order of the first file."""
    settings, model = spec.settings, model_of(spec.options)
    centre, half = 0.0, 1.0
    if settings.response_bounds is not None:
        centre, half = sum(settings.response_bounds) / 2, data.label_scale
    scores = centre + half * estimate.scores(data.X)
    predicted = LOGIT.mean(scores) if model == "logistic" else scores
    fitted = estimate.coefficients * half
    coefficients, gain = scale_of(settings.columns, -1.0).coefficients(fitted[1:])
    told = [
        {**one, "coefficient": value} for one, value in zip(feature_rows(settings.columns), coefficients, strict=True)
    ]
    what = "log odds of label 1" if model == "logistic" else "prediction of the label"
    about = {"kind": f"{model} model", "scale": f"{what} = {SCALE}", "intercept": fitted[0] + gain + centre}
    columns = {"observed": centre + half * data.y, "predicted": predicted}
    return OwnerReport(_ids(data), ~train, columns, about | {"coefficients": told})


def _ids(data: LinearData) -> np.ndarray:
    if data.ids is None:
        raise ValueError("ids are unknown: own tables name their records.")
    return data.ids
