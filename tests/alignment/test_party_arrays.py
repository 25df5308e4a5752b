"""Columns of one party that are wrong: a named error with party, column, value and remedy."""

from __future__ import annotations

import numpy as np
import pytest

from partywise.alignment.rows import columns_of

ROWS = np.arange(4)


def with_value(value):
    X = np.arange(8.0).reshape(4, 2)
    X[2, 1] = value
    return X


@pytest.mark.parametrize(
    ("X", "names", "words"),
    [
        (with_value(np.nan), "ab", "column 'b' of 'clinic' has the value nan in record 2: fill or drop"),
        (with_value(-np.inf), "ab", "column 'b' of 'clinic' has the value -inf in record 2"),
        (np.array([["x", "y"]] * 4), "ab", "X of 'clinic' holds <U1 values: encode them as numbers"),
        (np.empty((4, 0)), "a", "X of 'clinic' has shape .4, 0.: give a column"),
        (np.ones((4, 2)), "abc", "give a column for each of its names"),
        (np.ones((3, 2)), "ab", "X of 'clinic' has 3 rows, record 3 is used: give all parties the same records"),
    ],
)
def test_columns_that_are_wrong_are_named(X, names, words):
    with pytest.raises(ValueError, match=words):
        columns_of({"X": X}, ROWS, list(names), "clinic")


def test_a_party_of_the_response_alone_has_no_columns():
    assert columns_of({"X": np.empty((4, 0))}, ROWS, [], "clinic").shape == (len(ROWS), 0)
