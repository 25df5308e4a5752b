"""A column as its owner codes it: what one record moves, what cuts mean, which integers travel."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fixed import fixed
from partywise.core.errors import CertificationError
from partywise.core.randomness import Streams
from partywise.methods.trees.gathering.protection import Protection, adjusting_scale, protection, public_cuts
from partywise.methods.trees.gathering.ranks import cuts_by_rank, message_of, rank_codes
from partywise.methods.trees.model import TreeColumn, TreeFacts
from partywise.methods.trees.options import GatheringOptions
from partywise.privacy.accounted_values import Clear
from partywise.privacy.mechanisms.distances.adjustment import AdjustedDistanceExponential
from partywise.privacy.statistics.bounded import repeat
from partywise.privacy.statistics.moments import record_sum
from partywise.privacy.statistics.slices import bin_index

COLUMN = TreeColumn("x", fixed(np.array([-1.0, 0.0, 2.5])), fixed((-3.0, 3.0)))
FORMS = {
    "declared": GatheringOptions(protect="dp"),
    "equal parts": GatheringOptions(protect="dp", n_bins=7),
    "position": GatheringOptions(protect="dp", edges="quantile", ties="position", n_bins=5),
    "kept": GatheringOptions(protect="dp", edges="quantile", n_bins=5),
    "integers": GatheringOptions(protect="op_boost"),
    "binned integers": GatheringOptions(protect="op_boost", n_bins=6),
}
VALUES = st.floats(-4, 4).map(lambda x: round(x, 1))


def coded(x, form):
    return rank_codes(np.asarray(x, dtype=float), COLUMN, "passive", FORMS[form])


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_one_record_moves_no_more_entries_than_certified(form, data):
    x = data.draw(arrays(float, 20, elements=VALUES))
    other = x.copy()
    other[data.draw(st.integers(0, 19))] = data.draw(VALUES)
    one, two = coded(x, form), coded(other, form)
    assert np.count_nonzero(one.bounded.value != two.bounded.value) <= one.bounded.certificate.value
    assert one.bounded.certificate.value == {"position": 5, "kept": 20}.get(form, 1)


def test_the_certificates_of_quantiles_are_nearly_reached():
    """By position a record that passes all edges moves an index at each; tied values cross an edge all together."""
    x = np.linspace(-3, 3, 20)
    first, last = coded(x, "position"), coded(np.append(x[1:], 3.5), "position")
    passing = np.concatenate([[4.0], x[1:]])
    assert np.count_nonzero(first.bounded.value != coded(passing, "position").bounded.value) == 5
    assert np.array_equal(first.bounded.value, last.bounded.value)
    tied = np.array([-1.0, *[0.0] * 13, *[1.0] * 6])
    other = np.array([1.0, *[0.0] * 13, *[1.0] * 6])
    moved = np.count_nonzero(coded(tied, "kept").bounded.value != coded(other, "kept").bounded.value)
    assert 5 < moved <= 20


@pytest.mark.parametrize("form", FORMS)
@given(x=arrays(float, 15, elements=VALUES))
def test_the_cuts_say_what_the_codes_say_where_equal_values_stay_together(form, x):
    order = coded(x, form)
    codes = order.codes(order.values)
    assert np.all(order.thresholds[1:] >= order.thresholds[:-1])
    assert codes.min() >= 0 and codes.max() <= len(order.thresholds)
    routed = np.searchsorted(order.thresholds, x, side="left")
    if form == "position":
        # Ties end up on one side; values that are all different are routed as they were learned.
        distinct = len(np.unique(x)) == len(x)
        assert not distinct or np.array_equal(routed, codes)
    else:
        for cut in range(len(order.thresholds)):
            np.testing.assert_array_equal(x <= order.thresholds[cut], codes <= cut)


def test_cuts_of_empty_bins_are_at_the_ends():
    x = np.array([3.0, 1.0, 2.0])
    low, high = np.nextafter([1.5, 2.5], 0)
    np.testing.assert_array_equal(cuts_by_rank(x, np.array([3, 1, 3]), 6), [-np.inf, low, low, np.inf, np.inf])
    np.testing.assert_array_equal(cuts_by_rank(x, np.array([2, 0, 1]), 3), [low, high])


def test_repeated_entries_are_charged_as_often_as_they_are_drawn():
    once = bin_index(np.array([0.0, 1.0, 2.0]), fixed([0.5, 1.5]))
    thrice = repeat(once, 3)
    assert thrice.value.shape == (3, 3) and np.array_equal(thrice.value[2], once.value)
    assert (thrice.certificate.value, thrice.certificate.norm, thrice.parents) == (3, "hamming", once.parents)
    assert repeat(once, 1).certificate.value == 1
    for bounded, times in ((once, 0), (once, 1.5), (record_sum(np.ones((3, 1)), fixed(1.0)), 2)):
        with pytest.raises(ValueError, match="times="):
            repeat(bounded, times)


# Plans --------------------------------------------------------------------------------------------------------------


def planned(epsilon=1.0, d=3, n=100, **options):
    facts = TreeFacts((COLUMN,) * d, "CrossEntropyLoss")
    return protection(GatheringOptions(**options), facts, n, range(d), epsilon, 1e-5)


def test_the_distribution_of_a_column_is_that_of_its_budget():
    plan = planned(protect="op_boost", epsilon=3.0, budget="feature")
    assert plan.mechanisms[0].epsilon == 3.0 and plan.epsilon == 3 * 99 / 2 and plan.epsilon_claimed == 3.0
    plan = planned(protect="op_boost", epsilon=3.0)
    assert plan.mechanisms[2].epsilon == pytest.approx(2 * plan.epsilon / 99) and plan.epsilon >= 1.0
    plan = planned(protect="op_boost", variant="adjusting", epsilon=3.0, epsilon_prt=1.0, epsilon_ner=0.25)
    distribution = plan.mechanisms[1]
    assert (
        distribution.epsilon_prt == pytest.approx(4 * distribution.epsilon_ner)
        and distribution.epsilon_pure == plan.epsilon
    )
    assert planned(protect="dp", epsilon=3.0, budget="feature").mechanisms[0].k == 4


@given(st.floats(0.05, 5), st.floats(0.05, 5), st.sampled_from([1, 2, 5, 10]), st.floats(0.01, 50))
def test_a_scaled_distribution_of_adjusting_loses_what_it_may_and_hardly_less(prt, ner, parts, whole):
    scale = adjusting_scale(prt, ner, parts, (1, 20), whole)
    ends = fixed((1, 20))
    assert AdjustedDistanceExponential(scale * prt, scale * ner, parts, ends).epsilon_pure <= whole
    more = AdjustedDistanceExponential(1.00001 * scale * prt, 1.00001 * scale * ner, parts, ends)
    assert more.epsilon_pure > whole


def test_codes_travel_in_the_smallest_integers():
    for size, bits in ((2, 8), (256, 8), (257, 16), (65_536, 16), (65_537, 32)):
        plan = Protection({0: 2, 1: size}, {}, math.inf, math.inf)
        assert plan.code_type((0, 1)) == np.dtype(f"uint{bits}") and plan.code_type((0,)) == np.dtype(np.uint8)
        assert plan.bytes_formula((0, 1), 10) == 10 * 2 * math.ceil(math.log2(size) / 8) or size == 65_537
    assert planned().bytes_formula(range(3), 10) == 4 * 10 * 3


def test_columns_in_the_clear_say_whose_they_are():
    ranks = [coded(np.arange(5.0), "declared")]
    message = message_of(ranks, (0,), Protection({0: 4}, {}, math.inf, math.inf), "passive", Streams(1, "t"))
    assert isinstance(message, Clear) and (message.units, message.owner) == (("features",), "passive")


def test_equal_parts_of_what_was_not_declared_are_refused():
    bare = TreeColumn("age")
    with pytest.raises(CertificationError, match="edges of column 'age'"):
        public_cuts(bare, FORMS["declared"])
    with pytest.raises(CertificationError, match="bounds of column 'age'"):
        public_cuts(bare, FORMS["equal parts"])
    parts = public_cuts(COLUMN, FORMS["equal parts"]).value
    assert len(parts) == 6 and np.allclose(np.diff([-3.0, *parts, 3.0]), 6 / 7)
