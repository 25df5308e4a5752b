"""Events of dp-accounting and profiles of this library: totals agree with the other library's own accountants."""

import math

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting import dp_event, pld, rdp

from partywise.privacy.accountants.dp_accounting import from_dp_event, to_dp_event
from partywise.privacy.accounted_values import Public
from partywise.privacy.accounting.compose import compose
from partywise.privacy.accounting.privacy_profile import PrivacyProfile
from partywise.privacy.ledger.compose import epsilon
from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.reach import clear_event
from partywise.privacy.mechanisms import Gaussian
from partywise.privacy.statistics.records import clipped_coefficients

# What a ledger says of sampling that is not credited is tested in test_odometer.py.
pytestmark = pytest.mark.filterwarnings("ignore:sampling at rate")

DELTA = 1e-5
FAMILIES = {
    "gaussian": dp.GaussianDpEvent(1.3),
    "composed gaussians": dp.ComposedDpEvent([dp.GaussianDpEvent(2.0), dp.GaussianDpEvent(3.0)]),
    "self composed": dp.SelfComposedDpEvent(dp.GaussianDpEvent(10.0), 50),
    "sampled": dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.05, dp.GaussianDpEvent(1.0)), 100),
    "sampled beside a gaussian": dp.ComposedDpEvent(
        [dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.1, dp.GaussianDpEvent(2.0)), 20), dp.GaussianDpEvent(4.0)]
    ),
    "randomised response": dp.ComposedDpEvent([dp.RandomizedResponseDpEvent(0.5, 4)] * 3),
    "nothing": dp.NoOpDpEvent(),
}
# Only the epsilon of these profiles is used, which dominates them.
ABOVE = {
    "laplace": dp.SelfComposedDpEvent(dp.LaplaceDpEvent(4.0), 8),
    "discrete laplace": dp.SelfComposedDpEvent(dp_event.DiscreteLaplaceDpEvent(0.25, 1), 8),
    "sampled laplace": dp.PoissonSampledDpEvent(0.1, dp.LaplaceDpEvent(2.0)),
    "one sample for two releases": dp.PoissonSampledDpEvent(
        0.5, dp.ComposedDpEvent([dp.GaussianDpEvent(3.0), dp.GaussianDpEvent(3.0)])
    ),
}


def theirs(event: dp.DpEvent) -> float:
    accountant = pld.PLDAccountant(dp.NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=1e-4)
    return accountant.compose(event).get_epsilon(DELTA)


def response_epsilon(event: dp.DpEvent) -> float:
    accountant = pld.PLDAccountant(dp.NeighboringRelation.REPLACE_ONE, value_discretization_interval=1e-4)
    return accountant.compose(event).get_epsilon(DELTA)


def renyi(event: dp.DpEvent) -> float:
    return (
        rdp.RdpAccountant(neighboring_relation=dp.NeighboringRelation.ADD_OR_REMOVE_ONE)
        .compose(event)
        .get_epsilon(DELTA)
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_totals_agree_with_their_accountant(name):
    event = FAMILIES[name]
    other = response_epsilon(event) if name == "randomised response" else theirs(event)
    assert compose(from_dp_event(event)).epsilon(DELTA) == pytest.approx(other, rel=2e-3, abs=2e-4)


@pytest.mark.parametrize("name", ABOVE)
def test_what_is_not_matched_exactly_is_never_cheaper(name):
    event = ABOVE[name]
    try:
        other = theirs(event)
    except dp.UnsupportedEventError:
        other = renyi(event)
    assert compose(from_dp_event(event)).epsilon(DELTA) >= other * (1 - 1e-6)


def test_a_repeated_response_is_written_out():
    """Their accountant of losses counts a self-composed response once; ours reads the count, and none goes over."""
    repeated = dp.SelfComposedDpEvent(dp.RandomizedResponseDpEvent(0.5, 4), 3)
    ours = compose(from_dp_event(repeated)).epsilon(DELTA)
    assert ours == pytest.approx(3 * math.log(5), rel=1e-3) and ours > 2 * response_epsilon(repeated)
    assert response_epsilon(to_dp_event(from_dp_event(repeated))) == pytest.approx(ours, rel=2e-3)
    with pytest.raises(ValueError, match="10001 times"):
        to_dp_event([PrivacyProfile(epsilon=0.1, count=10_001)])


def test_zcdp_is_zcdp():
    assert from_dp_event(dp.ZCDpEvent(0.3)) == [PrivacyProfile(rho=0.3)]
    total = compose(from_dp_event(dp.SelfComposedDpEvent(dp.ZCDpEvent(0.01), 5))).epsilon(DELTA)
    assert total <= renyi(dp.ZCDpEvent(0.05)) * (1 + 1e-9)
    # The best order over a fine grid gives what they have no order for.
    assert total == pytest.approx(renyi(dp.ZCDpEvent(0.05)), rel=0.02)


def test_no_noise_is_infinite():
    for event in (dp.NonPrivateDpEvent(), dp.GaussianDpEvent(0.0), dp.LaplaceDpEvent(0.0)):
        assert compose(from_dp_event(event)).epsilon(DELTA) == math.inf
    assert compose(from_dp_event(dp.RandomizedResponseDpEvent(0.0, 3))).epsilon(DELTA) == math.inf
    assert compose(from_dp_event(dp.PoissonSampledDpEvent(0.5, dp.NonPrivateDpEvent()))).epsilon(DELTA) == math.inf


@pytest.mark.parametrize(
    "event",
    [
        dp_event.UnsupportedDpEvent(),
        dp.SampledWithReplacementDpEvent(100, 10, dp.GaussianDpEvent(1.0)),
        dp.SampledWithoutReplacementDpEvent(100, 10, dp.GaussianDpEvent(1.0)),
        dp_event.SingleEpochTreeAggregationDpEvent(1.0, [8]),
        dp_event.MixtureOfGaussiansDpEvent(1.0, [1.0], [1.0]),
        dp.ZCDpEvent(0.1, 0.1),
    ],
    ids=lambda event: type(event).__name__,
)
def test_an_event_without_an_equivalent_is_refused_by_its_name(event):
    for one in (event, dp.ComposedDpEvent([dp.GaussianDpEvent(1.0), event]), dp.SelfComposedDpEvent(event, 2)):
        with pytest.raises(ValueError, match=type(event).__name__):
            from_dp_event(one)


@pytest.mark.parametrize(
    "event",
    [
        dp.GaussianDpEvent(-1.0),
        dp.GaussianDpEvent(math.nan),
        dp.PoissonSampledDpEvent(1.5, dp.GaussianDpEvent(1.0)),
        dp.SelfComposedDpEvent(dp.GaussianDpEvent(1.0), -1),
        dp.RandomizedResponseDpEvent(0.5, 1),
        dp.ZCDpEvent(-0.1),
    ],
)
def test_a_parameter_out_of_range_is_named(event):
    with pytest.raises(ValueError, match="must"):
        from_dp_event(event)


def test_what_is_no_event_is_named():
    with pytest.raises(TypeError, match="give an event of dp-accounting"):
        from_dp_event(PrivacyProfile(mu=1.0))
    with pytest.raises(TypeError, match="give profiles, events or releases"):
        to_dp_event([1.0])


PROFILES = {
    "gaussians": [PrivacyProfile(mu=0.5), PrivacyProfile(mu=0.25, count=4)],
    "sampled": [PrivacyProfile(mu=1.0, rate=0.05, count=30)],
    "response": [PrivacyProfile(epsilon=0.7, k=3, count=5)],
    "pure": [PrivacyProfile(epsilon=0.4, count=3)],
    "zcdp": [PrivacyProfile(rho=0.05)],
}


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_cost_the_same_over_there_and_come_back(name):
    profiles, event = PROFILES[name], to_dp_event(PROFILES[name])
    ours = compose(profiles).epsilon(DELTA)
    assert compose(from_dp_event(event)).epsilon(DELTA) == pytest.approx(ours, rel=1e-9)
    if name == "zcdp":
        assert ours == pytest.approx(renyi(event), rel=0.02)
    elif name in ("response", "pure"):
        assert ours == pytest.approx(response_epsilon(event), rel=2e-3)
    else:
        assert ours == pytest.approx(theirs(event), rel=2e-3)


def event(release_id: str = "r", **profile) -> Event:
    return Event(release_id, "a", "m", "row", frozenset({"label", "features"}), **profile)


def test_releases_and_events_of_a_ledger_go_over():
    radius = Public(1.0, because="a test")
    bounded = clipped_coefficients(np.ones((3, 2)), None, radius)
    releases = [Gaussian(sigma=4.0)(bounded, np.random.default_rng(k), owner="a", release_id=str(k)) for k in range(3)]
    assert theirs(to_dp_event(releases)) == pytest.approx(epsilon(releases, DELTA), rel=2e-3)
    sampled = event(mu=1.0, rate=0.05, count=10)
    # Under replacement no gain by sampling is proved, so that none goes over.
    whole = compose(from_dp_event(to_dp_event([sampled]))).epsilon(DELTA)
    assert whole == pytest.approx(epsilon([event(mu=1.0, count=10)], DELTA), rel=1e-12)
    joined = event(mu=1.0, rate=0.05, count=10, relation="add_remove")
    assert theirs(to_dp_event([joined])) == pytest.approx(epsilon([joined], DELTA), rel=2e-3)


def test_what_is_unproved_goes_over_as_no_privacy():
    for unproved in (clear_event("x", "a", ("row",), "b"), event(mu=1.0, certified=False)):
        assert compose(from_dp_event(to_dp_event([unproved]))).epsilon(DELTA) == math.inf
    with pytest.raises(ValueError, match="delta_numeric"):
        to_dp_event([event(mu=1.0, delta_numeric=1e-9)])
