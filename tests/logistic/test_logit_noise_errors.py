"""What is said of the noise in each coefficient of WALR, against the spread of coefficients over releases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import partywise as pw
from partywise.logistic.newton import fit_many
from partywise.logistic.noise import coefficient_deviations
from partywise.logistic.objective import dot_product
from partywise.logistic.planner import plan_label_dp
from partywise.randomness import stream

DRAWS = 400


def data(n: int = 2000, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = stream(1, "noise of coefficients")
    X = rng.uniform(0, 1, (n, k))
    return X, (rng.random(n) < expit(X @ [1.0, -2.0, 0.5, 1.0] - 0.2)).astype(float)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_spread_over_draws_is_what_is_said(epsilon):
    """400 draws know a standard deviation to 4 %; what is said of eight of them is within 20 % of it."""
    X, y = data()
    X = np.column_stack([np.ones(len(X)), X])
    plan = plan_label_dp(X, epsilon, 1e-5, 2.0, law="gaussian")
    rng = stream(2, "draws")
    noise = rng.standard_normal((DRAWS, X.shape[1])) @ np.linalg.cholesky(plan.covariance).T
    theta = fit_many(X, dot_product(X, y) + noise, plan)
    said = np.sqrt(np.mean([coefficient_deviations(X, one, plan) ** 2 for one in theta[:8]], axis=0))
    np.testing.assert_allclose(said / theta.std(axis=0), 1, atol=0.2)


def test_the_estimator_has_and_prints_it():
    X, y = data(300)
    fit = pw.LabelPrivateLogisticRegression("walr", epsilon=1.0).fit(X, y, rng=1)
    assert fit.noise_errors_.shape == (5,) and np.all(fit.noise_errors_ > 0)
    assert f"{fit.noise_errors_[1]:.4g}" in fit.summary() and "noise sd" in fit.summary()
    plain = pw.LabelPrivateLogisticRegression("noisy_gradient", epsilon=1.0).fit(X, y, rng=1)
    assert plain.noise_errors_ is None and "releases nothing" in plain.summary()
