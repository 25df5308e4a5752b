"""Attacks certify what they find: they flag the published noise and pass the corrected one."""

import math
import time

import numpy as np
import pytest
import scipy.stats
from numpy.polynomial.legendre import leggauss
from scipy.interpolate import BSpline

from error_rates import ALPHA
from false_alarms import alarms_of, randomised_response
from fixed import fixed
from partywise.core.randomness import stream
from partywise.privacy.accounting.calibration import (
    analytic_gaussian_sigma,
    classic_gaussian_sigma,
    gaussian_epsilon,
    gdp_mu,
)
from partywise.privacy.audit.exact import audit_exact
from partywise.privacy.audit.pairs import AuditResult, audit_pair, clopper_pearson
from partywise.privacy.mechanisms import Gaussian
from partywise.privacy.statistics.records import clipped_coefficients

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
    mechanism, scores = Gaussian(covariance=fixed(covariance)), ([], [])
    for k in range(-(-n // 50_000)):
        for world, sign in enumerate((1, -1)):
            bounded = clipped_coefficients(np.tile(sign * worst, (50_000, 1)), fixed(GRAM), fixed(1.0))
            release = mechanism(bounded, stream(seed, "world", world, k), owner="p1")
            scores[world].append(release.value @ direction)
    return (*(np.concatenate(world)[:n] for world in scores), release.event.mu)


def test_the_published_covariance_is_flagged():
    assert np.linalg.eigvalsh(GRAM)[0] == pytest.approx(0.003048, abs=5e-7)
    s = classic_gaussian_sigma(1, DELTA, 2.0, allow_uncertified=True)
    first, second, mu = worst_pair_scores(s**2 * GRAM, 200_000, 1)
    result = audit_pair(first, second, DELTA, gaussian=True)
    claimed = 2.0 / s
    assert result.mu_lower > 7 > 30 * claimed
    assert 9 < result.eps_lower <= gaussian_epsilon(mu, DELTA)
    assert result.at_sample_limit and result.kind == "gaussian" and result.n == 100_000
    # Nothing can be certified beyond the sample: 7.6 = log(2000) at 99.9 %.
    assert result.eps_lower <= math.log(result.n / 7.6) + 1e-3
    assert gaussian_epsilon(mu, DELTA) == pytest.approx(2581, rel=1e-3)


def test_nothing_but_epsilon_is_a_certificate_unless_the_caller_says_gaussian():
    rng = np.random.default_rng(3)
    first, second = rng.laplace([[1.0], [0.0]], size=(2, 50_000))
    assert audit_pair(first, second, 0.0).kind == "counts"
    assert audit_pair(first, second, 0.0, gaussian=True).kind == "gaussian"


def test_common_random_numbers_and_sorted_scores_are_refused():
    rng = np.random.default_rng(4)
    noise, other = rng.normal(size=(2, 4000))
    for first, second in ((noise + 0.5, noise), (np.sort(noise), np.sort(other)), (noise + 3 * other, other)):
        with pytest.raises(ValueError, match=r"rank correlation of [01]\.\d+: draw .* noise of their own"):
            audit_pair(first, second, DELTA)
    with pytest.raises(ValueError, match=r"rank correlation of -[01]\.\d+"):
        audit_pair(noise + 0.5, -noise, DELTA)
    assert audit_pair(noise + 0.5, other, DELTA).eps_lower >= 0
    assert audit_pair(np.sign(noise), np.sign(other), DELTA).n == 2000


def test_clipped_scores_of_independent_worlds_are_no_common_random_numbers():
    # Nearly half of the scores are equal; ranks of these by position gave a correlation of 1/16, refused as common.
    first, second = np.maximum(np.random.default_rng(3).normal(size=(2, 40_000)) + 0.01, 0.0)
    assert min(len(np.unique(scores)) for scores in (first, second)) > 20_000
    assert audit_pair(first, second, DELTA).kind == "counts"
    with pytest.raises(ValueError, match="noise of their own"):
        audit_pair(first, np.maximum(first, 0.3 * second), DELTA)


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
    assert claim < bound - 0.12 < audited <= real


@pytest.mark.parametrize(
    ("real", "counts", "mu_audit"),
    [(0.751, 0.484, 0.696), (3.511, None, 3.455), (10.394, None, 10.295), (18.899, 7.7, 18.662)],
)
def test_power_at_two_million_draws(real, counts, mu_audit):
    """Section 8 of the specification: the mu audit reaches its numbers, counts come near theirs (one draw of noise)."""
    mu = float(gdp_mu(real, DELTA))
    scores = stream(8, "power").standard_normal((2, 2_000_000))
    result = audit_pair(scores[0] + mu, scores[1], DELTA)
    assert mu_audit - 0.02 <= gaussian_epsilon(result.mu_lower, DELTA) <= real
    if counts is not None:
        # A quarter below, by chance of the tail; a tenth of the draws would give 0.29 and 6.2.
        assert 0.75 * counts < result.eps_lower < real


def test_the_time_of_an_audit_is_linear_in_its_draws():
    """Four times the draws in less than eight times the CPU seconds, least of two next to each other."""
    scores = stream(8, "time").standard_normal((2, 400_000))

    def seconds(n):
        start = time.process_time()
        audit_pair(scores[0, :n] + 1, scores[1, :n], DELTA)
        return time.process_time() - start

    few, many = np.min([(seconds(100_000), seconds(400_000)) for _ in range(2)], axis=0)
    assert many < 8 * few


@pytest.mark.parametrize("kind", ["gaussian", "counts", "one_run"])
def test_false_alarms_stay_below_their_rate(kind):
    """0.1 % of 200 audits at most; the long run has 1000. Bounds at 50 % instead would be caught."""
    assert sum(alarms_of(kind, k) for k in range(200)) <= scipy.stats.binom.isf(ALPHA, 200, 0.001)
    assert sum(alarms_of(kind, k, confidence=0.5) for k in range(200)) > scipy.stats.binom.isf(ALPHA, 200, 0.001)


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


@pytest.mark.parametrize(("epsilon", "k"), [(0.5, 2), (3.0, 50), (10.0, 50), (1.0, 300)])
def test_randomised_response_is_exact(epsilon, k):
    result = audit_exact(randomised_response(epsilon, k))
    assert result.epsilon == pytest.approx(epsilon, abs=1e-12)
    assert result.pair[0] == result.output != result.pair[1]
    assert (result.kind, result.confidence, result.n, result.at_sample_limit) == ("exact", 1.0, 0, False)


def test_exact_audit_is_the_largest_log_ratio():
    """Against a loop over all pairs, without and with restricted neighbours, however they are named."""
    distribution = stream(9, "distribution").dirichlet(np.ones(7), 12)
    loss = np.abs(np.log(distribution[:, None, :]) - np.log(distribution[None, :, :]))
    result = audit_exact(distribution)
    assert result.epsilon == pytest.approx(loss.max(), abs=1e-12)
    assert loss[(*result.pair, result.output)] == pytest.approx(result.epsilon)
    assert distribution[result.pair[0], result.output] > distribution[result.pair[1], result.output]
    steps = [(x, x + 1) for x in range(11)]
    matrix = np.eye(12, k=1, dtype=bool)
    near = audit_exact(distribution, neighbours=steps)
    assert (
        near
        == audit_exact(distribution, neighbours=matrix)
        == audit_exact(distribution, neighbours=matrix.T | np.eye(12, dtype=bool))
    )
    assert near.epsilon == pytest.approx(max(loss[x, y].max() for x, y in steps), abs=1e-12)
    assert near.epsilon < result.epsilon
    assert near.epsilon == pytest.approx(
        np.log(distribution[near.pair[0], near.output] / distribution[near.pair[1], near.output])
    )


def test_impossible_outputs():
    """Possible for one input only: infinite; for neither: no evidence."""
    distribution = np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.0, 1.0, 0.0]])
    result = audit_exact(distribution)
    assert result.epsilon == math.inf and result.pair[1] == 2 and result.output == 0
    finite = audit_exact(distribution, neighbours=[(1, 0)])
    assert finite.epsilon == pytest.approx(math.log(2)) and finite.pair == (0, 1)
    assert audit_exact(distribution, neighbours=[(1, 2)]).epsilon == math.inf
    assert (
        audit_exact(distribution[[0, 0]]).epsilon == audit_exact(distribution[[0, 0]], neighbours=[(0, 1)]).epsilon == 0
    )


def test_exact_audit_bounds_the_sampled_one():
    distribution = randomised_response(2.0, 5)
    rng = stream(10, "sampled")
    first, second = (
        np.log(distribution[0] / distribution[1])[rng.choice(5, 200_000, p=distribution[x])] for x in (0, 1)
    )
    sampled = audit_pair(first, second, 0.0, gaussian=False)
    assert isinstance(sampled, AuditResult)
    assert 0.9 * 2.0 < sampled.eps_lower <= audit_exact(distribution).epsilon


@pytest.mark.parametrize(
    ("matrix", "neighbours", "message"),
    [
        (np.full((3, 3), 0.37), None, "3 of 3 row sums differ from 1 .row 0: 1.11"),
        (np.array([[0.5, 0.5], [0.5, 0.5 + 1e-8]]), None, "not a distribution: 1 of 2 row sums"),
        (np.array([[1.5, -0.5], [0.5, 0.5]]), None, "none of them negative"),
        (np.array([[np.nan, 1], [0.5, 0.5]]), None, "finite probabilities"),
        (np.ones((1, 1)), None, "at least two"),
        (np.ones(3) / 3, None, "at least two"),
        (np.eye(3), [], "names no pairs"),
        (np.eye(3), np.zeros((3, 3), dtype=bool), "names no pairs"),
        (np.eye(3), np.zeros((2, 2), dtype=bool), "must be 3 by 3"),
        (np.eye(3), [(0.0, 1.0)], "names no pairs"),
        (np.eye(3), [(0, 3)], "rows 0..2"),
        (np.eye(3), [(1, 1)], "not a neighbour of itself"),
    ],
)
def test_what_is_no_distribution_or_no_pair_is_refused(matrix, neighbours, message):
    with pytest.raises(ValueError, match=message):
        audit_exact(matrix, neighbours=neighbours)
