"""Arrays worth looking at, kept for one fit of each method: operators on a grid and a few held-out curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...functional.model import Estimate
from .data import FunctionalData

OPERATOR_GRID = 25
CURVE_GRID = 73
SHOWN = 4


def exhibits(
    estimate: Estimate, data: FunctionalData, train: np.ndarray, spec: Any
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Named arrays with their own dimensions.

    operator : (predictor_shown, s_grid, t_grid), kernels beta_j(s, t) of four predictors on a regular grid
    predictor_shown_index : which predictors
    curve_observed, curve_predicted : (record_shown, curve_grid), in the unit of the response
    record_label : date as yyyymmdd for day curves, else the number of the record
    """
    shown = _predictors(data)
    bx, by = data.basis_x.build(), data.basis_y.build()
    s = bx.evaluate(np.linspace(*data.basis_x.domain, OPERATOR_GRID)) @ bx.inverse_root
    t = by.evaluate(np.linspace(*data.basis_y.domain, OPERATOR_GRID)) @ by.inverse_root
    curves = by.evaluate(np.linspace(*data.basis_y.domain, CURVE_GRID)) @ by.inverse_root
    test = np.flatnonzero(~train) if not train.all() else np.arange(len(train))
    records = test[np.linspace(0, len(test) - 1, SHOWN + 2).astype(int)[1:-1]]
    predicted = estimate.predict(data.X[records])
    return {
        "operator": (("predictor_shown", "s_grid", "t_grid"), s @ estimate.operators[shown] @ t.T),
        "predictor_shown_index": (("predictor_shown",), shown.astype(float)),
        "curve_observed": (("record_shown", "curve_grid"), data.y_offset + data.y_scale * data.Y[records] @ curves.T),
        "curve_predicted": (("record_shown", "curve_grid"), data.y_offset + data.y_scale * predicted @ curves.T),
        "record_label": (("record_shown",), np.array([_label(data.record_names[i], i) for i in records])),
    }


def _predictors(data: FunctionalData) -> np.ndarray:
    """Four predictors to show: the first three active ones and the last inactive one, or an even choice."""
    p = data.X.shape[1]
    if data.has_truth and data.active.any() and not data.active.all():
        active, inactive = np.flatnonzero(data.active)[: SHOWN - 1], np.flatnonzero(~data.active)
        chosen = [*active, *inactive[::-1][: SHOWN - len(active)]]
    else:
        chosen = list(np.linspace(0, p - 1, SHOWN).astype(int))
    return np.array((chosen + [chosen[-1]] * SHOWN)[:SHOWN])


def _label(name: str, index: int) -> float:
    digits = str(name).replace("-", "")
    return float(digits) if digits.isdigit() and len(digits) == 8 else float(index)
