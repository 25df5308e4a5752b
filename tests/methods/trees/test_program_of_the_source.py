"""``ties: position`` is the published program: orders of rows, cuts between rows, ``x < value`` goes left.

The oracle below is the program as it reads: loops over features and places of an order, one node after the other.
"""

from __future__ import annotations

import numpy as np
import pytest

from gathering_driver import execution, table
from partywise.core.randomness import stream
from partywise.federation.run import simulate
from partywise.methods.trees.options import GatheringOptions, ScatteringOptions, TreePooledOptions
from partywise.methods.trees.protocols import feature_gathering, label_scattering, pooled

RIDGE = 0.5
GROUPS = [[4, 0], [1, 3], [2, 5]]


def best_split(g, orders, places, rows):
    """Feature and place of the largest gain above 0, the first of equal ones; the places of a feature are its cuts."""
    total, found = g[rows].sum() ** 2 / (len(rows) + RIDGE), (0.0, -1, -1)
    inside = np.zeros(len(g), dtype=bool)
    inside[rows] = True
    for feature, order in enumerate(orders):
        mine = inside[order]
        own = np.flatnonzero(mine)[1:] if places is None else places
        for place in own:
            left, right = order[:place][mine[:place]], order[place:][mine[place:]]
            if len(left) and len(right):
                sides = sum(g[side].sum() ** 2 / (len(side) + RIDGE) for side in (left, right))
                gain = (sides - total) / 2
                if gain > found[0] + 1e-9:
                    found = gain, feature, place
    return found[1:]


def program(X, g, orders, places, values, depth, X_new):
    """Scores of one tree of squared loss at new rows."""
    scores = np.zeros(len(X_new))
    nodes = [(np.arange(len(g)), np.arange(len(X_new)), depth)]
    while nodes:
        rows, new, left_levels = nodes.pop()
        feature, place = best_split(g, orders, places, rows) if left_levels else (-1, -1)
        if feature < 0:
            scores[new] = -g[rows].sum() / (len(rows) + RIDGE)
            continue
        left = np.isin(rows, orders[feature][:place])
        goes_left = X_new[new, feature] < values(feature, place)
        nodes.append((rows[left], new[goes_left], left_levels - 1))
        nodes.append((rows[~left], new[~goes_left], left_levels - 1))
    return scores


def tied():
    """Few values, so that nearly every cut has ties; numbers whose sums are exact; new rows between the values too."""
    X, _ = table(n=150, d=6, digits=0)
    y = np.round(8 * (X[:, 0] - X[:, 3] * X[:, 5] + stream(9, "noise").standard_normal(len(X))))
    return X, y, np.concatenate([X, X[:40] + 0.25, X[:40] - 0.5])


def first_tree(options, X, y, fit, **given):
    return simulate(fit, execution(options, X, y, GROUPS, **given)).ensemble


COMMON = {"num_of_trees": 1, "max_tree_depth": 3, "lambda_": RIDGE, "eta": 1.0, "ties": "position"}


@pytest.mark.parametrize("fit", [feature_gathering.fit, pooled.fit], ids=["gathering", "pooled"])
def test_unprotected_orders_are_cut_between_rows(fit):
    X, y, new = tied()
    kind = GatheringOptions if fit is feature_gathering.fit else TreePooledOptions
    orders = [np.argsort(x, kind="stable") for x in X.T]
    expected = program(X, -y, orders, None, lambda f, place: X[orders[f][place], f], 3, new)
    found = first_tree(kind(**COMMON, own_n_bins=None), X, y, fit).scores(new)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    kept = first_tree(kind(**COMMON | {"ties": "kept"}, own_n_bins=None), X, y, fit).scores(new)
    assert np.mean(np.abs(kept - expected) > 1e-6) > 0.3


BINED = {"own_n_bins": 10, "n_bins": 10, "edges": "quantile"}


@pytest.mark.parametrize("protocol", ["gathering", "scattering"])
def test_bins_of_equal_counts_are_cut_at_means_that_go_right(protocol):
    X, y, new = tied()
    orders = [np.argsort(x, kind="stable") for x in X.T]
    places = np.arange(1, 10) * len(X) // 10
    ranked = [x[order] for x, order in zip(X.T, orders, strict=True)]
    expected = program(X, -y, orders, places, lambda f, p: (ranked[f][p - 1] + ranked[f][p]) / 2, 3, new)
    if protocol == "gathering":
        options = GatheringOptions(**COMMON, **BINED, protect="dp", randomise=False)
        found = first_tree(options, X, y, feature_gathering.fit)
    else:
        found = first_tree(ScatteringOptions(**COMMON, **BINED, cipher="identity"), X, y, label_scattering.fit)
    np.testing.assert_allclose(found.scores(new), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n_bins", [None, 10])
def test_cuts_of_order_preserving_noise_are_values_at_the_same_places_of_the_raw_order(n_bins):
    X, y, new = tied()
    options = GatheringOptions(**COMMON, protect="op_boost", budget="feature", n_bins=n_bins, own_n_bins=n_bins)
    run = execution(options, X, y, GROUPS, epsilon=0.2)
    found = simulate(feature_gathering.fit, run).ensemble.scores(new)
    drawn = X.copy()
    for message, value in run.channel.view("active"):
        drawn[:, dict(zip(("passive 1", "passive 2"), GROUPS[:2], strict=True))[message.sender]] = value
    assert not np.array_equal(np.argsort(drawn[:, 0], kind="stable"), np.argsort(X[:, 0], kind="stable"))
    orders, ranked = [np.argsort(x, kind="stable") for x in drawn.T], np.sort(X, axis=0)
    if n_bins is None:
        expected = program(X, -y, orders, None, lambda f, place: ranked[place, f], 3, new)
    else:
        places = np.arange(1, 10) * len(X) // 10
        expected = program(X, -y, orders, places, lambda f, p: (ranked[p - 1, f] + ranked[p, f]) / 2, 3, new)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_ties_by_position_are_refused_where_nothing_is_cut_by_position():
    with pytest.raises(ValueError, match="ties is 'position': it needs edges 'quantile', whose bins have equal counts"):
        GatheringOptions(protect="dp", ties="position")
    with pytest.raises(ValueError, match="ties is 'position': it needs edges 'quantile', whose bins have equal counts"):
        ScatteringOptions(edges="public", ties="position")
