"""Intervals of a Gaussian model from noisy moments: coverage, no signal, other families, units of the columns."""

from __future__ import annotations

import numpy as np
import pytest

import partywise as pw
from partywise.glm.noisy_statistics.intervals import intervals_of
from partywise.glm.noisy_statistics.moments import Moments, Scale
from partywise.models.intervals import Intervals
from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.statistics.isometry import to_vector
from partywise.randomness import stream

SLOPES, N, HALF_WIDTH, DRAWS = np.array([0.5, -0.3, 0.2, 0.4, -0.1]), 2000, 5.0, 400


def clipped_records(n: int, rng: np.random.Generator, dependence: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Columns in their ball and a response in its range."""
    p = len(SLOPES)
    covariance = dependence ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    X = rng.standard_normal((n, p)) @ np.linalg.cholesky(covariance).T
    y = np.clip(1 + X @ SLOPES + 0.7 * rng.standard_normal(n), 1 - HALF_WIDTH, 1 + HALF_WIDTH)
    radius = 1.4 * np.sqrt(p)
    return X * np.minimum(1, radius / np.linalg.norm(X, axis=1))[:, None], y


def released(seed: int, epsilon: float = 2.0) -> Moments:
    """Moments of 2,000 records with the noise of a target."""
    rng, public = stream(seed, "moments"), Scale(1.4 * np.sqrt(len(SLOPES)), len(SLOPES), 1.0, HALF_WIDTH)
    X, y = clipped_records(N, rng)
    v = np.column_stack([X, public.weight * (y - public.center)])
    exact = np.concatenate([to_vector(v.T @ v / N), np.sqrt(2) * public.constant * v.mean(axis=0)])
    sd = float(np.sqrt(2) * public.length**2 / N / gdp_mu(epsilon, 1e-5))
    zeros, ones = np.zeros(len(SLOPES)), np.ones(len(SLOPES))
    return Moments.of(
        exact + sd * rng.standard_normal(len(exact)), N, sd, np.ones((len(zeros) + 1,) * 2), public, zeros, ones
    )


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    """Slopes among clipped records, from so many that their error is a fiftieth of a standard error."""
    X, y = clipped_records(1_000_000, stream(1, "truth"))
    return np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), y, rcond=None)[0]


def test_intervals_hold_the_truth_as_often_as_they_say(truth):
    """400 draws of records and noise: the mean coverage is known to .005, that of a coefficient to .011."""
    given = [released(seed) for seed in range(DRAWS)]
    held = np.array(
        [(b[:, 0] <= truth) & (truth <= b[:, 1]) for b in (intervals_of(m, "gaussian").bounds() for m in given)]
    )
    assert held.mean() == pytest.approx(0.95, abs=0.015)
    assert np.all(held.mean(axis=0) > 0.92)
    blind = [
        intervals_of(Moments.of(vector_of(m), N, 0.0, m.copies, m.public, m.location, m.scale), "gaussian")
        for m in given
    ]
    assert np.mean([one.coverage(truth) for one in blind]) < 0.7


def vector_of(moments: Moments) -> np.ndarray:
    means = np.sqrt(2) * moments.public.constant * moments.mean
    return np.concatenate([to_vector(moments.second), means])


def test_they_are_in_the_units_of_the_columns():
    one = released(3)
    other = Moments.of(vector_of(one), N, one.sd, one.copies, one.public, np.full(5, 2.0), np.full(5, 10.0))
    bounds, moved = intervals_of(one, "gaussian"), intervals_of(other, "gaussian")
    np.testing.assert_allclose(moved.centre[1:], bounds.centre[1:] / 10)
    np.testing.assert_allclose(moved.standard_errors[1:], bounds.standard_errors[1:] / 10)
    assert moved.centre[0] == pytest.approx(bounds.centre[0] - 2 * moved.centre[1:].sum())


def test_there_are_none_where_noise_hides_the_columns_or_a_family_is_approximate():
    assert "too little signal" in intervals_of(released(3, epsilon=0.02), "gaussian").reason
    assert "'gamma'" in intervals_of(released(3), "gamma").reason


def test_the_estimator_has_them_and_says_why_others_have_none():
    X, y = clipped_records(N, stream(4, "fit"))
    given = {"epsilon": 4.0, "location": 0.0, "scale": 1.0, "statistic": (-4.0, 6.0)}
    fit = pw.VerticalGLM("gaussian", "moments", **given).fit(X, y, rng=1)
    bounds = fit.conf_int().to_numpy()
    assert isinstance(fit.intervals_, Intervals) and bounds.shape == (6, 2) and fit.bse is None
    assert f"{bounds[1, 0]:.4g}" in fit.summary() and np.all(np.diff(fit.conf_int(0.5).to_numpy()) < np.diff(bounds))
    other = pw.VerticalGLM("gaussian", "noisy_newton", eta_start=1.0, **given).fit(X, y, rng=1)
    assert other.conf_int() is None and f"no intervals: {other.intervals_.reason}" in other.summary()
