"""Values that can be read and are doubtful: an error far beyond their bounds, one line a column for others."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from partywise.core.errors import DataMissing
from partywise.data.own.columns import clip_to_bounds
from partywise.data.own.csv import ELSEWHERE, TextTable
from partywise.data.own.grammar import TextForm
from partywise.data.own.plausible import check_bounds, check_label

LINES = [2, 3, 5, 6, 7]


def told(caplog, values, bounds=(0.0, 10.0)):
    """Lines that the check of a column logs."""
    caplog.clear()
    with caplog.at_level(logging.WARNING, "partywise"):
        check_bounds(np.array(values), bounds, "age", "bounds", lambda i: ("shop.csv", LINES[i]))
    return [record.getMessage() for record in caplog.records]


def test_a_value_beyond_its_bounds_by_more_than_their_width_is_an_error():
    for value, says in (
        (20.5, "age is 20.5 in row 5, beyond"),
        (-9999.0, "-9999 in row 5, which often stands for a mis"),
    ):
        with pytest.raises(DataMissing, match=rf"shop\.csv: .*{says}.*\[0, 10\] by more than their width|{says}"):
            check_bounds(
                np.array([1, 2, value, 4, 5.0]), (0.0, 10.0), "age", "bounds", lambda i: ("shop.csv", LINES[i])
            )


def test_others_are_counted_in_one_line(caplog):
    assert told(caplog, [0, 10, 5, 4, 1.0]) == []
    expected = "own data: shop.csv: age is outside its bounds [0, 10] in 2 of 5 rows, which count as the nearest end"
    (line,) = told(caplog, [-1, 20, 5, 4, 1.0])
    assert line.startswith(expected)
    with pytest.raises(DataMissing, match=r"outside its bounds \[0, 10\] in 3 of 5 rows .* is it in another unit"):
        told(caplog, [11, 12, 13, 4, 1.0])


def test_marks_of_missing_values_inside_wide_bounds_are_named_where_they_are_far(caplog):
    (line,) = told(caplog, [999, 12, 999, 30, 25.0], (0.0, 1000.0))
    assert line == (
        "own data: shop.csv: age is 999 in 2 of 5 rows (row 2, 5), far from all others: does it stand for a missing "
        "value? Fill it in, or leave these records out."
    )
    assert told(caplog, [999, 950, 900, 400, 25.0], (0.0, 1000.0)) == []


def test_labels_are_looked_at_alike(caplog):
    table = TextTable("shop.csv", ("y",), [[str(value)] for value in range(5)], LINES, TextForm())
    with caplog.at_level(logging.WARNING, "partywise"):
        check_label(np.array([1, 2, 3, 4, -999.0]), table, "y", None)
    assert ["y is -999 in 1 of 5 rows (row 7)" in record.getMessage() for record in caplog.records] == [True]
    with pytest.raises(DataMissing, match=r"y is -999 in row 7, .* beyond its response_bounds \[0, 5\] by more than"):
        check_label(np.array([1, 2, 3, 4, -999.0]), table, "y", (0.0, 5.0))


def test_rows_in_the_place_of_others_and_of_other_files_are_not_counted(caplog):
    files, raw = ("north.csv", f"{ELSEWHERE}south)"), [np.array([-1, 2, 3, 4, 999.0]), np.array([0.0, 2000.0] * 20)]
    tables = [
        TextTable(file, ("a",), [], list(range(2, 2 + len(one))), TextForm())
        for file, one in zip(files, raw, strict=True)
    ]
    with caplog.at_level(logging.WARNING, "partywise"):
        assert len(clip_to_bounds(raw, (0.0, 2000.0), tables, "a", "bounds")) == 45
    first, second = (record.getMessage() for record in caplog.records)
    assert "north.csv: a is outside its bounds [0, 2000] in 1 of 5 rows" in first
    assert "north.csv: a is 999 in 1 of 5 rows (row 6), far from all others" in second
    # One hospital of many in another unit.
    raw[0] = np.array([-1.0, -2.0, -3.0, 4.0, 5.0])
    with pytest.raises(DataMissing, match=r"^north.csv: a is outside its bounds \[0, 2000\] in 3 of 5 rows"):
        clip_to_bounds(raw, (0.0, 2000.0), tables, "a", "bounds")
