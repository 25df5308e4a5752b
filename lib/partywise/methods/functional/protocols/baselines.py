"""Reference points without privacy: the mean curve, pooled penalised least squares, the true operators.

They are methods like any other, so that every figure shows them from the same cube; they send everything in the
clear and are charged for it.
"""

from __future__ import annotations

import numpy as np

from ....federation.folds import Fold, Spec
from ....federation.parties import Party
from ....federation.run import Run
from ....privacy.accounted_values import Clear
from ..boosting import fit_joint
from ..coordinates import make_coordinates
from ..model import CurveEstimate, CurveFacts
from ..moments import CurveSums, corrected_moments
from ..options import BaselineOptions
from ..path_options import BoostingOptions
from .common import merge_arrived

BaselineSpec = Spec[BaselineOptions, object, object, CurveFacts]


def local_curves(party: Party) -> Clear:
    """The party's predictors as they are, (N, m, Qx)."""
    return Clear(party.block["X"], units=("features",), owner=party.name)


def local_mean(active: Party, fold: Fold, spec: BaselineSpec) -> CurveEstimate:
    """The training mean curve, for any predictors."""
    Y, p, q = active.block["Y"], len(spec.public.radius), spec.public.basis_x.n_basis
    return CurveEstimate(
        operators=np.zeros((p, q, Y.shape[1])),
        mean_x=np.zeros((p, q)),
        mean_y=Y[fold.train].mean(0),
        selected_predictors=np.zeros(p, dtype=bool),
        epsilon_claimed=0.0,
        numbers={"steps": 0},
    )


def local_least_squares(
    active: Party, curves: tuple, owner_columns: tuple, fold: Fold, spec: BaselineSpec
) -> CurveEstimate:
    """Joint penalised least squares on all predictors, without noise."""
    X, options = merge_arrived(curves, owner_columns), spec.options
    p, q = X.shape[1:]
    sums = CurveSums.of(X[fold.train].reshape(-1, p * q), active.block["Y"][fold.train])
    moments = corrected_moments(sums, np.zeros((p * q, p * q)))
    penalties = make_coordinates(spec.public, p).penalties
    fit = fit_joint(moments, penalties, BoostingOptions(lambda_s=options.lambda_s, lambda_t=options.lambda_t))
    return CurveEstimate(
        operators=fit.B.reshape(p, q, -1),
        mean_x=moments.mean_x.reshape(p, q),
        mean_y=moments.mean_y,
        selected_predictors=np.ones(p, dtype=bool),
        epsilon_claimed=float("inf"),
    )


def local_oracle(active: Party) -> CurveEstimate:
    """The operators that made the data: no estimate, the floor of every comparison."""
    if "operators" not in active.block:
        raise ValueError("kind is 'oracle' and the true operators are unknown: use it on simulated cases only.")
    truth = active.block["operators"]
    return CurveEstimate(
        operators=truth,
        mean_x=np.zeros(truth.shape[:2]),
        mean_y=np.zeros(truth.shape[2]),
        selected_predictors=active.block["active"],
        epsilon_claimed=float("inf"),
    )


def fit(run: Run) -> CurveEstimate:
    """Everything in the clear at the active party (nothing at all for the mean curve)."""
    active, *owners = run.parties
    if run.spec.options.kind == "mean":
        return run.at(active, local_mean, run.fold, run.spec)
    curves = run.gather(owners, active, "curves", local_curves)
    if run.spec.options.kind == "oracle":
        return run.at(active, local_oracle)
    owner_columns = tuple(party.columns for party in owners)
    return run.at(active, local_least_squares, curves, owner_columns, run.fold, run.spec)
