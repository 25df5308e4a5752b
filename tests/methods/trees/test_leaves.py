"""How an ensemble is laid out for those who score together: leaves from left to right, each reached by one row."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from inference_driver import CUTS, case, cuts_of, random_tree
from partywise.core.randomness import stream
from partywise.methods.trees.ensemble import with_thresholds
from partywise.methods.trees.leaves import crosses, laid_out, skeleton, stepwise
from partywise.methods.trees.model import Ensemble, StepFunction, Tree, TreeColumn
from partywise.privacy.accounted_values import Public

EVERY = tuple(TreeColumn(f"x{j}", Public(cuts_of(5)[j], because="a test")) for j in range(5))


def walked(tree: Tree, node: int = 0) -> list[int]:
    """Leaves of a tree from left to right, by walking."""
    if tree.feature[node] < 0:
        return [node]
    return walked(tree, tree.left[node]) + walked(tree, tree.right[node])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("depth", [0, 1, 3, 6])
def test_one_leaf_of_each_part_stays_open_and_it_is_where_the_row_ends(seed, depth):
    rng = stream(11, "leaves", seed, depth)
    trees = [random_tree(rng, [0, 1, 2, 3, 4], depth, full=False) for _ in range(4)]
    tables = tuple(StepFunction(f, cuts_of(5)[f], rng.normal(size=CUTS + 1)) for f in (1, 3))
    ensemble = with_thresholds(Ensemble(tuple(trees), 0.0, 0.7, tables), dict(enumerate(cuts_of(5))))
    layout = laid_out(ensemble, range(5), EVERY)
    form = skeleton(layout.inner, layout.bins)
    X = rng.integers(0, 8, (60, 5)).astype(float)
    left = layout.threshold[:, None] >= X[:, layout.splits[:, 1]].T
    numbers = layout.splits[:, 0]
    found = form.open_leaves(numbers, left)
    ends = [start + found[start:end].argmax(axis=0) for start, end in pairwise(form.starts)]
    assert np.array_equal(form.reach_leaves(left), ends)
    assert form.largest(layout.weight) == sum(np.abs(layout.weight[a:b]).max() for a, b in pairwise(form.starts))

    parts = [tree for tree in ensemble.trees if tree.feature[0] >= 0]
    assert len(form.starts) == len(parts) + 3
    for tree, start, end in zip(parts, form.starts, form.starts[1:], strict=False):
        leaves = walked(tree)
        assert end - start == len(leaves)
        assert np.array_equal(layout.weight[start:end], 0.7 * tree.value[leaves])
        assert np.array_equal(found[start:end].sum(0), np.ones(60))
        assert np.array_equal(np.array(leaves)[found[start:end].argmax(0)], tree.leaves_of(X))
    for table, start in zip(tables, form.starts[len(parts) :], strict=False):
        assert np.array_equal(layout.weight[start : start + CUTS + 1], table.values)
        assert np.array_equal(layout.weight[start : start + CUTS + 1][found[start:][: CUTS + 1].argmax(0)], table.at(X))


def test_levels_parents_and_ends_describe_the_tree():
    """One tree: the root splits, its right child splits, whose left child splits; a second tree is one split."""
    form = skeleton(np.array([2, 0, 1, 0], dtype=np.uint8), np.array([3]))
    assert form.levels.tolist() == [0, 2, 3, 4]
    assert form.parent.tolist() == [-1, -1, 1, 4]
    assert form.starts.tolist() == [0, 4, 6, 9]
    # Left of split 0; left and right of split 3; right of split 2; both sides of split 1.
    assert form.ends.tolist() == [0, 6, 7, 5, 2, 3]
    assert form.first.tolist() == [0, 4, 1, 1, 6, 6]
    assert form.middle.tolist() == [1, 5, 3, 2, 7, 8]
    assert form.last.tolist() == [4, 6, 4, 3, 9, 9]


def test_splits_cost_twelve_bytes_and_name_their_columns():
    _, ensemble, _ = case(trees=4, depth=3, tables=2, seed=5)
    layout = laid_out(ensemble, range(5), EVERY)
    inner = sum(int((tree.feature >= 0).sum()) for tree in ensemble.trees)
    assert layout.splits.nbytes == 12 * (inner + 2 * CUTS)
    parts = np.concatenate([layout.of([0, 3]), layout.of([1, 2, 4])])
    assert np.array_equal(parts[parts[:, 0].argsort()], layout.splits)
    assert set(layout.of([3])[:, 1]) <= {3}


def test_parts_of_one_party_do_not_cross():
    tree = random_tree(stream(1, "own"), [0, 1], 2, full=True)
    own = StepFunction(1, np.array([0.5]), np.zeros(2))
    flat = StepFunction(3, np.array([]), np.ones(1))
    layout = laid_out(Ensemble((tree,), 0.0, 1.0, (own, flat)), {2, 3, 4}, EVERY)
    assert layout.weight.size == layout.splits.size == layout.inner.size == 0
    assert not any(crosses(part, {2, 3, 4}) for part in (tree, own, flat))


def test_a_table_is_cut_where_its_value_changes():
    edges, values = cuts_of(5)[3], np.array([0.5, 0.5, -1.0, -1.0, 2.0])
    constant, table = StepFunction(2, cuts_of(5)[2], np.full(CUTS + 1, 0.25)), StepFunction(3, edges, values)
    layout = laid_out(Ensemble((), 0.0, 1.0, (constant, table)), range(5), EVERY)
    assert layout.splits.tolist() == [[0, 3, 1], [1, 3, 3]]
    assert layout.weight.tolist() == [0.5, -1.0, 2.0] and layout.bins.tolist() == [3]
    X = np.zeros((90, 5))
    X[:, 3] = np.linspace(-1, 8, 90)
    assert np.array_equal(stepwise(table).at(X), table.at(X))


def test_a_table_that_cuts_where_no_edge_is_declared_is_refused():
    table = StepFunction(1, cuts_of(5)[1] + 0.25, np.arange(CUTS + 1.0))
    with pytest.raises(ValueError, match=r"edges=.* of the table of column 1 are not among the declared ones"):
        laid_out(Ensemble((), 0.0, 1.0, (table,)), {1}, EVERY)
