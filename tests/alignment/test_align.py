"""`partywise.align`: records of several parties meet, in arrays as they come, with what it cost."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import partywise as pw
from partywise.alignment.rows import columns_of
from partywise.core.randomness import stream

MODES = ("psi", "hmac", "sha256")


def aligned(*given, **options):
    """What `align` returns; of published digests without its warning."""
    with warnings.catch_warnings():
        if "sha256" in given:
            warnings.simplefilter("ignore")
        return pw.align(*given, **options)


def orders() -> dict[str, np.ndarray]:
    """Three parties with numbers of persons in orders of their own, as whole numbers of several kinds."""
    rng = stream(1, "orders")
    return {
        "hospital": rng.permutation(50),
        "insurer": pd.Series(rng.permutation(60) + 20, dtype="int32"),
        "registry": [f"{number:03d}" for number in rng.permutation(90) + 10],
    }


@pytest.mark.parametrize("mode", MODES)
def test_rows_belong_to_one_person_at_all_parties(mode):
    ids = orders()
    found = aligned(ids, mode, as_text="03d", rng=1)
    persons = [np.array([int(value) for value in own])[found.rows[name]] for name, own in ids.items()]
    assert all(np.array_equal(own, persons[0]) for own in persons)
    assert sorted(persons[0]) == list(range(20, 50)) and found.n == 30
    assert all(rows.dtype == np.int64 for rows in found.rows.values())


@pytest.mark.parametrize("mode", MODES)
def test_rows_count_all_records_those_left_out_included(mode):
    ids = {"a": ["x", None, "y", "x", "z"], "b": ["z ", "Y", "q", ""]}
    found = aligned(ids, mode, normalise=True, duplicates="drop", missing="drop", rng=1)
    pairs = sorted(zip(found.rows["a"].tolist(), found.rows["b"].tolist(), strict=True))
    assert pairs == [(2, 1), (4, 0)]


def test_numbers_and_bytes_are_those_of_the_messages():
    ids = {"a": list("abcdef"), "b": list("defgh"), "c": list("defxyzu")}
    found = pw.align(ids, rng=1)
    assert (found.n, found.exponentiations, found.hashes) == (3, 3 * 18, 18)
    for name, size in found.received_bytes.items():
        assert size == sum(row["bytes"] for row in found.transcript if row["receiver"] == name)
    assert found.received_bytes["analyst"] == 32 * 18 and found.received_bytes["a"] == 32 * (5 + 7) + 4 * 3 + 8
    assert found.ledger.total("analyst", "row", 1e-5).epsilon_certified == float("inf")
    keyed = pw.align(ids, "hmac", rng=1)
    assert (keyed.exponentiations, keyed.hashes) == (0, 18)


def test_published_digests_are_warned_of_and_nothing_else_is():
    ids = {"a": ["x", "y"], "b": ["y", "x"]}
    with pytest.warns(UserWarning, match="sends hashes of identifiers, as published"):
        found = pw.align(ids, "sha256", rng=1)
    assert found.rows["a"].tolist() == [0, 1] and found.rows["b"].tolist() == [1, 0]


def test_the_systems_generator_aligns_alike():
    ids = orders()
    seeded, secure = (pw.align(ids, as_text="03d", rng=rng) for rng in (1, pw.SecureStreams(1)))
    pairs = [sorted(zip(*(rows.tolist() for rows in found.rows.values()), strict=True)) for found in (seeded, secure)]
    assert pairs[0] == pairs[1]
    again = pw.align(ids, as_text="03d", rng=1)
    assert all(np.array_equal(again.rows[name], seeded.rows[name]) for name in ids)


@pytest.mark.parametrize(
    ("ids", "options", "message"),
    [
        ({"a": ["x"], "b": ["x"]}, {"mode": "md5"}, "mode='md5' of an alignment is unknown"),
        ({"a": ["x"]}, {}, "identifiers has 1 parties"),
        ({"a": ["x"], "b": [1]}, {}, "1 of the 1 identifiers of 'b' are whole numbers"),
        ({"a": ["x"], "b": ["y"]}, {}, "no identifier is common to all of a, b"),
        ({"a": ["x"], "b": ["x"]}, {"missing": "first"}, "missing is 'first'"),
        ({"a": ["x"], "analyst": ["x"]}, {}, "distinct names"),
    ],
)
def test_bad_input_is_named(ids, options, message):
    with pytest.raises(ValueError, match=message):
        pw.align(ids, **options, rng=1)


def test_a_source_of_randomness_must_be_given():
    with pytest.raises(TypeError, match="rng"):
        pw.align({"a": ["x"], "b": ["x"]})
    with pytest.raises(TypeError, match="rng=None"):
        pw.align({"a": ["x"], "b": ["x"]}, rng=None)


def test_parties_without_names_are_named():
    with pytest.raises(
        TypeError, match="identifiers is a list: give a dict, the identifiers of each party by its name"
    ):
        pw.align([["x"], ["x"]], rng=1)


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
