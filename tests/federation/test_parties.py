"""Parties and splits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partywise.federation.folds import Fold
from partywise.federation.parties import Party, split_columns, split_rows

COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n)))


@given(COUNTS, st.sampled_from(["round_robin", "contiguous"]))
def test_a_column_split_is_a_partition_of_even_groups(counts, how):
    groups = split_columns(*counts, how)
    assert sorted(column for group in groups for column in group) == list(range(counts[0]))
    assert len(groups) == counts[1]
    assert max(map(len, groups)) - min(map(len, groups)) <= 1


@given(COUNTS)
def test_a_row_split_is_a_partition_of_even_runs(counts):
    runs = split_rows(*counts)
    assert [row for run in runs for row in run] == list(range(counts[0]))
    assert len(runs) == counts[1]
    assert max(map(len, runs)) - min(map(len, runs)) <= 1


def test_the_three_splits():
    assert split_columns(5, 2) == ((0, 2, 4), (1, 3))
    assert split_columns(5, 2, "contiguous") == ((0, 1), (2, 3, 4))
    assert split_columns(3, 2, "explicit", groups=[[2], [1, 0]]) == ((2,), (1, 0))
    assert split_columns(3, 1) == ((0, 1, 2),)
    assert split_columns(3, 3) == ((0,), (1,), (2,))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([[0], [1]], "not a partition of 0..2"),
        ([[0, 1], [1, 2]], "not a partition"),
        ([[0, 1, 2], []], "not a partition"),
        ([[0, 1], [3]], "not a partition"),
        ([[0, 1, 2]], "1 groups for n_parties=2"),
        (None, "groups=None with how='explicit'"),
    ],
)
def test_groups_that_are_no_partition_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        split_columns(3, 2, "explicit", groups=groups)


def test_counts_and_options_out_of_range_are_refused():
    with pytest.raises(ValueError, match="n_parties=0"):
        split_columns(3, 0)
    with pytest.raises(ValueError, match="n_parties=4 exceeds n_columns=3"):
        split_columns(3, 4)
    with pytest.raises(ValueError, match="n_parties=4 exceeds n_rows=3"):
        split_rows(3, 4)
    with pytest.raises(ValueError, match="how='random'"):
        split_columns(3, 2, "random")
    with pytest.raises(ValueError, match="groups go with how='explicit'"):
        split_columns(3, 2, "contiguous", groups=[[0], [1, 2]])


def test_a_block_is_read_only_and_leaves_its_source_alone():
    source = np.zeros((2, 2))
    party = Party("a", "client", {"X": source}, columns=[np.int64(3), 1])
    assert party.columns == (3, 1)
    with pytest.raises(ValueError, match="read-only"):
        party.block["X"][0, 0] = 1
    with pytest.raises(TypeError):
        party.block["Y"] = source
    source[0, 0] = 1  # the source itself stays writable


BLOCKS = [
    np.zeros((2, 2)),
    np.zeros((4, 4)).T[::2],
    np.zeros((0, 3)),
    np.float64(1),
    np.array(["a", "bc"]),
    np.array([None, "a"]),
    np.array(["2020-01-01"], "M8[D]"),
]


@pytest.mark.parametrize("source", BLOCKS)
def test_the_write_flag_of_a_block_cannot_be_set(source):
    block = Party("a", "client", {"X": source}).block["X"]
    assert np.array_equal(block, source) and block.dtype == source.dtype
    assert block.strides == source.strides or not source.size
    with pytest.raises(ValueError, match="WRITEABLE"):
        block.flags.writeable = True


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"name": ""}, "name=''"),
        ({"name": "a\nb"}, r"name='a\\nb' of a party: line separators"),
        ({"name": "a\u2028b"}, "name=.* of a party: line separators"),
        ({"name": "@a"}, "name='@a' of a party: a spreadsheet takes what begins so for a formula"),
        ({"name": "a;b"}, "name='a;b' of a party: ';' separates names"),
        ({"role": "guest"}, "role='guest'"),
        ({"columns": (1, 1)}, "columns="),
        ({"columns": (-1,)}, "columns="),
    ],
)
def test_bad_parties_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Party(**{"name": "a", "role": "passive", "block": {}, **fields})


@given(st.lists(st.integers(-1, 3), min_size=2, max_size=60), st.integers(0, 3))
def test_halves_and_chunks_partition_the_training_records(of, held_out):
    of = np.array(of)
    fold = Fold(of, held_out, 4)
    a, b = fold.half(0), fold.half(1)
    assert not np.any(a & b) and np.array_equal(a | b, fold.train)
    assert np.array_equal(fold.train, of != held_out) or np.all(of == held_out)
    chunks = [fold.chunk(f, h) for f in fold.training_folds for h in (0, 1)]
    assert np.array_equal(np.sum(chunks, axis=0), fold.train.astype(int))
    for f in fold.training_folds:
        assert abs(int(fold.chunk(f, 0).sum()) - int(fold.chunk(f, 1).sum())) <= 1
    # Halves are a property of the record: no other held-out fold moves one.
    assert np.array_equal(fold.parity, Fold(of, (held_out + 1) % 4, 4).parity)


def test_parity_counts_inside_each_fold():
    fold = Fold(np.array([0, 1, 0, 0, 1, 1, -1, -1]), 1, 2)
    assert list(fold.parity) == [0, 0, 1, 0, 1, 0, 0, 1]
    assert list(np.flatnonzero(fold.train)) == [0, 2, 3, 6, 7]
    assert list(np.flatnonzero(fold.half(0))) == [0, 3, 6] and list(np.flatnonzero(fold.half(1))) == [2, 7]
    assert fold.training_folds == (-1, 0)


@pytest.mark.parametrize("n", [1, 7])
def test_a_single_fold_trains_on_every_record(n):
    fold = Fold(np.zeros(n, dtype=int), 0, 1)
    assert fold.train.all() and fold.training_folds == (0,)


def test_fresh_test_records_never_train():
    fold = Fold(np.array([-1, -1, -1, 0, 0]), 0, 1)
    assert list(fold.train) == [True, True, True, False, False] and fold.training_folds == (-1,)
    assert list(fold.half(0)) == [True, False, True, False, False]
