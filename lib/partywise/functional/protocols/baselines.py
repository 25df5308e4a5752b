"""Reference points without privacy: the mean curve, pooled penalised least squares, the true operators.

They are methods like any other, so that every figure shows them from the same cube; they send everything in the
clear and are charged for it.
"""

from __future__ import annotations

import numpy as np

from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.accounted import Clear
from ..boosting import fit_joint
from ..coordinates import Coordinates, make_coordinates
from ..model import Estimate
from ..moments import Sums, corrected_moments
from ..path_options import BoostingOptions


def local_curves(party: Party) -> np.ndarray:
    """The party's predictors as they are, (N, m, Qx)."""
    return party.block["X"]


def active_mean(Y: np.ndarray, train: np.ndarray, n_predictors: int, n_basis: int) -> Estimate:
    """The training mean curve, whatever the predictors are."""
    return Estimate(
        operators=np.zeros((n_predictors, n_basis, Y.shape[1])),
        mean_x=np.zeros((n_predictors, n_basis)),
        mean_y=Y[train].mean(0),
        selected=np.zeros(n_predictors, dtype=bool),
        epsilon_claimed=0.0,
        numbers={"steps": 0},
    )


def active_least_squares(
    X: np.ndarray, Y: np.ndarray, train: np.ndarray, coordinates: Coordinates, lambda_s: float, lambda_t: float
) -> Estimate:
    """Joint penalised least squares on all predictors, without noise."""
    p, q = X.shape[1:]
    moments = corrected_moments(Sums.of(X[train].reshape(-1, p * q), Y[train]), np.zeros((p * q, p * q)))
    fit = fit_joint(moments, coordinates.penalties, BoostingOptions(lambda_s=lambda_s, lambda_t=lambda_t))
    return Estimate(
        operators=fit.B.reshape(p, q, -1),
        mean_x=moments.mean_x.reshape(p, q),
        mean_y=moments.mean_y,
        selected=np.ones(p, dtype=bool),
        epsilon_claimed=float("inf"),
    )


def active_oracle(truth: np.ndarray, selected: np.ndarray) -> Estimate:
    """The operators that made the data: no estimate, the floor of every comparison."""
    return Estimate(
        operators=truth,
        mean_x=np.zeros(truth.shape[:2]),
        mean_y=np.zeros(truth.shape[2]),
        selected=selected,
        epsilon_claimed=float("inf"),
    )


def fit(run: Run) -> Estimate:
    """Everything in the clear at the active party (nothing at all for the mean curve).

    Raises
    ------
    ValueError
        For the oracle of data whose true operators are unknown.
    """
    parties, channel, fold, spec = run.parties, run.channel, run.fold, run.spec
    options, public = spec.options, spec.public
    active, owners = parties[0], parties[1:]
    Y, p = active.block["Y"], len(public.radius)
    if options.kind == "mean":
        return active_mean(Y, fold.train, p, public.basis_x.n_basis)
    X = np.empty((len(Y), p, public.basis_x.n_basis))
    for party in owners:
        payload = Clear(local_curves(party), units=("features",), owner=party.name)
        X[:, list(party.columns)] = channel.send(party.name, active.name, "curves", payload)
    if options.kind == "oracle":
        if "operators" not in active.block:
            raise ValueError("kind is 'oracle' and the true operators are unknown: use it on simulated cases only.")
        return active_oracle(active.block["operators"], active.block["active"])
    coordinates = make_coordinates(public, p)
    return active_least_squares(X, Y, fold.train, coordinates, options.lambda_s, options.lambda_t)
