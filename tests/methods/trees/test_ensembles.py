"""Boosting and forests: base scores, leaves, published variants, draws, thresholds, shortened models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from partywise.core.randomness import Streams
from partywise.methods.trees.codes import CodedColumns, dense_ranks, from_codes, quantile_bins
from partywise.methods.trees.ensemble import grow_trees, renumber, with_thresholds
from partywise.methods.trees.model import LEAF, Ensemble
from partywise.methods.trees.options import GatheringOptions, TreePooledOptions
from partywise.methods.trees.protocols.common import draws_of
from partywise.models.losses import derivatives
from tree_driver import CLASSES, SQUARES, data
from tree_partitions import partitions_of

ALGOS = ("xgb", "gbdt", "rf")


def everything(codes: CodedColumns, options: TreePooledOptions) -> list:
    """Draws that leave nothing out."""
    return [(range(len(codes.sizes)), None)] * options.num_of_trees


def fit(X: np.ndarray, y: np.ndarray, criterion=CLASSES, codes: CodedColumns | None = None, **options) -> Ensemble:
    chosen, codes = TreePooledOptions(**options), quantile_bins(X, 20) if codes is None else codes
    return grow_trees(codes, y, chosen, criterion, everything(codes, chosen))


def test_gradients_are_derivatives_of_the_losses():
    y, s, eps = np.array([0.0, 1, 1, 0]), np.array([-2.0, 0.3, 40, 800]), 1e-5
    for criterion in (CLASSES, SQUARES):
        g, h = derivatives(s, y, criterion)

        def loss(t, criterion=criterion):
            return (t - y) ** 2 / 2 if criterion == SQUARES else np.logaddexp(0, t) - y * t

        assert np.allclose(g, (loss(s + eps) - loss(s - eps)) / (2 * eps), atol=1e-6)
        assert np.allclose(
            h, (derivatives(s + eps, y, criterion)[0] - derivatives(s - eps, y, criterion)[0]) / (2 * eps)
        )


@pytest.mark.parametrize("criterion", [CLASSES, SQUARES])
def test_a_tree_of_no_levels_is_the_formula_of_its_leaf(criterion):
    X, y = data(criterion=criterion)
    one = {"num_of_trees": 1, "max_tree_depth": 0}
    base = 0.5 if criterion == CLASSES else 0.0
    n, g = len(y), 0.5 - y if criterion == CLASSES else -y
    weight = n / 4 if criterion == CLASSES else n
    expected = {"xgb": -g.sum() / (weight + 0.3), "gbdt": -g.sum() / (n + 0.3)}
    for algo, value in expected.items():
        found = fit(X, y, criterion, algo=algo, lambda_=0.3, eta=0.7, base_score=base, **one)
        assert found.scores(X) == pytest.approx(np.full(n, 0.7 * value), rel=1e-12) and found.base == 0
    assert fit(X, y, criterion, algo="rf", **one).scores(X) == pytest.approx(np.full(n, y.mean()), rel=1e-12)


def test_gbdt_of_squares_is_xgb():
    X, y = data(criterion=SQUARES)
    codes = quantile_bins(X, 20)
    # Gains differ by the factor .5, so that gamma does too.
    settings = {"num_of_trees": 6, "max_tree_depth": 4, "lambda_": 0.7, "eta": 0.3}
    a = fit(X, y, SQUARES, codes, algo="gbdt", gamma=1.0, **settings)
    b = fit(X, y, SQUARES, codes, algo="xgb", gamma=0.5, **settings)
    assert partitions_of(a, codes.codes) == partitions_of(b, codes.codes)
    assert np.array_equal(a.scores(X), b.scores(X))
    assert len(partitions_of(a, codes.codes)[0]) > 8


@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("criterion", [CLASSES, SQUARES])
def test_training_scores_are_what_the_thresholds_give(algo, criterion):
    X, y = data(criterion=criterion)
    codes = quantile_bins(X, 20)
    found = fit(X, y, criterion, codes, algo=algo, max_tree_depth=3)
    by_codes = sum(found.weight * tree.value[tree.leaves_of_codes(codes.codes)] for tree in found.trees)
    assert np.allclose(found.scores(X) - found.base, by_codes, rtol=0, atol=1e-15 * len(found.trees))


def test_published_gbdt_always_splits():
    X, y = data()
    leaves = [np.sum(tree.feature == LEAF) for tree in fit(X, y, algo="gbdt", as_published=True).trees]
    assert leaves == [4] * 10
    # Without the parent's term no response is too dull: it parts a constant one.
    dull = fit(X, np.ones(len(y)), SQUARES, algo="gbdt", as_published=True, num_of_trees=1)
    assert np.sum(dull.trees[0].feature == LEAF) > 1
    assert np.sum(fit(X, np.ones(len(y)), SQUARES, algo="gbdt", num_of_trees=1).trees[0].feature == LEAF) == 1
    with pytest.raises(ValueError, match=r"gamma is 1\.0: it is read with as_published false"):
        TreePooledOptions(algo="gbdt", as_published=True, gamma=1.0)


def test_published_forests_vote():
    X, y = data()
    means, votes = (fit(X, y, algo="rf", as_published=published, num_of_trees=1) for published in (False, True))
    tree, vote = means.trees[0], votes.trees[0]
    leaf = tree.feature == LEAF
    assert set(vote.value[leaf]) == {0.0, 1.0} and np.array_equal(vote.value[leaf], tree.value[leaf] > 0.5)
    assert not set(tree.value[leaf]) <= {0.0, 1.0}
    squares = fit(X, 3 * y, SQUARES, algo="rf", as_published=True, num_of_trees=1)
    assert squares.scores(X) == pytest.approx(3 * means.scores(X), rel=1e-12)


def test_options_that_an_algorithm_does_not_read_are_refused():
    for name in ("eta", "lambda_", "gamma"):
        with pytest.raises(ValueError, match=f"{name} is 0.25: it is read with algo 'xgb' or 'gbdt' only"):
            TreePooledOptions(algo="rf", **{name: 0.25})
    with pytest.raises(ValueError, match="batch_size is 5"):
        TreePooledOptions(batch_size=5)


def test_trees_chosen_by_held_out_loss_are_not_scored_together():
    with pytest.raises(ValueError, match="select_by is 'test_loss'"):
        GatheringOptions(inference="plain", select_by="test_loss")


# What is drawn


GROUPS = (("passive 1", (0, 1, 2)), ("passive 2", (3,)), ("active", tuple(range(4, 14))))


def test_every_party_lends_its_share_of_columns_and_at_least_one():
    options = TreePooledOptions(feature_subsample_ratio=0.3, num_of_trees=200)
    draws = draws_of(GROUPS, 50, options, Streams(3, "draws"))
    counts = np.array([[len(set(columns) & set(own)) for _, own in GROUPS] for columns, _ in draws])
    assert np.array_equal(np.unique(counts, axis=0), [[1, 1, 3]])
    assert all(list(columns) == sorted(columns) for columns, _ in draws)
    used = np.bincount([column for columns, _ in draws for column in columns], minlength=14)
    assert np.all(used[[0, 1, 2]] > 40) and used[3] == 200 and np.all(used[4:] > 30)
    # A party's draw does not depend on who else is there.
    alone = draws_of(GROUPS[2:], 50, options, Streams(3, "draws"))
    assert [set(c) & set(range(4, 14)) for c, _ in draws] == [set(c) for c, _ in alone]


def test_only_forests_draw_rows_and_with_replacement():
    assert all(times is None for _, times in draws_of(GROUPS, 50, TreePooledOptions(), Streams(3)))
    for size in (None, 7, 400):
        draws = draws_of(GROUPS, 50, TreePooledOptions(algo="rf", batch_size=size), Streams(3, "draws"))
        times = np.array([times for _, times in draws])
        assert np.all(times.sum(axis=1) == (50 if size is None else size)) and len(np.unique(times, axis=0)) == 10
    assert times.max() > 1


def test_a_tree_uses_only_columns_that_were_drawn():
    X, y = data(d=14)
    options = TreePooledOptions(feature_subsample_ratio=0.3, max_tree_depth=4)
    draws = draws_of(GROUPS, len(y), options, Streams(3, "draws"))
    found = grow_trees(quantile_bins(X, 20), y, options, CLASSES, draws)
    used = [set(tree.feature[tree.feature != LEAF]) for tree in found.trees]
    assert all(own <= set(columns) for own, (columns, _) in zip(used, draws, strict=True)) and any(used)


def test_a_forest_of_one_row_is_that_row():
    X, y = data(criterion=SQUARES)
    options = TreePooledOptions(algo="rf", batch_size=1, num_of_trees=5)
    draws = draws_of((("active", tuple(range(7))),), len(y), options, Streams(3))
    found = grow_trees(quantile_bins(X, 20), y, options, SQUARES, draws)
    assert [tree.value[0] for tree in found.trees] == pytest.approx([y[times > 0][0] for _, times in draws])
    assert found.scores(X) == pytest.approx(np.mean([y[times > 0][0] for _, times in draws]))


# Models


def test_codes_may_be_others_for_each_tree():
    X, y = data()
    one, two = quantile_bins(X, 5), quantile_bins(X, 20)
    options = TreePooledOptions(num_of_trees=2)
    found = grow_trees(lambda number: (one, two)[number], y, options, CLASSES, everything(one, options))
    assert [len(one.thresholds[0]), len(two.thresholds[0])] == [4, 19]
    cuts = [set(tree.threshold[tree.feature != LEAF]) for tree in found.trees]
    assert cuts[0] <= {cut for own in one.thresholds for cut in own}
    assert not cuts[1] <= {cut for own in one.thresholds for cut in own}


def test_owners_fill_in_the_thresholds_of_their_columns():
    X, y = data()
    codes = dense_ranks(X)
    known = fit(X, y, codes=codes, max_tree_depth=4)
    blind = fit(X, y, codes=from_codes(codes.codes, codes.sizes), max_tree_depth=4)
    inner = [tree.feature != LEAF for tree in blind.trees]
    assert all(np.isnan(tree.threshold).all() for tree in blind.trees)
    half = with_thresholds(blind, {f: codes.thresholds[f] for f in range(3)})
    filled = with_thresholds(half, {f: codes.thresholds[f] for f in range(3, 7)})
    assert any(np.isnan(tree.threshold[own]).any() for tree, own in zip(half.trees, inner, strict=True))
    assert np.array_equal(filled.scores(X), known.scores(X))
    assert all(
        np.array_equal(a.threshold, b.threshold, equal_nan=True) for a, b in zip(filled.trees, known.trees, strict=True)
    )


def test_columns_of_one_party_get_their_global_numbers():
    X, y = data()
    part = fit(X[:, [4, 2, 6]], y)
    assert np.array_equal(renumber(part, (4, 2, 6)).scores(X), part.scores(X[:, [4, 2, 6]]))


@pytest.mark.parametrize("algo", ALGOS)
def test_a_shortened_model_is_a_shorter_fit_and_a_point_of_the_path(algo):
    X, y = data()
    whole, path = fit(X, y, algo=algo), fit(X, y, algo=algo).path(X)
    assert path.shape == (11, len(y)) and not path[0].any()
    for count in (1, 4, 10):
        short = fit(X, y, algo=algo, num_of_trees=count)
        assert np.allclose(whole.first(count).scores(X), short.scores(X), rtol=0, atol=1e-14)
        assert np.allclose(path[count], short.scores(X), rtol=0, atol=1e-14)


def test_partitions_differ_if_and_only_if_some_node_does():
    X, y = data()
    codes = quantile_bins(X, 20)
    found = fit(X, y, codes=codes)
    tree = found.trees[0]
    assert len(partitions_of(found, codes.codes)[0]) == len(tree.feature) == 7
    # Empty bins: another cut, the same rows. A moved cut: other rows.
    wide = grow_trees(
        from_codes(3 * codes.codes, 3 * codes.sizes),
        y,
        TreePooledOptions(),
        CLASSES,
        everything(codes, TreePooledOptions()),
    )
    assert partitions_of(wide, 3 * codes.codes) == partitions_of(found, codes.codes)
    moved = replace(found, trees=(replace(tree, cut=tree.cut + (np.arange(7) == 1)), *found.trees[1:]))
    assert partitions_of(moved, codes.codes)[0] != partitions_of(found, codes.codes)[0]
    assert partitions_of(moved, codes.codes)[1:] == partitions_of(found, codes.codes)[1:]


def test_a_coarse_grid_is_taken_and_one_that_overflows_is_refused():
    X, y = data(criterion=SQUARES)
    codes, options = quantile_bins(X, 20), TreePooledOptions()
    fine = grow_trees(codes, y, options, SQUARES, everything(codes, options))
    integers = grow_trees(codes, y, options, SQUARES, everything(codes, options), step=2.0**-32)
    assert np.allclose(fine.scores(X), integers.scores(X), rtol=0, atol=1e-8)
    assert not np.array_equal(fine.scores(X), integers.scores(X))
    with pytest.raises(
        OverflowError, match=r"up to 2\.5e\+07: sums of 200 in steps of 2\.32831e-10 may exceed 53 bits"
    ):
        grow_trees(codes, 1e6 * y, options, SQUARES, everything(codes, options), step=2.0**-32)
