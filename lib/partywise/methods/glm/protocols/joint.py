"""Joint fit: Newton or L-BFGS on all columns at once, from sums that secure products open.

The certified form of seed 004, "Block Coordinate Descent": no predictor of one party goes to the analyst.  With
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

Trial points lie on the line that the active party knows, so that halving a step opens nothing.  The active party sees
one n-vector of the others an evaluation (``record_openings``): with two parties it is X_2 d_2, and a few of them span
X_2; the exact solver does not cure what block coordinate descent leaks.  Everything the analyst sees is a sum over
records, without noise: epsilon is infinite for all.  The dealer of the secure products does not collude.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ....alignment.rows import common_rows
from ....federation.exchanges.masks.masked_sum import bits_for, masked_sum
from ....federation.exchanges.masks.pair_keys import PairKeys, agree_on_keys
from ....federation.places import PerPlace, per_place
from ....federation.roles import ANALYST, others_than, roles
from ....federation.run import Run
from ....models.newton_step import column_names
from ....models.standardise import Scaling
from ....privacy.accounted_values import Clear
from ..exact import check_size
from ..model import GlmEstimate
from ..opened_link.iterations import (
    LAST,
    MAJORANT,
    STEP,
    Steering,
    analyst_lbfgs,
    analyst_moved,
    analyst_newton,
    analyst_started,
)
from ..opened_link.steps import (
    LinearPredictor,
    analyst_direction,
    analyst_estimate,
    analyst_finished,
    analyst_line,
    analyst_named,
    analyst_verdict,
    local_along,
    local_evaluated,
    local_moved,
    local_own_information,
    local_own_scores,
    local_part,
    local_predictor,
    local_scales,
    local_sent_start,
    local_start,
    local_step,
    local_sums,
)
from ..records import (
    WeightedResponse,
    absent_records,
    local_columns,
    local_response,
    local_scaling,
    local_standardised,
)
from . import secret_shared_link
from .weighted_sums import MaskedColumns, closed_columns, gram, information, scores


def to_estimate(
    estimate: GlmEstimate,
    predictor: LinearPredictor,
    names: Sequence[str],
    rows: Mapping[str, np.ndarray] | None,
    counts: dict[str, int],
) -> GlmEstimate:
    """Add the active party's view and the counts; ``names`` are its own and those of the others."""
    active, *rest = names
    views = {f"{active}: {' + '.join(rest)}": np.array(predictor.others_parts).reshape(-1, len(predictor.eta)).T}
    positions = None if rows is None else {name: np.array(indices) for name, indices in rows.items()}
    return replace(estimate, views=views, rows=positions, numbers=estimate.numbers | counts)


def broadcast_state(run: Run, now: Steering, parts: Sequence[Clear]) -> str:
    """Send the analyst's verdict to all other places, and return it."""
    return run.agreed(run.broadcast(ANALYST, others_than(run, ANALYST), "state", analyst_verdict, now, parts))


def collect_information(
    run: Run,
    masked: MaskedColumns,
    X: PerPlace[np.ndarray],
    response: WeightedResponse,
    predictor: LinearPredictor,
    kind: str,
    name: str,
) -> np.ndarray:
    """X'WX at the analyst."""
    active = masked.order[0]
    evaluation = run.at(active, local_evaluated, response, predictor, kind)
    (active_block,) = run.gather(
        (active,), ANALYST, ("X'WX of its own",), local_own_information, evaluation, X, masked.parts
    )
    return information(run, masked, evaluation, active_block, name)


def evaluate(
    run: Run,
    masked: MaskedColumns,
    X: PerPlace[np.ndarray],
    response: WeightedResponse,
    predictor: LinearPredictor,
    now: Steering,
    step: int,
) -> tuple[Steering, str]:
    """One evaluation: the next direction at the analyst, and the verdict."""
    active, options, family = masked.order[0], run.spec.options, run.spec.public.family
    evaluation = run.at(active, local_evaluated, response, predictor, "observed")
    names = ("deviance", "X'u of its own")
    deviance, active_scores = run.gather((active,), ANALYST, names, local_own_scores, evaluation, X, masked.parts)
    total = scores(run, masked, evaluation, active_scores, step)
    if options.solver == "lbfgs":
        now = run.at(ANALYST, analyst_lbfgs, now, deviance, total, run.spec.public.family, options)
        return now, broadcast_state(run, now, masked.parts)
    verdict = STEP
    for kind in ("observed", "majorant"):
        if verdict in (STEP, MAJORANT):
            matrix = collect_information(run, masked, X, response, predictor, kind, f"{kind}, step {step}")
            now = run.at(ANALYST, analyst_newton, now, deviance, total, matrix, family, options)
            verdict = broadcast_state(run, now, masked.parts)
        if verdict != MAJORANT:
            break
    return now, verdict


def opened_along(
    run: Run,
    masked: MaskedColumns,
    keys: PairKeys,
    X: PerPlace[np.ndarray],
    predictor: LinearPredictor,
    now: Steering,
    step: int,
) -> LinearPredictor:
    """The predictor of the direction at the active party, who gets of the others' parts the sum alone."""
    active, parts = masked.order[0], masked.parts
    d = {
        party.name: run.send(ANALYST, party, "direction", analyst_direction, now, place, masked.sizes, parts)
        for place, party in enumerate(masked.order)
    }
    predictors = run.each(masked.rest, local_part, X, per_place(d))
    bits = bits_for(math.sqrt(masked.n) * sum(masked.sizes))
    name = "predictor of the direction"
    others = masked_sum(run, keys, name, f"direction {step}", predictors, bits, parts)
    return run.at(active, local_along, predictor, X, per_place(d), others)


def take_step(
    run: Run, masked: MaskedColumns, response: WeightedResponse, predictor: LinearPredictor, now: Steering, verdict: str
) -> tuple[LinearPredictor, Steering, bool]:
    """The step along the direction, whole if it is the last one; whether there was one."""
    active, parts, step = masked.order[0], masked.parts, 1.0
    if verdict == STEP:
        line = run.send(ANALYST, active, "line", analyst_line, now, run.spec.options.ridge, parts)
        rest = others_than(run, active)
        step = run.agreed(run.broadcast(active, rest, "step", local_step, response, predictor, line, parts))
    predictor = run.at(active, local_moved, predictor, step)
    return predictor, run.at(ANALYST, analyst_moved, now, step), step > 0


def iterate(
    run: Run,
    masked: MaskedColumns,
    keys: PairKeys,
    X: PerPlace[np.ndarray],
    response: WeightedResponse,
    predictor: LinearPredictor,
    now: Steering,
) -> tuple[LinearPredictor, Steering, str, int]:
    """Evaluations and steps until the analyst ends them, and how many steps there were."""
    steps = 0
    while True:
        now, verdict = evaluate(run, masked, X, response, predictor, now, steps)
        if verdict not in (STEP, LAST):
            return predictor, now, verdict, steps
        predictor = opened_along(run, masked, keys, X, predictor, now, steps)
        steps += 1
        predictor, now, moved = take_step(run, masked, response, predictor, now, verdict)
        if verdict == LAST or not moved:
            return predictor, now, verdict if moved else "not_converged", steps


def closing(
    run: Run,
    masked: MaskedColumns,
    X: PerPlace[np.ndarray],
    scaling: PerPlace[Scaling],
    response: WeightedResponse,
    predictor: LinearPredictor,
    now: Steering,
    verdict: str,
) -> GlmEstimate:
    """The estimate at the analyst; X'WX at expected weights is opened where the fit may have reached its optimum."""
    active, options, parts = masked.order[0], run.spec.options, masked.parts
    matrix, sandwich = None, list[np.ndarray]()
    if verdict == LAST or (verdict == "not_converged" and options.solver == "lbfgs" and not options.ridge):
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
    sums = run.send(active, ANALYST, "sums", local_sums, response, predictor, parts)
    scales = run.gather(masked.order, ANALYST, "means and scales", local_scales, scaling)
    columns = [party.columns for party in masked.order]
    inputs = sums, matrix, sandwich, scales, columns
    return run.at(ANALYST, analyst_estimate, now, *inputs, run.spec.public.family, options)


def with_opened_link(run: Run) -> GlmEstimate:
    """The fit whose linear predictors are opened to the active party."""
    active, passive = roles(run.parties, bare=True)
    public, options, order = run.spec.public, run.spec.options, (active, *passive)
    rows, n = common_rows(run)
    names = public.names_of(party.columns for party in order)
    check_size(n, 1 + len(names), options.ridge)
    response = run.at(active, local_response, rows, public, options.ridge)
    begun = run.at(active, local_start, response)
    columns = run.each(order, local_columns, rows, public)
    absent = absent_records(run, active, passive, response)
    scaling = run.each(order, local_scaling, columns, absent)
    X = run.each(order, local_standardised, columns, scaling, absent)
    keys = agree_on_keys(run, passive, active)
    masked = closed_columns(run, order, X, n)
    start = run.send(active, ANALYST, "start", local_sent_start, begun)
    matrix = gram(run, masked, X, between=options.start == "gram") if options.solver == "lbfgs" else None
    now = run.at(ANALYST, analyst_started, start, names, matrix, options.ridge)
    predictor = run.at(active, local_predictor, begun, response)
    predictor, now, verdict, steps = iterate(run, masked, keys, X, response, predictor, now)
    estimate = closing(run, masked, X, scaling, response, predictor, now, verdict)
    counts = {"openings": len(masked.aggregates), "record_openings": steps, "secure_products": masked.dealing.products}
    holders = [party.name for party in order]
    return run.assemble(to_estimate, estimate, predictor, holders, None if public.aligned else rows, counts)


def fit(run: Run) -> GlmEstimate:
    """Start without columns, step until the coefficients stop changing, open the information there once."""
    active, passive = roles(run.parties, bare=True)
    protocol = secret_shared_link.fit if run.spec.options.link == "shared" else with_opened_link
    with column_names(run.spec.public.names_of(party.columns for party in (active, *passive))):
        return protocol(run)
