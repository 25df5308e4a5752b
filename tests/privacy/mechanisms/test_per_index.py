"""Epsilon of one index: the ledger's own composition keeps the budget, and a little more would not."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partywise.privacy.accounting.compose import compose
from partywise.privacy.accounting.privacy_profile import PrivacyProfile
from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms.mixed_response import index_epsilon

DELTA = 1e-5
# Bins of the public edges of Adult's first seven columns and of abalone's weights.
ADULT, WEIGHTS = (10, 8, 6, 16, 15, 7, 14), (12, 11, 12, 16)


def total(ks, epsilon, delta=DELTA):
    """What a ledger says of one release for each alphabet."""
    rows = [
        Event(f"r{i}", "a", "randomized_response", "features", {"features"}, epsilon=epsilon, k=k)
        for i, k in enumerate(ks)
    ]
    return Ledger(rows).total(("b",), "features", delta).epsilon_certified


@pytest.mark.parametrize("ks", [ADULT, WEIGHTS, (50,) * 14, (2,), tuple(range(2, 16))])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_ledger_keeps_the_budget_and_a_millionth_more_breaks_it(ks, epsilon):
    one = index_epsilon([(k, 1) for k in ks], epsilon, DELTA)
    assert total(ks, one) <= epsilon < total(ks, one * (1 + 1e-6))
    assert one >= epsilon / len(ks) * (1 - 1e-12)


def test_equal_alphabets_count_as_one_distribution_of_many_applications():
    assert index_epsilon([(50, 14)], 1.0, DELTA) == index_epsilon([(50, 1)] * 14, 1.0, DELTA)
    assert index_epsilon([(7, 2), (3, 1)], 1.0, DELTA) == index_epsilon([(3, 1), (7, 1), (7, 1)], 1.0, DELTA)


def test_without_delta_the_budget_is_divided_evenly():
    for count in (1, 7, 350):
        assert index_epsilon([(50, count)], 3.0, 0.0) == pytest.approx(3.0 / count, rel=2e-8)
        assert compose([PrivacyProfile(epsilon=index_epsilon([(50, count)], 3.0, 0.0), k=50, count=count)]).pure <= 3.0


def test_the_inverse_of_the_totals_of_the_specification():
    """14 features in 50 bins at 3 a feature are 35.1824 at 1e-5, 7 features 20.9414."""
    for count, whole in ((14, 35.1824), (7, 20.9414)):
        assert compose([PrivacyProfile(epsilon=3.0, k=50, count=count)]).epsilon(DELTA) == pytest.approx(
            whole, abs=5e-5
        )
        assert index_epsilon([(50, count)], whole, DELTA) == pytest.approx(3.0, abs=1e-4)


def test_other_pure_profiles_are_bounded_by_two_outcomes():
    assert index_epsilon([(None, 14)], 1.0, DELTA) == index_epsilon([(2, 14)], 1.0, DELTA)
    assert index_epsilon([(None, 14)], 1.0, DELTA) <= index_epsilon([(50, 14)], 1.0, DELTA)


@settings(max_examples=15)
@given(
    st.lists(st.tuples(st.sampled_from([None, 2, 5, 40]), st.integers(1, 8)), min_size=1, max_size=4),
    st.floats(0.05, 20),
    st.sampled_from([0.0, 1e-9, 1e-5, 1e-2]),
)
def test_any_mixture_keeps_its_budget(indices, epsilon, delta):
    one = index_epsilon(indices, epsilon, delta)
    profiles = [PrivacyProfile(epsilon=one, k=k, count=count) for k, count in indices]
    assert compose(profiles).epsilon(delta) <= epsilon
    assert one * sum(count for _, count in indices) >= epsilon * (1 - 1e-11)


def test_no_budget_divides_an_infinite_one_and_bad_arguments_are_named():
    assert index_epsilon([(5, 2)], math.inf, DELTA) == math.inf
    for indices, epsilon, delta, message in (
        ([], 1.0, DELTA, "indices"),
        ([(5, 0)], 1.0, DELTA, "indices"),
        ([(5, 1)], 0.0, DELTA, "epsilon=0.0"),
        ([(5, 1)], 1.0, 1.0, "delta=1.0"),
    ):
        with pytest.raises(ValueError, match=message):
            index_epsilon(indices, epsilon, delta)
