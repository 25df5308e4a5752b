"""Joint fit: Newton or L-BFGS on all columns at once, from sums that secure products open.

The certified form of document 004, "Block Coordinate Descent": no predictor of one party goes to the analyst.  With
``link: opened`` the active party adds up the linear predictor; `secret_shared_link` keeps it in shares.

Once                                                from, to                          payload
intercept and mean weight at the start              active, analyst                   Clear(label)
with a ridge: numbers of records without weight     active, every passive             Clear(label)
masked columns; of L-BFGS also shares of X'X        `weighted_sums`
keys of every two passive parties                   `pair_keys`, through the active party
An evaluation at new coefficients
deviance, X_1'u, of Newton X_1'WX_1                 active, analyst                   Clear(label, features)
masked u, shares of X_k'u                           `weighted_sums`
of Newton masked w and W X_k, shares of X_j'WX_k    `weighted_sums`
what comes next                                     analyst, every other              Clear(label, features)
A step
direction d_k, and its unit                         analyst, every party              Clear(label, features), 8 p_k B
X_k d_k under masks that cancel in the sum (n,)     every passive, active             Clear(label, features), 8 n B
value, slope and penalty along the line             analyst, active                   Clear(label, features)
length of the step                                  active, every other               Clear(label, features)
In the end
sums of the diagnostics; X'WX at expected weights   active, analyst; `weighted_sums`  Clear(label, features)
of a sandwich: at observed weights, squared scores  active, analyst; `weighted_sums`  Clear(label, features)
means and standard deviations of columns            every party, analyst              Clear(features)

With a ``penalty`` of Gaussian responses the fit ends after the first evaluation with its sums: no direction is sent and
no n-vector is opened. Family ``cox`` is `opened_sums.cox`.

Trial points lie on the line that the active party knows, so that halving a step opens nothing.  The active party sees
one n-vector of the others an evaluation (``record_openings``): with two parties it is X_2 d_2, and a few of them span
X_2; the exact solver does not cure what block coordinate descent leaks.  Everything the analyst sees is a sum over
records, without noise: epsilon is infinite for all.  The dealer of the secure products does not collude.
"""

from __future__ import annotations

import numpy as np

from ....alignment.rows import common_rows
from ....federation.exchanges.masks.pair_keys import agree_on_keys
from ....federation.places import PerPlace
from ....federation.roles import ANALYST, roles
from ....federation.run import Run
from ....models.newton_step import column_names
from ....models.standardise import Scaling
from ..exact import check_size
from ..follow_up import FollowUp
from ..model import GlmEstimate
from ..opened_link.iterations import LAST, Steering, analyst_started
from ..opened_link.steps import (
    LinearPredictor,
    analyst_estimate,
    analyst_finished,
    analyst_named,
    analyst_path,
    local_baseline,
    local_predictor,
    local_sent_start,
    local_start,
)
from ..options import COX, check_family
from ..records import (
    WeightedResponse,
    absent_records,
    local_answers,
    local_columns,
    local_scaling,
    local_standardised,
)
from . import secret_shared_link
from .opened_sums import cox
from .opened_sums.steps import (
    broadcast_state,
    collect_information,
    collect_units,
    evaluate,
    iterate,
    to_estimate,
)
from .weighted_sums import MaskedColumns, closed_columns, gram


def closing(
    run: Run,
    masked: MaskedColumns,
    X: PerPlace[np.ndarray],
    scaling: PerPlace[Scaling],
    response: WeightedResponse | FollowUp,
    predictor: LinearPredictor,
    now: Steering,
    verdict: str,
) -> GlmEstimate:
    """The estimate at the analyst; X'WX at expected weights is opened where the fit may have reached its optimum."""
    options, parts = run.spec.options, masked.parts
    matrix, sandwich = None, list[np.ndarray]()
    unfinished = verdict == "not_converged" and options.solver == "lbfgs" and not options.ridge
    if options.penalty is None and (verdict == LAST or unfinished):
        matrix = collect_information(run, masked, X, response, predictor, "weight", "in the end")
        now = run.at(ANALYST, analyst_finished, now, matrix, options.ridge)
        ended = broadcast_state(run, now, parts)
        if ended == "ok" and options.cov_type != "nonrobust":
            kinds = ("observed", "squared")
            sandwich = [
                collect_information(run, masked, X, response, predictor, kind, f"{kind}, in the end") for kind in kinds
            ]
        if ended == "diverged" and (options.solver, options.start) == ("lbfgs", "block"):
            now = run.at(ANALYST, analyst_named, now, gram(run, masked, X, between=True))
    sums, scales, columns = collect_units(run, masked, scaling, response, predictor)
    inputs = sums, matrix, sandwich, scales, columns
    return run.at(ANALYST, analyst_estimate, now, *inputs, run.spec.public.family, options)


def path_from_sums(
    run: Run,
    masked: MaskedColumns,
    X: PerPlace[np.ndarray],
    scaling: PerPlace[Scaling],
    response: WeightedResponse | FollowUp,
    predictor: LinearPredictor,
    now: Steering,
) -> GlmEstimate:
    """The penalised estimate of a Gaussian response, from X'u and X'WX at the start: no predictor is opened."""
    now, _ = evaluate(run, masked, X, response, predictor, now, 0)
    sums, scales, columns = collect_units(run, masked, scaling, response, predictor)
    inputs = now, sums, scales, columns
    return run.at(ANALYST, analyst_path, *inputs, run.spec.options, run.spec.public.names)


def with_opened_link(run: Run) -> GlmEstimate:
    """The fit whose linear predictors are opened to the active party."""
    active, passive = roles(run.parties, bare=True)
    public, options, order = run.spec.public, run.spec.options, (active, *passive)
    follows = options.penalty is not None and public.family == "gaussian"
    rows, n = common_rows(run)
    lasso = options.lasso_of(public.family, n)
    names = public.names_of(party.columns for party in order)
    check_size(n, 1 + len(names), options.ridge)
    response = run.at(active, local_answers, rows, public, options)
    begun = run.at(active, local_start, response)
    columns = run.each(order, local_columns, rows, public)
    absent = absent_records(run, active, passive, response)
    scaling = run.each(order, local_scaling, columns, absent)
    X = run.each(order, local_standardised, columns, scaling, absent)
    keys = agree_on_keys(run, passive, active)
    masked = closed_columns(run, order, X, n)
    start = run.send(active, ANALYST, "start", local_sent_start, begun)
    matrix = gram(run, masked, X, between=options.start == "gram") if options.solver == "lbfgs" else None
    now = run.at(ANALYST, analyst_started, start, names, matrix, options.ridge, lasso)
    predictor = run.at(active, local_predictor, begun, response)
    steps = 0
    if follows:
        estimate = path_from_sums(run, masked, X, scaling, response, predictor, now)
    else:
        predictor, now, verdict, steps = iterate(run, masked, keys, X, response, predictor, now)
        if public.family == COX and matrix is not None:
            ended = response, predictor, now, verdict, matrix, steps
            estimate, predictor, steps = cox.closing(run, masked, keys, X, scaling, *ended)
        else:
            estimate = closing(run, masked, X, scaling, response, predictor, now, verdict)
    baseline = run.at(active, local_baseline, response, predictor)
    counts = {"openings": len(masked.aggregates), "record_openings": steps, "secure_products": masked.dealing.products}
    holders = [party.name for party in order]
    return run.assemble(to_estimate, estimate, predictor, holders, None if public.aligned else rows, counts, baseline)


def fit(run: Run) -> GlmEstimate:
    """Start without columns, step until the coefficients stop changing, open the information there once."""
    active, passive = roles(run.parties, bare=True)
    options, family = run.spec.options, run.spec.public.family
    check_family(options, family)
    protocol = secret_shared_link.fit if options.link == "shared" else with_opened_link
    with column_names(run.spec.public.names_of(party.columns for party in (active, *passive))):
        return protocol(run)
