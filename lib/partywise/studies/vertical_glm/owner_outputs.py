"""Report for the owners of tables: fitted means of the records, and coefficients or matrices by column names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...data.own.columns import feature_rows
from ...experiment.owner_outputs import OwnerReport
from ...methods.glm.model import GlmEstimate, GlmFacts
from ...methods.glm.options import COX
from ...methods.pca.model import PcaFacts
from ...models.families import FAMILIES
from ...models.family_facts import FACTS
from .data import GlmData
from .evaluation.persons import used_persons
from .metrics import matrix_of

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from ...methods.pca.model import PcaEstimate
    from .evaluation.persons import GlmOptions
    from .own_settings import GlmTableSettings

SCALE = (
    "linear predictor = intercept + sum of coefficient times the column in its own units (+ offset, where there is "
    "one); a level counts as 1 where the record has it"
)


def owner_outputs(
    estimate: GlmEstimate | PcaEstimate,
    data: GlmData,
    train: np.ndarray,
    spec: MethodSpec[GlmOptions, object, GlmTableSettings],
) -> OwnerReport:
    """Return the report on the records that all files have; protocols that fit no regression predict nothing."""
    if data.ids is None:
        raise ValueError("ids are unknown: own tables name their records.")
    whole = np.isfinite(data.X).all(axis=1) & np.isfinite(data.y)
    trained = np.zeros(len(data.y), dtype=bool)
    trained[used_persons(estimate, data, train, spec)] = True
    columns = dict[str, np.ndarray]()
    if isinstance(estimate, GlmEstimate):
        offset = None if data.offset is None else data.offset[whole]
        with np.errstate(over="ignore", invalid="ignore"):
            eta = estimate.predictor(data.X[whole], offset)
            predicted = np.exp(eta) if data.family == COX else FAMILIES[data.family].mean(eta)
        columns = {"observed": data.y[whole], "predicted": predicted}
    return OwnerReport(data.ids[whole], ~trained[whole], columns, model(estimate, spec))


def model(
    estimate: GlmEstimate | PcaEstimate, spec: MethodSpec[GlmOptions, object, GlmTableSettings]
) -> dict[str, object]:
    """Coefficients or matrices by column names."""
    fields = regression(estimate, spec.settings) if isinstance(estimate, GlmEstimate) else {}
    matrix, kind = matrix_of(estimate, spec.options)
    if matrix is None:
        return fields
    assert isinstance(spec.public, GlmFacts | PcaFacts)
    return fields | {"columns": list(spec.public.names), kind: matrix}


def regression(estimate: GlmEstimate, settings: GlmTableSettings) -> dict[str, object]:
    """Coefficients with the noise in them, their standard errors and 95 % intervals, where the protocol has some."""
    b, noise, errors = estimate.coefficients, estimate.noise_errors, estimate.standard_errors
    bounds, centre = estimate.intervals.bounds(), estimate.intervals.centre
    rows = feature_rows(
        settings.columns,
        coefficient=b[1:],
        noise_sd=None if noise is None else noise[1:],
        standard_error=None if errors is None else errors[1:],
        interval=None if bounds is None else bounds[1:],
        centre=None if centre is None else centre[1:],
    )
    if settings.family == COX:
        about = {"kind": "proportional hazards", "link": "log of the hazard over that at the means", "scale": SCALE}
    else:
        link = FACTS[settings.family].link
        about = {"kind": f"generalised linear model, {settings.family}", "link": link, "scale": SCALE}
    fields = about | {"intercept": b[0], "coefficients": rows}
    if noise is not None:
        fields["intercept_noise_sd"] = noise[0]
    elif estimate.noise_errors_reason:
        fields["no_noise_sd"] = estimate.noise_errors_reason
    if errors is not None:
        fields["intercept_standard_error"] = errors[0]
    if bounds is not None and centre is not None:
        fields |= {"intercept_interval": bounds[0], "intercept_centre": centre[0]}
    return fields
