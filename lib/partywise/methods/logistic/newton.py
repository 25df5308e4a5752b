"""Fits of many noisy dot-products of one X at once: chord-Newton steps that share one Hessian factor."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ...models.links import Link
from ...models.newton import newton
from ...models.objective import Objective, check_features, check_vector
from .model import ReleasePlan, check_ridge
from .noise import attainable

# Margins are computed for this many rows at a time, for all replicates: they stay in cache.
BLOCK = 1024
# A replicate is done when its step is this small against its theta, given how fast its steps shrink.
STEP_TOLERANCE = 1e-8
# A replicate whose steps shrink by less than this factor a round is fitted by itself.
SLOW = 0.7
# Assumed of the first step, which has none before it.
FIRST_RATE = 0.5
ROUNDS = 60


def fit_many(X, noisy_dots, plan: ReleasePlan, *, start: np.ndarray | None = None) -> np.ndarray:
    """Fit every noisy dot-product, shape (R, k) -> (R, k): the same optima as `newton` one by one.

    Steps theta <- theta - H^-1 gradient(theta) with H fixed, by default at the optimum of the mean dot-product,
    converge linearly, the faster the closer the replicates are to it. The others continue with damped Newton from where
    they are.
    """
    X = check_features(X)
    dots = np.array(noisy_dots, dtype=float)
    if dots.ndim != 2 or len(dots) < 1:
        raise ValueError(f"noisy_dots has shape {dots.shape}: give one dot-product a row, shape (R, {X.shape[1]}).")
    for number, dot in enumerate(dots):
        check_vector(f"noisy_dots[{number}]", dot, X.shape[1])
    dots, ridge = attainable(X, dots, plan), check_ridge(plan.ridge, X.shape[1])
    objective = Objective(X, dots.mean(axis=0), ridge, plan.link)
    centre = newton(objective).theta if start is None else check_vector("start", start, X.shape[1])
    factor = cho_factor(objective.hessian(objective.at(centre)), lower=True, check_finite=False)
    return _chord(objective, dots, centre, factor)


def _chord(objective: Objective, dots: np.ndarray, centre: np.ndarray, factor) -> np.ndarray:
    """The fits of all dot-products by steps with one factor, from a centre."""
    X, ridge, link = objective.X, objective.ridge, objective.link
    theta = np.tile(centre, (len(dots), 1))
    open_, before = np.arange(len(dots)), np.full(len(dots), np.inf)
    slow: list[int] = []
    for _ in range(ROUNDS):
        gradients = _mean_predictions(X, theta[open_], link) - dots[open_] + ridge * theta[open_]
        steps = cho_solve(factor, gradients.T, check_finite=False).T
        theta[open_] -= steps
        size = np.linalg.norm(steps, axis=1) / (1.0 + np.linalg.norm(theta[open_], axis=1))
        rate = np.where(np.isfinite(before[open_]), np.minimum(size / before[open_], 1.0), FIRST_RATE)
        before[open_] = size
        # A geometric series of that rate is still to come.
        done = size * rate <= STEP_TOLERANCE * (1.0 - rate)
        stuck = ~done & ((rate > SLOW) | ~np.isfinite(size))
        slow += open_[stuck].tolist()
        open_ = open_[~done & ~stuck]
        if not len(open_):
            break
    for number in [*slow, *open_.tolist()]:
        warm = theta[number] if np.all(np.isfinite(theta[number])) else centre
        theta[number] = newton(replace(objective, v=dots[number]), start=warm).theta
    return theta


def _mean_predictions(X: np.ndarray, theta: np.ndarray, link: Link) -> np.ndarray:
    """(1/N) sum_i mean(x_i' theta_r) x_i for every replicate r, shape (R, k)."""
    total = np.zeros_like(theta)
    for start in range(0, len(X), BLOCK):
        rows = X[start : start + BLOCK]
        total += link.centred_mean(rows @ theta.T).T @ rows
    return 0.5 * (total / len(X) + X.mean(axis=0))
