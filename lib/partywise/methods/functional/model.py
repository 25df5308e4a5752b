"""Public facts before a functional fit, and the estimate of a fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...privacy.accounted_values import AccountedValue
from .bases import BSplineBasis, FourierBasis, make_basis

# Scalars of a fit, by their names in cubes.
FitNumbers = dict[str, float | int | bool | None]


class BasisSpec(NamedTuple):
    """A basis as three plain values, so that it travels with the data."""

    kind: str
    domain: tuple[float, float]
    n_basis: int

    def build(self) -> BSplineBasis | FourierBasis:
        """The basis with its matrices."""
        return make_basis(self.kind, self.domain, self.n_basis)


@dataclass(frozen=True)
class CurveFacts:
    """Public facts before any data are seen: bases, clipping radii, names.

    radius : one of each predictor, with the argument where it comes from; response_radius : that of the response
    """

    basis_x: BasisSpec
    basis_y: BasisSpec
    radius: tuple[AccountedValue, ...]
    response_radius: AccountedValue
    predictor_names: tuple[str, ...]


@dataclass(frozen=True)
class CurveEstimate:
    """Estimate that every method of the functional studies returns.

    operators : (p, Qx, Qy), mean_x : (p, Qx), mean_y : (Qy,) in orthonormal coordinates
    selected_predictors : (p,) bool, predictors touched on the returned path (all True for methods that do not select)
    epsilon_claimed : by the formula of the source, or by the certificate for certified methods
    received_curves : (N, p, Qx) what the active party received, or None
    basis_x : basis of the predictors, or None where it is not known
    numbers : further scalars of the fit (steps, criterion, clip share, ...)
    """

    operators: np.ndarray
    mean_x: np.ndarray
    mean_y: np.ndarray
    selected_predictors: np.ndarray
    epsilon_claimed: float
    received_curves: np.ndarray | None = None
    numbers: FitNumbers = field(default_factory=dict)
    basis_x: BasisSpec | None = None

    def predict(self, X: np.ndarray, basis_x: BasisSpec | None = None) -> np.ndarray:
        """Fitted curves (N, Qy) of predictors X (N, p, Qx), whose basis is checked where it is given."""
        if X.shape[1:] != self.mean_x.shape:
            raise ValueError(
                f"X has {X.shape[1:]} predictors and coordinates: the fit was made with {self.mean_x.shape}; "
                "use the same basis and the same predictors."
            )
        if basis_x is not None and self.basis_x is not None and basis_x != self.basis_x:
            raise ValueError(
                f"X is given in the basis {tuple(basis_x)}: the fit was made in {tuple(self.basis_x)}; project the "
                "curves into that basis."
            )
        return self.mean_y + (X - self.mean_x).reshape(len(X), self.mean_x.size) @ self.operators.reshape(
            -1, len(self.mean_y)
        )
