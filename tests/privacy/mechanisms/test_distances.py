"""Distributions that favour near outputs: exact losses, the printed formula that is none, ceil and floor."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from error_rates import ALPHA, accepts_distribution
from fixed import fixed
from partywise.core.randomness import stream
from partywise.privacy.mechanisms import AdjustedDistanceExponential, DistanceExponential
from partywise.privacy.mechanisms.random import SecureRandom, require_secure
from partywise.privacy.statistics.bounded import Bounded, SensitivityCertificate
from partywise.privacy.statistics.records import entries

POSITIVE = st.floats(1e-3, 4)


def losses(matrix):
    """Largest log ratio of every pair of rows, by full enumeration: shape (N, N)."""
    logs = np.log(matrix)
    return np.array([np.max(np.abs(logs - row), axis=1) for row in logs])


def by_distance(table, t):
    return float(np.max(np.diagonal(table, t)))


@st.composite
def adjusted(draw):
    lo, size = draw(st.integers(-20, 20)), draw(st.integers(2, 40))
    return AdjustedDistanceExponential(
        draw(POSITIVE), draw(POSITIVE), draw(st.integers(1, size)), fixed((lo, lo + size - 1))
    )


@given(POSITIVE, st.integers(-20, 20), st.integers(1, 60))
def test_the_global_distribution_and_its_losses_are_exact(epsilon, lo, length):
    mechanism = DistanceExponential(epsilon, fixed((lo, lo + length)))
    matrix = mechanism.matrix()
    table = losses(matrix)
    assert all(abs(math.fsum(row) - 1) <= 1e-15 for row in matrix)
    for t in range(length + 1):
        assert mechanism.worst_loss(t) == pytest.approx(by_distance(table, t), abs=1e-12, rel=1e-12)
        assert mechanism.worst_loss(t) <= epsilon * t * (1 + 1e-12)
        assert mechanism.pair_loss(lo, lo + t) == pytest.approx(table[0, t], abs=1e-12, rel=1e-12)
    assert mechanism.epsilon_pure == pytest.approx(table.max(), rel=1e-12)


@given(adjusted())
def test_the_adjusted_distribution_and_its_losses_are_exact(mechanism):
    matrix = mechanism.matrix()
    table, span = losses(matrix), mechanism.hi - mechanism.lo
    assert all(abs(math.fsum(row) - 1) <= 1e-15 for row in matrix)
    for t in range(span + 1):
        exact = by_distance(table, t)
        assert mechanism.worst_loss(t) == pytest.approx(exact, abs=1e-12, rel=1e-12)
        assert exact <= mechanism.policy(t) * (1 + 1e-12) + 1e-12
        assert mechanism.pair_loss(mechanism.lo, mechanism.lo + t) == pytest.approx(table[0, t], abs=1e-12, rel=1e-12)
    assert mechanism.epsilon_pure == pytest.approx(table.max(), rel=1e-12)


def test_losses_of_the_specification_on_one_to_a_hundred():
    two = DistanceExponential(2.0, fixed((1, 100)))
    assert round(two.worst_loss(1), 2) == 1.21 and two.worst_loss(99) == 99.0 == two.epsilon_pure
    assert [DistanceExponential(e, fixed((1, 100))).epsilon_pure for e in (0.1, 0.5, 1.0)] == [4.95, 24.75, 49.5]
    adjusting = AdjustedDistanceExponential(2.0, 2.0, 10, fixed((1, 100)))
    assert round(adjusting.worst_loss(1), 2) == 1.21 and round(adjusting.worst_loss(99), 12) == 18.0
    assert adjusting.epsilon_pure == pytest.approx(18.0, rel=1e-12)
    for mechanism in (two, adjusting):
        table = losses(mechanism.matrix())
        for t in range(100):
            assert mechanism.worst_loss(t) == pytest.approx(by_distance(table, t), abs=1e-12, rel=1e-13)


def policy_floor(mechanism, distance):
    """The published implementation's bound, with floor for ceil: it fails across the edge of a bucket."""
    return distance // mechanism.theta * mechanism.epsilon_prt + mechanism.theta * mechanism.epsilon_ner


def test_ceil_is_never_below_the_exact_loss_and_floor_is():
    mechanism = AdjustedDistanceExponential(2.0, 0.01, 10, fixed((1, 100)))
    table = losses(mechanism.matrix())
    pairs = list(itertools.combinations(range(100), 2))
    assert len(pairs) == 4950
    assert all(table[i, j] <= mechanism.policy(j - i) for i, j in pairs)
    broken = [(i, j) for i, j in pairs if table[i, j] > policy_floor(mechanism, j - i)]
    assert (9, 10) in broken and (8, 9) not in broken
    assert policy_floor(mechanism, 1) == 0.1 and mechanism.worst_loss(1) == pytest.approx(1.209, abs=5e-4)
    assert mechanism.policy(0) == 0.1 and mechanism.worst_loss(0) == 0


def test_the_printed_formula_is_no_distribution():
    buckets, _ = AdjustedDistanceExponential(0.1, 2.0, 10, fixed((1, 100))).printed_matrix()
    assert round(buckets.sum(axis=1)[4], 2) == 0.37 and np.all(buckets.sum(axis=1) < 0.4)
    _, values = AdjustedDistanceExponential(2.0, 2.0, 10, fixed((1, 100))).printed_matrix()
    totals = values[44].reshape(10, 10).sum(axis=1)
    # x = 45: its own bucket, the next, the third and the fifth.
    for place, printed in ((4, 0.99), (5, 0.0018), (7, 4e-12), (9, 8e-21)):
        assert totals[place] == pytest.approx(printed, rel=0.08)
    assert values.shape == (100, 100) and values.sum() == pytest.approx(100)


def test_a_last_bucket_may_be_shorter():
    mechanism = AdjustedDistanceExponential(1.0, 0.5, 4, fixed((0, 9)))
    near, own = np.exp(-0.25 * np.arange(4)), np.exp(-0.25 * np.abs(1 - np.arange(4)))
    expected = [own / own.sum(), np.exp(-0.5) * near / near.sum(), np.exp(-1.0) * near[:2] / near[:2].sum()]
    weights = np.concatenate(expected) / (1 + np.exp(-0.5) + np.exp(-1.0))
    np.testing.assert_allclose(mechanism.matrix()[1], weights, rtol=1e-14)
    one = AdjustedDistanceExponential(1.0, 0.7, 10, fixed((0, 9)))
    np.testing.assert_allclose(one.matrix(), DistanceExponential(0.7, fixed((0, 9))).matrix(), rtol=1e-14)
    ones = AdjustedDistanceExponential(0.7, 1.0, 1, fixed((0, 9)))
    np.testing.assert_allclose(ones.matrix(), DistanceExponential(0.7, fixed((0, 9))).matrix(), rtol=1e-14)


def test_extreme_parameters_do_not_underflow_to_no_distribution():
    mechanism = AdjustedDistanceExponential(900.0, 900.0, 10, fixed((1, 100)))
    assert np.all(np.isfinite(mechanism.matrix())) and mechanism.epsilon_pure == pytest.approx(9 * 900, rel=0.2)
    assert DistanceExponential(1e4, fixed((0, 50))).worst_loss(50) == 250_000


@pytest.mark.parametrize(
    ("mechanism", "wrong"),
    [
        (DistanceExponential(0.4, fixed((-3, 6))), DistanceExponential(0.42, fixed((-3, 6)))),
        (
            AdjustedDistanceExponential(0.4, 0.8, 4, fixed((-3, 6))),
            AdjustedDistanceExponential(0.5, 0.8, 4, fixed((-3, 6))),
        ),
        (
            AdjustedDistanceExponential(0.4, 0.8, 4, fixed((-3, 6))),
            AdjustedDistanceExponential(0.4, 0.9, 4, fixed((-3, 6))),
        ),
    ],
)
def test_draws_follow_the_matrix_and_a_neighbouring_distribution_is_noticed(mechanism, wrong):
    true = np.repeat(np.arange(-3, 7), 150_000)
    drawn = mechanism(entries(true, unit="features"), stream(1, "draws")).value
    counts = np.bincount((true + 3) * 10 + drawn + 3, minlength=100).reshape(10, 10)
    assert all(accepts_distribution(counts[x], row, ALPHA / 10) for x, row in enumerate(mechanism.matrix()))
    assert not all(accepts_distribution(counts[x], row, ALPHA / 10) for x, row in enumerate(wrong.matrix()))


def test_what_is_charged_is_the_exact_loss_not_the_advertised_parameter():
    bounded = entries([1, 50, 100], unit="features", moved=fixed(2))
    event = DistanceExponential(2.0, fixed((1, 100)))(bounded, stream(1, "a"), owner="p1").event
    assert (event.epsilon, event.epsilon_distance, event.count, event.k) == (99.0, 2.0, 2, None)
    event = AdjustedDistanceExponential(2.0, 2.0, 10, fixed((1, 100)))(bounded, stream(1, "a")).event
    assert (event.epsilon, event.count) == (pytest.approx(18.0, rel=1e-12), 2)
    assert event.epsilon_distance == AdjustedDistanceExponential(2.0, 2.0, 10, fixed((1, 100))).worst_loss(1)


@given(adjusted())
def test_a_step_of_the_adjusted_distribution_costs_at_most_its_loss_per_unit_of_distance(mechanism):
    event = mechanism(entries([mechanism.lo], unit="features"), stream(1, "a")).event
    span = mechanism.hi - mechanism.lo
    assert all(mechanism.worst_loss(t) <= t * event.epsilon_distance * (1 + 1e-12) for t in range(span + 1))
    assert event.epsilon <= span * event.epsilon_distance * (1 + 1e-12)


def test_the_table_of_exact_losses_of_the_specification():
    two, adjusting = (
        DistanceExponential(2.0, fixed((1, 100))),
        AdjustedDistanceExponential(2.0, 2.0, 10, fixed((1, 100))),
    )
    printed = {1: "1.21", 2: "2.28", 5: "5.31", 10: "10.3", 50: "50.3", 99: "99"}
    assert {t: f"{two.worst_loss(t):.3g}" for t in printed} == printed
    printed = {1: "1.21", 5: "5.31", 9: "9", 10: "10.2", 19: "10.2", 50: "14.3", 99: "18"}
    assert {t: f"{adjusting.worst_loss(t):.3g}" for t in printed} == printed


def test_a_distance_certificate_is_charged_the_loss_at_its_distance():
    for value, distance in ((3.0, 3), (2.5, 3), (500.0, 99), (math.inf, 99), (0.0, 0)):
        certificate = SensitivityCertificate(value, "distance", "features", "replace_one", {"features"})
        for mechanism in (
            DistanceExponential(0.5, fixed((1, 100))),
            AdjustedDistanceExponential(1.0, 0.1, 7, fixed((1, 100))),
        ):
            event = mechanism(Bounded([5, 9], certificate), stream(1, "a")).event
            assert event.epsilon == mechanism.worst_loss(distance) and event.count == 1


DOMAIN = (0, 9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DistanceExponential(0.0, fixed((0, 9))), "epsilon=0.0"),
        (lambda: DistanceExponential(math.inf, fixed((0, 9))), "epsilon=inf"),
        (lambda: DistanceExponential(1.0, fixed((9, 9))), "lo=9"),
        (lambda: DistanceExponential(1.0, fixed((0.5, 9))), "lo=0.5"),
        (lambda: AdjustedDistanceExponential(0.0, 1.0, 2, fixed((0, 9))), "epsilon_prt=0.0"),
        (lambda: AdjustedDistanceExponential(1.0, math.nan, 2, fixed((0, 9))), "epsilon_ner=nan"),
        (lambda: AdjustedDistanceExponential(1.0, 1.0, 0, fixed((0, 9))), "theta=0"),
        (lambda: AdjustedDistanceExponential(1.0, 1.0, 11, fixed((0, 9))), "theta=11"),
        (lambda: DistanceExponential(1.0, fixed((0, 9)))(entries([10]), stream(1, "a")), "integers of 0..9"),
        (lambda: DistanceExponential(1.0, fixed((0, 9)))(entries([0.5]), stream(1, "a")), "integers of 0..9"),
        (lambda: DistanceExponential(1.0, fixed((0, 9))).pair_loss(0, 10), "x=10"),
        (lambda: DistanceExponential(1.0, fixed((0, 9))).worst_loss(10), "distance=10"),
        (lambda: AdjustedDistanceExponential(1.0, 1.0, 2, fixed((0, 9))).policy(-1), "distance=-1"),
    ],
)
def test_bad_domains_and_inputs_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_words_of_the_operating_system_give_the_same_distribution_and_what_is_drawn_may_be_published():
    true = np.repeat(np.arange(10), 100_000)
    for mechanism in (DistanceExponential(1.0, fixed(DOMAIN)), AdjustedDistanceExponential(1.0, 1.0, 2, fixed(DOMAIN))):
        release = mechanism(entries(true, unit="features"), SecureRandom())
        require_secure(release)
        assert release.event.exact and release.event.sampler == "secure"
        counts = np.bincount(true * 10 + release.value, minlength=100).reshape(10, 10)
        assert all(accepts_distribution(counts[x], row, ALPHA / 10) for x, row in enumerate(mechanism.matrix()))
