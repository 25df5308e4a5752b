"""Runs a protocol of vertical linear models on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from partywise.core.randomness import Streams, stream
from partywise.federation.folds import Fold
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from partywise.methods.linear.model import LinearEstimate, LinearFacts
from partywise.privacy.accounted_values import Public

BOUND = 2.0


def rows(n: int, d: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features in [-2, 2], labels 0 and 1, and numbers in [-8, 8]."""
    rng = stream(seed, "linear rows")
    X = rng.uniform(-BOUND, BOUND, size=(n, d))
    eta = X @ rng.standard_normal(d)
    labels = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    return X, labels, np.clip(eta + 1 + 0.1 * rng.standard_normal(n), -8, 8)


def start(
    X: np.ndarray, y: np.ndarray, groups: Sequence[Sequence[int]], options: Any, *, holder: int = -1, **changes: Any
) -> Run:
    """A run, not used yet, whose parties hold groups of columns; ``holder`` is the number of the active one."""
    active, parties = range(len(groups))[holder], []
    for number, group in enumerate(groups):
        block = {"X": np.ascontiguousarray(X[:, list(group)])}
        if number == active:
            parties.append(Party("active", "active", block | {"y": y}, tuple(group)))
        else:
            parties.append(Party(f"passive {number + (number < active)}", "passive", block, tuple(group)))
    bounds = Public(np.full(X.shape[1], BOUND), because="range of the generator")
    public = LinearFacts(tuple(f"x{j}" for j in range(X.shape[1])), bounds, Public(8.0, because="clipped"))
    return Run(
        parties,
        epsilon=np.inf,
        fold=Fold(np.full(len(y), -1), 0, 1),
        rng_for=changes.get("rng_for", Streams(7, "linear")),
        spec=SimpleNamespace(options=options, public=changes.get("public", public)),
        extra=("server",),
        record=True,
    )


def fitted(fit: Callable[[Run], LinearEstimate], *given: Any, **changes: Any) -> tuple[LinearEstimate, Run]:
    """What a protocol found, and the run."""
    run = start(*given, **changes)
    return simulate(fit, run), run
