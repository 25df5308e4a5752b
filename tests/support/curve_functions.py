"""The functions of the source for arrays at hand, made of the library's parts: references without a channel.

==============================  =======================================================
``dp_release_coefficients``     :func:`release_curves`
``adapt_Sx``                    :func:`clipping_radius`
``form_dp_moments``             :func:`partywise.methods.functional.moments.corrected_moments`
``solve_penalized_fof``         :func:`partywise.methods.functional.solver.solve_penalized`
``vfl_dp_foboost``              :func:`partywise.methods.functional.boosting.fit_boosting`
``predict_vfl_dp_foboost``      :func:`predict_curves`
``dp_fof_fit``                  :func:`fit_central`
==============================  =======================================================

Coefficients are those of a basis; everything inside works in orthonormal coordinates z = M^{1/2} c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partywise.core.checks import positive
from partywise.methods.functional.bases import BSplineBasis, FourierBasis
from partywise.methods.functional.boosting import BoostingFit, fit_joint
from partywise.methods.functional.coordinates import make_coordinates
from partywise.methods.functional.model import BasisSpec, CurveFacts
from partywise.methods.functional.moments import CurveMoments, CurveSums, block_noise, corrected_moments
from partywise.methods.functional.path_options import BoostingOptions
from partywise.privacy.accounted_values import AccountedValue, Clear, Public, parameter
from partywise.privacy.ledger.event import Event
from partywise.privacy.mechanisms.gaussian import Gaussian
from partywise.privacy.mechanisms.quantiles import QuantileRadius
from partywise.privacy.mechanisms.release import Release
from partywise.privacy.statistics.records import clipped_coefficients

QUANTILE = 0.95
UNCLIPPED = Public(float("inf"), because="nothing is clipped, and nothing is certified")


@dataclass(frozen=True)
class CurveRelease:
    """A release of curves: coefficients (N, Q) with the event they cost, the radius and the share that was clipped."""

    release: Release
    radius: AccountedValue
    clip_share: float


def release_curves(
    coefficients: np.ndarray,
    basis: BSplineBasis | FourierBasis,
    mechanism: Gaussian,
    rng: np.random.Generator,
    *,
    radius: AccountedValue,
    owner: str = "owner",
) -> CurveRelease:
    """Clip each curve to an L2 norm of ``radius`` and release its coefficients once."""
    coefficients = np.asarray(coefficients, dtype=float)
    if coefficients.ndim != 2 or coefficients.shape[1] != basis.n_basis:
        raise ValueError(f"coefficients has shape {coefficients.shape}: give (N, {basis.n_basis}) for this basis.")
    positive(radius=parameter("radius", radius))
    metric = Public(basis.gram, because="Gram matrix of the basis that goes with the coefficients")
    bounded = clipped_coefficients(coefficients, metric, radius)
    return CurveRelease(mechanism(bounded, rng, owner=owner), radius, bounded.clip_share)


def clipping_radius(
    norms: np.ndarray,
    mode: str = "public",
    *,
    value: float | None = None,
    rho: float = 0.01,
    rng: np.random.Generator | None = None,
    owner: str = "owner",
) -> Public | Release | Clear:
    """A clipping radius that says what it cost."""
    if mode not in ("public", "dp_quantile", "quantile"):
        raise ValueError(f"mode is {mode!r}: it must be one of public, dp_quantile, quantile.")
    if mode == "public":
        if value is None:
            raise ValueError("value is missing: a public radius is fixed before seeing the data.")
        positive(value=value)
        return Public(float(value), because="fixed before the data were seen")
    if mode == "quantile":
        return Clear(float(np.quantile(norms, QUANTILE)), units=("features",), owner=owner)
    if rng is None:
        raise ValueError("rng is missing: a private quantile draws noise.")
    return QuantileRadius(rho)(norms, rng, owner=owner)


def fit_central(
    X: np.ndarray,
    Y: np.ndarray,
    basis_x: BasisSpec,
    basis_y: BasisSpec,
    rng: np.random.Generator,
    *,
    s: float,
    radius: AccountedValue,
    sy: float = 0.0,
    y_radius: AccountedValue | None = None,
    options: BoostingOptions | None = None,
    omega_x: np.ndarray | None = None,
    omega_y: np.ndarray | None = None,
) -> tuple[BoostingFit, CurveMoments, list[Event]]:
    """One joint penalised operator from released curves, with noise on the response where ``sy`` > 0."""
    for name, sd in (("s", s), ("sy", sy)):
        if not 0 <= sd < np.inf:
            raise ValueError(f"{name} is {sd}: it must be a finite number of at least 0.")
    if sy > 0 and y_radius is None:
        raise ValueError(f"sy is {sy} and y_radius is missing: give the public clipping radius of the response.")
    positive(radius=parameter("radius", radius))
    if y_radius is not None:
        positive(y_radius=parameter("y_radius", y_radius))
    n, p, q = X.shape
    # Coordinates follow from the bases: no radius enters them.
    public = CurveFacts(basis_x, basis_y, (UNCLIPPED,) * p, UNCLIPPED, tuple(f"x{j}" for j in range(p)))
    coordinates = make_coordinates(public, p, omega_x=omega_x, omega_y=omega_y)
    events, Z = [], np.array(X, dtype=float)
    for j in range(p if s > 0 else 0):
        bounded = clipped_coefficients(X[:, j], None, radius)
        release = Gaussian(sigma=s)(bounded, rng, owner="owner", release_id=f"curves of x{j}")
        Z[:, j] = release.value
        events.append(release.event)
    if y_radius is not None and sy > 0:
        bounded = clipped_coefficients(Y, None, y_radius, unit="label", depends_on=("label",))
        release = Gaussian(sigma=sy)(bounded, rng, owner="active", release_id="response")
        Y = release.value
        events.append(release.event)
    noise = block_noise(np.full(p, s**2), q, p)
    moments = corrected_moments(CurveSums.of(Z.reshape(n, -1), Y), noise, sy**2 * np.eye(Y.shape[1]))
    return fit_joint(moments, coordinates.penalties, options or BoostingOptions()), moments, events


def predict_curves(fit: BoostingFit, X: np.ndarray) -> np.ndarray:
    """Fitted curves (N, Qy) of predictors X, shape (N, P) or (N, p, Q), in the coordinates of the fit."""
    flat = np.asarray(X, dtype=float).reshape(len(X), -1)
    if flat.shape[1] != len(fit.B):
        raise ValueError(
            f"X has {flat.shape[1]} coordinates a record: the fit was made with {len(fit.B)}; use the same basis "
            "and the same predictors."
        )
    return fit.mean_y + (flat - fit.mean_x) @ fit.B
