"""Intervals of a Gaussian model from noisy moments: coverage, no signal, other families, units of the columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import partywise as pw
from partywise.core.randomness import stream
from partywise.methods.glm.noisy_statistics.moments import MomentScale, NoisyMoments
from partywise.methods.glm.noisy_statistics.noise import clipped_share, intervals_of, share_beyond
from partywise.methods.glm.noisy_statistics.scaling import default_radius
from partywise.models.intervals import Intervals
from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.statistics.isometry import to_vector

SLOPES, N, HALF_WIDTH, DRAWS = np.array([0.5, -0.3, 0.2, 0.4, -0.1]), 2000, 5.0, 400


def records(n: int, rng: np.random.Generator, slopes: np.ndarray = SLOPES, dependence: float = 0.2):
    """Normal columns of unit variance, and a response in its range."""
    p = len(slopes)
    covariance = dependence ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    X = rng.standard_normal((n, p)) @ np.linalg.cholesky(covariance).T
    return X, np.clip(1 + X @ slopes + 0.7 * rng.standard_normal(n), 1 - HALF_WIDTH, 1 + HALF_WIDTH)


def released(
    seed: int, epsilon: float = 2.0, n: int = N, slopes: np.ndarray = SLOPES, radii: Sequence[float] = (), **more: float
) -> NoisyMoments:
    """Moments of records with the noise of a target; as many parties as radii, by default one."""
    p, rng = len(slopes), stream(seed, "moments")
    sizes = np.array_split(np.arange(p), max(len(radii), 1))
    blocks = [(tuple(map(int, own)), radius) for own, radius in zip(sizes, radii or [default_radius(p)], strict=True)]
    public = MomentScale(
        float(np.linalg.norm([radius for _, radius in blocks])), p, 1.0, HALF_WIDTH, blocks=tuple(blocks)
    )
    X, y = records(n, rng, slopes, **more)
    for own, radius in blocks:
        X[:, own] *= np.minimum(1, radius / np.linalg.norm(X[:, own], axis=1))[:, None]
    v = np.column_stack([X, public.weight * (y - public.center)])
    exact = np.concatenate([to_vector(v.T @ v / n), np.sqrt(2) * public.constant * v.mean(axis=0)])
    sd = float(np.sqrt(2) * public.length**2 / n / gdp_mu(epsilon, 1e-5))
    zeros, ones = np.zeros(p), np.ones(p)
    return NoisyMoments.of(
        exact + sd * rng.standard_normal(len(exact)), n, sd, np.ones((p + 1,) * 2), public, zeros, ones
    )


@pytest.mark.parametrize(("epsilon", "n"), [(2.0, 2000), pytest.param(8.0, 20_000, marks=pytest.mark.statistical)])
def test_intervals_hold_the_slopes_of_unclipped_columns_as_often_as_they_say(epsilon, n):
    """400 draws of records and noise: the mean coverage is known to 0.005, that of a coefficient to 0.011."""
    truth = np.append(1.0, SLOPES)
    given = [released(seed, epsilon, n) for seed in range(DRAWS)]
    bounds = [intervals_of(m, "gaussian").bounds() for m in given]
    held = np.array([(b[:, 0] <= truth) & (truth <= b[:, 1]) for b in bounds])
    assert held.mean() == pytest.approx(0.95, abs=0.015)
    assert np.all(held.mean(axis=0) > 0.92)
    if n > N:
        return
    blind = [
        intervals_of(NoisyMoments.of(vector_of(m), n, 0.0, m.copies, m.public, m.location, m.scale), "gaussian")
        for m in given
    ]
    assert np.mean([one.coverage(truth) for one in blind]) < 0.8


@pytest.mark.parametrize("n", [2000, pytest.param(20_000, marks=pytest.mark.statistical)])
def test_a_radius_that_clips_many_records_gives_no_interval(n):
    """Two parties of one standard normal column each: a radius of 1.4 clips 16 % of either, 2.97 clips 0.3 %."""
    slopes = np.array([0.5, -0.5])
    given = {"epsilon": 8.0, "n": n, "slopes": slopes, "dependence": 0.0}
    tight, held = released(1, radii=(1.4, 1.4), **given), []
    assert intervals_of(tight, "gaussian").bounds() is None
    assert "give larger radii" in intervals_of(tight, "gaussian").reason
    for seed in range(100):
        b = intervals_of(released(seed, radii=(default_radius(1),) * 2, **given), "gaussian").bounds()
        held.append((b[1:, 0] <= slopes) & (slopes <= b[1:, 1]))
    # 100 draws know 0.95 to 0.022.
    assert np.mean(held, axis=0).min() > 0.88


def test_records_of_which_all_are_clipped_are_not_taken_for_short_ones():
    """Their squared length is that of the radius, whatever it was before."""
    slopes = np.array([0.5, -0.5, 0.2])
    assert clipped_share(released(2, radii=(0.2,), slopes=slopes)) > 0.2
    assert clipped_share(released(2, radii=(default_radius(3),), slopes=slopes)) < 0.01


def test_the_default_radius_is_the_quantile_of_a_normal_length():
    assert [round(default_radius(p), 2) for p in (1, 2, 5, 10)] == [2.97, 3.41, 4.24, 5.16]


@pytest.mark.parametrize(("p", "radius", "shift"), [(1, 2.0, 0.0), (3, 3.0, 0.4), (6, 3.5, 0.2), (12, 5.0, 0.0)])
def test_the_share_beyond_a_radius_is_that_of_drawn_records(p, radius, shift):
    rng = stream(p, "share")
    root = rng.standard_normal((p, p)) / np.sqrt(p)
    mean = np.full(p, shift)
    drawn = np.mean(np.linalg.norm(rng.standard_normal((200_000, p)) @ root.T + mean, axis=1) > radius)
    assert share_beyond(mean, root @ root.T, radius) == pytest.approx(drawn, rel=0.15, abs=0.002)


def vector_of(moments: NoisyMoments) -> np.ndarray:
    means = np.sqrt(2) * moments.public.constant * moments.mean
    return np.concatenate([to_vector(moments.second), means])


def test_they_are_in_the_units_of_the_columns():
    one = released(3)
    other = NoisyMoments.of(vector_of(one), N, one.sd, one.copies, one.public, np.full(5, 2.0), np.full(5, 10.0))
    bounds, moved = intervals_of(one, "gaussian"), intervals_of(other, "gaussian")
    np.testing.assert_allclose(moved.centre[1:], bounds.centre[1:] / 10)
    np.testing.assert_allclose(moved.standard_errors[1:], bounds.standard_errors[1:] / 10)
    assert moved.centre[0] == pytest.approx(bounds.centre[0] - 2 * moved.centre[1:].sum())


def test_there_are_none_where_noise_hides_the_columns_or_a_family_is_approximate():
    assert "too little signal" in intervals_of(released(3, epsilon=0.02), "gaussian").reason
    assert "'gamma'" in intervals_of(released(3), "gamma").reason


def test_the_estimator_has_them_and_says_why_others_have_none():
    X, y = records(N, stream(4, "fit"))
    given = {"epsilon": 4.0, "location": 0.0, "scale": 1.0, "statistic": (-4.0, 6.0)}
    fit = pw.VerticalGLM("gaussian", "moments", **given).fit(X, y, rng=1)
    bounds = fit.conf_int().to_numpy()
    assert isinstance(fit.intervals_, Intervals) and bounds.shape == (6, 2) and fit.bse is None
    assert f"{bounds[1, 0]:.4g}" in fit.summary() and np.all(np.diff(fit.conf_int(0.5).to_numpy()) < np.diff(bounds))
    other = pw.VerticalGLM("gaussian", "noisy_newton", eta_start=1.0, **given).fit(X, y, rng=1)
    assert other.conf_int() is None and f"no intervals: {other.intervals_.reason}" in other.summary()
