"""Bad input of one party: a named error with party, column, value and remedy."""

from __future__ import annotations

import numpy as np
import pytest

from partywise.alignment.rows import columns_of
from partywise.methods.glm.records import response_of

ROWS = np.arange(4)


@pytest.mark.parametrize(
    ("changes", "family", "words"),
    [
        ({"y": np.array([0, 1, 2, 1])}, "binomial", "y of 'clinic' has the value 2: family 'binomial' takes 0 and 1"),
        ({"y": np.array([0, 1, np.nan, 1])}, "gaussian", "y of 'clinic' has the value nan: fill or drop"),
        ({"y": np.ones((4, 1))}, "gaussian", r"y of 'clinic' has shape \(4, 1\)"),
        ({"y": np.array(["a"] * 4)}, "gaussian", "y of 'clinic' has shape .* and type <U1: give"),
        ({"y": np.ones(3)}, "gaussian", "y of 'clinic' has 3 rows"),
        ({"weights": np.array([1, 1, -1, 1])}, "gaussian", "weights of 'clinic' lie between -1 and 1: give numbers"),
        ({"weights": np.zeros(4)}, "gaussian", "weights of 'clinic' lie between 0 and 0: .* some of them positive"),
        ({"weights": np.array([1, np.inf, 1, 1])}, "gaussian", "weights of 'clinic' has the value inf"),
        ({"offset": np.array([1, np.nan, 1, 1])}, "gaussian", "offset of 'clinic' has the value nan"),
        ({"offset": np.ones(9)[:3]}, "gaussian", "offset of 'clinic' has 3 rows"),
    ],
)
def test_a_response_that_is_wrong_is_named(changes, family, words):
    with pytest.raises(ValueError, match=words):
        response_of({"y": np.array([1.0, 2.0, 3.0, 5.0])} | changes, ROWS, family, "clinic")


def test_the_active_party_needs_a_response_and_records():
    with pytest.raises(ValueError, match="'clinic' is the active party and holds no y"):
        response_of({}, ROWS, "gaussian", "clinic")
    with pytest.raises(ValueError, match="y of 'clinic': no record is used"):
        response_of({"y": np.ones(3)}, ROWS[:0], "gaussian", "clinic")


def test_used_rows_come_in_their_order():
    block = {"X": np.arange(8).reshape(4, 2), "y": np.array([5.0, 6.0, 7.0, 8.0]), "weights": np.array([0, 1, 2, 3])}
    rows = np.array([3, 0])
    assert columns_of(block, rows, ["a", "b"], "clinic").tolist() == [[6, 7], [0, 1]]
    found = response_of(block, rows, "gaussian", "clinic")
    assert found.y.tolist() == [8, 5] and found.weights.tolist() == [3, 0] and found.offset is None
    assert found.n_observations == 1 and found.shift.tolist() == [0, 0]
