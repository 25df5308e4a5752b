"""Which rows are in the nodes of trees: what losslessness compares."""

from __future__ import annotations

import numpy as np

from partywise.methods.trees.model import LEAF, Ensemble, Tree


def partitions_of(ensemble: Ensemble, codes: np.ndarray) -> tuple[frozenset[bytes], ...]:
    """For every tree the sets of rows (packed bits) of all its nodes."""
    return tuple(_partition(tree, codes) for tree in ensemble.trees)


def _partition(tree: Tree, codes: np.ndarray) -> frozenset[bytes]:
    inside = np.zeros((len(tree.feature), len(codes)), dtype=bool)
    inside[tree.leaves_of_codes(codes), np.arange(len(codes))] = True
    for node in reversed(range(len(tree.feature))):
        if tree.feature[node] != LEAF:
            inside[node] = inside[tree.left[node]] | inside[tree.right[node]]
    return frozenset(np.packbits(row).tobytes() for row in inside)
