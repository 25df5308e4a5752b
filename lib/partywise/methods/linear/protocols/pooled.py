"""References without privacy: every column goes to the active party, which takes the same steps, or fits exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....core.verdicts import OK, Verdict, rank_verdict
from ....federation.parties import Party, merge_blocks
from ....federation.roles import roles
from ....federation.run import Run
from ....models.newton_step import dependent_columns
from ....privacy.accounted_values import Clear
from ..model import LinearEstimate
from ..options import LinearExactOptions, LinearPooledOptions
from ..steps import descend, exact_fit
from .common import local_batches, local_response


def local_features(passive: Party, train: np.ndarray) -> Clear:
    """The party's training rows as they are, (n, d_k)."""
    return Clear(passive.block["X"][train], units=("features",), owner=passive.name)


def local_fit(
    active: Party,
    train: np.ndarray,
    others: Sequence[np.ndarray],
    columns: Sequence[Sequence[int]],
    names: Sequence[str],
    options: LinearPooledOptions | LinearExactOptions,
    rng_for: Callable,
) -> LinearEstimate:
    """The fit on all columns: ``columns`` are those of the others, and last the party's own."""
    X = merge_blocks([*others, active.block["X"][train]], columns)
    response = local_response(active, train, options.model)
    if isinstance(options, LinearExactOptions):
        coefficients, reached = exact_fit(X, response, options.model, options.ridge, options.intercept)
        verdict = exact_verdict(X, names, options, reached)
        return LinearEstimate(coefficients, status=verdict.status, reason=verdict.reason)
    drawn = local_batches(active, train, options, rng_for)
    coefficients, path = descend(X, response, drawn, options)
    return LinearEstimate(coefficients, path=path, batches=drawn)


def exact_verdict(X: np.ndarray, names: Sequence[str], options: LinearExactOptions, reached: bool) -> Verdict:
    """Whether the columns determine an optimum, and whether Newton's steps reached it."""
    if not reached:
        return Verdict(
            "not_converged",
            f"Newton's steps have not reached an optimum with ridge={options.ridge}: give a larger one or fewer "
            "columns",
        )
    if options.ridge or X.shape[1] >= len(X):
        return OK
    return rank_verdict([names[place] for place in dependent_columns(X, options.intercept)])


def fit(run: Run) -> LinearEstimate:
    """Send all features to the active party, which fits."""
    active, passive = roles(run.parties, bare=True)
    train, columns = run.fold.train, [party.columns for party in (*passive, active)]
    others = run.gather(passive, active, "features", local_features, train)
    return run.at(active, local_fit, train, others, columns, run.spec.public.names, run.spec.options, run.rng_for)
