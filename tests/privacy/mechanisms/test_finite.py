"""Randomised response: the distribution is the matrix, the loss is exact, the secure path charges its own rounding."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_rates import ALPHA, accepts_distribution, accepts_mean
from fixed import fixed
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.privacy.accounting.calibration import randomized_response_probability
from partywise.privacy.mechanisms import RandomizedResponse
from partywise.privacy.mechanisms.random import SecureRandom
from partywise.privacy.statistics.moments import record_sum
from partywise.privacy.statistics.records import entries
from partywise.privacy.statistics.slices import Quantiles, bin_index

EPSILONS = st.floats(0, 30)


def enumerated_loss(matrix, first, second):
    """Largest log ratio of two rows over all outputs."""
    return float(np.max(np.abs(np.log(matrix[first]) - np.log(matrix[second]))))


def pair_counts(true, drawn, k):
    return np.bincount(true * k + drawn, minlength=k * k).reshape(k, k)


@given(EPSILONS, st.integers(2, 60))
def test_the_matrix_is_a_distribution_and_its_loss_is_exact(epsilon, k):
    mechanism = RandomizedResponse(epsilon, k)
    matrix = mechanism.matrix()
    assert all(abs(math.fsum(row) - 1) <= 1e-15 for row in matrix)
    assert np.all(matrix > 0)
    assert enumerated_loss(matrix, 0, k - 1) == pytest.approx(epsilon, abs=1e-12)
    assert mechanism.pair_loss(0, k - 1) == epsilon and mechanism.pair_loss(1, 1) == 0


def test_keeping_probabilities():
    assert randomized_response_probability(0, 5) == 0.2
    assert randomized_response_probability(math.inf, 5) == 1
    assert randomized_response_probability(1.0, 2) == pytest.approx(math.e / (1 + math.e), rel=1e-15)
    assert randomized_response_probability(1e4, 3) == 1
    for bad in ((-1.0, 2), (math.nan, 2), (1.0, 1), (1.0, 2.5)):
        with pytest.raises(ValueError, match=r"epsilon=|k="):
            randomized_response_probability(*bad)


@pytest.mark.parametrize("source", ["simulation", "secure"])
@pytest.mark.parametrize(("epsilon", "k"), [(1.0, 2), (3.0, 5), (0.0, 3)])
def test_draws_follow_the_matrix_and_a_neighbouring_epsilon_is_noticed(source, epsilon, k):
    true = np.repeat(np.arange(k), 400_000)
    rng = stream(1, "rr", k) if source == "simulation" else SecureRandom()
    release = RandomizedResponse(epsilon, k)(entries(true), rng)
    counts = pair_counts(true, release.value, k)
    wrong = RandomizedResponse(epsilon + 0.05, k).matrix()
    for x, row in enumerate(RandomizedResponse(epsilon, k).matrix()):
        assert accepts_distribution(counts[x], row, ALPHA / k)
    assert not all(accepts_distribution(counts[x], row, ALPHA / k) for x, row in enumerate(wrong))
    assert release.event.sampler == source and release.value.dtype == np.int64


def test_an_event_charges_one_application_for_every_index_a_unit_moves():
    values = stream(1, "v").random((400, 3))
    cuts = np.linspace(0, 1, 51)[1:-1]
    public = RandomizedResponse(3.0, 50)(bin_index(values, fixed(cuts)), stream(1, "a")).event
    assert (public.epsilon, public.k, public.count, public.mu) == (3.0, 50, 3, None)
    quantile = bin_index(values[:, 0], Quantiles(50))
    event = RandomizedResponse(3.0, 50)(quantile, stream(1, "a")).event
    # 50 indices at epsilon = 3: 150 pure, where 3 is claimed.
    assert event.count * event.epsilon == 150 and event.unit == "features"
    label = RandomizedResponse(1.0, 2)(entries([0, 1, 1]), stream(1, "a")).event
    assert (label.unit, label.relation, label.count, label.depends_on) == ("label", "label_flip", 1, {"label"})
    assert (label.owner, label.mechanism, label.norm) == ("unnamed", "randomized_response", "hamming")
    assert RandomizedResponse(1.0, 2)(entries([0, 1], moved=fixed(0)), stream(1, "a")).event.epsilon == 0
    assert RandomizedResponse(1.0, 2)(entries([0, 1], moved=fixed(math.inf)), stream(1, "a")).event.epsilon == math.inf


def test_public_edges_belong_to_the_mechanism():
    values, cuts = stream(1, "v").random(300), np.array([0.2, 0.5])
    inside = RandomizedResponse(2.0, 3, fixed(cuts))(entries(values, unit="features"), stream(1, "a"))
    outside = RandomizedResponse(2.0, 3)(bin_index(values, fixed(cuts)), stream(1, "a"))
    assert np.array_equal(inside.value, outside.value) and inside.event.count == outside.event.count == 1
    kept = RandomizedResponse(math.inf, 3, fixed(cuts))(entries([0.2, 0.21, 0.5, 9.0, -9.0]), stream(1, "a"))
    assert kept.value.tolist() == [0, 1, 1, 2, 0]


def test_one_generator_at_two_levels_flips_nested_sets():
    true = stream(1, "v").integers(0, 4, 5000)
    strong, weak = (RandomizedResponse(e, 4)(entries(true), stream(2, "a")).value for e in (0.5, 3.0))
    moved = weak != true
    assert 0 < moved.sum() < (strong != true).sum() and np.array_equal(weak[moved], strong[moved])


def test_debiased_bits_are_unbiased_with_the_stated_variance():
    true = np.repeat([0, 1], 500_000)
    for epsilon in (0.5, 2.0):
        mechanism = RandomizedResponse(epsilon, 2)
        assert mechanism.variance == pytest.approx(math.exp(epsilon) / math.expm1(epsilon) ** 2, rel=1e-13)
        estimate = mechanism.debias(mechanism(entries(true), stream(3, "a")).value)
        sigma = math.sqrt(mechanism.variance)
        assert accepts_mean(estimate - true, 0.0, sigma) and not accepts_mean(estimate - true, 0.02 * sigma, sigma)
        # Two values a, b for each bit: the squared deviation has mean variance, and this sd.
        q, gap = 1 / (1 + math.exp(epsilon)), 1 / (1 - 2 / (1 + math.exp(epsilon)))
        squares = np.array([(0 - q) * gap, (1 - q) * gap]) ** 2
        spread = math.sqrt(q * (1 - q)) * abs(squares[1] - squares[0])
        squared = (estimate - true) ** 2
        assert accepts_mean(squared, mechanism.variance, spread)
        assert not accepts_mean(squared, 1.03 * mechanism.variance, spread)
    assert RandomizedResponse(math.inf, 2).variance == 0
    assert RandomizedResponse(math.inf, 2).debias([0, 1]).tolist() == [0, 1]


def test_estimated_shares_of_k_indices():
    k, n, epsilon = 5, 500_000, 1.5
    shares = np.array([0.5, 0.3, 0.15, 0.05, 0.0])
    true = np.repeat(np.arange(k), (shares * n).astype(int))
    mechanism = RandomizedResponse(epsilon, k)
    estimate = mechanism.frequencies(mechanism(entries(true), stream(4, "a")).value)
    keep, other = mechanism.matrix()[0, :2]
    distribution = shares @ mechanism.matrix()
    deviation = np.sqrt(distribution * (1 - distribution) / n) / (keep - other)
    assert estimate.sum() == pytest.approx(1, abs=1e-12)
    assert np.all(np.abs(estimate - shares) < 6.5 * deviation)
    assert np.any(np.abs(estimate - distribution) > 6.5 * deviation)


@given(st.floats(0, 60), st.sampled_from([2, 3, 50, 2**20]))
def test_the_secure_threshold_charges_its_own_loss(epsilon, k):
    mechanism = RandomizedResponse(epsilon, k)
    flips = mechanism._flip_threshold()
    charged = mechanism._threshold_epsilon(flips)
    # Exact rational odds of keeping an index against moving it to one named other index.
    odds = ((2**64 - flips) * (k - 1), flips)
    exact = abs(math.log(odds[0]) - math.log(odds[1]))
    assert exact * (1 - 1e-13) - 1e-13 <= charged <= exact * (1 + 1e-13) + 1e-13
    assert charged <= epsilon + 1e-9
    if epsilon <= 20:
        assert charged == pytest.approx(epsilon, abs=1e-8)


def test_the_secure_threshold_at_its_ends():
    assert RandomizedResponse(0.0, 2)._flip_threshold() == 2**63
    assert RandomizedResponse(math.inf, 2)._flip_threshold() == 0
    # The rarest flip there is: one of 2^64 integers. A larger epsilon buys nothing.
    assert RandomizedResponse(800.0, 2)._flip_threshold() == RandomizedResponse(60.0, 2)._flip_threshold() == 1
    release = RandomizedResponse(60.0, 2)(entries([0, 1]), SecureRandom())
    assert release.event.epsilon == pytest.approx(math.log(2**64 - 1), rel=1e-13)
    kept = RandomizedResponse(math.inf, 3)(entries([0, 1, 2]), SecureRandom())
    assert kept.event.epsilon == math.inf and kept.value.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RandomizedResponse(-1.0, 2), "epsilon=-1.0"),
        (lambda: RandomizedResponse(1.0, 1), "k=1"),
        (lambda: RandomizedResponse(1.0, 3, fixed([0.5])), "k - 1 = 2"),
        (lambda: RandomizedResponse(1.0, 3, fixed([0.5, 0.5])), "k - 1 = 2"),
        (lambda: RandomizedResponse(1.0, 2)(entries([0, 2]), stream(1, "a")), "outside the indices 0..1"),
        (lambda: RandomizedResponse(1.0, 2)(entries([0.5]), stream(1, "a")), "outside the indices 0..1"),
        (lambda: RandomizedResponse(1.0, 3).debias([0]), "k=3"),
        (lambda: RandomizedResponse(0.0, 2).debias([0]), "epsilon=0"),
        (lambda: RandomizedResponse(0.0, 3).frequencies([0]), "epsilon=0"),
        (lambda: RandomizedResponse(1.0, 3).pair_loss(0, 3), "x=3"),
        (lambda: RandomizedResponse(1.0, 2)(entries([0], relation="add_remove", unit="row"), stream(1, "a")), "number"),
    ],
)
def test_what_is_no_randomised_response_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_another_norm_or_source_is_refused():
    with pytest.raises(CertificationError, match="'l2'"):
        RandomizedResponse(1.0, 2)(record_sum(np.ones((2, 2)), fixed(1.0)), stream(1, "a"))
    with pytest.raises(CertificationError, match="Bounded"):
        RandomizedResponse(1.0, 2)(np.array([0, 1]), stream(1, "a"))
    with pytest.raises(TypeError, match="RandomState"):
        RandomizedResponse(1.0, 2)(entries([0, 1]), np.random.RandomState(1))
