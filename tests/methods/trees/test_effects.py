"""Importances and partial dependence: those of scikit-learn and xgboost, means over records, bad input by name."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
import xgboost
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.inspection import partial_dependence

import partywise as pw
from partywise.methods.trees.effects import dependence, importances
from partywise.methods.trees.model import LEAF, StepFunction
from tree_driver import CLASSES, SQUARES

CUTS = np.array([-1.5, -0.5, 0.25, 1.0])
rng = pw.stream(3, "effects")
X = rng.normal(size=(400, 5))
Y = X[:, 0] + X[:, 1] * (X[:, 3] > 0) + np.sin(2 * X[:, 2]) + 0.3 * rng.normal(size=400)
LABELS = np.median(Y) < Y


def fitted(protocol="pooled", y=Y, parties=((0, 1, 2), (3, 4)), **options):
    given = {"loss": SQUARES if y is Y else CLASSES, "own_n_bins": None} | options
    return pw.VerticalBoosting(protocol, parties=parties, random_state=2, **given).fit(X, y)


def noise_free(y=Y, **options):
    """Tables of columns 0, 1, 2 without noise."""
    more = {"residual_bound": 20.0} if y is Y else {}
    return fitted("tables", y, epsilon=np.inf, public_edges=[CUTS] * 5, cipher="sized", **more, **options)


def test_gradient_boosting_of_scikit_learn_has_the_same_importances_and_dependence():
    ours = fitted(num_of_trees=8, max_tree_depth=2, lambda_=0.0, eta=0.3)
    theirs = GradientBoostingRegressor(n_estimators=8, max_depth=2, learning_rate=0.3).fit(X, Y)
    assert np.abs(ours.predict(X) - theirs.predict(X)).max() < 1e-9
    # Few and shallow: of equal gains its trees take one by chance, ours the first.
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-12)
    for features, grid in (([0], [CUTS]), ([3, 1], [CUTS, np.linspace(-2, 2, 7)])):
        custom = dict(zip(features, grid, strict=True))
        with warnings.catch_warnings():
            # It leaves the start out, and warns of it.
            warnings.simplefilter("ignore", UserWarning)
            told = partial_dependence(theirs, X, features, method="recursion", custom_values=custom)
        found = ours.partial_dependence(features, grid)
        np.testing.assert_allclose(found.average - ours.ensemble_.base, told["average"][0], atol=1e-9)
        assert all(np.array_equal(*pair) for pair in zip(found.grid, told["grid_values"], strict=True))


def test_xgboost_has_the_same_gains_and_numbers_of_splits():
    ours = fitted(y=LABELS, num_of_trees=8, max_tree_depth=3, lambda_=1.0, eta=0.3)
    given = {
        "max_depth": 3,
        "eta": 0.3,
        "lambda": 1.0,
        "min_child_weight": 0,
        "objective": "binary:logistic",
        "base_score": 0.5,
        "tree_method": "exact",
        "nthread": 1,
    }
    theirs = xgboost.train(given, xgboost.DMatrix(X, LABELS), 8)
    for kind, name in (("gain", "total_gain"), ("split", "weight")):
        told = np.array([theirs.get_score(importance_type=name).get(f"f{j}", 0.0) for j in range(5)])
        ours.set_params(importance_type=kind)
        np.testing.assert_allclose(ours.feature_importances_, told / told.sum(), rtol=1e-4)
    assert ours.feature_importances_.sum() == pytest.approx(1)


def test_without_noise_dependence_on_passive_columns_is_the_mean_over_records():
    """Tables are sums of functions of single columns, and the covers of a regression count records."""
    model = noise_free()
    assert {table.feature for table in model.ensemble_.tables} == {0, 1, 2}
    found = model.partial_dependence([0, 2])
    assert found.grid[0].tolist() == [*CUTS, 1.75] and found.average.shape == (5, 5)
    for i, first in enumerate(found.grid[0]):
        for j, second in enumerate(found.grid[1]):
            moved = X.copy()
            moved[:, [0, 2]] = first, second
            assert found.average[i, j] == pytest.approx(model.predict(moved).mean(), abs=1e-9)
    assert model.partial_dependence(0).average.shape == (5,)


def test_gains_of_tables_are_what_the_loss_falls_by():
    """Squared loss is quadratic: without noise the gains of stumps and their L2 add up to what boosting reached."""
    model = noise_free(num_of_trees=3, stump_lambda=0.0)
    trees = replace(model.ensemble_, tables=())
    before, after = (((Y - scores) ** 2).sum() / 2 for scores in (trees.scores(X), model.predict(X)))
    gained = sum(table.gain for table in model.ensemble_.tables)
    # A stump is worth what both sides gain beyond the constant of all, which the trees have taken off already.
    assert gained == pytest.approx(before - after, rel=0.02)
    assert sum(table.splits for table in model.ensemble_.tables) == model.estimate_.numbers["stumps"]
    assert model.feature_importances_.sum() == pytest.approx(1) and (model.feature_importances_ > 0).all()


@pytest.mark.parametrize("protocol", ["tables", "local_tables"])
def test_noise_of_the_covers_is_clipped_and_no_record_is_asked(protocol):
    more = {"cipher": "sized"} if protocol == "tables" else {}
    model = fitted(protocol, LABELS, epsilon=0.5, public_edges=[np.linspace(-4, 4, 30)] * 5, stumps=40, **more)
    table = model.ensemble_.tables[0]
    assert protocol == "local_tables" or table.cover.min() < 0
    weights = np.maximum(table.cover, 0)
    only = replace(model.ensemble_, trees=(), tables=(table,))
    assert dependence(only, {4: np.zeros(1)})[0] == pytest.approx(weights @ table.values / weights.sum())
    empty = replace(table, cover=-np.ones(31), values=np.arange(31.0))
    assert dependence(replace(only, tables=(empty,)), {4: np.zeros(1)})[0] == pytest.approx(15.0)
    cost = model.ledger_.digest
    model.partial_dependence([0, 1])
    assert model.ledger_.digest == cost and model.feature_importances_.shape == (5,)


def test_where_nothing_is_split_importances_are_zero_and_dependence_constant():
    model = fitted(max_tree_depth=0)
    assert model.feature_importances_.tolist() == [0.0] * 5
    assert np.ptp(model.partial_dependence(0, CUTS).average) == 0
    assert model.ensemble_.trees[0].feature.tolist() == [LEAF]


def test_columns_have_the_names_of_the_fit():
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcde"))
    model = pw.VerticalBoosting("pooled", loss=SQUARES, random_state=2).fit(frame, Y)
    assert np.array_equal(model.partial_dependence("d", CUTS).average, model.partial_dependence(3, CUTS).average)
    with pytest.raises(ValueError, match=r"features name 'z', which the fit did not have: it had .'a', 'b'"):
        model.partial_dependence("z", CUTS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([],), r"features=\[\]: give different columns"),
        (([1, 1], [CUTS, CUTS]), r"features=\[1, 1\]: give different"),
        ((5, CUTS), "features name column 5: give 0 to 4"),
        (("a", CUTS), "features name 'a', which the fit did not have: it had no names"),
        ((1,), "grid is missing: column 1 has no public_edges; give the values"),
        (([1, 2], [CUTS]), "grid has 1 entries for 2 columns"),
        ((1, [np.nan]), "grid of column 1 is .*: give finite numbers"),
        ((1, []), "grid of column 1 is .*at least one"),
    ],
)
def test_bad_questions_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        fitted().partial_dependence(*arguments)


def test_what_a_model_came_without_is_said_with_a_remedy():
    with pytest.raises(ValueError, match="not fitted yet"):
        pw.VerticalBoosting().partial_dependence(0)
    model = fitted()
    model.set_params(importance_type="cover")
    with pytest.raises(ValueError, match="importance_type='cover': use 'gain' or 'split'"):
        _ = model.feature_importances_
    trees = tuple(replace(tree, gain=None, cover=None) for tree in model.ensemble_.trees)
    bare = replace(model.ensemble_, trees=trees)
    assert importances(bare, 5, "split").sum() == pytest.approx(1)
    for one in (bare, replace(bare, trees=(), tables=(StepFunction(0, CUTS, np.arange(5.0)),))):
        with pytest.raises(ValueError, match=r"no gains?: .*fit the model again, or use importance_type='split'"):
            importances(one, 5, "gain")
        with pytest.raises(ValueError, match=r"no covers: .*fit the model again"):
            dependence(one, {1: CUTS})
