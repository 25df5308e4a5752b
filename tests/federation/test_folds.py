"""The public assignment of records: folds, halves and chunks partition what they should."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partywise.federation.folds import Fold


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
