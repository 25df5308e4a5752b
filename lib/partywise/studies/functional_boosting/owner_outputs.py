"""Report for the owner of curves: predicted curves on a public grid, and operators with their bases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...data.own.curves.settings import CurveFile, PredictorFile
from ...experiment.owner_outputs import OwnerReport
from ...methods.functional.bases import BSplineBasis
from ...methods.functional.model import BasisSpec, CurveEstimate, CurveFacts
from .data import FunctionalData

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from .own_settings import CurveTableSettings

# Points of a curve in predictions.csv.
GRID = 13
SCALE = (
    "a curve is (transformed value - centre) / scale, on its domain, which is mapped to that of the basis; "
    "predicted(t) = mean(t) of the response + sum over predictors of the integral over s of (curve(s) - mean(s)) "
    "kernel(s, t), where kernel(s, t) = sum of operator[q][r] b_q(s) c_r(t), with b the basis of predictors and c "
    "that of the response; predictions.csv has centre + scale * predicted(t). Centre, scale and bases are public: "
    "settings"
)


def owner_outputs(
    estimate: CurveEstimate,
    data: FunctionalData,
    train: np.ndarray,
    spec: MethodSpec[object, object, CurveTableSettings],
) -> OwnerReport:
    """Return the smoothed and predicted curves of all records, in the unit of the transformed response."""
    by = data.basis_y.build()
    times = np.linspace(*data.basis_y.domain, GRID)
    curves = (by.evaluate(times) @ by.inverse_root).T
    with np.errstate(over="ignore", invalid="ignore"):
        predicted = data.y_offset + data.y_scale * estimate.predict(data.X, data.basis_x) @ curves
    observed = data.y_offset + data.y_scale * data.Y @ curves
    return OwnerReport(data.ids, ~train, {"observed": observed, "predicted": predicted}, model(estimate, spec), times)


def model(estimate: CurveEstimate, spec: MethodSpec[object, object, CurveTableSettings]) -> dict[str, object]:
    """Operators and means as coefficients of the basis functions themselves."""
    settings, public = spec.settings, spec.public
    assert isinstance(public, CurveFacts)
    wx, wy = public.basis_x.build().inverse_root, public.basis_y.build().inverse_root
    predictors = [
        _curve(predictor, settings) | {"selected": bool(chosen), "mean": wx @ mean, "operator": wx @ operator @ wy}
        for predictor, chosen, mean, operator in zip(
            settings.predictors, estimate.selected_predictors, estimate.mean_x, estimate.operators, strict=True
        )
    ]
    return {
        "kind": "function-on-function linear model",
        "scale": SCALE,
        "basis_x": _basis(public.basis_x),
        "basis_y": _basis(public.basis_y),
        "response": _curve(settings.response, settings) | {"mean": wy @ estimate.mean_y},
        "predictors": predictors,
    }


def _curve(curve: CurveFile, settings: CurveTableSettings) -> dict[str, object]:
    names = ("file", "transform", "centre", "scale")
    named: dict[str, object] = {"name": curve.name} if isinstance(curve, PredictorFile) else {}
    return named | {name: getattr(curve, name) for name in names} | {"domain": settings.domain_of(curve)}


def _basis(spec: BasisSpec) -> dict[str, object]:
    """Kind, domain, size, and the knots of splines."""
    built = spec.build()
    fields: dict[str, object] = {"kind": spec.kind, "domain": spec.domain, "n_basis": spec.n_basis}
    return fields | ({"degree": built.degree, "knots": built.knots} if isinstance(built, BSplineBasis) else {})
