"""Attacks certify what they find: they flag the published noise and pass the corrected one."""

import math
import time

import numpy as np
import pytest
import scipy.stats
from numpy.polynomial.legendre import leggauss
from scipy.interpolate import BSpline

from partywise.privacy.audit import audit_pair, clopper_pearson
from partywise.privacy.calibration import analytic_gaussian_sigma, classic_gaussian_sigma, gaussian_epsilon
from partywise.privacy.mechanisms import Gaussian
from partywise.privacy.sensitivity import clipped_coefficients
from partywise.randomness import stream

DELTA = 1e-5
Q = 15


def spline_gram():
    """Gram matrix of 15 clamped cubic B-splines on [0, 1], integrated here, apart from the library's own bases."""
    edges = np.linspace(0, 1, Q - 2)
    knots = np.r_[[0.0] * 3, edges, [1.0] * 3]
    nodes, weights = leggauss(4)
    half = np.diff(edges)[:, None] / 2
    points = ((edges[:-1, None] + half) + half * nodes).ravel()
    values = BSpline.design_matrix(points, knots, 3).toarray()
    return values.T @ ((half * weights).ravel()[:, None] * values)


GRAM = spline_gram()


def worst_pair_scores(covariance, n, seed):
    """Log-likelihood scores of n releases of the worst pair of unit curves, +u and -u."""
    values, vectors = np.linalg.eigh(GRAM)
    worst = vectors[:, 0] / math.sqrt(values[0])
    direction = np.linalg.solve(covariance, worst)
    mechanism, scores = Gaussian(covariance=covariance), ([], [])
    for k in range(-(-n // 50_000)):
        for world, sign in enumerate((1, -1)):
            bounded = clipped_coefficients(np.tile(sign * worst, (50_000, 1)), GRAM, 1.0)
            release = mechanism(bounded, stream(seed, "world", world, k), owner="p1")
            scores[world].append(release.value @ direction)
    return (*(np.concatenate(world)[:n] for world in scores), release.event.mu)


def test_the_published_covariance_is_flagged():
    assert np.linalg.eigvalsh(GRAM)[0] == pytest.approx(0.003048, abs=5e-7)
    s = classic_gaussian_sigma(1, DELTA, 2.0, allow_uncertified=True)
    first, second, mu = worst_pair_scores(s**2 * GRAM, 200_000, 1)
    result = audit_pair(first, second, DELTA)
    claimed = 2.0 / s
    assert result.mu_lower > 7 > 30 * claimed
    assert 9 < result.eps_lower <= gaussian_epsilon(mu, DELTA)
    assert result.at_sample_limit and result.kind == "gaussian" and result.n == 100_000
    # Nothing can be certified beyond the sample: 7.6 = log(2000) at 99.9 %.
    assert result.eps_lower <= math.log(result.n / 7.6) + 1e-3
    assert gaussian_epsilon(mu, DELTA) == pytest.approx(2581, rel=1e-3)


def test_the_corrected_covariance_passes_and_its_bound_is_close():
    s = analytic_gaussian_sigma(1, DELTA, 2.0)
    first, second, mu = worst_pair_scores(s**2 * np.linalg.inv(GRAM), 1_000_000, 2)
    assert mu == pytest.approx(1 / 3.7306316348, rel=1e-9)
    start = time.process_time()
    result = audit_pair(first, second, DELTA)
    assert time.process_time() - start < 2.0
    assert 0.95 <= result.mu_lower / mu <= 1
    assert 0.3 < result.eps_lower <= 1.0 and not result.at_sample_limit


@pytest.mark.parametrize("mu", [0.25, 0.5, 1.0, 3.0, 5.0])
def test_honest_gaussians_are_bracketed(mu):
    scores = stream(3, "honest").standard_normal((2, 1_000_000))
    result = audit_pair(scores[0] + mu, scores[1], DELTA)
    assert 0.95 <= result.mu_lower / mu <= 1
    assert result.eps_lower <= gaussian_epsilon(mu, DELTA)


@pytest.mark.parametrize(("claim", "real", "bound"), [(10, 10.394, 10.295), (16, 18.899, 18.662)])
def test_the_classic_formula_at_large_epsilon_is_caught(claim, real, bound):
    """Seed 002: the audited mu alone already exceeds the claim."""
    mu = 1 / classic_gaussian_sigma(claim, DELTA, 1, allow_uncertified=True)
    assert gaussian_epsilon(mu, DELTA) == pytest.approx(real, abs=1e-3)
    scores = stream(4, "classic").standard_normal((2, 1_000_000))
    audited = gaussian_epsilon(audit_pair(scores[0] + mu, scores[1], DELTA).mu_lower, DELTA)
    assert claim < audited <= real and audited == pytest.approx(bound, abs=0.12)


def test_false_alarms_stay_below_their_rate():
    """Each bound is wrong with probability 0.1 % at most: 14 of 1000 would be an event of 1e-11."""
    alarms = np.zeros(2)
    for k in range(1000):
        scores = stream(5, "alarm", k).standard_normal((2, 1000))
        result = audit_pair(scores[0] + 0.5, scores[1], 0.01)
        alarms += (result.mu_lower > 0.5, result.eps_lower > gaussian_epsilon(0.5, 0.01))
    assert np.all(alarms < 14)


def test_both_orders_and_both_sides_are_attacked():
    rng = stream(6, "sides")
    base, shifted = rng.standard_normal(100_000), rng.standard_normal(100_000) + 2
    results = [audit_pair(*pair, DELTA) for pair in ((base, shifted), (shifted, base), (-base, -shifted))]
    for result in results:
        assert 1.8 < result.mu_lower < 2 and result.eps_lower > 3
    # A rare outcome of one world only: epsilon is infinite in one order of the worlds and tiny in the other.
    rare = np.where(rng.random(100_000) < 0.01, 10.0, 0.0)
    for pair in ((rare, np.zeros(100_000)), (np.zeros(100_000), rare)):
        result = audit_pair(*pair, DELTA, gaussian=False)
        assert result.eps_lower > 3.5 and result.at_sample_limit and result.kind == "counts"


def test_equal_worlds_give_zero():
    result = audit_pair(np.zeros(1000), np.zeros(1000), DELTA)
    assert result.mu_lower == result.eps_lower == 0
    scores = stream(7, "equal").standard_normal((2, 10_000))
    assert audit_pair(*scores, DELTA).mu_lower < 0.05


def test_confidence_bounds_are_those_of_clopper_and_pearson():
    for k, n in ((0, 10), (3, 10), (10, 10), (17, 50_000)):
        lower, upper = clopper_pearson(k, n, 5e-4)
        exact = scipy.stats.binomtest(k, n).proportion_ci(0.999, method="exact")
        assert (lower, upper) == pytest.approx((exact.low, exact.high), rel=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: audit_pair(s, s[:-1], DELTA), "equal length"),
        (lambda s: audit_pair(s[:10], s[:10], DELTA), "equal length"),
        (lambda s: audit_pair(s.reshape(2, -1), s.reshape(2, -1), DELTA), "two vectors"),
        (lambda s: audit_pair(s * np.nan, s, DELTA), "not all finite"),
        (lambda s: audit_pair(s, s, 1.0), "delta=1.0"),
        (lambda s: audit_pair(s, s, DELTA, confidence=1.0), "confidence=1.0"),
    ],
)
def test_bad_scores_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.arange(100.0))
