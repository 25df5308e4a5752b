"""Baselines of the comparison: noisy labels in every step (full batch, Poisson samples), and objective perturbation.

F (full-batch label-only noisy gradient descent) and S (label-only DP-SGD) release the dot-product anew in every step,
by `release_dot_product` with the plan of `label_noise_plan`. G protects the whole row, features included.
"""

from __future__ import annotations

import math

import numpy as np

from ..privacy.accounting.calibration import gaussian_epsilon
from .noise import certified_mu, max_norm
from .objective import check_features, sigmoid
from .perturbation import objective_perturbation
from .plan import Plan
from .planner import noise_epsilon, public_features

__all__ = ["gradient_descent", "label_noise_plan", "objective_perturbation"]


def label_noise_plan(
    X, epsilon: float, delta: float, rounds: int, rate: float = 1.0, *, features_public: bool = True
) -> Plan:
    """Plan of ``rounds`` noisy dot-products that together cost (epsilon, delta) for one label.

    Parameters
    ----------
    X : ndarray of shape (N, k)
        Public features.
    epsilon, delta : float
        Of all rounds together.
    rounds : int
        Noisy releases, at least 1.
    rate : float
        In (0, 1]. Below 1, every round sums the labels of a Poisson sample that nobody else sees; one label is then
        present in one world and absent in the other, and the accountant of Poisson-sampled Gaussians sets the noise.

    Returns
    -------
    Plan
        Without ridge; ``covariance`` and ``mu`` are those of one round.
    """
    X = public_features(X, features_public)
    target = noise_epsilon(epsilon, delta, "gaussian")
    if rounds < 1 or rounds != int(rounds):
        raise ValueError(f"rounds={rounds!r} must be a whole number from 1.")
    if not 0 < rate <= 1:
        raise ValueError(f"rate={rate!r} must lie in (0, 1].")
    n, k = X.shape
    sensitivity = max_norm(X) / (rate * n)
    if math.isinf(epsilon):
        mu, certified = math.inf, target
    elif rate == 1:
        total = certified_mu(target, delta)
        mu, certified = total / math.sqrt(rounds), float(gaussian_epsilon(total, delta))
    else:
        # Imported here: the accountant of sampled releases is needed by this baseline alone.
        from ..privacy.ledger.compose import subsampled_sigma

        mu, certified = 1.0 / subsampled_sigma(target, delta, rate, rounds), target
    deviation = sensitivity / mu
    covariance = deviation**2 * np.eye(k) if deviation > 0 else None
    return Plan(
        law="gaussian",
        covariance=covariance,
        ridge=np.zeros(k),
        epsilon=certified,
        delta=delta,
        mu=mu,
        predicted_excess=math.nan,
        certified=True,
        epsilon_claimed=epsilon,
        power=0.0,
        rounds=int(rounds),
        rate=float(rate),
    )


def gradient_descent(
    X,
    noisy_dots,
    learning_rate: float,
    rng: np.random.Generator | None = None,
    *,
    batch_size: int | None = None,
) -> np.ndarray:
    """Gradient descent from 0 with another noisy dot-product in every step, theta of shape (k,).

    Parameters
    ----------
    X : ndarray of shape (N, k)
        Public features: predictions cost nothing.
    noisy_dots : ndarray of shape (T, k)
        Value of the release of a plan with T rounds.
    learning_rate : float
        Fixed before any label is read.
    rng : numpy.random.Generator
        Draws the trainer's own batches, independent of those that the labels were sampled in.
    batch_size : int, optional
        Examples a step predicts; by default all.
    """
    X = check_features(X)
    dots = np.atleast_2d(np.asarray(noisy_dots, dtype=float))
    if dots.ndim != 2 or dots.shape[1] != X.shape[1] or not np.all(np.isfinite(dots)):
        raise ValueError(f"noisy_dots has shape {dots.shape}: give finite values of shape (T, {X.shape[1]}).")
    if not (np.isfinite(learning_rate) and learning_rate > 0):
        raise ValueError(f"learning_rate={learning_rate!r} must be positive and finite.")
    if batch_size is not None and (rng is None or not 1 <= batch_size <= len(X)):
        raise ValueError(f"batch_size={batch_size!r} must lie between 1 and N={len(X)}, with an rng to draw batches.")
    theta, batch = np.zeros(X.shape[1]), X
    for dot in dots:
        if batch_size is not None and rng is not None:
            batch = X[rng.choice(len(X), batch_size, replace=False, shuffle=False)]
        theta = theta - learning_rate * (sigmoid(batch @ theta) @ batch / len(batch) - dot)
    return theta
