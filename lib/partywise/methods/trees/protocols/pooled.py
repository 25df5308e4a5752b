"""Protocol without privacy: passive parties send their columns, the active party grows trees on all of them.

The reference of losslessness: codes are made as the parties would make them, dense ranks of passive columns and
quantile bins of the active party's own, so that a federated fit without protection equals this one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....federation.parties import Party
from ....federation.run import Run
from ....privacy.accounted_values import Clear
from ..codes import dense_ranks, side_by_side
from ..ensemble import grow_trees
from ..model import ColumnGroups, TreeEstimate, TreeSpec
from ..options import TreePooledOptions
from .common import active_of, columns_of, draws_of, local_codes, passive_of


def local_features(passive: Party, train: np.ndarray) -> Clear:
    """A passive party's training rows (n, d_k), unprotected."""
    return Clear(passive.block["X"][train], units=("features",), owner=passive.name)


def local_estimate(
    active: Party,
    train: np.ndarray,
    features: Sequence[np.ndarray],
    groups: ColumnGroups,
    spec: TreeSpec[TreePooledOptions],
    rng_for: Callable,
) -> TreeEstimate:
    """Trees on all columns.

    features : of the passive parties, in order; groups : name and columns of every party
    """
    codes, options = local_codes(active, train, spec.options), spec.options
    received = iter(features)
    parts = [codes if name == active.name else dense_ranks(next(received), options.ties) for name, _ in groups]
    data, y = side_by_side(parts, [columns for _, columns in groups]), active.block["y"][train]
    draws = draws_of(groups, len(y), options, rng_for)
    facts = spec.public
    ensemble = grow_trees(data, y, options, facts.criterion, draws, outputs=facts.outputs, bounds=facts.response_bounds)
    return TreeEstimate(ensemble, float("inf"))


def fit(run: Run) -> TreeEstimate:
    """Columns in the clear."""
    active, train = active_of(run.parties), run.fold.train
    features = run.gather(passive_of(run.parties), active, "features", local_features, train)
    groups = columns_of(run.parties)
    return run.at(active, local_estimate, train, features, groups, run.spec, run.rng_for)
