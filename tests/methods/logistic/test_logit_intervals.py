"""Intervals of WALR: how often they hold the truth, the oracle without noise and ridge, and who has none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as api
from scipy.special import expit, logit

import partywise as pw
from partywise.core.randomness import stream
from partywise.methods.logistic.noise import REACH, released_intervals
from partywise.methods.logistic.planner import fixed_plan, plan_label_dp
from partywise.models.intervals import Intervals, reason_name, reason_of

DRAWS, EPSILON, TRUTH = 400, 0.7, np.array([-0.2, 1.0, -2.0, 0.5, 1.0])


def features(n: int = 2000) -> np.ndarray:
    return np.column_stack([np.ones(n), stream(1, "features").uniform(0, 1, (n, 4))])


@pytest.mark.parametrize("distribution", ["gaussian", "rr"])
def test_intervals_hold_the_truth_as_often_as_they_say(distribution):
    """400 draws of labels and noise, five coefficients of each: the mean coverage is known to about .006."""
    X, rng = features(), stream(2, "draws", distribution)
    plan = plan_label_dp(X, EPSILON, 1e-5, 2.0, distribution=distribution)
    labels = (rng.random((DRAWS, len(X))) < expit(X @ TRUTH)).astype(float)
    if distribution == "gaussian":
        noise = rng.standard_normal((DRAWS, X.shape[1])) @ np.linalg.cholesky(plan.covariance).T
        dots = labels @ X / len(X) + noise
    else:
        kept = 1 / (1 + np.exp(-EPSILON))
        drawn = np.where(rng.random(labels.shape) < kept, labels, 1 - labels)
        dots = (drawn - (1 - kept)) / (2 * kept - 1) @ X / len(X)
    found = [released_intervals(X, dot, plan) for dot in dots]
    assert np.mean([one.numbers(TRUTH)["interval_coverage"] for one in found]) == pytest.approx(0.95, abs=0.025)
    # Of the noise left out, the same intervals hold the truth far less often.
    blind = [Intervals(one.centre, sampling_errors(X, one.centre)) for one in found]
    assert np.mean([one.numbers(TRUTH)["interval_coverage"] for one in blind]) < 0.92


def sampling_errors(X: np.ndarray, theta: np.ndarray) -> np.ndarray:
    p = expit(X @ theta)
    return np.sqrt(np.diagonal(np.linalg.inv((X * (p * (1 - p))[:, None]).T @ X)))


def test_without_noise_and_ridge_they_are_those_of_statsmodels():
    X = features(500)
    y = (stream(3, "labels").random(500) < expit(X @ TRUTH)).astype(float)
    plan = fixed_plan(X, np.inf, 0.5, ridge=0.0)
    oracle = api.Logit(y, X).fit(disp=0)
    np.testing.assert_allclose(released_intervals(X, y @ X / len(X), plan).bounds(), oracle.conf_int(), rtol=1e-5)


def test_noise_widens_them_where_the_curvature_falls_within_them():
    """Scalar model: the mean of labels is the release, and noise of 0.05 on a share of 0.1 reaches far on one side."""
    X, share, sigma = np.ones((400, 1)), np.array([0.1]), 0.05
    plan = replace(fixed_plan(X, 1.0, 1e-5, ridge=1.0), covariance=np.array([[sigma**2]]))
    found = released_intervals(X, share, plan)
    slope = 0.1 * 0.9
    first_order = np.sqrt(sigma**2 + slope / 400) / slope
    move = REACH * first_order
    # By hand: the mean slope down to the lower end, over which noise has to move the share.
    lower = (0.1 - expit(logit(0.1) - move)) / move
    np.testing.assert_allclose(found.centre, logit(0.1), rtol=1e-8)
    np.testing.assert_allclose(found.noise_part, sigma / lower, rtol=1e-8)
    np.testing.assert_allclose(found.standard_errors**2, (sigma / lower) ** 2 + 1 / (400 * slope), rtol=1e-8)
    np.testing.assert_allclose(found.without_noise.standard_errors**2, 1 / (400 * slope), rtol=1e-8)


def test_the_ridge_of_the_plan_does_not_move_them():
    X = features(500)
    plan = fixed_plan(X, 1.0, 1e-5, ridge=0.0)
    dot = expit(X @ TRUTH) @ X / len(X)
    for ridge in (0.0, 1e-3, 10.0):
        found = released_intervals(X, dot, replace(plan, ridge=np.full(5, ridge)))
        np.testing.assert_allclose(found.centre, TRUTH, rtol=1e-7)


@pytest.mark.parametrize(
    ("columns", "dot", "name"),
    [
        ([[1.0, 0.0], [1.0, 1.0]], [0.5, -0.1], "not identified"),
        ([[1.0, 0.5], [1.0, 0.5]], [0.5, 0.25], "not estimable"),
    ],
)
def test_without_a_root_they_are_refused_by_name(columns, dot, name):
    X = np.tile(np.array(columns), (200, 1))
    refused = released_intervals(X, np.array(dot), fixed_plan(X, 1.0, 1e-5, ridge=0.1))
    assert refused.bounds() is None and reason_name(refused.reason) == name


def test_the_estimator_has_them_and_says_why_others_have_none():
    X = features(300)
    y = (stream(3, "labels").random(300) < expit(X @ TRUTH)).astype(float)
    fit = pw.LabelPrivateLogisticRegression("walr", epsilon=1.0).fit(X[:, 1:], y, rng=1)
    assert fit.conf_int_.shape == (5, 2) and f"{fit.conf_int_[1, 0]:.4g}" in fit.summary()
    for protocol, options in (("noisy_gradient", {}), ("objective_perturbation", {}), ("walr", {"trainer": "hybrid"})):
        other = pw.LabelPrivateLogisticRegression(protocol, epsilon=1.0, **options).fit(X[:, 1:], y, rng=1)
        assert other.conf_int_ is None and other.intervals_.reason
        assert f"no intervals: {other.intervals_.reason}" in other.summary()


def test_a_level_out_of_range_is_refused():
    with pytest.raises(ValueError, match="level=1"):
        Intervals(np.zeros(1), np.ones(1)).bounds(1)
    absent = Intervals(reason=reason_of("later"))
    assert absent.bounds() is None and absent.numbers(np.zeros(1)) == {}
    with pytest.raises(ValueError, match=r"reason=.none. of missing intervals must begin with one of no noise"):
        Intervals(reason="none")
