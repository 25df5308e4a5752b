"""Steps of a fit whose linear predictors are opened to the active party: evaluation, direction, length.

What crosses is in the table of `joint`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .....federation.exchanges.masks.masked_sum import bits_for, masked_sum
from .....federation.exchanges.masks.pair_keys import PairKeys
from .....federation.places import PerPlace, per_place
from .....federation.roles import ANALYST, others_than
from .....federation.run import Run
from .....models.standardise import Scaling
from .....privacy.accounted_values import Clear
from ...follow_up import FollowUp
from ...model import GlmEstimate
from ...opened_link.iterations import LAST, MAJORANT, STEP, Steering, analyst_lbfgs, analyst_moved, analyst_newton
from ...opened_link.steps import (
    Evaluation,
    LinearPredictor,
    analyst_direction,
    analyst_line,
    analyst_verdict,
    local_along,
    local_evaluated,
    local_moved,
    local_own_information,
    local_own_scores,
    local_part,
    local_scales,
    local_step,
    local_sums,
)
from ...records import WeightedResponse
from ..weighted_sums import MaskedColumns, information, scores


def to_estimate(
    estimate: GlmEstimate,
    predictor: LinearPredictor,
    names: Sequence[str],
    rows: Mapping[str, np.ndarray] | None,
    counts: dict[str, int],
    baseline: Mapping[str, np.ndarray] | None = None,
) -> GlmEstimate:
    """Add the active party's view, its baseline hazard and the counts; ``names`` are its own and those of others."""
    active, *rest = names
    views = {f"{active}: {' + '.join(rest)}": np.array(predictor.others_parts).reshape(-1, len(predictor.eta)).T}
    positions = None if rows is None else {name: np.array(indices) for name, indices in rows.items()}
    return replace(estimate, views=views, rows=positions, baseline=baseline, numbers=estimate.numbers | counts)


def broadcast_state(run: Run, now: Steering, parts: Sequence[Clear]) -> str:
    """Send the analyst's verdict to all other places, and return it."""
    return run.agreed(run.broadcast(ANALYST, others_than(run, ANALYST), "state", analyst_verdict, now, parts))


def collect_information(
    run: Run,
    masked: MaskedColumns,
    X: PerPlace[np.ndarray],
    response: WeightedResponse | FollowUp,
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


def collect_scores(
    run: Run, masked: MaskedColumns, X: PerPlace[np.ndarray], evaluation: Evaluation, step: int
) -> tuple[tuple[float], np.ndarray]:
    """The deviance and X'u at the analyst."""
    active, names = (masked.order[0],), ("deviance", "X'u of its own")
    deviance, active_scores = run.gather(active, ANALYST, names, local_own_scores, evaluation, X, masked.parts)
    return deviance, scores(run, masked, evaluation, active_scores, step)


def collect_units(
    run: Run,
    masked: MaskedColumns,
    scaling: PerPlace[Scaling],
    response: WeightedResponse | FollowUp,
    predictor: LinearPredictor,
) -> tuple[tuple[float, ...], tuple[tuple[np.ndarray, np.ndarray], ...], list[tuple[int, ...]]]:
    """Sums of the response, means and scales of all columns, and their places, at the analyst."""
    sums = run.send(masked.order[0], ANALYST, "sums", local_sums, response, predictor, masked.parts)
    scales = run.gather(masked.order, ANALYST, "means and scales", local_scales, scaling)
    return sums, scales, [party.columns for party in masked.order]


def evaluate(
    run: Run,
    masked: MaskedColumns,
    X: PerPlace[np.ndarray],
    response: WeightedResponse | FollowUp,
    predictor: LinearPredictor,
    now: Steering,
    step: int,
) -> tuple[Steering, str]:
    """One evaluation: the next direction at the analyst, and the verdict."""
    active, options, family = masked.order[0], run.spec.options, run.spec.public.family
    evaluation = run.at(active, local_evaluated, response, predictor, "observed")
    deviance, total = collect_scores(run, masked, X, evaluation, step)
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
    run: Run,
    masked: MaskedColumns,
    response: WeightedResponse | FollowUp,
    predictor: LinearPredictor,
    now: Steering,
    verdict: str,
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
    response: WeightedResponse | FollowUp,
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
