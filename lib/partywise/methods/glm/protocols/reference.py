"""The pooled fit, all in the clear: every column goes to the active party, which fits alone.

| message | from, to | payload |
|---|---|---|
| what aligns the records, where they arrive unaligned | `partywise.alignment.rows` | |
| columns (n, p_k) | every passive party, active | Clear(features) |
| coefficients (1 + p,) | active, analyst | Clear(label, features) of all |

The active party sees one n-vector for each column of another one (``record_openings``); nothing finite is certified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

# Any: fields of an estimate by their names.
from typing import Any

import numpy as np

from ....alignment.rows import common_rows
from ....federation.parties import Party, merge_blocks
from ....federation.roles import ANALYST, parts_of, roles, unprotected_value
from ....federation.run import Run
from ....models.newton_step import column_names
from ....models.standardise import with_ones
from ....privacy.accounted_values import Clear
from ..diagnostics import diagnose, diagnose_hazards, hazard_sums_of, sums_of
from ..exact import PooledFit, fit_cox, fit_glm
from ..follow_up import FollowUp
from ..model import GlmEstimate
from ..options import GlmReferenceOptions, check_family
from ..penalised_path import penalise, without_errors
from ..records import WeightedResponse, local_answers, local_columns


def local_features(passive: Party, columns: np.ndarray) -> Clear:
    """The party's columns as they are, (n, p_k)."""
    return Clear(columns, units=("features",), owner=passive.name)


def local_fit(
    active: Party,
    X: np.ndarray,
    others: Sequence[np.ndarray],
    response: WeightedResponse | FollowUp,
    columns: Sequence[Sequence[int]],
    options: GlmReferenceOptions,
    names: Sequence[str],
) -> PooledFit:
    """The fit on all columns; ``columns`` are those of the party, then those of the others; ``names`` are of all."""
    X = merge_blocks([X, *others], columns)
    steps: dict[str, Any] = {"ridge": options.ridge, "tolerance": options.tolerance, "max_iter": options.max_iter}
    if isinstance(response, FollowUp):
        return fit_cox(X, response, names=names, **steps)
    return fit_glm(
        X,
        response.y,
        response.family,
        weights=response.weights,
        offset=response.offset,
        names=names,
        **steps,
        lasso=options.lasso_of(response.family.name, len(response.y)),
    )


def local_coefficients(active: Party, fit: PooledFit, parts: Sequence[Clear]) -> Clear:
    """(1 + p,) coefficients of the columns as they were given."""
    return unprotected_value(fit.coefficients, parts)


def squares(X: np.ndarray, fit: PooledFit, response: WeightedResponse) -> list[np.ndarray]:
    """X'WX of standardised columns at observed weights and at squared scores."""
    family, columns = response.family, with_ones(fit.scaling.apply(X))
    scores = response.weigh(family.score(response.y, fit.eta))
    weights = (response.weigh(family.observed_weight(response.y, fit.eta)), scores * scores)
    return [(columns * w[:, None]).T @ columns for w in weights]


def local_estimate(
    active: Party,
    fit: PooledFit,
    X: np.ndarray,
    others: Sequence[np.ndarray],
    response: WeightedResponse | FollowUp,
    columns: Sequence[Sequence[int]],
    options: GlmReferenceOptions,
    names: Sequence[str],
) -> GlmEstimate:
    """Return everything that is reported; without standard errors where the fit has not reached its optimum."""
    fields: dict[str, Any] = {"status": fit.status, "reason": fit.reason}
    fields |= {"iterations": fit.iterations, "objective": fit.objective}
    if isinstance(response, FollowUp):
        optimum = fit.information if fit.status == "ok" else None
        reported = diagnose_hazards(hazard_sums_of(response, fit.eta), optimum, fit.scaling, options.ridge)
        return GlmEstimate(fit.coefficients, baseline=response.baseline(fit.eta), **fields, **reported)
    sums = sums_of(response, fit.eta)
    fitted = sums, fit.information, fit.scaling, response.family.name
    sandwich = [] if options.cov_type == "nonrobust" else squares(merge_blocks([X, *others], columns), fit, response)
    drawn, covariance = options.dispersion, options.cov_type
    reported = diagnose(*fitted, ridge=options.ridge, dispersion=drawn, cov_type=covariance, sandwich=sandwich).fields()
    if fit.status != "ok":
        reported |= dict.fromkeys(("standard_errors", "covariance", "dispersion", "log_likelihood"))
        reported["numbers"]["aic"] = None
    estimate = GlmEstimate(fit.coefficients, **fields, **reported)
    if options.penalty is not None and response.family.name != "gaussian":
        return without_errors(estimate)
    return penalise(estimate, response.family.name, response.n_observations, options, names)


def to_estimate(
    estimate: GlmEstimate, others: Sequence[np.ndarray], names: Sequence[str], rows: Mapping[str, np.ndarray] | None
) -> GlmEstimate:
    """Add the active party's view; ``names`` are its own and those of the others."""
    active, *rest = names
    views = {f"{active}: {name}": X for name, X in zip(rest, others, strict=True)}
    counts = {"openings": 0, "record_openings": sum(X.shape[1] for X in others), "secure_products": 0}
    positions = None if rows is None else {name: np.array(indices) for name, indices in rows.items()}
    return replace(estimate, views=views, rows=positions, numbers=estimate.numbers | counts)


def fit(run: Run) -> GlmEstimate:
    """Send all columns to the active party, which fits and reports."""
    active, passive = roles(run.parties, bare=True)
    public, options, order = run.spec.public, run.spec.options, (active, *passive)
    check_family(options, public.family)
    rows, _ = common_rows(run)
    response = run.at(active, local_answers, rows, public, options)
    columns = run.each(run.parties, local_columns, rows, public)
    others = run.gather(passive, active, "columns", local_features, columns)
    groups = [party.columns for party in order]
    with column_names(public.names):
        fitted = run.at(active, local_fit, columns, others, response, groups, options, public.names)
    run.send(active, ANALYST, "coefficients", local_coefficients, fitted, parts_of(order))
    estimate = run.at(active, local_estimate, fitted, columns, others, response, groups, options, public.names)
    aligned = None if public.aligned else rows
    return run.assemble(to_estimate, estimate, others, [party.name for party in order], aligned)
