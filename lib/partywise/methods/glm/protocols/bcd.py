"""Block coordinate descent: every party fits its own columns in turn, and the analyst carries predictors between them.

Source: document 004, section "Block Coordinate Descent (BCD) for GLMs"; the analyst is its client. One program for both
variants: what differs is the scale of the columns, the start and the update of a block
(`partywise.methods.glm.blocks`).

Once                                                from, to                          payload
response (n,), with weights (n, 2) if there are     active, every passive             Clear(label)
A visit of a party k, the active one first
predictors of the other parties eta_-k (n,)         analyst, party k                  Clear(label, features)
its own predictor eta_k (n,)                        party k, analyst                  Clear(label, features)
length of the change of its coefficients            party k, analyst                  Clear(label, features)
A sweep of K visits
whether it is the last one                          analyst, every other              Clear(label, features)
In the end, unless the fit diverged
predictors of the other parties (n,)                analyst, active                   Clear(label, features)
deviance and null deviance                          active, analyst                   Clear(label, features)
coefficients of the columns as they were given      every party, analyst              Clear(label, features)

A predictor is not an aggregate but an n-vector in the span of a party's columns, and from the second sweep on each
depends on the response and on all parties' columns: all are charged to all owners. The analyst sees K of them a sweep
(``record_openings``), soon the whole span of each party's columns; party k sees the sums of the others', with two
parties the other's own; the passive parties hold the response. Nothing finite is certified.
The published variant breaks down where its formulas overflow: its status is ``diverged`` then, its coefficients NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from ....alignment.rows import common_rows
from ....federation.parties import Party
from ....federation.places import PerPlace, by_place, per_place
from ....federation.roles import ANALYST, others_than, parts_of, roles, unprotected_value
from ....federation.run import Run
from ....models.newton_step import dependent, rank_of
from ....models.standardise import Scaling, scaling_of, with_ones
from ....privacy.accounted_values import Clear
from ..blocks import PartyBlock, corrected_step, published_step, update_block
from ..exact import check_size, separated_reason
from ..model import GlmEstimate, Status
from ..options import BcdOptions
from ..records import WeightedResponse, local_columns, local_null, local_response
from ..solvers import unit_of
from .scoring import local_part

# Sweeps whose predictors are kept for whoever attacks the analyst's view.
KEPT = 30
GOING = "going on"


@dataclass(frozen=True)
class AnalystState:
    """State of the analyst: values of all parties, in the order of their visits.

    predictors : (n,) of each; changes : of its coefficients in the sweep; history : the first predictors of each
    """

    predictors: tuple[np.ndarray, ...]
    changes: tuple[float, ...]
    history: tuple[tuple[np.ndarray, ...], ...] = ()


def local_records(active: Party, response: WeightedResponse) -> Clear:
    """The response with its weights, if there are some, as they are sent."""
    records = response.y if response.weights is None else np.column_stack([response.y, response.weights])
    return Clear(records, units=("label",))


def local_heard(party: Party, records: np.ndarray, family: str) -> WeightedResponse:
    """The response as another party has it: the offset stays where it is."""
    if records.ndim == 1:
        return WeightedResponse.of(records, family)
    y, weights = np.ascontiguousarray(records.T)
    return WeightedResponse.of(y, family, weights)


def local_scales(party: Party, columns: np.ndarray, response: WeightedResponse, options: BcdOptions) -> Scaling:
    """Return the scaling of the party's columns; the published variant has none."""
    p = columns.shape[1]
    return scaling_of(columns, response.absent) if options.variant == "corrected" else Scaling(np.zeros(p), np.ones(p))


def local_block(
    party: Party,
    columns: np.ndarray,
    scaling: Scaling,
    response: WeightedResponse,
    options: BcdOptions,
    names: Sequence[str],
) -> PartyBlock:
    """The party's columns before the first sweep; the active party has the intercept and the offset.

    names : of all columns, in the order of the data
    """
    X, first = scaling.apply(columns), int(party.role == "active")
    X = with_ones(X) if first else X
    penalty, b = np.full(X.shape[1], options.ridge), np.zeros(X.shape[1])
    if options.variant == "published":
        return PartyBlock(X, penalty, b, response.shift)
    if not options.ridge and rank_of(X.T @ X) < X.shape[1]:
        error = dependent(X.T @ X)
        place = error.place - first
        which = "the intercept" if place < 0 else repr(names[party.columns[place]])
        raise np.linalg.LinAlgError(
            f"the columns of {party.name!r} have rank {error.rank}, not {X.shape[1]}: drop dependent or constant ones "
            f"({which} depends on those before it), or give ridge > 0."
        )
    start, null = response.null()
    if first:
        penalty[0], b[0] = 0.0, start
    weight = float(np.max(response.weigh(response.family.weight(start + response.shift))))
    total = float(np.sum(response.weigh(response.family.weight(start + response.shift))))
    unit = unit_of(response.family, null, total)
    return PartyBlock(X, penalty, b, response.shift, weight, unit)


def local_update(
    party: Party, block: PartyBlock, others: np.ndarray, response: WeightedResponse, options: BcdOptions
) -> PartyBlock:
    """The party's columns after its step."""
    step = corrected_step if options.variant == "corrected" else published_step
    with np.errstate(all="ignore"):
        rest = others + block.shift
        b = update_block(step, block, rest, response, options.tolerance if options.local == "argmin" else None)
        objective = block.size
        if party.role == "active":
            objective += response.deviance(rest + block.columns @ block.b)
        return block.with_coefficients(b, objective)


def local_answer(party: Party, block: PartyBlock, parts: Sequence[Clear]) -> tuple[Clear, Clear]:
    """Return the answer to a visit: the party's predictor, and how far its coefficients moved."""
    with np.errstate(all="ignore"):
        return unprotected_value(block.predictor, parts), unprotected_value(block.change, parts)


def local_deviances(
    active: Party,
    block: PartyBlock,
    others: np.ndarray,
    response: WeightedResponse,
    null: tuple[float, float],
    parts: Sequence[Clear],
) -> Clear:
    """(2,) deviance and null deviance."""
    return unprotected_value(np.array([response.deviance(others + block.predictor), null[1]]), parts)


def local_coefficients(party: Party, block: PartyBlock, scaling: Scaling, parts: Sequence[Clear]) -> Clear:
    """(1 + p_k,) coefficients of the party's columns as they were given, after its part of the intercept."""
    b = block.b if party.role == "active" else np.concatenate([np.zeros(1), block.b])
    return unprotected_value(scaling.coefficients(b), parts)


def local_own_part(
    party: Party, block: PartyBlock, scaling: Scaling, n_columns: int, parts: Sequence[Clear]
) -> GlmEstimate:
    """Return the party's part of the estimate; the intercept is nan, as the party knows its share of it alone."""
    return local_part(party, local_coefficients(party, block, scaling, parts).value[1:], n_columns, float("nan"))


def analyst_start(n: int, parties: int) -> AnalystState:
    """Predictors of parties that have not moved."""
    return AnalystState((np.zeros(n),) * parties, (0.0,) * parties, ((),) * parties)


def analyst_heard(
    carried: AnalystState, place: int, predictor: tuple[np.ndarray, ...], change: tuple[float, ...]
) -> AnalystState:
    """Return the state after a visit of one party, which sent one predictor and one change."""
    predictors = (*carried.predictors[:place], *predictor, *carried.predictors[place + 1 :])
    changes = (*carried.changes[:place], *change, *carried.changes[place + 1 :])
    history = list(carried.history)
    history[place] = (*history[place], *predictor)[:KEPT]
    return AnalystState(predictors, changes, tuple(history))


def analyst_others(carried: AnalystState, place: int, parts: Sequence[Clear]) -> Clear:
    """(n,) sum of the predictors of all parties but one."""
    rest = [eta for other, eta in enumerate(carried.predictors) if other != place]
    with np.errstate(all="ignore"):
        return unprotected_value(np.sum(rest, axis=0), parts)


def analyst_state(carried: AnalystState, sweep: int, options: BcdOptions, parts: Sequence[Clear]) -> Clear:
    """Whether a sweep was the last one, and why."""
    moved = sum(carried.changes)
    state = GOING if sweep < options.max_sweeps else "not_converged"
    if not all(np.isfinite(eta).all() for eta in carried.predictors) or not np.isfinite(moved):
        state = "diverged"
    elif moved < options.tolerance:
        state = "ok"
    return unprotected_value(state, parts)


def reason_of(state: Status, options: BcdOptions) -> str:
    """Return the reason why sweeps stopped without convergence.

    For separated responses it names no column. Sums over the columns of all parties, which identify it, are at no
    place, and an owner that named its column to the analyst would reveal which column of its records has the labels.
    """
    if state == "not_converged":
        return f"max_sweeps={options.max_sweeps} sweeps"
    if state == "diverged":
        return separated_reason() if options.variant == "corrected" else "a formula of the source overflowed"
    return ""


def analyst_estimate(
    carried: AnalystState,
    outcome: tuple[Sequence[np.ndarray], np.ndarray] | None,
    state: Status,
    sweeps: int,
    order: Sequence[tuple[str, Sequence[int]]],
    options: BcdOptions,
) -> GlmEstimate:
    """Return the estimate at the analyst; ``order`` is that of the visits."""
    estimate = GlmEstimate(
        np.full(1 + sum(len(columns) for _, columns in order), np.nan),
        status=state,
        reason=reason_of(state, options),
        iterations=sweeps,
        views={
            f"{ANALYST}: {name}": np.column_stack(sent) for (name, _), sent in zip(order, carried.history, strict=True)
        },
        numbers={"openings": 0, "record_openings": sweeps * len(order), "secure_products": 0},
    )
    if outcome is None:
        return estimate
    parts, deviances = outcome
    coefficients = estimate.coefficients
    coefficients[0] = sum(part[0] for part in parts)
    for (_, columns), part in zip(order, parts, strict=True):
        coefficients[1 + np.array(columns, dtype=int)] = part[1:]
    return replace(estimate, deviance=float(deviances[0]), null_deviance=float(deviances[1]))


def to_estimate(
    estimate: GlmEstimate, blocks: Mapping[str, PartyBlock], names: Sequence[str], rows: Mapping[str, np.ndarray] | None
) -> GlmEstimate:
    """Add the path of the objective, which only an evaluator sees; ``names`` are in the order of the visits."""
    ordered = [blocks[name] for name in names]
    with np.errstate(all="ignore"):
        path = np.sum([block.path for block in ordered], axis=0)
    if estimate.deviance is None:
        path = path[np.isfinite(path)]
    else:
        path = np.append(path, estimate.deviance + sum(block.size for block in ordered))
    return replace(estimate, objective=path, rows=rows)


def swept(
    run: Run,
    order: Sequence[Party],
    blocks: PerPlace[PartyBlock],
    carried: AnalystState,
    response: PerPlace[WeightedResponse],
) -> tuple[PerPlace[PartyBlock], AnalystState]:
    """Every party in turn: it gets the others' predictors, moves, and answers."""
    parts, options = parts_of(run.parties), run.spec.options
    after = dict(by_place(blocks))
    for place, party in enumerate(order):
        others = run.send(ANALYST, party, "predictors of the others", analyst_others, carried, place, parts)
        block = run.at(party, local_update, blocks, others, response, options)
        names = ("predictor", "change of coefficients")
        predictors, changes = run.gather((party,), ANALYST, names, local_answer, block, parts)
        carried = run.at(ANALYST, analyst_heard, carried, place, predictors, changes)
        after[party.name] = block
    return per_place(after), carried


def fit(run: Run) -> GlmEstimate:
    """Sweeps over all parties until the coefficients stop changing, or the formulas break down."""
    active, passive = roles(run.parties, bare=True)
    order, parts, options = (active, *passive), parts_of(run.parties), run.spec.options
    public, rest = run.spec.public, others_than(run, ANALYST)
    rows, n = common_rows(run)
    columns = run.each(order, local_columns, rows, public)
    check_size(n, 1 + len(public.names), options.ridge)
    active_response = run.at(active, local_response, rows, public, options.ridge)
    null = run.at(active, local_null, active_response)
    records = run.broadcast(active, passive, "response", local_records, active_response)
    heard = {party.name: run.at(party, local_heard, records, public.family) for party in passive}
    response = per_place({active.name: active_response} | heard)
    scaling = run.each(order, local_scales, columns, response, options)
    blocks = run.each(order, local_block, columns, scaling, response, options, public.names)
    carried = run.at(ANALYST, analyst_start, n, len(order))
    state, sweep = GOING, 0
    while state == GOING:
        sweep += 1
        blocks, carried = swept(run, order, blocks, carried, response)
        state = run.agreed(run.broadcast(ANALYST, rest, "state", analyst_state, carried, sweep, options, parts))
    outcome = None
    if state != "diverged":
        coefficients = run.gather(order, ANALYST, "coefficients", local_coefficients, blocks, scaling, parts)
        others = run.send(ANALYST, active, "predictors of the others", analyst_others, carried, 0, parts)
        deviances = run.send(
            active, ANALYST, "deviances", local_deviances, blocks, others, active_response, null, parts
        )
        outcome = (coefficients, deviances)
    positions = None if public.aligned else rows
    groups = [(party.name, party.columns) for party in order]
    estimate = run.at(ANALYST, analyst_estimate, carried, outcome, cast(Status, state), sweep, groups, options)
    own_parts = run.each(order, local_own_part, blocks, scaling, len(public.names), parts)
    return run.assemble(to_estimate, estimate, blocks, [party.name for party in order], positions, parts=own_parts)
