"""What is said of the noise in each coefficient of WALR, against the spread of coefficients over releases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import partywise as pw
from partywise.core.randomness import stream
from partywise.methods.logistic.model import dot_product
from partywise.methods.logistic.newton import fit_many
from partywise.methods.logistic.noise import coefficient_deviations, descent_deviations
from partywise.methods.logistic.planner import fixed_plan, label_noise_plan, plan_label_dp
from partywise.methods.logistic.release import release_dot_product
from partywise.methods.logistic.trainers import fit_walr, gradient_descent

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
    plan = plan_label_dp(X, epsilon, 1e-5, 2.0, distribution="gaussian")
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
    rows = pw.LabelPrivateLogisticRegression("objective_perturbation", epsilon=1.0).fit(X, y, rng=1)
    assert rows.noise_errors_ is None and "not computed" in rows.summary()
    plain = pw.LabelPrivateLogisticRegression("non_private").fit(X, y, rng=1)
    assert plain.noise_errors_ is None and "noisy" not in plain.summary()


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
@pytest.mark.parametrize("rounds", [1, 20])
def test_the_spread_of_descents_over_releases_is_what_is_said(rounds, epsilon):
    """One release under all steps, of randomised labels; or another release in every step. As above."""
    X, y = data(500)
    X = np.column_stack([np.ones(len(X)), X])
    plan, steps, rate = label_noise_plan(X, epsilon, 1e-5, rounds), 20, 1.5
    if rounds == 1:
        plan = fixed_plan(X, epsilon, 1e-5, distribution="rr", ridge=0.02)
    theta = []
    for seed in range(DRAWS):
        dots = release_dot_product(X, y, plan, stream(seed, "dots"), owner="holder", release_id="dots").value
        if rounds == 1:
            theta.append(fit_walr(X, dots, plan, "full_batch", steps=steps, learning_rate=rate).theta)
        else:
            theta.append(gradient_descent(X, dots, rate))
    said = np.sqrt(np.mean([descent_deviations(X, one, plan, rate, steps) ** 2 for one in theta[:8]], axis=0))
    np.testing.assert_allclose(said / np.std(theta, axis=0), 1, atol=0.2)


def test_descents_of_the_estimator_have_and_print_it():
    X, y = data(300)
    for protocol, options in [
        ("noisy_gradient", {}),
        ("label_sgd", {"rounds": 30, "rate": 0.1}),
        ("walr", {"trainer": "hybrid", "steps": 30}),
    ]:
        fit = pw.LabelPrivateLogisticRegression(protocol, epsilon=1.0, **options).fit(X, y, rng=1)
        assert np.all(fit.noise_errors_ > 0) and f"{fit.noise_errors_[1]:.4g}" in fit.summary()


@pytest.mark.parametrize("epsilon", [2.0, 8.0])
def test_the_spread_of_tilted_optima_is_what_is_said_where_features_are_public(epsilon):
    """As above; labels alone are protected where ranges were read from the table."""
    X, y = data(4000)
    walr = pw.LabelPrivateLogisticRegression("objective_perturbation", epsilon=epsilon, from_the_data=4)
    made = [walr.fit(X, y, rng=seed).estimate_ for seed in range(200)]
    said = np.sqrt(np.mean([one.noise_errors**2 for one in made[:8]], axis=0))
    np.testing.assert_allclose(said / np.std([one.theta for one in made], axis=0), 1, atol=0.25)


def test_steps_that_overshoot_say_nothing_of_their_noise():
    X, _ = data(300)
    plan = label_noise_plan(X, 1.0, 1e-5, 10, intercept=False)
    assert descent_deviations(X, np.zeros(4), plan, 50.0, 10) is None
