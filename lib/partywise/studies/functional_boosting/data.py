"""What a replicate of a functional study is, and what a fit of it returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...functional.bases import BSplineBasis, FourierBasis, make_basis
from ...privacy.accounted import Accounted
from ...privacy.accounted import Public as Fixed

# `cases` and `own_cases` make radii of settings, generator constants and the length of the domain; no curve is read.
RADIUS = "clipping radius of the case: a setting, or a constant of its generator"


class BasisSpec(NamedTuple):
    """A basis as three plain values, so that it travels with the data."""

    kind: str
    domain: tuple[float, float]
    n_basis: int

    def build(self) -> BSplineBasis | FourierBasis:
        """The basis with its matrices."""
        return make_basis(self.kind, self.domain, self.n_basis)


@dataclass(frozen=True)
class Public:
    """What everyone may know before any data are seen: bases, clipping radii, names.

    radius : one of each predictor, with the argument where it comes from; response_radius : that of the response
    """

    basis_x: BasisSpec
    basis_y: BasisSpec
    radius: tuple[Accounted, ...]
    response_radius: Accounted
    predictor_names: tuple[str, ...]


@dataclass(frozen=True)
class FunctionalData:
    """One replicate, in orthonormal coordinates (the norm of a vector is the L2 norm of its curve).

    X : (N, p, Qx) predictors; Y : (N, Qy) response
    basis, domain_x, domain_y : kind of basis and the two domains, in the unit of time of the curves
    radius : (p,) public clipping radii of the predictors; response_radius : that of the response
    block : (N,) records of one block are held out together
    operators : (p, Qx, Qy) truth, or shape (0, Qx, Qy) where it is unknown; active : (p,) or (0,) bool
    predictor_names : (p,) str; natural_party : (p,) str, empty strings where the split is made by J
    reference_X, reference_Y : further data sets (R, N, ...) for the reference models of the membership attack
    record_names : (N,) str; y_scale, y_offset : response in its own unit = y_offset + y_scale * value
    """

    X: np.ndarray
    Y: np.ndarray
    basis: str
    domain_x: np.ndarray
    domain_y: np.ndarray
    radius: np.ndarray
    response_radius: float
    block: np.ndarray
    operators: np.ndarray
    active: np.ndarray
    predictor_names: np.ndarray
    natural_party: np.ndarray
    record_names: np.ndarray
    reference_X: np.ndarray = field(default_factory=lambda: np.zeros(0))
    reference_Y: np.ndarray = field(default_factory=lambda: np.zeros(0))
    y_scale: float = 1.0
    y_offset: float = 0.0

    def __post_init__(self) -> None:
        if not (np.all(np.isfinite(self.X)) and np.all(np.isfinite(self.Y))):
            raise ValueError("X or Y holds non-finite coordinates: fill or drop incomplete curves before the study.")

    @cached_property
    def basis_x(self) -> BasisSpec:
        """Basis of the predictors."""
        return BasisSpec(str(self.basis), (float(self.domain_x[0]), float(self.domain_x[1])), self.X.shape[2])

    @cached_property
    def basis_y(self) -> BasisSpec:
        """Basis of the response."""
        return BasisSpec(str(self.basis), (float(self.domain_y[0]), float(self.domain_y[1])), self.Y.shape[1])

    @property
    def has_truth(self) -> bool:
        """Whether the generating operators are known."""
        return len(self.operators) > 0

    def public(self) -> Public:
        """The part of the data set that is public."""
        names = tuple(str(name) for name in self.predictor_names)
        radius = tuple(Fixed(float(value), because=RADIUS) for value in self.radius)
        return Public(self.basis_x, self.basis_y, radius, Fixed(float(self.response_radius), because=RADIUS), names)


@dataclass(frozen=True)
class Estimate:
    """What every method of the functional studies returns.

    operators : (p, Qx, Qy), mean_x : (p, Qx), mean_y : (Qy,) in orthonormal coordinates
    selected : (p,) bool, predictors touched on the returned path (all True for methods that do not select)
    epsilon_claimed : by the formula of the source, or by the certificate for certified methods
    released : (N, p, Qx) what the active party received, or None
    basis_x : basis of the predictors, or None where it is not known
    numbers : further scalars of the fit (steps, criterion, clip share, ...)
    """

    operators: np.ndarray
    mean_x: np.ndarray
    mean_y: np.ndarray
    selected: np.ndarray
    epsilon_claimed: float
    released: np.ndarray | None = None
    numbers: dict[str, float | int | bool | None] = field(default_factory=dict)
    basis_x: BasisSpec | None = None

    def predict(self, X: np.ndarray, basis_x: BasisSpec | None = None) -> np.ndarray:
        """Fitted curves (N, Qy) of predictors X (N, p, Qx), whose basis is checked where it is given.

        Raises
        ------
        ValueError
            When the predictors or their basis differ from those of the fit.
        """
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
