"""Drives label scattering on generated records: parties, a run, and the pooled fit of the same integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from partywise.core.randomness import stream
from partywise.experiment.study import MethodSpec
from partywise.federation.folds import Fold
from partywise.federation.parties import Party, split_columns
from partywise.federation.run import Run
from partywise.methods.trees.codes import side_by_side
from partywise.methods.trees.ensemble import grow_trees
from partywise.methods.trees.model import Ensemble, TreeColumn, TreeFacts
from partywise.methods.trees.options import ScatteringOptions
from partywise.methods.trees.protocols.common import columns_of, draws_of, own_codes
from partywise.methods.trees.scattering.plan import STEP, passive_bins
from partywise.privacy.accounted_values import Public
from partywise.studies.vertical_trees.study import TreeConstants

KINDS = {"CrossEntropyLoss": {}, "RegressionMSELoss": {"residual_bound": 16.0}}


def records(n: int, d: int, criterion: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Columns with ties, a constant one among them, and labels that follow them."""
    rng = stream(5, "records", seed)
    X = rng.normal(size=(n, d))
    X[:, ::3] = np.round(2 * X[:, ::3])
    X[:, 1] = 3.0
    signal = X[:, 0] - X[:, -1] + 0.5 * X[:, d // 2] * (X[:, 0] > 0)
    if criterion == "RegressionMSELoss":
        return X, np.clip(signal + rng.normal(size=n), -8, 8)
    return X, (signal + rng.normal(size=n) > 0).astype(float)


def make_run(
    parties: int = 2,
    *,
    n: int = 60,
    d: int = 5,
    n_test: int = 10,
    criterion: str = "CrossEntropyLoss",
    active: int = -1,
    columns: Any = None,
    record: bool = False,
    rng_for: Any = None,
    extra: tuple[str, ...] = (),
    **options: Any,
) -> Run:
    """A run of records that no fit has seen yet."""
    X, y = records(n + n_test, d, criterion)
    groups = columns or split_columns(d, parties, "contiguous")
    made = []
    for k, group in enumerate(groups):
        role = "active" if k == active % len(groups) else "passive"
        block = {"X": X[:, list(group)]} | ({"y": y} if role == "active" else {})
        made.append(Party(role if role == "active" else f"passive {k + 1}", role, block, tuple(group)))
    edges = [Public(np.linspace(-2, 2, 7 + j), because="set by the test") for j in range(d)]
    bounds = Public((-3.0, 3.0), because="set by the test")
    named = tuple(TreeColumn(f"x{j}", edges[j], bounds) for j in range(d))
    fold = Fold(np.where(np.arange(n + n_test) < n_test, 0, 1), 0, 2)
    chosen = ScatteringOptions(**{"n_bins": 6, "num_of_trees": 2, "key_size": 512} | KINDS[criterion] | options)
    spec = MethodSpec(chosen, TreeConstants(), None, TreeFacts(named, criterion))
    streams = rng_for or (lambda *names: stream(9, *names))
    return Run(made, epsilon=np.inf, fold=fold, rng_for=streams, spec=spec, extra=extra, record=record)


def pooled(run: Run) -> Ensemble:
    """Trees on the same codes and integers, in one place."""
    options, public, train = run.spec.options, run.spec.public, run.fold.train
    parts, y = [], None
    for party in run.parties:
        X = party.block["X"][train]
        if party.role == "active":
            parts.append(own_codes(X, options))
            y = party.block["y"][train]
        else:
            parts.append(passive_bins(X, [public.columns[column] for column in party.columns], options))
    data = side_by_side(parts, [party.columns for party in run.parties])
    draws = draws_of(columns_of(run.parties), len(y), options, run.rng_for)
    return grow_trees(data, y, options, public.criterion, draws, STEP)
