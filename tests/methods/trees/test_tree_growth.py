"""One tree: against every cut tried in exact fractions, by histograms and by ranks, whole or in pieces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from partywise.methods.trees import ensemble as growing
from partywise.methods.trees.codes import CodedColumns, dense_ranks, from_codes, quantile_bins
from partywise.methods.trees.ensemble import grow
from partywise.methods.trees.growth import cells as sums
from partywise.methods.trees.growth.cells import Bins, bins_of, complete_siblings, histograms
from partywise.methods.trees.growth.level import Level, close_level, split, start, tree_of
from partywise.methods.trees.growth.splits import Rule, best_splits, grid, left_of, on_grid
from partywise.methods.trees.model import LEAF
from tree_driver import data, slow_tree

RULES = {
    "xgb": Rule(0.1, 0.5, 0.0),
    "xgb, gamma": Rule(0.1, 0.5, 0.7),
    "xgb, no ridge": Rule(0.0, 0.5, 0.0),
    "gbdt": Rule(0.1, 1.0, 0.3),
    "gbdt as published": Rule(0.1, 1.0, 0.0, parent=False),
    "rf": Rule(),
}
CASES = ("columns", "gaps", "duplicates", "few")


def case(name: str, seed: int = 0) -> tuple[CodedColumns, np.ndarray, np.ndarray]:
    """Codes, a and w on a grid: plain columns, codes that do not occur, equal columns, fewer rows than bins."""
    X, y = data(9 if name == "few" else 60, 5, seed=seed)
    found = quantile_bins(X, 12)
    if name == "gaps":
        found = from_codes(3 * found.codes + 2, 3 * found.sizes + 4)
    if name == "duplicates":
        found = from_codes(np.repeat(found.codes, 2, axis=1), np.repeat(found.sizes, 2))
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-rng.normal(size=len(y))))
    a, w = p - y, p * (1 - p)
    return found, on_grid(a, grid(a, len(a))), on_grid(w, grid(w, len(w)))


def nodes(level: Level) -> list[tuple[int, int]]:
    return list(zip(level.nodes[0].tolist(), level.nodes[1].tolist(), strict=True))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("label", RULES)
def test_a_tree_is_the_best_of_all_cuts(name, label):
    rule, (codes, a, w) = RULES[label], case(name)
    w = w if label.startswith("xgb") else np.ones(len(a))
    assert nodes(grow(bins_of(codes), a, w, 4, rule)) == slow_tree(codes.codes, a, w, 4, rule)


def test_sums_spread_over_several_cells_are_the_sums(monkeypatch):
    X, y = data(2000, 5)
    codes, g = quantile_bins(X, 6), y - 0.5
    plain = grow(bins_of(codes), g, np.full(2000, 0.25), 3, RULES["xgb"])
    assert bins_of(codes).spread is None
    monkeypatch.setattr(sums, "MANY", 2000)
    spread = grow(bins_of(codes), g, np.full(2000, 0.25), 3, RULES["xgb"])
    assert bins_of(codes).spread is not None and len(nodes(spread)) == 15
    assert nodes(plain) == nodes(spread) and np.array_equal(plain.totals, spread.totals)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("label", RULES)
def test_ranks_and_histograms_give_the_same_tree_to_the_last_bit(name, label, monkeypatch):
    codes, a, w = case(name, seed=1)
    found = []
    for limit in (0, 0.2, 4, np.inf):
        monkeypatch.setattr(growing, "CELLS_A_ROW", limit)
        found.append(grow(bins_of(codes), a, w, 6, RULES[label]))
    for other in found[1:]:
        assert nodes(other) == nodes(found[0]) and np.array_equal(other.totals, found[0].totals)
        assert np.array_equal(other.leaf, found[0].leaf)


def test_the_order_of_rows_moves_no_bit():
    codes, a, w = case("columns")
    order = np.random.default_rng(2).permutation(len(a))
    first = grow(bins_of(codes), a, w, 5, RULES["xgb"])
    other = grow(bins_of(replace(codes, codes=codes.codes[order])), a[order], w[order], 5, RULES["xgb"])
    assert nodes(first) == nodes(other) and np.array_equal(first.totals, other.totals)
    assert np.array_equal(first.leaf[order], other.leaf)


def test_equal_gains_go_to_the_lowest_column_and_then_to_the_lowest_cut():
    # The same partition by columns 1 and 2, mirrored; in column 1 by any of the cuts 2, 3 and 4.
    codes = from_codes(np.array([[0, 2, 7], [0, 2, 7], [0, 5, 1], [0, 5, 1]]), [1, 8, 8])
    a, w = np.array([1.0, 1, -1, -1]), np.ones(4)
    for columns, expected in (([0, 1, 2], (1, 2)), ([0, 2], (2, 1))):
        assert nodes(grow(bins_of(codes, columns), a, w, 1, RULES["rf"]))[0] == expected


def test_siblings_by_subtraction_are_what_summing_them_gives():
    codes, a, w = case("gaps")
    bins, level, before = bins_of(codes), start(a, w), None
    for _ in range(4):
        before = complete_siblings(level, histograms(bins, level, a, w), before)
        everything = replace(level, summed_nodes=np.arange(level.width), whole=False)
        assert np.array_equal(before, histograms(bins, everything, a, w))
        # Only the smaller of each pair was summed.
        sizes = np.bincount(level.at[level.at >= 0], minlength=level.width)
        assert np.all(sizes[level.summed_nodes] <= sizes[level.summed_nodes ^ 1] if level.width > 1 else True)
        splits = best_splits(bins, level, before, RULES["xgb"])
        level = split(level, splits, left_of(bins, level, splits))


def test_a_protocol_may_bring_the_sums_of_columns_that_it_does_not_show():
    """As in label scattering: integers at 2^-32 of another party's columns, indicators of their splits."""
    codes, a, w = case("columns", seed=3)
    a, w, rule = on_grid(a, 2.0**-32), on_grid(w, 2.0**-32), RULES["xgb"]
    whole, own = bins_of(codes), bins_of(codes, [3, 4])
    unseen = Bins(whole.columns, whole.starts, whole.places, np.zeros((0, 0), dtype=np.intp))
    integers = np.rint(np.stack([a, w]) * 2.0**32).astype(np.int64)
    level, before = start(a, w), None
    for _ in range(4):
        found = np.empty((2, len(level.summed_nodes), whole.count))
        found[:, :, whole.starts[3] :] = histograms(own, level, a, w)
        for k, node in enumerate(level.summed_nodes):
            for f in (0, 1, 2):
                for cell in range(codes.sizes[f]):
                    chosen = (level.at == node) & (codes.codes[:, f] == cell)
                    sums = integers[:, chosen].sum(axis=1)
                    found[:, k, whole.starts[f] + cell] = sums.astype(float) * 2.0**-32
        before = complete_siblings(level, found, before)
        splits = best_splits(unseen, level, before, rule)
        left = np.zeros(len(a), dtype=bool)
        for node, (f, cut) in enumerate(zip(splits.feature, splits.cut, strict=True)):
            if f != LEAF:
                left |= (level.at == node) & (codes.codes[:, f] <= cut)
        level = split(level, splits, left)
    expected = grow(whole, a, w, 4, rule)
    assert nodes(close_level(level)) == nodes(expected) and np.array_equal(level.totals, expected.totals)


def test_rows_drawn_several_times_are_rows_repeated():
    codes, a, _ = case("columns")
    times = np.random.default_rng(4).integers(0, 3, len(a))
    y = (a < 0).astype(float)
    drawn = grow(bins_of(codes), y * times, times.astype(float), 4, Rule(), times > 0)
    rows = np.repeat(np.arange(len(a)), times)
    repeated = grow(bins_of(replace(codes, codes=codes.codes[rows])), y[rows], np.ones(len(rows)), 4, Rule())
    assert nodes(drawn) == nodes(repeated) and np.array_equal(drawn.totals, repeated.totals)
    assert np.array_equal(drawn.leaf[rows], repeated.leaf)


@pytest.mark.parametrize("codes_of", [dense_ranks, lambda X: quantile_bins(X, 50)])
def test_twenty_levels_part_all_rows_that_differ(codes_of):
    X, _ = data(300, 4)
    codes, a = codes_of(X), np.random.default_rng(0).normal(size=300)
    a = on_grid(a, grid(a, 300))
    level = grow(bins_of(codes), a, np.ones(300), 20, Rule())
    alike = np.unique(codes.codes, axis=0, return_inverse=True)[1]
    pairs = np.stack([level.leaf, alike], axis=1)
    assert len(np.unique(pairs, axis=0)) == len(np.unique(alike)) == len(np.unique(level.leaf))
    tree = tree_of(level, np.zeros(level.totals.shape[1]), codes.thresholds, np.zeros(level.totals.shape[1]))
    assert np.array_equal(tree.leaves_of(X), level.leaf) and np.array_equal(
        tree.leaves_of_codes(codes.codes), level.leaf
    )


def test_what_cannot_be_parted_is_a_leaf():
    same = from_codes(np.zeros((5, 2)), [3, 1])
    for rule in RULES.values():
        assert nodes(grow(bins_of(same), np.arange(5.0), np.ones(5), 3, rule)) == [(LEAF, 0)]
    one = from_codes(np.zeros((1, 1)), [1])
    assert nodes(grow(bins_of(one), np.ones(1), np.ones(1), 3, RULES["gbdt as published"])) == [(LEAF, 0)]
    codes, a, w = case("columns")
    assert nodes(grow(bins_of(codes), a, w, 0, RULES["xgb"])) == [(LEAF, 0)]


@pytest.mark.parametrize("value", [0.3, -7.1e-9, 1e12])
def test_a_constant_response_is_never_parted_by_rounding(value):
    codes, a, _ = case("columns")
    a = np.full(len(a), value)
    a = on_grid(a, grid(a, len(a)))
    for label in ("gbdt", "rf"):
        assert nodes(grow(bins_of(codes), a, np.ones(len(a)), 3, replace(RULES[label], ridge=0.0))) == [(LEAF, 0)]


def test_sums_on_the_grid_are_exact():
    values = np.random.default_rng(1).normal(size=3001) * 1e7
    step = grid(values, len(values))
    close = on_grid(values, step)
    exact = sum(int(x / step) for x in close)
    assert all(int(np.sum(close[np.random.default_rng(k).permutation(3001)]) / step) == exact for k in range(5))
    assert np.abs(close - values).max() <= step / 2 <= 3001 * np.abs(values).max() * 2.0**-52
    assert grid(np.zeros(3), 3) == 1.0
