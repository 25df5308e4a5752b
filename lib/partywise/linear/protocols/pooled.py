"""References without privacy: every column goes to the active party, which takes the same steps, or fits exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...federation.parties import Party, merge_blocks
from ...federation.roles import roles
from ...federation.run import Run
from ...privacy.accounted_values import Clear
from ..exact import exact_fit
from ..model import Estimate
from ..options import ExactOptions, PooledOptions
from ..steps import descend
from .common import local_batches, local_response


def local_features(passive: Party, train: np.ndarray) -> Clear:
    """The party's training rows as they are, (n, d_k)."""
    return Clear(passive.block["X"][train], units=("features",), owner=passive.name)


def local_fit(
    active: Party,
    train: np.ndarray,
    others: Sequence[np.ndarray],
    columns: Sequence[Sequence[int]],
    options: PooledOptions | ExactOptions,
    rng_for: Callable,
) -> Estimate:
    """The fit on all columns: ``columns`` are those of the others, and last the party's own."""
    X = merge_blocks([*others, active.block["X"][train]], columns)
    response = local_response(active, train, options.model)
    if isinstance(options, ExactOptions):
        found, reached = exact_fit(X, response, options.model, options.ridge, options.intercept)
        return Estimate(found, numbers={} if reached else {"status": "not_converged"})
    drawn = local_batches(active, train, options, rng_for)
    found, path = descend(X, response, drawn, options)
    return Estimate(found, path=path, batches=drawn)


def fit(run: Run) -> Estimate:
    """Features in the clear."""
    active, passive = roles(run.parties, bare=True)
    train, columns = run.fold.train, [party.columns for party in (*passive, active)]
    others = run.gather(passive, active, "features", local_features, train)
    return run.at(active, local_fit, train, others, columns, run.spec.options, run.rng_for)
