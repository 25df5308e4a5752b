"""The coordinates a method works in: orthonormal, the smoothest few of them, or the source's raw coefficients.

Data travel in orthonormal coordinates z = M^{1/2} c.  A map T takes z to the working coordinates and the operator
back: working operators W map to orthonormal ones by T_x' W T_y^{-T}, with T = I, V_r' (the r eigenvectors of the
penalty with the least roughness) or M^{-1/2}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from ...core.checks import Matrix
from ...privacy.accounted_values import AccountedValue
from ...privacy.accounted_values import Public as Fixed
from ...privacy.rounding import bounded_entries
from .bases import roughness_directions
from .model import BasisSpec, CurveFacts
from .paths import Penalties
from .solver import check_penalty, spectral_scale

ROUNDING = 1e-12


@dataclass(frozen=True)
class Coordinates:
    """Working coordinates of the predictors and of the response.

    to_x : (q, Qx) map of predictor coordinates; to_y : (Qy, Qy) of the response; from_y its inverse
    gram : (q, q) Gram matrix of the working coordinates of a predictor
    gram_y : (Qy, Qy) Gram matrix of the basis of the response
    gram_noise : (q, q) covariance of the published noise at s = 1, N(0, M) on the coefficients
    white_noise : (q, q) covariance of isotropic noise on the orthonormal coordinates at s = 1
    """

    to_x: np.ndarray
    to_y: np.ndarray
    from_y: np.ndarray
    gram: np.ndarray
    gram_y: np.ndarray
    gram_noise: np.ndarray
    white_noise: np.ndarray
    penalties: Penalties
    basis_x: BasisSpec | None = None

    @property
    def metric(self) -> AccountedValue | None:
        """The Gram matrix as a certificate takes it; None in orthonormal coordinates."""
        return None if self.orthonormal else Fixed(self.gram, because="Gram matrix of the basis, a setting of the case")

    @property
    def orthonormal(self) -> bool:
        """Whether the norm of a working vector is the plain Euclidean one."""
        return bool(np.array_equal(self.gram, np.eye(len(self.gram))))

    def predictors(self, X: np.ndarray) -> np.ndarray:
        """Working coordinates (..., q) of predictors in orthonormal coordinates (..., Qx)."""
        return bounded_entries(X) @ self.to_x.T

    def response(self, Y: np.ndarray) -> np.ndarray:
        """Working coordinates of the response."""
        return bounded_entries(Y) @ self.to_y.T

    def operators(self, B: np.ndarray) -> np.ndarray:
        """Orthonormal operators (p, Qx, Qy) of a working operator (P, Qy) or (p, q, Qy)."""
        blocks = B.reshape(-1, len(self.to_x), B.shape[-1])
        return self.to_x.T @ blocks @ self.from_y.T

    def back_x(self, X: np.ndarray) -> np.ndarray:
        """Orthonormal coordinates of predictors given in working ones (projected, where directions were dropped)."""
        return X @ np.linalg.pinv(self.to_x).T


def make_coordinates(
    public: CurveFacts,
    n_predictors: int,
    *,
    coordinates: str = "orthonormal",
    directions: int | None = None,
    penalty: str = "second_derivative",
    penalty_scale: str = "spectral",
    omega_x: ArrayLike | None = None,
    omega_y: ArrayLike | None = None,
) -> Coordinates:
    """Coordinates and penalties of a method."""
    bx, by = public.basis_x.build(), public.basis_y.build()
    own_x = _own_penalty("omega_x", omega_x, bx.penalty, penalty)
    own_y = _own_penalty("omega_y", omega_y, by.penalty, penalty)
    if own_x.ndim == 3 and len(own_x) != n_predictors:
        raise ValueError(
            f"omega_x holds {len(own_x)} penalties: give one, or one for each of {n_predictors} predictors."
        )
    # One penalty of all predictors is checked, scaled and whitened once.
    distinct = own_x if own_x.ndim == 3 else own_x[None]
    copies = n_predictors // len(distinct)
    checked = [check_penalty(f"omega_x[{j}]", omega, bx.n_basis) for j, omega in enumerate(distinct)]
    checked_y = check_penalty("omega_y", own_y, by.n_basis)
    scaled = spectral_scale if penalty_scale == "spectral" else np.asarray
    if coordinates == "raw":
        penalties = Penalties(np.repeat([scaled(o) for o in checked], copies, axis=0), scaled(checked_y))
        inverse = _symmetric(np.linalg.inv(bx.gram))
        return Coordinates(
            bx.inverse_root, by.inverse_root, by.root, bx.gram, by.gram, bx.gram, inverse, penalties, public.basis_x
        )
    whitened = [scaled(_symmetric(bx.inverse_root @ o @ bx.inverse_root)) for o in checked]
    whitened_y = scaled(_symmetric(by.inverse_root @ checked_y @ by.inverse_root))
    identity_y, keep = np.eye(by.n_basis), np.eye(bx.n_basis)
    if directions is not None:
        if directions != int(directions) or not 1 <= directions <= bx.n_basis:
            raise ValueError(f"directions is {directions}: it must be an integer in 1..{bx.n_basis} (the basis size).")
        keep = roughness_directions(bx)[:, : int(directions)].T
    reduced = np.repeat(whitened if directions is None else [_restrict(o, keep) for o in whitened], copies, axis=0)
    gram_noise = _symmetric(keep @ bx.gram @ bx.gram @ keep.T)
    size = len(keep)
    penalties, white = Penalties(reduced, whitened_y), np.eye(size)
    return Coordinates(keep, identity_y, identity_y, white, by.gram, gram_noise, white, penalties, public.basis_x)


class CoordinateOptions(Protocol):
    """Options that choose the coordinates in which a protocol works."""

    @property
    def directions(self) -> int | None: ...
    @property
    def penalty(self) -> str: ...
    @property
    def penalty_scale(self) -> str: ...
    @property
    def omega_x(self) -> Matrix | None: ...
    @property
    def omega_y(self) -> Matrix | None: ...


def coordinates_of(public: CurveFacts, options: CoordinateOptions) -> Coordinates:
    """Coordinates of a protocol by its options; protocols without raw coordinates are orthonormal."""
    return make_coordinates(
        public,
        len(public.radius),
        coordinates=getattr(options, "coordinates", "orthonormal"),
        directions=options.directions,
        penalty=options.penalty,
        penalty_scale=options.penalty_scale,
        omega_x=options.omega_x,
        omega_y=options.omega_y,
    )


def _own_penalty(name: str, declared: ArrayLike | None, default: np.ndarray, penalty: str) -> np.ndarray:
    if declared is None:
        return default if penalty == "second_derivative" else np.zeros_like(default)
    declared = np.asarray(declared, dtype=float)
    if declared.ndim not in (2, 3) or declared.shape[-2:] != default.shape:
        raise ValueError(f"{name} has shape {declared.shape}: its last two dimensions must be {default.shape}.")
    return declared


def _restrict(penalty: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """A penalty on the kept directions; what rounding leaves of directions that it does not see is zero."""
    values, vectors = np.linalg.eigh(_symmetric(keep @ penalty @ keep.T))
    values = np.where(values > ROUNDING * np.linalg.norm(penalty, 2), values, 0.0)
    return _symmetric((vectors * values) @ vectors.T)


def _symmetric(matrix: np.ndarray) -> np.ndarray:
    return (matrix + matrix.T) / 2
