"""Runs of feature-gathering on small tables: columns with and without ties, declared edges and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from partywise.core.randomness import Streams, stream
from partywise.experiment.study import MethodSpec
from partywise.federation.folds import Fold
from partywise.federation.parties import Party
from partywise.federation.run import Run
from partywise.methods.trees.model import TreeColumn, TreeFacts
from partywise.privacy.accounted_values import Public
from partywise.privacy.ledger.total import Total

DELTA = 1e-5


def table(n: int = 240, d: int = 6, seed: int = 1, digits: int | None = 1, criterion: str = "CrossEntropyLoss"):
    """Columns (n, d), rounded to so many digits so that values are tied, one of them constant; and labels (n,)."""
    rng = stream(seed, "table")
    X = rng.standard_normal((n, d))
    X = X if digits is None else np.round(X, digits)
    score = X[:, 0] - X[:, d // 2] * X[:, -1] + 0.5 * rng.standard_normal(n)
    if digits is not None and d > 3:
        X[:, 1] = 0.5
    return X, score if criterion == "RegressionMSELoss" else (score > 0).astype(float)


def facts(d: int, criterion: str = "CrossEntropyLoss", edges: Sequence[Any] | None = None) -> TreeFacts:
    """Columns with declared edges, of another number each, and bounds."""
    cuts = [np.linspace(-2, 2, 5 + column) for column in range(d)] if edges is None else edges
    known = (Public(np.asarray(cut, float), because="fixed for the test") for cut in cuts)
    ends = Public((-3.0, 3.0), because="fixed for the test")
    return TreeFacts(tuple(TreeColumn(f"x{j}", cut, ends) for j, cut in enumerate(known)), criterion)


def dealt(X: np.ndarray, y: np.ndarray, groups: Sequence[Sequence[int]], active: int = -1) -> list[Party]:
    """Parties with these columns, the last or another one with the labels."""
    parties, active = [], active % len(groups)
    for place, columns in enumerate(groups):
        block = {"X": X[:, list(columns)]}
        if place == active:
            parties.append(Party("active", "active", block | {"y": y}, tuple(columns)))
        else:
            number = sum(party.role == "passive" for party in parties) + 1
            parties.append(Party(f"passive {number}", "passive", block, tuple(columns)))
    return parties


def execution(
    options: Any,
    X: np.ndarray,
    y: np.ndarray,
    groups: Sequence[Sequence[int]],
    *,
    epsilon: float = 3.0,
    delta: float = DELTA,
    public: TreeFacts | None = None,
    held_out: int = 0,
    seed: int = 5,
    active: int = -1,
    extra: tuple[str, ...] = (),
) -> Run:
    """A run that was not used yet; the first ``held_out`` rows test."""
    fold = Fold(np.where(np.arange(len(y)) < held_out, 0, -1), 0, 1)
    criterion = "CrossEntropyLoss" if np.isin(y, (0, 1)).all() else "RegressionMSELoss"
    known = facts(X.shape[1], criterion) if public is None else public
    spec = MethodSpec(options, SimpleNamespace(delta=delta), None, known)
    noise = Streams(seed, "noise")
    parties = dealt(X, y, groups, active)
    return Run(parties, epsilon=epsilon, fold=fold, rng_for=noise, spec=spec, extra=extra, record=True)


def total(run: Run, delta: float = DELTA) -> Total:
    """What the worst coalition learns of the features."""
    return run.channel.ledger.worst_total(run.channel.names, "features", delta)
