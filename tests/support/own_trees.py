"""A method of vertical trees by address: every passive party releases the bins of its first column alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partywise.experiment.study import Protocol
from partywise.federation.parties import Party
from partywise.federation.run import Run
from partywise.methods.trees.codes import from_codes, side_by_side
from partywise.methods.trees.ensemble import grow_trees, with_thresholds
from partywise.methods.trees.model import TreeEstimate
from partywise.methods.trees.options import TreeOptions
from partywise.methods.trees.protocols.common import active_of, columns_of, draws_of, local_codes, passive_of
from partywise.privacy.accounted_values import Public
from partywise.privacy.mechanisms.randomized_response import RandomizedResponse
from partywise.privacy.mechanisms.release import Release
from partywise.privacy.statistics.slices import bin_index


@dataclass(frozen=True)
class FirstColumnsOptions(TreeOptions):
    """Keys beside ``protocol``: those of trees. leak : a mean is sent as if it were public, which a check must see."""

    leak: bool = False
    uses_epsilon = True


def local_bins(passive: Party, train: np.ndarray, share: float, spec: Any, rng_for: Callable) -> Release:
    """Bins (n,) of the first column by declared edges, randomised: one record has one at each party."""
    edges = spec.public.columns[passive.columns[0]].edges
    bounded = bin_index(passive.block["X"][train, 0], edges)
    distribution = RandomizedResponse(share, len(edges.value) + 1)
    return distribution(bounded, rng_for("first", passive.name), owner=passive.name, release_id=f"first/{passive.name}")


def local_mean(passive: Party, train: np.ndarray) -> Public:
    """The leak."""
    return Public(passive.block["X"][train].mean(axis=0), because="a mean of many records says little of one")


def local_trees(active: Party, train: np.ndarray, bins: Sequence[np.ndarray], groups: Any, run_spec: Any, rng: Any):
    """Trees on own columns and on what was released; columns that nobody released have one code."""
    y, received, facts = active.block["y"][train], iter(bins), run_spec.public.columns
    parts = []
    for name, columns in groups:
        if name == active.name:
            parts.append(local_codes(active, train, run_spec.options))
            continue
        codes = np.zeros((len(y), len(columns)), dtype=np.int32)
        codes[:, 0] = next(received)
        parts.append(from_codes(codes, [len(facts[columns[0]].edges.value) + 1] + [1] * (len(columns) - 1)))
    data = side_by_side(parts, [columns for _, columns in groups])
    draws = draws_of(groups, len(y), run_spec.options, rng)
    ensemble = grow_trees(data, y, run_spec.options, run_spec.public.criterion, draws)
    cuts = {c[0]: np.array(facts[c[0]].edges.value) for name, c in groups if name != active.name}
    return with_thresholds(ensemble, cuts)


def fit(run: Run) -> TreeEstimate:
    """One message of every passive party, then trees."""
    active, passive, spec, train = active_of(run.parties), passive_of(run.parties), run.spec, run.fold.train
    share = run.epsilon / len(passive)
    bins = run.gather(passive, active, "first bins", local_bins, train, share, spec, run.rng_for)
    if spec.options.leak:
        run.gather(passive, active, "means", local_mean, train)
    ensemble = run.at(active, local_trees, train, bins, columns_of(run.parties), spec, run.rng_for)
    return run.assemble(lambda value: TreeEstimate(value, run.epsilon), ensemble)


PROTOCOL = Protocol(FirstColumnsOptions, study="vertical_trees")
