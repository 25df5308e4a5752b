"""Protocol: the architecture of seed 004 with every message released (trust model ``local``).

Each party's linear predictor crosses, as in block coordinate descent, with noise on every entry; so do X_k'X_k and
X_k'r, whose noise is drawn where they are formed.  Gaussian and binomial responses only: the residual y - mu of the
others has no bound that its mean does not set.

Message                                        from, to               payload, bytes
X_k'X_k                                        party k, analyst       Release, local                   4 q_k (q_k + 1)
a sweep, party by party
sum of the linear predictors                   analyst, active        Public (post-processing)         8 n
columns (once), residual, in shares            k and active, aggregator   Cipher                       8 n q_k, 8 n
X_k'r                                          aggregator, analyst    Release, central                 8 q_k
  of the active party                          active, analyst        Release, local                   8 q_1
b_k = (X_k'X_k + rho I)^-1 (...)               analyst, party k       Public (post-processing)         8 q_k
X_k b_k                                        party k, analyst       Release, local                   8 n
coefficients of its columns                    analyst, every party   Public (post-processing)         8 p_k, 8 more
                                                                                                       if active

y stays at the active party, whose block holds the intercept (q_1 = p_1 + 1, else q_k = p_k): nothing here is free of
noise.  n entries with noise of sd 2 c_k |b_k| / mu each are what this architecture costs.  ``own: exact`` lets the
active party keep the noise of its own predictor out of its residuals, at the same certified epsilon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...alignment.rows import common_rows
from ...federation.exchanges.secure_sum import AGGREGATOR, shared_once, sums_of_shares
from ...federation.parties import Party
from ...federation.run import Own, Run
from ...privacy.accounted import Accounted, Public
from ...privacy.mechanisms.gaussian import Gaussian
from ...privacy.mechanisms.release import Release, noise_scale
from ...privacy.statistics.moments import second_moment_bound
from ..families import FAMILIES
from ..model import Estimate
from ..private.blocks import (
    block_moments,
    block_predictor,
    block_score,
    constant_of,
    regularised,
    with_intercept,
)
from ..private.scaled import (
    check_statistic,
    constant,
    local_response,
    local_scaled_block,
    unscaled,
)
from ..private.scores import mean_weight
from ..private.sweeps import Block, Plan, check_family, named
from .central import AFTER, RngFor, check_private, only, server_back
from .common import ANALYST, roles


def local_columns(party: Party, rows: np.ndarray, block: Block, plan: Plan) -> np.ndarray:
    """(n, q_k) scaled and clipped columns, the active party's after a constant."""
    z = local_scaled_block(party, rows, plan.public)
    return with_intercept(z, float(block.radius.value)) if block.active else z


def local_moments(party: Party, x: np.ndarray, block: Block, rng_for: RngFor) -> Release:
    """X_k'X_k / n with noise."""
    rng, name = rng_for("X'X", party.name), named("X'X", block)
    return Gaussian(mu=block.moments)(block_moments(x, block.length), rng, owner=party.name, release_id=name)


def local_residual(
    active: Party, y: np.ndarray, x: np.ndarray, given: np.ndarray | None, beta: np.ndarray | None, plan: Plan
) -> np.ndarray:
    """(n,) y - mu at the sum of predictors that was handed out, and at the active party's own where that is exact."""
    eta = np.full(len(y), float(constant(plan.public, "start")))
    eta = eta if given is None else eta + given
    eta = eta if beta is None else eta + x @ beta
    return y - FAMILIES[plan.public.family].mean(eta)


def local_given(party: Party, values: np.ndarray) -> np.ndarray:
    """What a party computed before."""
    return values


def local_score(
    active: Party,
    x: np.ndarray,
    r: np.ndarray,
    block: Block,
    sweep: int,
    rests_on: tuple[str, ...],
    plan: Plan,
    rng_for: RngFor,
) -> Release:
    """X_k'r of the active party, with noise."""
    rng = rng_for("X'r", active.name, sweep)
    return released_score(x, r, block, sweep, rests_on, plan, rng, active.name, "local")


def local_predictor(
    party: Party,
    x: np.ndarray,
    beta: np.ndarray,
    made_of: Sequence[Accounted],
    block: Block,
    sweep: int,
    rng_for: RngFor,
) -> Release:
    """X_k b_k with noise on every entry; the constant part of the active party's block is a number, not data."""
    first = int(block.active)
    slopes = Public(beta[first:], because=AFTER, made_of=made_of)
    level = float(beta[0]) * float(x[0, 0]) if first else 0.0
    bounded = block_predictor(x[:, first:], slopes, block.radius, level)
    rng, name = rng_for("linear predictor", party.name, sweep), named("linear predictor", block, sweep)
    return Gaussian(mu=block.predictors[sweep])(bounded, rng, owner=party.name, release_id=name)


def released_score(
    x: np.ndarray,
    r: np.ndarray,
    block: Block,
    sweep: int,
    rests_on: tuple[str, ...],
    plan: Plan,
    rng: np.random.Generator,
    owner: str,
    trust: str,
) -> Release:
    """X_k'r with noise; ``rests_on``: ids of the releases that r was computed with."""
    found = block_score(x, r, block.length, plan.residual)
    bounded = replace(found, parents=tuple(dict.fromkeys((*found.parents, *rests_on))))
    name = named("X'r", block, sweep)
    return Gaussian(mu=block.scores[sweep])(bounded, rng, owner=owner, release_id=name, trust_model=trust)


def noisy_score(
    columns: Sequence[np.ndarray],
    residual: Sequence[np.ndarray],
    block: Block,
    sweep: int,
    rests_on: tuple[str, ...],
    plan: Plan,
    rng_for: RngFor,
) -> tuple[Release, ...]:
    """X_k'r of a passive party, with noise: computed inside the aggregation."""
    (x,), (r,) = columns, residual
    rng = rng_for("X'r", AGGREGATOR, block.name, sweep)
    return (released_score(x, r, block, sweep, rests_on, plan, rng, AGGREGATOR, "central"),)


def server_total(predictors: Sequence[np.ndarray], made_of: Sequence[Accounted]) -> Public:
    """Sum of what was released of linear predictors."""
    return Public(np.sum(predictors, axis=0), because=AFTER, made_of=made_of)


def server_started(block: Block) -> np.ndarray:
    """No coefficient of a block yet."""
    return np.zeros(block.size)


def server_block(beta: np.ndarray, moments: np.ndarray, score: np.ndarray, block: Block, plan: Plan) -> np.ndarray:
    """(M + rho I)^-1 (M b + X'r / (n w)): the block's step of seed 004 with the family's public mean weight."""
    sigma = noise_scale(second_moment_bound(float(block.length.value), plan.n), block.moments)
    second, matrix = regularised(moments, block.size, sigma)
    target = second @ beta + score / (plan.n * mean_weight(plan.public))
    return np.linalg.lstsq(matrix, target, rcond=None)[0]


def server_sent(beta: np.ndarray, made_of: Sequence[Accounted]) -> Public:
    """Coefficients of one block."""
    return Public(beta, because=AFTER, made_of=made_of)


def server_answer(betas: Sequence[np.ndarray], plan: Plan) -> np.ndarray:
    """Coefficients (1 + p,) of the columns as they were given."""
    answer = np.zeros(1 + len(plan.public.names))
    answer[0] = float(constant(plan.public, "start"))
    for beta, block in zip(betas, plan.blocks, strict=True):
        answer[1 + np.asarray(block.columns, dtype=int)] = beta[int(block.active) :]
        if block.active:
            answer[0] += beta[0] * constant_of(float(block.radius.value), len(block.columns))
    return unscaled(answer, plan.public)


def reported(
    answer: np.ndarray, history: Sequence[np.ndarray], whose: str, plan: Plan, rows: Mapping[str, np.ndarray]
) -> Estimate:
    """The estimate; the analyst sees K noisy predictors a sweep, kept are those of one passive party."""
    sweeps = plan.options.sweeps
    return Estimate(
        answer,
        epsilon_claimed=plan.epsilon,
        iterations=sweeps,
        seen={f"{ANALYST}: {whose}": np.column_stack(history)},
        rows=None if plan.public.aligned else dict(rows),
        numbers={"openings": 0, "record_openings": sweeps * len(plan.blocks), "secure_products": 0},
    )


@dataclass
class Round:
    """What the program passes on from party to party; values live at their places.

    columns : of each party, there; shares : the same at the aggregator, of passive ones
    y : response, at the active party; moments, betas, predictors : at the analyst, by party
    ids : of the releases of linear predictors that a residual rests on
    """

    columns: Any
    shares: Mapping[str, Any]
    y: Any
    moments: Mapping[str, Any]
    betas: dict[str, Any]
    predictors: dict[str, Any] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)


def visited(run: Run, plan: Plan, held: Round, party: Any, block: Block, sweep: int) -> None:
    """One party's turn: residual, its noisy product with the block, the block's coefficients, its noisy predictor."""
    score = released_product(run, plan, held, party, block, sweep)
    beta = run.at(ANALYST, server_block, held.betas[party.name], held.moments[party.name], score, block, plan)
    made_of = [named("X'X", block), *(named("X'r", block, t) for t in range(sweep + 1))]
    name = named("coefficients", block, sweep)
    sent = run.send(ANALYST, party, name, server_sent, beta, run.heard(ANALYST, *made_of))
    held.betas[party.name] = sent
    name = named("linear predictor", block, sweep)
    parts = run.heard(party, named("coefficients", block, sweep))
    given = held.columns, sent, parts, block, sweep, run.rng_for
    held.predictors[party.name] = run.send(party, ANALYST, name, local_predictor, *given)
    held.ids[party.name] = name


def released_product(run: Run, plan: Plan, held: Round, party: Any, block: Block, sweep: int) -> Any:
    """X_k'r with noise at the analyst."""
    active, _ = roles(run.parties)
    exact = plan.options.own == "exact"
    used = [name for name in held.predictors if not (exact and name == active.name)]
    ids, given, beta = tuple(held.ids[name] for name in used), None, None
    if used:
        total = named("sum of linear predictors", block, sweep)
        parts = run.heard(ANALYST, *ids)
        given = run.send(ANALYST, active, total, server_total, [held.predictors[name] for name in used], parts)
    if exact and active.name in held.predictors:
        beta, ids = held.betas[active.name], (*ids, held.ids[active.name])
    r = run.at(active, local_residual, held.y, held.columns, given, beta, plan)
    name, common = named("X'r", block, sweep), (block, sweep, ids, plan, run.rng_for)
    if party.role == "active":
        return run.send(active, ANALYST, name, local_score, held.columns, r, *common)
    residual = shared_once(run, (((active,), f"residual for {name}", local_given, (r,)),))
    shares = [held.shares[party.name], *residual]
    return run.at(ANALYST, only, sums_of_shares(run, shares, ANALYST, (name,), noisy_score, *common))


def fit(run: Run) -> Estimate:
    """Release second moments, then sweep over the blocks; the coefficients go back to their parties."""
    check_family(run.spec.public)
    check_private(run)
    check_statistic(run.spec.public)
    rows, n = common_rows(run)
    public, delta = run.spec.public, run.spec.study.delta
    plan = Plan.of(run.parties, public, run.spec.options, run.epsilon, delta, n)
    active, passive = roles(run.parties)
    turns = tuple(zip(run.parties, plan.blocks, strict=True))
    columns = Own({p.name: run.at(p, local_columns, rows, block, plan) for p, block in turns})
    y = run.at(active, local_response, rows, run.spec.public)
    moments = {
        p.name: run.send(p, ANALYST, named("X'X", block), local_moments, columns, block, run.rng_for)
        for p, block in turns
    }
    shares = {
        p.name: shared_once(run, (((p,), f"columns of {p.name} in shares", local_given, (columns,)),))[0]
        for p in passive
    }
    betas = {p.name: run.at(ANALYST, server_started, block) for p, block in turns}
    held, history = Round(columns, shares, y, moments, betas), list[Any]()
    for sweep in range(plan.options.sweeps):
        for party, block in turns:
            visited(run, plan, held, party, block, sweep)
        history.append(held.predictors[passive[0].name])
    answer = run.at(ANALYST, server_answer, [held.betas[p.name] for p in run.parties], plan)
    made_of = run.heard(ANALYST, *plan.releases)
    for party, block in turns:
        run.send(ANALYST, party, "coefficients", server_back, answer, made_of, party.columns, block.active)
    return run.assemble(reported, answer, history, passive[0].name, plan, rows)
