"""Declared columns as columns of numbers."""

from __future__ import annotations

import numpy as np
import pytest

from partywise.datasets.own.grammar import ColumnBlock
from partywise.datasets.own.indicators import indicator_names, indicators, runs, width
from partywise.datasets.own.table_files import TableFile

AGE = ColumnBlock(name="age", bounds=(0.0, 100.0))
BLOOD = ColumnBlock(name="blood", levels=("0", "A", "B"))


def test_a_category_is_an_indicator_of_each_level_but_the_first():
    columns = indicators(np.array([2.0, 0.0, 1.0]), BLOOD)
    assert indicator_names(BLOOD) == ["blood_A", "blood_B"] and width(BLOOD) == len(columns) == 2
    assert np.column_stack(columns).tolist() == [[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]


def test_a_number_stays_as_it_is():
    ages = np.array([30.0, 40.0])
    assert indicator_names(AGE) == ["age"] and width(AGE) == 1
    assert [column.tolist() for column in indicators(ages, AGE)] == [[30.0, 40.0]]


def test_parties_hold_what_the_columns_of_their_files_become():
    files = [TableFile(party="a", file="a.csv", columns=(BLOOD,)), TableFile(party="b", file="b.csv", columns=(AGE,))]
    assert runs(files, 2) == ((0, 1), (2,))
    with pytest.raises(ValueError, match="parties is 3: the settings name 2 files"):
        runs(files, 3)
