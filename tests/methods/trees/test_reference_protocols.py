"""Protocols pooled and active_only: what crosses, what it costs, and that they are the fits that they name."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from forked import checked
from partywise.audits.contract import agree
from partywise.core.randomness import Streams
from partywise.federation.parties import split_columns
from partywise.methods.trees.codes import dense_ranks, quantile_bins, side_by_side
from partywise.methods.trees.ensemble import grow_trees
from partywise.methods.trees.model import LEAF
from partywise.methods.trees.options import ActiveOnlyOptions, TreePooledOptions
from partywise.methods.trees.protocols import active_only, pooled
from partywise.methods.trees.protocols.common import draws_of, held_out
from tree_driver import CLASSES, SQUARES, data, fitted, run_of
from tree_partitions import partitions_of

PARTIES = (2, 3, 5, 7)
VARIANTS = {
    "xgb": (CLASSES, {}),
    "gbdt": (CLASSES, {"algo": "gbdt", "gamma": 0.1}),
    "gbdt as published": (SQUARES, {"algo": "gbdt", "as_published": True}),
    "rf": (SQUARES, {"algo": "rf", "batch_size": 50}),
    "rf as published": (CLASSES, {"algo": "rf", "as_published": True}),
    "sampled": (CLASSES, {"feature_subsample_ratio": 0.4, "max_tree_depth": 4}),
    "all values": (SQUARES, {"own_n_bins": None, "max_tree_depth": 5}),
}


@pytest.mark.parametrize("label", VARIANTS)
@pytest.mark.parametrize("parties", PARTIES)
def test_pooled_grows_on_the_codes_that_the_parties_would_make(parties, label):
    criterion, chosen = VARIANTS[label]
    X, y = data(criterion=criterion)
    options = TreePooledOptions(**chosen)
    estimate, run = fitted(pooled.fit, X, y, options, parties=parties, criterion=criterion)
    train, groups = run.fold.train, split_columns(7, parties, "contiguous")
    own = dense_ranks if options.own_n_bins is None else lambda part: quantile_bins(part, 50)
    parts = [(dense_ranks if k < parties - 1 else own)(X[train][:, group]) for k, group in enumerate(groups)]
    codes = side_by_side(parts, groups)
    names = [party.name for party in run.parties]
    draws = draws_of(list(zip(names, groups, strict=True)), int(train.sum()), options, Streams(5, "fit"))
    expected = grow_trees(codes, y[train], options, criterion, draws)
    assert partitions_of(estimate.ensemble, codes.codes) == partitions_of(expected, codes.codes)
    assert np.array_equal(estimate.ensemble.scores(X), expected.scores(X))
    used = {int(f) for tree in expected.trees for f in tree.feature if f != LEAF}
    assert len(used) > 2


@pytest.mark.parametrize("label", ["xgb", "gbdt", "rf"])
def test_pooled_does_not_depend_on_who_holds_the_columns(label):
    criterion, chosen = VARIANTS[label]
    X, y = data(criterion=criterion)
    options = TreePooledOptions(**chosen, own_n_bins=None)
    found = [fitted(pooled.fit, X, y, options, parties=k, criterion=criterion)[0] for k in PARTIES]
    assert all(np.array_equal(found[0].ensemble.path(X), other.ensemble.path(X)) for other in found[1:])


@pytest.mark.parametrize("label", VARIANTS)
def test_active_only_is_pooled_without_the_others(label):
    criterion, chosen = VARIANTS[label]
    X, y = data(criterion=criterion)
    own = split_columns(7, 3, "contiguous")[-1]
    estimate, run = fitted(active_only.fit, X, y, ActiveOnlyOptions(**chosen), parties=3, criterion=criterion)
    alone, _ = fitted(pooled.fit, X[:, own], y, TreePooledOptions(**chosen), parties=1, criterion=criterion)
    assert {int(f) for tree in estimate.ensemble.trees for f in tree.feature} - {LEAF} <= set(own)
    assert np.array_equal(estimate.ensemble.scores(X), alone.ensemble.scores(X[:, own]))
    # Nothing crosses, and nothing is claimed.
    assert run.channel.transcript() == [] and estimate.epsilon_claimed == 0
    total = run.channel.ledger.worst_total(run.names, "features", 1e-5)
    assert total.epsilon_certified == 0 and run.channel.ledger.worst_total(run.names, "label", 1e-5).n_releases == 0


def test_pooled_shows_the_features_of_training_rows_and_no_label():
    X, y = data()
    estimate, run = fitted(pooled.fit, X, y, TreePooledOptions(), parties=3)
    rows = [(m.sender, m.receiver, m.name, m.kind, m.argument, m.bytes) for m in run.channel.messages]
    n = int(run.fold.train.sum())
    assert rows == [
        (f"passive {k}", "active", "features", "clear", "features", 8 * n * count) for k, count in ((1, 2), (2, 2))
    ]
    ledger = run.channel.ledger
    assert ledger.worst_total(run.names, "features", 1e-5).epsilon_certified == inf == estimate.epsilon_claimed
    assert ledger.worst_total(run.names, "label", 1e-5).epsilon_certified == 0


@pytest.mark.parametrize("fit", [pooled.fit, active_only.fit])
def test_held_out_rows_move_nothing(fit):
    X, y = data()
    options = TreePooledOptions() if fit is pooled.fit else ActiveOnlyOptions()
    test = held_out(run_of(X, y, options).fold)
    assert 0 < test.sum() < len(y)
    other, labels = X.copy(), y.copy()
    other[test], labels[test] = 1e6, 1 - y[test]
    first, second = (fitted(fit, *rows, options)[0].ensemble for rows in ((X, y), (other, labels)))
    assert np.array_equal(first.path(X), second.path(X))


@pytest.mark.parametrize("label", VARIANTS)
@pytest.mark.parametrize("fit", [pooled.fit, active_only.fit])
def test_every_variant_runs_place_by_place(fit, label):
    criterion, chosen = VARIANTS[label]
    X, y = data(80, criterion=criterion)
    options = (TreePooledOptions if fit is pooled.fit else ActiveOnlyOptions)(**chosen)
    expected, reference = fitted(fit, X, y, options, parties=3, criterion=criterion)
    run = run_of(X, y, options, parties=3, criterion=criterion)
    agree(reference, expected, run, checked(fit, run), label)


def test_all_rows_train_where_none_is_held_out():
    X, y = data(50)
    estimate, run = fitted(pooled.fit, X, y, TreePooledOptions(), share=0.0)
    assert not held_out(run.fold).any() and run.fold.train.all() and len(estimate.ensemble.trees) == 10
