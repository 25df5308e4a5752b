"""The pooled fit of a replicate, which every method is compared with; made once for all cells that need it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ....glm.diagnostics import diagnose, sums_of
from ....glm.exact import Fit, fit_glm
from ....glm.options import Dispersion
from ....glm.records import Response
from ....models.families import FAMILIES
from ..data import GlmData


@dataclass(frozen=True)
class Pooled:
    """Records that a method used, and the exact fit of them.

    X : (n, p); response : of the used records
    null : intercept and deviance of the fit without columns, None where nothing is left to explain
    fit : None where the columns depend on each other; ridge : of the fit
    """

    X: np.ndarray
    response: Response
    null: tuple[float, float] | None
    fit: Fit | None
    ridge: float

    @property
    def deviance(self) -> float:
        """Deviance of the exact fit, nan where there is none."""
        return np.nan if self.fit is None else self.response.deviance(self.fit.eta)

    def eta(self, coefficients: np.ndarray) -> np.ndarray:
        """(n,) linear predictors, offset included."""
        return self.X @ coefficients[1:] + coefficients[0] + self.response.shift

    def errors(self, dispersion: Dispersion) -> np.ndarray | None:
        """(1 + p,) standard errors of the exact fit, on the scale of the given columns, if it has any."""
        if self.fit is None or self.fit.status != "ok":
            return None
        sums, family = sums_of(self.response, self.fit.eta), self.response.family.name
        given: dict[str, Any] = {"ridge": self.ridge, "dispersion": dispersion}
        return diagnose(sums, self.fit.information, self.fit.scaling, family, **given).standard_errors


def pooled(data: GlmData, persons: np.ndarray, ridge: float) -> Pooled:
    """The exact fit of some persons, with a ridge on standardised columns."""
    key = persons.tobytes(), ridge
    if key not in data.memo:
        data.memo[key] = _pooled(data, persons, ridge)
    return data.memo[key]


def _pooled(data: GlmData, persons: np.ndarray, ridge: float) -> Pooled:
    X, response = data.X[persons], response_at(data, persons)
    null, fit = None, None
    try:
        null = response.null()
        given: dict[str, Any] = {"weights": response.weights, "offset": response.offset}
        fit = fit_glm(X, response.y, response.family, ridge=ridge, **given)
    except (ValueError, np.linalg.LinAlgError):
        # Nothing to compare with: what depends on it stays undefined.
        pass
    return Pooled(X, response, null, fit, ridge)


def response_at(data: GlmData, persons: np.ndarray) -> Response:
    """Responses of some persons with their weights and offset."""
    weights, offset = (None if values is None else values[persons] for values in (data.weights, data.offset))
    return Response(data.y[persons], FAMILIES[data.family], weights, offset)
