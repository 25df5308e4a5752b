"""Joint fit: Newton or L-BFGS on all columns at once, from sums that secure products open.

The certified form of seed 004, "Block Coordinate Descent": no predictor of one party goes to the analyst.  With
``link: opened`` the active party adds up the linear predictor; `partywise.glm.protocols.shared` keeps it in shares.

Once                                                from, to                          payload
intercept and mean weight at the start              active, analyst                   Clear(label)
masked columns; of L-BFGS also shares of X'X        `weighted_sums`
seeds of pairs                                      passive, later passive ones       Public(random numbers)
An evaluation at new coefficients
deviance, X_1'u, of Newton X_1'WX_1                 active, analyst                   Clear(label, features)
masked u, shares of X_k'u                           `weighted_sums`
of Newton masked w and W X_k, shares of X_j'WX_k    `weighted_sums`
what comes next                                     analyst, everybody else           Clear(label, features)
A step
direction d_k, and its unit                         analyst, every party              Clear(label, features), 8 p_k B
X_k d_k under masks that cancel in the sum (n,)     every passive, active             Clear(label, features), 8 n B
value, slope and penalty along the line             analyst, active                   Clear(label, features)
length of the step                                  active, everybody else            Clear(label, features)
In the end
sums of the diagnostics; X'WX at expected weights   active, analyst; `weighted_sums`  Clear(label, features)
means and standard deviations of columns            every party, analyst              Clear(features)

Trial points lie on the line that the active party knows, so that halving a step opens nothing.  The active party sees
one n-vector of the others an evaluation (``record_openings``): with two parties it is X_2 d_2, and a few of them span
X_2; the exact solver does not cure what block coordinate descent leaks.  Everything the analyst sees is a sum over
records, without noise: epsilon is infinite for all.  The dealer of the secure products colludes with nobody.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ...alignment.rows import common_rows
from ...federation.exchanges.masked_sum import bits_for, masked_sum, pair_seeds
from ...federation.parties import Party
from ...federation.run import Own, Run
from ...privacy.accounted import Clear
from ..diagnostics import Sums, aic_published, deviance_r2, diagnosed, sums_of
from ..exact import SEPARATED, check_size
from ..model import Estimate, Status
from ..options import JointOptions
from ..records import Response
from ..solvers import Line, dependent, rank_of, searched, vanished
from ..standardise import Scaling, with_ones
from ..steering import LAST, MAJORANT, STEP, Steering, in_blocks, lbfgs_step, newton_step, started, without_step
from .common import (
    ANALYST,
    local_columns,
    local_response,
    local_scaling,
    local_standardised,
    others_than,
    roles,
    unprotected,
)
from .weighted_sums import Closed, Scaled, closed_columns, gram, information, scaled, scores

# Openings that are kept for whoever attacks the active party's view.
KEPT = 60


@dataclass(frozen=True)
class Predictor:
    """What the active party knows of the linear predictor.

    eta : (n,) at the present coefficients; along : (n,) of the direction
    seen : of every direction the sum of the others' parts
    """

    eta: np.ndarray
    along: np.ndarray | None = None
    seen: tuple[np.ndarray, ...] = ()


@dataclass(frozen=True)
class Evaluation:
    """Scores u and weights w at the present coefficients, both times the weights of records."""

    deviance: float
    u: Scaled
    w: Scaled


def local_start(active: Party, response: Response) -> tuple[float, float]:
    """Intercept without columns, and the mean weight there."""
    intercept, _ = response.null()
    weight = response.weighted(response.family.weight(intercept + response.shift))
    return intercept, float(np.mean(weight))


def local_sent_start(active: Party, begun: tuple[float, float]) -> Clear:
    """Where the analyst starts."""
    return Clear(np.array(begun), units=("label",))


def local_predictor(active: Party, begun: tuple[float, float], response: Response) -> Predictor:
    """The predictor at the start."""
    return Predictor(begun[0] + response.shift)


def local_evaluated(active: Party, response: Response, predictor: Predictor, kind: str) -> Evaluation:
    """An evaluation; ``kind`` of weights: ``observed``, ``majorant`` or expected ones (``weight``)."""
    family, eta, y = response.family, predictor.eta, response.y
    w = family.weight(eta) if kind == "weight" else getattr(family, kind)(y, eta)
    u = response.weighted(family.score(y, eta))
    return Evaluation(response.deviance(eta), scaled(u), scaled(response.weighted(w)))


def local_scores(active: Party, found: Evaluation) -> Scaled:
    """The vector u."""
    return found.u


def local_weights(active: Party, found: Evaluation) -> Scaled:
    """The vector w."""
    return found.w


def local_own_scores(active: Party, found: Evaluation, X: np.ndarray, parts: Sequence[Clear]) -> tuple[Clear, Clear]:
    """The deviance, and X_1'u (1 + p_1,) with the scale of u."""
    own = with_ones(X).T @ (found.u.scale * found.u.values)
    return unprotected(found.deviance, parts), unprotected((own, found.u.scale), parts)


def local_own_information(active: Party, found: Evaluation, X: np.ndarray, parts: Sequence[Clear]) -> tuple[Clear]:
    """X_1'WX_1 (1 + p_1, 1 + p_1) with the scale of w."""
    columns = with_ones(X)
    own = (columns * (found.w.scale * found.w.values)[:, None]).T @ columns
    return (unprotected((own, found.w.scale), parts),)


def local_part(party: Party, X: np.ndarray, direction: tuple[np.ndarray, float]) -> np.ndarray:
    """(n,) the party's part of the predictor of a direction, in the unit of the direction."""
    d, unit = direction
    return X @ (d / unit)


def local_along(
    active: Party, predictor: Predictor, X: np.ndarray, direction: tuple[np.ndarray, float], others: np.ndarray
) -> Predictor:
    """With the predictor of a direction, from the party's own columns and the sum of the others."""
    d, unit = direction
    others = unit * others
    seen = (*predictor.seen, others) if len(predictor.seen) < KEPT else predictor.seen
    return replace(predictor, along=with_ones(X) @ d + others, seen=seen)


def local_step(
    active: Party, response: Response, predictor: Predictor, line: np.ndarray, parts: Sequence[Clear]
) -> Clear:
    """Length of the first step along the line that lowers the objective enough; 0 if none does."""
    shape = Line(np.empty(0), np.empty(0), *line.tolist())
    along = np.zeros(len(response.y)) if predictor.along is None else predictor.along
    found = searched(shape, lambda step: response.deviance(predictor.eta + step * along))
    return unprotected(0.0 if found is None else found[0], parts)


def local_moved(active: Party, predictor: Predictor, step: float) -> Predictor:
    """After a step."""
    along = 0.0 if predictor.along is None else step * predictor.along
    return replace(predictor, eta=predictor.eta + along, along=None)


def local_sums(active: Party, response: Response, predictor: Predictor, parts: Sequence[Clear]) -> Clear:
    """Sums of the diagnostics."""
    return unprotected(tuple(sums_of(response, predictor.eta)), parts)


def local_scales(party: Party, scaling: Scaling) -> Clear:
    """Means and standard deviations of the party's columns, to bring coefficients to the scale of the data."""
    return Clear((scaling.means, scaling.scales), units=("features",), owner=party.name)


def analyst_started(begun: np.ndarray, q: int, matrix: np.ndarray | None, ridge: float) -> Steering:
    """Before the first evaluation."""
    return started(float(begun[0]), q, matrix, float(begun[1]), ridge)


def analyst_newton(
    now: Steering, deviance: tuple[float], found: np.ndarray, matrix: np.ndarray, family: str, options: JointOptions
) -> Steering:
    """After an evaluation of Newton."""
    return newton_step(now, deviance[0], found, matrix, family, options)


def analyst_lbfgs(now: Steering, deviance: tuple[float], found: np.ndarray, options: JointOptions) -> Steering:
    """After an evaluation of L-BFGS."""
    return lbfgs_step(now, deviance[0], found, options)


def analyst_verdict(now: Steering, parts: Sequence[Clear]) -> Clear:
    """What comes next."""
    return unprotected(now.verdict, parts)


def analyst_direction(now: Steering, place: int, sizes: Sequence[int], parts: Sequence[Clear]) -> Clear:
    """A party's part of the direction, and the power of two above all slopes."""
    direction = np.zeros(len(now.beta)) if now.direction is None else now.direction
    largest = float(np.max(np.abs(direction[1:]), initial=0.0))
    unit = 2.0 ** math.ceil(math.log2(largest)) if largest else 1.0
    return unprotected((direction[in_blocks(sizes)[place]], unit), parts)


def analyst_line(now: Steering, ridge: float, parts: Sequence[Clear]) -> Clear:
    """(5,) what decides about steps along the direction."""
    line = now.line(ridge)
    return unprotected(np.array([line.value, line.slope, line.penalty, line.lean, line.bend]), parts)


def analyst_moved(now: Steering, step: float) -> Steering:
    """After a step; one of length 0 is the end."""
    return now.moved(step) if step else without_step(now)


def analyst_finished(now: Steering, matrix: np.ndarray, ridge: float) -> Steering:
    """With the status of the optimum, from X'WX there: separated responses have lost their curvature."""
    if not ridge and now.first is not None and vanished(matrix, now.first):
        return replace(now, verdict="diverged", reason=SEPARATED)
    return replace(now, verdict="ok") if now.verdict == LAST else now


def analyst_named(now: Steering, matrix: np.ndarray) -> Steering:
    """Curvature that is lost in X'X already is that of columns that depend on each other."""
    if rank_of(matrix) < len(matrix):
        raise dependent(matrix)
    return now


def analyst_estimate(
    now: Steering,
    sums: tuple[float, ...],
    matrix: np.ndarray | None,
    scales: Sequence[tuple[np.ndarray, np.ndarray]],
    columns: Sequence[Sequence[int]],
    family: str,
    options: JointOptions,
) -> Estimate:
    """Everything that is reported, by the global numbers of the columns."""
    order = np.concatenate([[0], 1 + np.argsort(np.concatenate([np.asarray(own, dtype=int) for own in columns]))])
    scaling = Scaling.joined([Scaling(*part) for part in scales], columns)
    beta, found = scaling.coefficients(now.beta[order]), Sums(*sums)
    shown: dict[str, Any]
    if now.verdict == "ok" and matrix is not None:
        matrix = matrix[np.ix_(order, order)]
        shown = diagnosed(found, matrix, scaling, family, ridge=options.ridge, dispersion=options.dispersion).fields()
    else:
        r2, published = deviance_r2(found.deviance, found.null_deviance), aic_published(found.deviance, len(beta))
        numbers = {"deviance_r2": r2, "aic_published": published, "reason": now.reason}
        shown = {"deviance": found.deviance, "null_deviance": found.null_deviance, "numbers": numbers}
    path = np.array(now.path)
    return Estimate(beta, status=cast(Status, now.verdict), iterations=len(path), objective=path, **shown)


def reported(
    estimate: Estimate,
    predictor: Predictor,
    names: Sequence[str],
    rows: Mapping[str, np.ndarray] | None,
    counts: dict[str, int],
) -> Estimate:
    """With what the active party saw, and what was counted; ``names`` are its own and those of the others."""
    active, *rest = names
    seen = {f"{active}: {' + '.join(rest)}": np.array(predictor.seen).reshape(-1, len(predictor.eta)).T}
    kept = None if rows is None else {name: np.array(own) for name, own in rows.items()}
    return replace(estimate, seen=seen, rows=kept, numbers=estimate.numbers | counts)


def told(run: Run, now: Any, parts: Sequence[Clear]) -> str:
    """What comes next, as everybody knows it then."""
    return run.known(run.broadcast(ANALYST, others_than(run, ANALYST), "state", analyst_verdict, now, parts))


def weighed(run: Run, closed: Closed, X: Own, response: Any, predictor: Any, kind: str, name: str) -> Any:
    """X'WX at the analyst."""
    active = closed.order[0]
    found = run.at(active, local_evaluated, response, predictor, kind)
    (own,) = run.gather((active,), ANALYST, ("X'WX of its own",), local_own_information, found, X, closed.parts)
    return information(run, closed, run.at(active, local_weights, found), own, name)


def evaluated(run: Run, closed: Closed, X: Own, response: Any, predictor: Any, now: Any, step: int) -> tuple[Any, str]:
    """One evaluation: the next direction at the analyst, and the verdict."""
    active, options, family = closed.order[0], run.spec.options, run.spec.public.family
    found = run.at(active, local_evaluated, response, predictor, "observed")
    names = ("deviance", "X'u of its own")
    deviance, own = run.gather((active,), ANALYST, names, local_own_scores, found, X, closed.parts)
    total = scores(run, closed, run.at(active, local_scores, found), own, step)
    if options.solver == "lbfgs":
        now = run.at(ANALYST, analyst_lbfgs, now, deviance, total, options)
        return now, told(run, now, closed.parts)
    verdict = STEP
    for kind in ("observed", "majorant"):
        if verdict in (STEP, MAJORANT):
            matrix = weighed(run, closed, X, response, predictor, kind, f"{kind}, step {step}")
            now = run.at(ANALYST, analyst_newton, now, deviance, total, matrix, family, options)
            verdict = told(run, now, closed.parts)
        if verdict != MAJORANT:
            break
    return now, verdict


def opened_along(run: Run, closed: Closed, seeds: Own, X: Own, predictor: Any, now: Any, step: int) -> Any:
    """The predictor of the direction at the active party, who gets of the others' parts the sum alone."""
    active, parts = closed.order[0], closed.parts
    d = {
        party.name: run.send(ANALYST, party, "direction", analyst_direction, now, place, closed.sizes, parts)
        for place, party in enumerate(closed.order)
    }
    own = run.each(closed.rest, local_part, X, Own(d))
    bits = bits_for(math.sqrt(closed.n) * sum(closed.sizes))
    name = "predictor of the direction"
    others = masked_sum(run, closed.rest, active, name, f"direction {step}", seeds, own, bits, parts)
    return run.at(active, local_along, predictor, X, Own(d), others)


def stepped(run: Run, closed: Closed, response: Any, predictor: Any, now: Any, verdict: str) -> tuple[Any, Any, bool]:
    """The step along the direction, whole if it is the last one; whether there was one."""
    active, parts, step = closed.order[0], closed.parts, 1.0
    if verdict == STEP:
        line = run.send(ANALYST, active, "line", analyst_line, now, run.spec.options.ridge, parts)
        rest = others_than(run, active)
        step = run.known(run.broadcast(active, rest, "step", local_step, response, predictor, line, parts))
    predictor = run.at(active, local_moved, predictor, step)
    return predictor, run.at(ANALYST, analyst_moved, now, step), step > 0


def steered(run: Run, closed: Closed, X: Own, response: Any, predictor: Any, now: Any) -> tuple[Any, Any, str, int]:
    """Evaluations and steps until the analyst ends them, and how many steps there were."""
    seeds, steps = pair_seeds(run, closed.rest), 0
    while True:
        now, verdict = evaluated(run, closed, X, response, predictor, now, steps)
        if verdict not in (STEP, LAST):
            return predictor, now, verdict, steps
        predictor = opened_along(run, closed, seeds, X, predictor, now, steps)
        steps += 1
        predictor, now, moved = stepped(run, closed, response, predictor, now, verdict)
        if verdict == LAST or not moved:
            return predictor, now, verdict if moved else "not_converged", steps


def closing(
    run: Run, closed: Closed, X: Own, scaling: Own, response: Any, predictor: Any, now: Any, verdict: str
) -> Any:
    """The estimate at the analyst; X'WX at expected weights is opened where the fit may have reached its optimum."""
    active, options, parts = closed.order[0], run.spec.options, closed.parts
    matrix = None
    if verdict == LAST or (verdict == "not_converged" and options.solver == "lbfgs" and not options.ridge):
        matrix = weighed(run, closed, X, response, predictor, "weight", "in the end")
        now = run.at(ANALYST, analyst_finished, now, matrix, options.ridge)
        if told(run, now, parts) == "diverged" and (options.solver, options.start) == ("lbfgs", "block"):
            now = run.at(ANALYST, analyst_named, now, gram(run, closed, X, between=True))
    sums = run.send(active, ANALYST, "sums", local_sums, response, predictor, parts)
    scales = run.gather(closed.order, ANALYST, "means and scales", local_scales, scaling)
    columns = [party.columns for party in closed.order]
    return run.at(ANALYST, analyst_estimate, now, sums, matrix, scales, columns, run.spec.public.family, options)


def fit(run: Run) -> Estimate:
    """Start without columns, step until the coefficients stand still, open the information there once."""
    active, passive = roles(run.parties)
    public, options, order = run.spec.public, run.spec.options, (active, *passive)
    if options.link == "shared":
        raise NotImplementedError("link is 'shared': it is not built yet, use 'opened'.")
    rows, n = common_rows(run)
    q = 1 + len(public.names)
    check_size(n, q, options.ridge)
    response = run.at(active, local_response, rows, public)
    begun = run.at(active, local_start, response)
    given = run.each(order, local_columns, rows, public)
    scaling = run.each(order, local_scaling, given)
    X = run.each(order, local_standardised, given, scaling)
    closed = closed_columns(run, order, X, n)
    start = run.send(active, ANALYST, "start", local_sent_start, begun)
    matrix = gram(run, closed, X, between=options.start == "gram") if options.solver == "lbfgs" else None
    now = run.at(ANALYST, analyst_started, start, q, matrix, options.ridge)
    predictor = run.at(active, local_predictor, begun, response)
    predictor, now, verdict, steps = steered(run, closed, X, response, predictor, now)
    estimate = closing(run, closed, X, scaling, response, predictor, now, verdict)
    counts = {"openings": len(closed.opened), "record_openings": steps, "secure_products": closed.dealt.products}
    names = [party.name for party in order]
    return run.assemble(reported, estimate, predictor, names, None if public.aligned else rows, counts)
