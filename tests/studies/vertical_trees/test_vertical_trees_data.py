"""Replicates of vertical trees: the generator, who holds what, which rows test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partywise.core.errors import DataMissing
from partywise.core.randomness import stream
from partywise.data.column_facts import ColumnFacts
from partywise.data.columns.settings import ColumnDatasetSettings
from partywise.data.tables import Table
from partywise.studies.vertical_trees import cases
from partywise.studies.vertical_trees.cases import draw_generated, draw_score
from partywise.studies.vertical_trees.data import TreeData, folds, split
from partywise.studies.vertical_trees.study import STUDY, TreeGeneratedSettings


def rng_for(*names, shared=False):
    return stream(7, "data", 0, *names)


def made(**settings) -> tuple[TreeData, TreeGeneratedSettings]:
    chosen = TreeGeneratedSettings(**settings)
    return draw_generated(chosen, None, rng_for, Path()), chosen


def test_the_score_is_standardised_and_both_halves_carry_it():
    X, score = draw_score(200_000, 14, stream(7, "score"))
    assert abs(score.mean()) < 0.01 and abs(score.std() - 1) < 0.01
    explained = []
    for half in (X[:, :7], X[:, 7:]):
        design = np.column_stack([np.ones(len(half)), half])
        fitted = design @ np.linalg.lstsq(design, score, rcond=None)[0]
        explained.append(fitted.var() / score.var())
    assert min(explained) > 0.25 and max(explained) / min(explained) < 1.2


def test_declared_edges_and_bounds_hold_the_generated_values():
    data, _ = made(n=500, d=9)
    facts = data.public()
    assert [column.name for column in facts.columns] == [f"x{j}" for j in range(9)]
    for j, column in enumerate(facts.columns):
        low, high = column.bounds.value
        assert low <= data.X[:, j].min() and data.X[:, j].max() <= high
        bins = np.searchsorted(column.edges.value, data.X[:, j])
        assert set(bins) == set(range(len(column.edges.value) + 1))
    assert (data.X[:, 2] == np.floor(data.X[:, 2])).all()


def test_regression_has_the_signal_that_is_set():
    data, _ = made(n=20_000, loss="RegressionMSELoss", signal=3.0)
    assert data.criterion == "RegressionMSELoss" and abs(data.y.std() - np.sqrt(10)) < 0.05
    labels = made(n=1000)[0].y
    assert set(labels) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("settings", "count", "columns", "roles"),
    [
        ({"d": 5}, 2, [(0, 1), (2, 3, 4)], ["passive 1", "active"]),
        ({"d": 5, "active": "first"}, 3, [(0,), (1, 2), (3, 4)], ["active", "passive 1", "passive 2"]),
        ({"d": 5, "dims": (4, 5)}, 2, [(0, 1, 2, 3), (4,)], ["passive 1", "active"]),
        ({"d": 5, "dims": (4, 5)}, 3, [(0,), (1, 2), (3, 4)], ["passive 1", "passive 2", "active"]),
        ({"d": 3}, 3, [(0,), (1,), (2,)], ["passive 1", "passive 2", "active"]),
    ],
)
def test_columns_are_dealt_in_order_and_one_party_has_the_labels(settings, count, columns, roles):
    data, chosen = made(n=40, **settings)
    parties = split(data, count, None, chosen)
    assert [party.columns for party in parties] == columns and [party.name for party in parties] == roles
    for party in parties:
        np.testing.assert_array_equal(party.block["X"], data.X[:, list(party.columns)])
        assert ("y" in party.block) == (party.role == "active") and party.block["X"].flags.c_contiguous


def test_one_fold_tests_the_share_and_several_test_every_row():
    data, chosen = made(n=101, test_share=0.2)
    of = folds(data, 1, chosen)
    assert (of == 0).sum() == 21 and (of == -1).sum() == 80
    of = folds(data, 4, chosen)
    assert sorted(np.bincount(of)) == [25, 25, 25, 26] and (np.diff(of) < 0).any()
    none, chosen = made(n=101, test_share=0.0)
    assert (folds(none, 1, chosen) == -1).all()


def test_fewer_rows_are_drawn_before_they_are_divided():
    """As the program does: of 50 rows with shares .8 and .2 40 train and 10 test."""
    whole, _ = made(n=300)
    fewer, chosen = made(n=300, rows=50)
    assert (fewer.train.sum(), (~fewer.train).sum()) == (40, 10)
    assert {tuple(row) for row in fewer.X} < {tuple(row) for row in whole.X} and len(fewer.y) == 50
    assert (folds(fewer, 1, chosen) >= 0).sum() == 10
    every, _ = made(n=300, rows=300)
    np.testing.assert_array_equal(every.X, whole.X)


def test_wrong_values_are_named():
    data, chosen = made(n=50)
    with pytest.raises(ValueError, match="y has the label 2: loss 'CrossEntropyLoss' takes 0 and 1"):
        TreeData(**{**vars(data), "y": data.y * 2})
    with pytest.raises(ValueError, match="X has a value that is not finite"):
        TreeData(**{**vars(data), "X": np.where(data.X[3, 1] == data.X, np.inf, data.X)})
    one = TreeData(**{**vars(data), "y": np.where(data.train, 1.0, data.y)})
    with pytest.raises(DataMissing, match="y is 1 in all training rows of fold 0: bring records of both classes"):
        folds(one, 1, chosen)
    with pytest.raises(ValueError, match="rows is 51: there are 50 rows"):
        made(n=50, rows=51)


def tabled(n=50, d=14, train=None):
    X = np.arange(n * d, dtype=float).reshape(n, d)
    names = np.array([f"c{j}" for j in range(d)])
    return Table(X, np.arange(n) % 2.0, names, (ColumnFacts(None, None, "nothing"),) * d, train=train)


def test_a_table_with_its_own_division_keeps_it(monkeypatch):
    """30 rows train and 20 test; of fewer training rows all that test are left."""
    own = np.arange(50) % 5 < 3
    monkeypatch.setattr(cases, "read_table", lambda name, response, resources: tabled(train=own))
    data = cases.draw_dataset(ColumnDatasetSettings(dataset="adult_split"), None, rng_for, Path("resources"))
    np.testing.assert_array_equal(data.train, own)
    settings = ColumnDatasetSettings(dataset="adult_split", rows=7, dims=(7, 14))
    fewer = cases.draw_dataset(settings, None, rng_for, Path("resources"))
    assert fewer.train.sum() == 7 and (~fewer.train).sum() == 20
    assert (folds(fewer, 1, settings) == np.where(fewer.train, -1, 0)).all()
    assert [party.columns for party in split(fewer, 2, None, settings)] == [tuple(range(7)), tuple(range(7, 14))]


@pytest.mark.parametrize("name", ["adult", "abalone", "credit_default", "nmes"])
def test_other_tables_are_divided_here_and_anew_for_each_replicate(monkeypatch, name):
    source = STUDY.sources["dataset"]
    settings = source.settings(dataset=name, test_share=0.3)
    monkeypatch.setattr(cases, "read_table", lambda name, response, resources: tabled(d=settings.n_columns))
    first, second = (source.generate(settings, None, one, Path("resources")) for one in (rng_for, other_rng_for))
    assert first.train.sum() == second.train.sum() == 35 and (first.train != second.train).any()
    assert first.criterion == settings.loss_in_force and first.X.shape == (50, settings.n_columns)


def other_rng_for(*names, shared=False):
    return stream(7, "data", 1, *names)
