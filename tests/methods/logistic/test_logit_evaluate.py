"""Measures of a fit against scikit-learn and constructed answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss as peer_log_loss
from sklearn.metrics import roc_auc_score

from logit_data import logistic
from partywise.core.randomness import stream
from partywise.methods.logistic.evaluate import auc, calibration, log_loss, predict, risk
from partywise.methods.logistic.trainers import penalised_optimum
from partywise.models.links import LOGIT


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 60), levels=st.integers(1, 8))
def test_the_auc_counts_ties_by_half(seed, n, levels):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n).astype(float)
    y[:2] = (0, 1)
    scores = rng.integers(0, levels, n).astype(float)
    assert auc(scores, y) == pytest.approx(roc_auc_score(y, scores), abs=1e-12)


def test_the_auc_of_one_class_is_undefined():
    assert np.isnan(auc(np.arange(3.0), np.ones(3))) and np.isnan(auc(np.arange(3.0), np.zeros(3)))


def test_the_log_loss_is_that_of_scikit_learn_and_does_not_overflow():
    X, y = logistic(200, 4)
    theta = stream(7, "theta").standard_normal(4)
    assert log_loss(X, y, theta) == pytest.approx(peer_log_loss(y, predict(X, theta)), rel=1e-12)
    assert log_loss(np.array([[1.0], [1.0]]), np.array([0.0, 1.0]), np.array([5000.0])) == 2500.0


def test_the_optimum_has_the_least_risk():
    X, y = logistic(200, 4)
    best = penalised_optimum(X, y)
    assert risk(X, y, best + 0.1) > risk(X, y, best)


def test_calibration_of_the_truth_and_of_a_distortion():
    rng = stream(7, "calibration")
    logits = 1.5 * rng.standard_normal(200_000)
    y = (rng.random(200_000) < LOGIT.mean(logits)).astype(float)
    slope, intercept, error = calibration(LOGIT.mean(logits), y)
    assert abs(slope - 1) < 0.03 and abs(intercept) < 0.03 and error < 0.01
    slope, intercept, error = calibration(LOGIT.mean(2 * logits + 0.5), y)
    assert abs(slope - 0.5) < 0.02 and abs(intercept + 0.25) < 0.03 and error > 0.05


def test_recalibration_is_an_unpenalised_logistic_fit():
    X, y = logistic(500, 4)
    p = predict(X, stream(7, "theta").standard_normal(4))
    logits = np.log(p / (1 - p))
    peer = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky").fit(logits[:, None], y)
    slope, intercept, _ = calibration(p, y)
    assert slope == pytest.approx(peer.coef_[0, 0], rel=1e-4)
    assert intercept == pytest.approx(peer.intercept_[0], rel=1e-4, abs=1e-5)


def test_the_calibration_error_is_the_gap_of_ten_equal_bins():
    p, y = np.linspace(0.05, 0.95, 100), (np.arange(100) % 2).astype(float)
    by_hand = np.mean([abs(p[i : i + 10].mean() - y[i : i + 10].mean()) for i in range(0, 100, 10)])
    assert calibration(p, y)[2] == pytest.approx(by_hand, rel=1e-12)


def test_the_calibration_error_does_not_depend_on_the_order_of_the_examples():
    rng = stream(7, "order")
    p, y = rng.integers(1, 5, 333) / 5, rng.integers(0, 2, 333).astype(float)
    mixed = rng.permutation(333)
    assert calibration(p, y)[2] == pytest.approx(calibration(p[mixed], y[mixed])[2], abs=1e-14)


def test_constant_and_separating_predictions():
    slope, intercept, error = calibration(np.full(10, 0.3), np.repeat([0.0, 1.0], 5))
    assert np.isnan(slope) and np.isnan(intercept) and error == pytest.approx(0.2)
    slope, _, error = calibration(np.array([0.0, 0.1, 0.9, 1.0]), np.array([0.0, 0.0, 1.0, 1.0]))
    assert slope > 1 and np.isfinite(slope) and error == pytest.approx(0.05)
    with pytest.raises(ValueError, match=r"p has entries from 0.5 to 1.5"):
        calibration(np.array([0.5, 1.5]), np.array([0.0, 1.0]))
