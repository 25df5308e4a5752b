"""Replicate of a functional study, and its division: predictors among parties, records among folds.

Apart from the cases, so that an edit of a loader reruns no fit of another case.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...federation.parties import Party, split_columns
from ...methods.functional.model import BasisSpec, CurveFacts
from ...privacy.accounted_values import Public as Fixed
from .own_settings import CurveTableSettings
from .settings import CurveDatasetSettings, SimulatedCurveSettings

# `cases` and `own_cases` make radii of settings, generator constants and the length of the domain; no curve is read.
RADIUS = "clipping radius of the case: a setting, or a constant of its generator"


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

    @property
    def ids(self) -> np.ndarray:
        """(N,) names of the records, as own files have them."""
        return self.record_names

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

    def public(self) -> CurveFacts:
        """The part of the data set that is public."""
        names = tuple(str(name) for name in self.predictor_names)
        radius = tuple(Fixed(float(value), because=RADIUS) for value in self.radius)
        return CurveFacts(self.basis_x, self.basis_y, radius, Fixed(float(self.response_radius), because=RADIUS), names)


def split(
    data: FunctionalData,
    n_parties: int,
    spec: object,
    settings: SimulatedCurveSettings | CurveDatasetSettings | CurveTableSettings,
) -> list[Party]:
    """The active party (the response) and ``n_parties`` owners of disjoint predictors.

    The active party of simulated data also keeps the truth, for the oracle and for nothing else.
    """
    p = data.X.shape[1]
    if settings.split == "natural":
        names = list(dict.fromkeys(str(name) for name in data.natural_party))
        columns = [tuple(int(j) for j in np.flatnonzero(data.natural_party == name)) for name in names]
    else:
        columns = list(split_columns(p, n_parties, settings.split, settings.groups or None))
        names = [f"party {g + 1}" for g in range(n_parties)]
    private = {"Y": data.Y}
    if data.has_truth:
        private |= {"operators": data.operators, "active": data.active}
    owners = [
        Party(name, "passive", {"X": data.X[:, list(indices)]}, columns=indices)
        for name, indices in zip(names, columns, strict=True)
    ]
    return [Party("active", "active", private), *owners]


def folds(
    data: FunctionalData, n_folds: int, settings: SimulatedCurveSettings | CurveDatasetSettings | CurveTableSettings
) -> np.ndarray:
    """Fold of every record: floor(b K / n_blocks) for its block b, or the source's floor(n_blocks / K) each.

    With fresh test records these are fold 0 and all others train.  With the published rule the blocks that are left
    over belong to no fold (-1) and are never tested.
    """
    if isinstance(settings, SimulatedCurveSettings) and settings.n_test:
        return np.where(data.block < settings.n, -1, 0)
    n_blocks = int(data.block.max()) + 1
    if settings.fold_rule == "balanced":
        return data.block * n_folds // n_blocks
    fold = data.block // (n_blocks // n_folds)
    return np.where(fold < n_folds, fold, -1)
