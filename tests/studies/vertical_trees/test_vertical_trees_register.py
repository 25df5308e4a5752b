"""Facts of the register that could not fail otherwise: each differs where the sentence is false."""

from __future__ import annotations

from math import exp

import pytest

from partywise.studies.vertical_trees.register.facts import bucket_share, open_indicators, stay_probability


def test_indicators_cross_openly_unless_they_are_shared():
    assert open_indicators("plain") > 0 and open_indicators("ss") == 0


@pytest.mark.parametrize(("buckets", "epsilon"), [(50, 3.0), (100, 10.0)])
def test_an_index_stays_with_the_printed_probability(buckets, epsilon):
    assert stay_probability(buckets, epsilon) == pytest.approx(exp(epsilon) / (exp(epsilon) + buckets - 1), rel=1e-12)


def test_buckets_are_fewer_codes_than_records():
    assert bucket_share(50, 1000) == pytest.approx(0.05)
    assert bucket_share(50, 50) == 1
