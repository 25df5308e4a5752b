"""What one record moves in slices, bins, bins and votes: never more than the bound, and adversaries reach it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fixed import fixed
from partywise.core.randomness import stream
from partywise.privacy.statistics.counts import counts, membership
from partywise.privacy.statistics.records import entries
from partywise.privacy.statistics.slices import Quantiles, bin_index, slice_means
from whole_moves import squared_move

ENTRIES = st.floats(-1e6, 1e6)
RADII = st.floats(1e-3, 1e3)
ROUNDING = 1 + 1e-12
CUTS = fixed((-10.0, 0.0, 2.0))


def pairs(n, p):
    """Two data sets (x, y) that differ in one record; responses often tie."""
    x, y = arrays(float, (n, p), elements=ENTRIES), arrays(float, n, elements=ENTRIES | st.integers(-2, 2).map(float))
    record = st.tuples(arrays(float, p, elements=ENTRIES), ENTRIES | st.integers(-2, 2).map(float))

    def replaced(x, y, record, i):
        other_x, other_y = x.copy(), y.copy()
        other_x[i], other_y[i] = record
        return x, y, other_x, other_y

    return st.builds(replaced, x, y, record, st.integers(0, n - 1))


def moved(one, other):
    assert one.certificate.value == other.certificate.value
    return float(np.linalg.norm(one.value - other.value))


@given(pairs(9, 2), RADII, st.sampled_from([CUTS, Quantiles(1), Quantiles(3), Quantiles(4)]))
def test_slice_means_move_by_at_most_the_bound(data, size, edges):
    x, y, other_x, other_y = data
    for clip in ({"radius": fixed(size)}, {"box": fixed(size)}):
        one, other = (slice_means(*pair, edges, **clip) for pair in ((x, y), (other_x, other_y)))
        assert moved(one, other) <= one.certificate.value * ROUNDING


def alternating(n, n_slices):
    """Neighbours for quantile slices: the record at the bottom goes to the top, and every slice swaps +1 for -1."""
    y = np.arange(n, dtype=float)
    x = np.ones((n, 1))
    # The first record above each cut enters the slice below; signs alternate so that nothing cancels.
    firsts = n // n_slices * np.arange(1, n_slices)
    signs = -((-1.0) ** np.arange(n_slices + 1))
    x[0], x[firsts, 0] = signs[0], signs[1:n_slices]
    other_x, other_y = x.copy(), y.copy()
    other_x[0], other_y[0] = signs[n_slices], n + 1.0
    return x, y, other_x, other_y


@pytest.mark.parametrize("n_slices", [2, 3, 5, 8, 10])
def test_quantile_slices_reach_the_square_root_of_their_number(n_slices):
    n = 40 * n_slices
    x, y, other_x, other_y = alternating(n, n_slices)
    one, other = (slice_means(*pair, Quantiles(n_slices), radius=fixed(1.0)) for pair in ((x, y), (other_x, other_y)))
    assert one.certificate.value == pytest.approx(2 * math.sqrt(n_slices) / n, rel=1e-14)
    assert 1 - 1e-12 <= moved(one, other) / one.certificate.value <= ROUNDING
    # The same neighbours with the cuts of the first data set held fixed stay within the public bound.
    cuts = np.quantile(y, np.arange(1, n_slices) / n_slices)
    held = [slice_means(*pair, fixed(cuts), radius=fixed(1.0)) for pair in ((x, y), (other_x, other_y))]
    assert moved(*held) <= held[0].certificate.value * ROUNDING < one.certificate.value


def test_the_published_bound_fails_for_quantile_slices():
    one, other = alternating(320, 8)[:2], alternating(320, 8)[2:]
    found = moved(*(slice_means(*pair, Quantiles(8), radius=fixed(1.0)) for pair in (one, other)))
    published = slice_means(*one, fixed((3.0, 5.0)), radius=fixed(1.0)).certificate.value
    assert found / published == pytest.approx(2.828, abs=5e-4)


@pytest.mark.parametrize("clip", ["radius", "box"])
def test_public_slices_reach_their_bound(clip):
    x, y = stream(1, "x").standard_normal((12, 3)), stream(1, "y").standard_normal(12)
    other = x.copy()
    x[4], other[4] = 1e6, -1e6
    one, two = (slice_means(z, y, fixed((0.0,)), **{clip: fixed(1.5)}) for z in (x, other))
    assert 1 - 1e-12 <= moved(one, two) / one.certificate.value <= ROUNDING
    length = 1.5 if clip == "radius" else 1.5 * math.sqrt(3)
    assert one.certificate.value == pytest.approx(2 * length / 12, rel=1e-14)
    assert one.clip_share > 0 and one.certificate.unit == "row"
    assert one.certificate.depends_on == {"label", "features"}


def test_random_search_finds_at_least_seven_tenths_of_the_public_bound():
    rng, best = stream(1, "search"), 0.0
    for _ in range(2000):
        x, y = rng.standard_normal((5, 2)), rng.standard_normal(5)
        other = x.copy()
        other[0] = rng.standard_normal(2)
        one, two = (slice_means(z, y, fixed((0.0,)), radius=fixed(1.0)) for z in (x, other))
        best = max(best, moved(one, two) / one.certificate.value)
    assert 0.7 <= best <= ROUNDING


def test_slice_means_are_means_over_all_records():
    x, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([0.0, 1.0, 2.0, 3.0])
    assert slice_means(x, y, fixed((1.0, 2.5)), radius=fixed(10.0)).value.tolist() == [[0.75], [0.75], [1.0]]
    assert slice_means(x, y, fixed((1.0, 2.5)), radius=fixed(3.0)).value.tolist() == [[0.75], [0.75], [0.75]]
    assert slice_means(x, y, fixed((1.0, 2.5)), box=fixed(2.0)).clip_share == 0.5
    assert slice_means(x, y, Quantiles(2), radius=fixed(10.0)).value.tolist() == [[0.75], [1.75]]


@given(st.integers(2, 60), st.integers(1, 9), st.integers(0, 50))
def test_slices_between_quantiles_are_those_of_linear_interpolation(n, n_slices, seed):
    values = stream(seed, "y").permutation(n) ** 2.0
    cuts = np.unique(np.quantile(values, np.arange(1, n_slices) / n_slices))
    by_number = bin_index(values, Quantiles(n_slices))
    if len(cuts) == n_slices - 1:
        by_cuts = np.searchsorted(cuts, values, side="left")
        # A cut that falls on a record may round to either side of it.
        between = ~np.isclose(values[:, None], cuts).any(axis=1)
        assert np.array_equal(by_number.value[between], by_cuts[between])
        assert by_number.certificate.value == min(n_slices, n)


def test_quantiles_of_ties_are_cut_by_position():
    tied = np.r_[np.zeros(60), np.arange(1.0, 41)]
    assert np.bincount(bin_index(tied, Quantiles(4)).value.astype(int)).tolist() == [25, 25, 25, 25]


@given(pairs(8, 2), st.sampled_from([CUTS, Quantiles(3), Quantiles(20)]))
def test_bin_indices_move_by_at_most_the_bound(data, edges):
    x, _, other_x, _ = data
    one, other = (bin_index(z, edges) for z in (x, other_x))
    assert np.count_nonzero(one.value != other.value) <= one.certificate.value == other.certificate.value
    assert one.certificate.norm == "hamming"


@pytest.mark.parametrize(("n", "b"), [(150, 50), (400, 8), (5, 20), (1, 3)])
def test_one_record_moves_as_many_indices_as_there_are_quantile_bins(n, b):
    values = np.arange(n, dtype=float)
    other = values.copy()
    other[0] = n + 1.0
    one, two = (bin_index(z, Quantiles(b)) for z in (values, other))
    found = np.count_nonzero(one.value != two.value)
    assert one.certificate.value == min(b, n)
    assert found == min(b, n) or n == 1
    both = np.column_stack([values, values])
    assert bin_index(both, Quantiles(b)).certificate.value == 2 * min(b, n)


def test_public_bins_move_one_index_a_feature():
    values = np.zeros((4, 3))
    other = values.copy()
    other[2] = 5.0
    one, two = (bin_index(z, fixed((1.0, 2.0)), unit="row") for z in (values, other))
    assert np.count_nonzero(one.value != two.value) == 3 == one.certificate.value
    assert one.certificate.depends_on == {"label", "features"}
    assert bin_index(values[:, 0], fixed((1.0,))).certificate.depends_on == {"features"}


@given(arrays(int, 12, elements=st.integers(0, 4)), st.integers(0, 11), st.integers(0, 4))
def test_counts_move_by_at_most_the_bound(indices, place, new):
    other = indices.copy()
    other[place] = new
    one, two = (counts(i, fixed(5)) for i in (indices, other))
    assert moved(one, two) in (0.0, math.sqrt(2)) and one.certificate.value == math.sqrt(2)
    shorter = counts(np.delete(indices, place), fixed(5), relation="add_remove")
    assert one.certificate.grid == 1.0
    assert moved(counts(indices, fixed(5), relation="add_remove"), shorter) == 1.0 == shorter.certificate.value


@given(st.sets(st.integers(0, 6), max_size=4), st.sets(st.integers(0, 6), max_size=4))
def test_votes_move_by_at_most_the_bound(first, second):
    one, two = (membership(sorted(s), 7, fixed(4)) for s in (first, second))
    assert squared_move(one, two) <= one.squares == 7


def test_disjoint_sets_reach_the_bound_of_a_vote():
    one, two = membership([0, 1, 2], 30, fixed(3)), membership([7, 8, 9], 30, fixed(3))
    assert squared_move(one, two) == one.squares == 6
    whole = membership([0, 1, 2, 3], 4, fixed(4)), membership([], 4, fixed(4))
    assert squared_move(*whole) == whole[0].squares == 4 and whole[0].certificate.value == 2.0


def test_entries_state_how_many_a_unit_holds():
    label = entries([0, 1]).certificate
    assert (label.norm, label.value, label.unit, label.relation) == ("hamming", 1.0, "label", "label_flip")
    row = entries([0.5, 1], unit="row", moved=fixed(2)).certificate
    assert (row.value, row.relation, row.depends_on) == (2.0, "replace_one", {"label", "features"})


X, Y = np.ones((4, 2)), np.arange(4.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: slice_means(X, Y, fixed((1.0,))), "exactly one way to clip"),
        (lambda: slice_means(X, Y, fixed((1.0,)), radius=fixed(1.0), box=fixed(1.0)), "exactly one way to clip"),
        (lambda: slice_means(X, Y, fixed((1.0,)), box=fixed(0.0)), "box=0.0"),
        (lambda: slice_means(X, Y, fixed((1.0,)), radius=fixed(-1.0)), "radius=-1.0"),
        (lambda: slice_means(np.full((4, 2), np.nan), Y, fixed((1.0,)), box=fixed(1.0)), "finite"),
        (lambda: slice_means(X, Y[:3], fixed((1.0,)), radius=fixed(1.0)), "one response a record"),
        (lambda: slice_means(X[:0], Y[:0], fixed((1.0,)), radius=fixed(1.0)), "one response a record"),
        (lambda: slice_means(X, Y, fixed(3), radius=fixed(1.0)), "increasing cuts"),
        (lambda: slice_means(X, Y, fixed((2.0, 1.0)), radius=fixed(1.0)), "increasing"),
        (lambda: slice_means(X, Y, Quantiles(0), radius=fixed(1.0)), "whole number of slices"),
        (lambda: slice_means(X, [np.inf] * 4, fixed((1.0,)), radius=fixed(1.0)), "y of shape"),
        (lambda: bin_index(np.ones((2, 2, 2)), fixed((1.0,))), "values of shape"),
        (lambda: bin_index([], fixed((1.0,))), "values of shape"),
        (lambda: counts([0, 5], fixed(5)), "0..4"),
        (lambda: counts([0.5], fixed(5)), "0..4"),
        (lambda: counts([0], fixed(5), relation="label_flip"), "relation='label_flip'"),
        (lambda: membership([0, 0], 5, fixed(3)), "different indices"),
        (lambda: membership([0, 1], 5, fixed(1)), "max_size=1"),
        (lambda: membership([5], 5, fixed(1)), "outside 0..4"),
    ],
)
def test_bad_slices_and_sets_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
