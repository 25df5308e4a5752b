"""Totals of composed releases: exact where a closed form exists, above the truth and close to it elsewhere."""

import math
import time
from dataclasses import replace

import dp_accounting
import mpmath
import pytest
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from fixed import fixed
from loss_oracle import merged_losses, oracle_epsilon, random_profiles, true_delta
from partywise.core.randomness import stream
from partywise.privacy.accounting.calibration import (
    analytic_gaussian_sigma,
    gaussian_delta,
    gaussian_epsilon,
    zcdp_epsilon,
)
from partywise.privacy.accounting.compose import compose
from partywise.privacy.accounting.privacy_profile import PrivacyProfile
from partywise.privacy.ledger import compose as accounting
from partywise.privacy.ledger.event import Event
from partywise.privacy.mechanisms import Gaussian
from partywise.privacy.statistics.records import clipped_coefficients

# What a ledger says of sampling that is not credited is tested in test_odometer.py.
pytestmark = pytest.mark.filterwarnings("ignore:sampling at rate")

DELTA = 1e-5
RR14 = PrivacyProfile(epsilon=3.0, k=50, count=14)
GAUSSIANS = st.tuples(st.floats(0.01, 3), st.integers(1, 30)).map(lambda x: PrivacyProfile(mu=x[0], count=x[1]))
FINITE = st.tuples(st.floats(0.01, 4), st.sampled_from([None, 2, 3, 50]), st.integers(1, 10))
PROFILES = GAUSSIANS | FINITE.map(lambda x: PrivacyProfile(epsilon=x[0], k=x[1], count=x[2]))


def event(release_id="r", **fields):
    values = {"owner": "p1", "mechanism": "m", "unit": "row", "depends_on": ("features", "label"), **fields}
    return Event(release_id=release_id, **values)


def epsilon_of(*profiles, delta=DELTA):
    return compose(profiles).epsilon(delta)


# Values -----------------------------------------------------------------------------------------------------------


def test_the_acceptance_numbers():
    twenty = [event(f"r{k}", mu=0.2) for k in range(20)]
    assert accounting.epsilon(twenty, DELTA) == pytest.approx(3.848610, abs=1e-6)
    assert zcdp_epsilon(20 * 0.2**2 / 2, DELTA) == pytest.approx(4.1615, abs=5e-5)
    assert accounting.epsilon([event(rho=0.02, count=20)], DELTA) == pytest.approx(4.1615, abs=5e-5)
    assert accounting.epsilon([event(mu=0.2, count=400)], DELTA) == gaussian_epsilon(4.0, DELTA)
    assert accounting.epsilon([event(epsilon=3.0, k=50, count=14)], 0.0) == 42.0


@pytest.mark.parametrize(
    "profiles",
    [
        (PrivacyProfile(mu=0.2, count=20),),
        pytest.param((PrivacyProfile(mu=0.2, count=400),), marks=pytest.mark.statistical),
        (RR14,),
        (RR14, PrivacyProfile(mu=0.2, count=20)),
        pytest.param((RR14, PrivacyProfile(mu=3.0)), marks=pytest.mark.statistical),
    ],
    ids=["20 Gaussians", "400 Gaussians", "14 responses", "mixed", "mixed with mu 3"],
)
def test_totals_lie_in_the_millesimal_above_the_oracle(profiles):
    found = epsilon_of(*profiles)
    assert oracle_epsilon(profiles, DELTA, step=1e-4, pessimistic=False) <= found
    assert found <= oracle_epsilon(profiles, DELTA, step=1e-4, pessimistic=True) + 1e-3
    # Basic composition of the responses, and adding the two parts up, are refuted by the same oracle.
    assert (
        found
        < sum(profile.count * (profile.epsilon or gaussian_epsilon(profile.mu, DELTA)) for profile in profiles) - 1e-3
    )


@pytest.mark.parametrize(
    "profiles",
    [
        (PrivacyProfile(epsilon=1.0),),
        (PrivacyProfile(epsilon=0.5, count=6),),
        (PrivacyProfile(epsilon=2.0, k=7, count=5), PrivacyProfile(mu=0.5)),
        (
            PrivacyProfile(epsilon=0.3, k=3, count=3),
            PrivacyProfile(epsilon=1.1, count=3),
            PrivacyProfile(mu=2.0, count=2),
        ),
        (PrivacyProfile(epsilon=1e-3, count=4), PrivacyProfile(mu=0.01)),
        (PrivacyProfile(epsilon=12.0, k=1000, count=2), PrivacyProfile(mu=1e-4)),
    ],
)
@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-25])
def test_exact_compositions_agree_with_fifty_digits(profiles, delta):
    found = epsilon_of(*profiles, delta=delta)
    assert true_delta(profiles, found) <= delta
    below = found * (1 - 1e-8) - 1e-12
    assert below < 0 or true_delta(profiles, below) > delta
    at = compose(profiles).delta(0.7 * found)
    assert true_delta(profiles, 0.7 * found) <= at <= true_delta(profiles, 0.7 * found) * (1 + 1e-9)


@pytest.mark.parametrize("number", range(40))
def test_random_compositions_lie_between_two_oracles(number):
    rng = stream(7, "compositions", str(number))
    profiles, delta = random_profiles(rng), float(10 ** rng.uniform(-9, -3))
    found = epsilon_of(*profiles, delta=delta)
    assert oracle_epsilon(profiles, delta, pessimistic=False) <= found
    assert found <= oracle_epsilon(profiles, delta, pessimistic=True) + 1e-3


def test_rows_known_by_rho_take_the_lesser_of_two_routes():
    rho, mu, flip = PrivacyProfile(rho=0.1), PrivacyProfile(mu=0.5), PrivacyProfile(epsilon=0.5, count=4)
    everything = float(zcdp_epsilon(0.1 + 0.125, DELTA))
    assert epsilon_of(rho, mu) == everything
    halves = float(zcdp_epsilon(0.1, DELTA / 2)) + epsilon_of(flip, delta=DELTA / 2)
    assert epsilon_of(rho, flip) <= min(halves, float(zcdp_epsilon(0.1 + 4 * 0.125, DELTA)))
    # A large pure profile is expensive as zCDP: the split of delta wins.
    large = epsilon_of(PrivacyProfile(rho=0.001), PrivacyProfile(epsilon=6.0))
    assert 6.0 < large < float(zcdp_epsilon(0.001 + 18.0, DELTA)) - 3
    assert epsilon_of(PrivacyProfile(rho=0.001), PrivacyProfile(epsilon=6.0), PrivacyProfile(mu=0.1, rate=0.5)) > large
    assert compose([rho, mu]).delta(everything) == pytest.approx(DELTA, rel=1e-5)


# What no total may do ---------------------------------------------------------------------------------------------


def test_count_composes_where_the_oracle_ignores_it():
    """dp-accounting 0.6.0 drops the count of randomised responses: 1, 10 and 100 of them get the same epsilon.

    Its parameters here: output uniform over 50 with probability 0.2, that is epsilon = log(1 + 50 * 0.8 / 0.2).
    """
    one = math.log(201)
    assert one == pytest.approx(5.303, abs=1e-3)
    for count in (1, 10, 100):
        accountant = PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
        accountant.compose(dp_accounting.RandomizedResponseDpEvent(0.2, 50), count)
        assert accountant.get_epsilon(DELTA) == pytest.approx(5.303, abs=2e-3), "the oracle was corrected: simplify"
        assert epsilon_of(PrivacyProfile(epsilon=one, k=50, count=count)) > 0.9 * count * 0.8 * one
    assert accounting.epsilon([event(epsilon=one, k=50, count=10)], DELTA) == pytest.approx(53.03, abs=5e-3)
    assert accounting.epsilon([event(epsilon=one, k=50, count=10)], 0.0) == pytest.approx(10 * one, rel=1e-15)
    loop = PLDAccountant(dp_accounting.NeighboringRelation.REPLACE_ONE)
    for _ in range(10):
        loop.compose(dp_accounting.RandomizedResponseDpEvent(0.2, 50))
    assert epsilon_of(PrivacyProfile(epsilon=one, k=50, count=10)) == pytest.approx(loop.get_epsilon(DELTA), abs=2e-3)


# What totals on a grid may lie above the exact ones.
GRID = 1e-3


@given(st.lists(PROFILES, min_size=1, max_size=3), PROFILES, st.sampled_from([1e-3, 1e-6, 1e-10]))
@settings(deadline=None, max_examples=40)
def test_more_rows_never_cost_less_and_order_is_nothing(profiles, more, delta):
    before, after = compose(profiles).epsilon(delta), compose([*profiles, more]).epsilon(delta)
    # Totals of too many kinds of profiles for enumeration are off by the grid: upwards, by less than GRID.
    assert after >= before - GRID
    assert compose([more, *reversed(profiles)]).epsilon(delta) == pytest.approx(after, rel=1e-12)
    # Epsilon and delta are each rounded up: they meet within the grid, not at one point.
    assert compose([*profiles, more]).delta(after + GRID) <= delta * (1 + 1e-9)


def test_close_to_the_largest_loss_both_numbers_stay_above_the_exact_ones():
    """Four kinds of profiles on a grid, delta 1e-10: the exact numbers are sums over all outcomes, with 50 digits."""
    kinds = ((1.0, None, 4), (2.0, 3, 7), (0.015625, 50, 3), (0.125, None, 7))
    profile = compose([PrivacyProfile(epsilon=e, k=k, count=count) for e, k, count in kinds])
    found = profile.epsilon(1e-10)
    losses = merged_losses(kinds)

    def exact(epsilon):
        return mpmath.fsum(p * (1 - mpmath.exp(epsilon - x)) for x, p in losses.items() if x > epsilon)

    assert exact(found) <= 1e-10 < exact(found - GRID)
    for epsilon in (10.0, 18.0, 18.9, found):
        assert exact(epsilon) <= profile.delta(epsilon) <= exact(epsilon) * (1 + 1e-8) + 1e-10


@given(PROFILES, st.integers(1, 20))
@settings(deadline=None, max_examples=40)
def test_a_count_is_so_many_rows(profile, count):
    one = replace(profile, count=1)
    assert epsilon_of(*[one] * count) == pytest.approx(epsilon_of(replace(one, count=count)), rel=1e-12)


@given(st.floats(0.01, 5), st.integers(2, 200), st.integers(1, 12))
@settings(deadline=None, max_examples=40)
def test_randomised_response_costs_no_more_than_a_pure_profile(epsilon, k, count):
    pure = epsilon_of(PrivacyProfile(epsilon=epsilon, count=count))
    assert (
        epsilon_of(PrivacyProfile(epsilon=epsilon, k=k, count=count))
        <= pure * (1 + 1e-12)
        <= epsilon * count * (1 + 2e-12)
    )
    assert epsilon_of(PrivacyProfile(epsilon=epsilon, k=2, count=count)) == pure


def test_a_subsampled_total_is_not_below_its_worse_direction():
    profile = PrivacyProfile(mu=1.0, rate=0.1, count=50)
    found = epsilon_of(profile)
    assert oracle_epsilon([profile], DELTA, pessimistic=False, step=1e-4) <= found
    assert found <= oracle_epsilon([profile], DELTA, pessimistic=True, step=1e-4) + 1e-3
    assert found < epsilon_of(PrivacyProfile(mu=1.0, count=50)) / 4


def test_delta_that_profiles_do_not_cover_is_taken_off():
    profile = {"mu": 1.0}
    assert accounting.epsilon([event(**profile, delta_numeric=4e-6)], DELTA) == gaussian_epsilon(1.0, DELTA - 4e-6)
    pair = [event("a", **profile, delta_numeric=4e-6), event("b", epsilon=1.0, delta_numeric=4e-6)]
    assert accounting.epsilon(pair, DELTA) == compose([PrivacyProfile(mu=1.0), PrivacyProfile(epsilon=1.0)]).epsilon(
        DELTA - 8e-6
    )
    assert accounting.epsilon([event(**profile, delta_numeric=DELTA)], DELTA) == math.inf
    assert accounting.epsilon([event(epsilon=1.0, delta_numeric=1e-9)], 0.0) == math.inf
    # An (epsilon, delta) mechanism keeps its own two numbers.
    assert accounting.epsilon([event(epsilon=1.0, delta_numeric=DELTA)], DELTA) == 1.0
    assert accounting.epsilon([event(epsilon=1.0, delta_numeric=DELTA)], 1.001 * DELTA) == pytest.approx(1.0, abs=1e-6)
    assert accounting.delta([event(epsilon=1.0, delta_numeric=DELTA)], 1.0) == DELTA


def test_nothing_costs_nothing_and_no_noise_costs_everything():
    assert accounting.epsilon([], DELTA) == accounting.delta([], 0.0) == 0.0
    free = [event("a", mu=0.0), event("b", epsilon=0.0), event("c", rho=0.0)]
    assert accounting.epsilon(free, 0.0) == 0.0
    for profile in ({"mu": math.inf}, {"epsilon": math.inf}, {"rho": math.inf}, {"mu": math.inf, "rate": 0.5}):
        relation = "add_remove"
        assert accounting.epsilon(
            [event(**profile, relation=relation), event("b", mu=1.0, relation=relation)], DELTA
        ) == (math.inf)
        assert accounting.delta([event(**profile, relation=relation)], 5.0) == 1.0
    assert accounting.epsilon([event(mu=1.0)], 0.0) == math.inf
    assert accounting.epsilon([event(rho=1.0)], 0.0) == math.inf
    unproved = [event(mu=1.0), event("b", certified=False, epsilon_claimed=1.0)]
    assert accounting.epsilon(unproved, DELTA) == math.inf and accounting.delta(unproved, 9.0) == 1.0


def test_delta_is_the_inverse_of_epsilon():
    assert accounting.delta([event(mu=1.0)], 2.0) == pytest.approx(gaussian_delta(1.0, 2.0), rel=2e-11)
    for profiles in ([RR14], [RR14, PrivacyProfile(mu=1.0)], [PrivacyProfile(mu=1.0, rate=0.2, count=20)]):
        profile = compose(profiles)
        assert profile.delta(profile.epsilon(1e-7)) == pytest.approx(1e-7, rel=1e-3)
    assert compose([RR14]).delta(42.0) == 0.0


def test_releases_and_events_are_taken_alike():
    bounded = clipped_coefficients(stream(1, "x").standard_normal((5, 2)), None, fixed(1.0))
    release = Gaussian(sigma=2.0)(bounded, stream(1, "noise"), owner="p1")
    assert accounting.epsilon([release], DELTA) == accounting.epsilon([release.event], DELTA)
    assert accounting.epsilon([release], DELTA) == gaussian_epsilon(1.0, DELTA)
    with pytest.raises(TypeError, match="takes Event or Release objects"):
        accounting.epsilon([1.0], DELTA)


def test_relations_are_never_implied():
    replaced, added = event("a", mu=1.0), event("b", mu=1.0, relation="add_remove")
    assert accounting.epsilon([added], DELTA) == gaussian_epsilon(1.0, DELTA)
    assert accounting.epsilon([added, replaced], DELTA) == gaussian_epsilon(math.sqrt(5), DELTA)
    label = event("c", mu=1.0, unit="label", relation="label_flip")
    other = event("d", mu=1.0, unit="label")
    for rows in ([label, replaced], [label, other], [replaced, other]):
        with pytest.raises(ValueError, match="put them into a Ledger"):
            accounting.epsilon(rows, DELTA)
    # Nothing is gained by sampling where the records that replace each other both contribute.
    assert accounting.epsilon([event(mu=1.0, rate=0.01)], DELTA) == gaussian_epsilon(1.0, DELTA)
    sampled = accounting.epsilon([event(mu=1.0, rate=0.01, relation="add_remove")], DELTA)
    assert 0 < sampled < gaussian_epsilon(1.0, DELTA) / 2


@pytest.mark.parametrize(("argument", "value"), [("delta", -0.1), ("delta", 1.0), ("delta", math.nan)])
def test_bad_arguments_are_named(argument, value):
    for events in ([], [event(mu=1.0)], [event(epsilon=1.0)]):
        with pytest.raises(ValueError, match=argument):
            accounting.epsilon(events, value)
    with pytest.raises(ValueError, match="epsilon="):
        accounting.delta([event(mu=1.0)], -1.0)


# Calibration of sampled sums --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "rate", "steps"),
    [pytest.param(1.0, 0.01, 1000, marks=pytest.mark.statistical), (4.0, 0.1, 100), (0.5, 1.0, 10)],
)
def test_the_calibrated_sigma_meets_its_target_from_below(epsilon, rate, steps):
    sigma = accounting.subsampled_sigma(epsilon, DELTA, rate, steps)
    profile = PrivacyProfile(mu=1 / sigma, rate=rate, count=steps)
    assert epsilon * (1 - 1e-4) <= epsilon_of(profile) <= epsilon
    assert oracle_epsilon([profile], DELTA, step=1e-4, pessimistic=False) <= epsilon
    assert oracle_epsilon([profile], DELTA, step=1e-4, pessimistic=True) >= epsilon - 1e-3
    if rate == 1:
        exact = math.sqrt(steps) * analytic_gaussian_sigma(epsilon, DELTA, 1.0)
        assert exact * (1 - 1e-12) <= sigma <= exact * (1 + 1e-5)


@pytest.mark.parametrize(
    "arguments", [(0.0, 1e-5, 0.1, 10), (1.0, 0.0, 0.1, 10), (1.0, 1e-5, 0.0, 10), (1.0, 1e-5, 1.1, 10)]
)
def test_impossible_calibrations_are_refused(arguments):
    with pytest.raises(ValueError, match="must"):
        accounting.subsampled_sigma(*arguments)
    with pytest.raises(ValueError, match="steps="):
        accounting.subsampled_sigma(1.0, 1e-5, 0.1, 0.5)


def test_a_mixed_total_takes_no_more_than_its_time():
    epsilon_of(RR14, PrivacyProfile(mu=0.3))
    start = time.process_time()
    for k in range(10):
        epsilon_of(RR14, PrivacyProfile(mu=0.3 + k / 100, count=3), delta=1e-6)
    assert (time.process_time() - start) / 10 < 0.05
