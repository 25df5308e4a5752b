"""Columns as codes: what bins hold, that ties are kept, that thresholds mean what codes mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partywise.methods.trees.codes import (
    CodedColumns,
    between,
    dense_ranks,
    from_codes,
    public_bins,
    quantile_bins,
    side_by_side,
)

FLOATS = st.lists(
    st.one_of(st.integers(-3, 3).map(float), st.floats(-1e300, 1e300, allow_nan=False)), min_size=1, max_size=60
)


def by_thresholds(data: CodedColumns, X: np.ndarray) -> np.ndarray:
    """Codes as the raw cuts give them: left of cut j is x <= threshold j."""
    return np.stack([(x[:, None] > cuts[None]).sum(axis=1) for x, cuts in zip(X.T, data.thresholds, strict=True)], 1)


@given(FLOATS, st.integers(2, 9))
def test_codes_keep_order_and_ties_and_thresholds_mean_the_same(values, bins):
    X = np.array(values)[:, None]
    for data in (dense_ranks(X), quantile_bins(X, bins)):
        codes, x = data.codes[:, 0], X[:, 0]
        assert np.array_equal(by_thresholds(data, X), data.codes)
        # Equal values, equal codes; larger values, codes at least as large; every code occurs.
        assert np.all(np.diff(codes[np.argsort(x, kind="stable")]) >= 0)
        assert all(len(set(codes[x == value])) == 1 for value in x)
        assert sorted(set(codes)) == list(range(data.sizes[0])) and data.codes.dtype == np.int32
    assert dense_ranks(X).sizes[0] == len(set(values)) and quantile_bins(X, bins).sizes[0] <= bins


@given(FLOATS, st.integers(2, 9))
def test_bins_by_position_have_equal_counts_whatever_is_tied(values, bins):
    data, x = quantile_bins(np.array(values)[:, None], bins, "position"), np.array(values)
    counts = np.bincount(data.codes[:, 0], minlength=bins)
    assert counts.max() - counts.min() <= 1 and data.sizes[0] == bins and len(data.thresholds[0]) == bins - 1
    order = np.lexsort([np.arange(len(x)), x])
    assert np.all(np.diff(data.codes[order, 0]) >= 0)
    assert np.all(np.diff(data.thresholds[0]) >= 0)


def test_without_ties_both_kinds_of_quantile_bins_are_equal():
    X = np.random.default_rng(3).permutation(103.0 * np.arange(97))[:, None]
    kept, cut = quantile_bins(X, 10), quantile_bins(X, 10, "position")
    assert np.array_equal(kept.codes, cut.codes)
    # By position a value that equals the cut goes right, as the program's x < cut does.
    assert np.array_equal(np.nextafter(kept.thresholds[0], -np.inf), cut.thresholds[0])


def test_ties_by_position_go_right_when_rows_are_scored():
    x = np.array([3.0, 1.0, 1.0, 1.0, 2.0, 1.0])
    halves, ranks = quantile_bins(x[:, None], 2, "position"), dense_ranks(x[:, None], "position")
    assert halves.codes[:, 0].tolist() == [1, 0, 0, 0, 1, 1] and ranks.codes[:, 0].tolist() == [5, 0, 1, 2, 4, 3]
    # The cut at 1 sends all that are 1 right; a cut between rows is the value above it, and 1.5 lies on its left.
    assert halves.thresholds[0].tolist() == [np.nextafter(1.0, 0.0)]
    assert ranks.thresholds[0].tolist() == [np.nextafter(value, 0.0) for value in (1.0, 1.0, 1.0, 2.0, 3.0)]


def test_quantile_edges_are_the_values_at_the_shares():
    x = np.array([0.0] * 70 + [1.0] * 10 + list(range(2, 22)))
    data = quantile_bins(x[:, None], 10)
    # Tenths end at places 10, 20, ...: seven of them in zeros, one in ones, one in the middle of the rest.
    assert np.array_equal(data.thresholds[0], [0.5, 1.5, 11.5])
    assert np.array_equal(np.bincount(data.codes[:, 0]), [70, 10, 10, 10])


def test_declared_bins_are_open_on_the_left_and_may_be_empty():
    X = np.array([[0.5], [1.0], [1.5], [2.0], [9.0]])
    data = public_bins(X, [np.array([1.0, 2.0, 3.0, 4.0])])
    assert data.codes[:, 0].tolist() == [0, 0, 1, 1, 4] and data.sizes.tolist() == [5]
    assert np.array_equal(by_thresholds(data, X), data.codes)


def test_constant_columns_have_one_code_and_no_threshold():
    for data in (dense_ranks(np.full((4, 1), 7.0)), quantile_bins(np.full((4, 1), 7.0), 5)):
        assert data.sizes.tolist() == [1] and not data.codes.any() and data.thresholds[0].size == 0


def test_parts_stand_side_by_side_in_pooled_order():
    X = np.random.default_rng(0).integers(0, 5, (20, 5)).astype(float)
    whole = dense_ranks(X)
    parts = [dense_ranks(X[:, [3, 0]]), dense_ranks(X[:, [4]]), dense_ranks(X[:, [1, 2]])]
    joined = side_by_side(parts, [(3, 0), (4,), (1, 2)])
    assert np.array_equal(joined.codes, whole.codes) and np.array_equal(joined.sizes, whole.sizes)
    assert all(np.array_equal(a, b) for a, b in zip(joined.thresholds, whole.thresholds, strict=True))


def test_codes_of_others_have_no_thresholds():
    data = from_codes(np.zeros((3, 2)), [4, 1])
    assert np.isnan(data.thresholds[0]).tolist() == [True] * 3 and data.thresholds[1].size == 0


@pytest.mark.parametrize(
    ("low", "high"), [(1.0, np.nextafter(1.0, 2.0)), (-1.7e308, 1.7e308), (0.0, 5e-324), (-5e-324, 0.0), (2.0, 2.0)]
)
def test_a_cut_lies_between_its_neighbours_to_the_last_bit(low, high):
    cut = between(np.array([low]), np.array([high]))[0]
    assert low <= cut and (cut < high or low == high)


def test_bins_and_ties_out_of_range_are_refused():
    with pytest.raises(ValueError, match="bins=1 must be at least 2"):
        quantile_bins(np.zeros((3, 1)), 1)
    with pytest.raises(ValueError, match="ties='broken' is unknown"):
        quantile_bins(np.zeros((3, 1)), 2, "broken")
