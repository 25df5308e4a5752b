"""Declared columns as columns of numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from partywise.data.own.columns import indicators
from partywise.data.own.grammar import ColumnBlock
from partywise.data.own.settings import TableFile
from partywise.studies.vertical_linear.own_settings import LinearTableSettings
from partywise.studies.vertical_trees.own_settings import TreeTableSettings

AGE = ColumnBlock(name="age", bounds=(0.0, 100.0))
BLOOD = ColumnBlock(name="blood", levels=("0", "A", "B"))


def test_a_category_is_an_indicator_of_each_level_but_the_first():
    columns = indicators(np.array([2.0, 0.0, 1.0]), BLOOD)
    assert BLOOD.names == ("blood = A", "blood = B") and BLOOD.width == len(columns) == 2
    assert np.column_stack(columns).tolist() == [[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]


def test_a_number_stays_as_it_is():
    ages = np.array([30.0, 40.0])
    assert AGE.names == ("age",) and replace(AGE, unit="years").names == ("age (years)",) and AGE.width == 1
    assert [column.tolist() for column in indicators(ages, AGE)] == [[30.0, 40.0]]


@pytest.mark.parametrize(("kind", "groups"), [(LinearTableSettings, ((0, 1), (2,))), (TreeTableSettings, ((0,), (1,)))])
def test_parties_hold_what_the_columns_of_their_files_become(kind, groups):
    files = (TableFile(party="a", file="a.csv", columns=(BLOOD,)), TableFile(party="b", file="b.csv", columns=(AGE,)))
    settings = kind(id="id", tables=files, response="late", response_party="b")
    assert settings.groups(2) == groups and settings.n_columns == groups[1][0] + 1
    assert settings.column_names == (
        ("blood = A", "blood = B", "age") if kind is LinearTableSettings else ("blood", "age")
    )
    with pytest.raises(ValueError, match="parties is 3: the settings name 2 files"):
        settings.groups(3)
