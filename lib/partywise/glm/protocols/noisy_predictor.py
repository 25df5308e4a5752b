"""Protocol: the architecture of seed 004 with every message released (trust model ``local``).

Each party's linear predictor crosses, as in block coordinate descent, with noise on every entry; so do X_k'X_k and
X_k'r, whose noise is drawn where they are formed.  Gaussian and binomial responses only: the residual y - mu of the
others has no bound that its mean does not set.

Message                                        from, to                 payload, bytes (m: primes of the ring)
seed, once                                     dealer, every party      Cipher                         32
X_k'X_k, once                                  party k, analyst         Release, local                 4 q_k (q_k + 1)
masked columns, once                           passive k, active        Cipher, key: dealer            4 m n p_k
a sweep, party by party
sum of the linear predictors                   analyst, active          Public (post-processing)       8 n
masked residual; correction with noise         active, k; dealer, active  Cipher                       4 m n; 4 m p_k
shares of X_k'r                                active, k to analyst     Cipher, nobody's key           4 m p_k each
X_k'r                                          analyst, k               Release, distributed           8 p_k
  of the active party                          active, analyst          Release, local                 8 q_1
b_k = (X_k'X_k + rho I)^-1 (...)               analyst, party k         Public (post-processing)       8 q_k
X_k b_k                                        party k, analyst         Release, local                 8 n
coefficients of its columns, at the end        analyst, every party     Public (post-processing)       8 p_k, 8 more
                                                                                                       if active

The dealer draws the noise of X_k'r into its shares (`partywise.federation.exchanges.cross_product`) and must collude
with nobody, which the ledger does not model.  y stays at the active party, whose block holds the intercept (q_1 = p_1
+ 1, else q_k = p_k): nothing here is free of noise.  n entries with noise of sd 2 c_k |b_k| / mu each are what this
architecture costs.  ``own: exact`` lets the active party keep the noise of its own predictor out of its residuals, at
the same certified epsilon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...alignment.rows import common_rows
from ...federation.exchanges.cross_product import Masked, masked, private, product, released
from ...federation.exchanges.dealing import DEALER, Dealing, dealing
from ...federation.parties import Party
from ...federation.run import Own, Run
from ...privacy.accounted import Accounted, Public
from ...privacy.mechanisms.gaussian import Gaussian
from ...privacy.mechanisms.random import sampler_of
from ...privacy.mechanisms.release import Release, noise_scale
from ...privacy.secure.shared import Shared, SharedGaussian
from ...privacy.statistics.moments import second_moment_bound
from ..families import FAMILIES
from ..model import Estimate
from ..private.blocks import (
    BITS,
    block_moments,
    block_predictor,
    block_score,
    constant_of,
    regularised,
    score_certificate,
    whole_blocks,
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
from .central import AFTER, RngFor, check_private, server_back
from .common import ANALYST, roles

UNIT = 2.0 ** (-2 * BITS)


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
    """X_k'r of the active party, with noise; ``rests_on``: ids of the releases that r was computed with."""
    found = block_score(x, r, block.length, plan.residual)
    bounded = replace(found, parents=tuple(dict.fromkeys((*found.parents, *rests_on))))
    rng, name = rng_for("X'r", active.name, sweep), named("X'r", block, sweep)
    return Gaussian(mu=block.scores[sweep])(bounded, rng, owner=active.name, release_id=name)


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


def local_steps(party: Party, x: np.ndarray, length: Accounted) -> np.ndarray:
    """Columns, or residuals, in whole steps, no record longer than the length."""
    return whole_blocks(x.reshape(len(x), -1), length)


def dealer_noise(block: Block, sweep: int, plan: Plan, rng_for: RngFor) -> np.ndarray:
    """(q_k, 1) noise of X_k'r, integers."""
    certificate, units = score_certificate(block.length, plan.residual), np.full(block.size, UNIT)
    rng = rng_for("X'r", DEALER, block.name, sweep)
    return SharedGaussian(block.scores[sweep]).noise(certificate, units, rng, named("X'r", block, sweep))[:, None]


def made_release(
    total: np.ndarray, block: Block, sweep: int, rests_on: tuple[str, ...], plan: Plan, rng_for: RngFor
) -> Release:
    """X_k'r of a passive party as a release, from integers with the dealer's noise."""
    certificate, units = score_certificate(block.length, plan.residual), np.full(block.size, UNIT)
    shared, sampler = Shared(total[:, 0], named("X'r", block, sweep)), sampler_of(rng_for("sampler", ANALYST))
    parents = tuple(dict.fromkeys((*block.length.parents, *plan.residual.parents, *rests_on)))
    mechanism = SharedGaussian(block.scores[sweep])
    return mechanism(shared, certificate, units, sampler, parents=parents, trust_model="distributed")


def server_release(release: Release) -> Release:
    """X_k'r for party k."""
    return release


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


def server_sent(beta: np.ndarray, parts: Sequence[Sequence[Accounted]]) -> Public:
    """Coefficients of one block."""
    return Public(beta, because=AFTER, made_of=flat(parts))


def flat(parts: Sequence[Sequence[Accounted]]) -> tuple[Accounted, ...]:
    """The releases of several lists."""
    return tuple(one for some in parts for one in some)


def server_returned(
    answer: np.ndarray, parts: Sequence[Sequence[Accounted]], columns: Sequence[int], active: bool
) -> Public:
    """Coefficients of a party's own columns."""
    return server_back(answer, flat(parts), columns, active)


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
    answer: np.ndarray,
    history: Sequence[np.ndarray],
    whose: str,
    plan: Plan,
    products: int,
    rows: Mapping[str, np.ndarray],
) -> Estimate:
    """The estimate; the analyst sees K noisy predictors a sweep, kept are those of one passive party."""
    sweeps = plan.options.sweeps
    return Estimate(
        answer,
        epsilon_claimed=plan.epsilon,
        iterations=sweeps,
        seen={f"{ANALYST}: {whose}": np.column_stack(history)},
        rows=None if plan.public.aligned else dict(rows),
        numbers={"openings": 0, "record_openings": sweeps * len(plan.blocks), "secure_products": products},
    )


@dataclass
class Round:
    """What the program passes on from party to party; values live at their places.

    dealt : of the dealer; columns : of each party, there; masked : the same behind masks, of passive parties
    y : response, at the active party
    moments, betas, predictors, parts : at the analyst, by party; parts: what coefficients are made of
    ids : of the releases of linear predictors that a residual rests on
    """

    dealt: Dealing
    columns: Any
    masked: Mapping[str, Masked]
    y: Any
    moments: Mapping[str, Any]
    betas: dict[str, Any]
    parts: dict[str, list[Any]]
    predictors: dict[str, Any] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)


def visited(run: Run, plan: Plan, held: Round, party: Any, block: Block, sweep: int) -> None:
    """One party's turn: residual, its noisy product with the block, the block's coefficients, its noisy predictor."""
    score = released_product(run, plan, held, party, block, sweep)
    beta = run.at(ANALYST, server_block, held.betas[party.name], held.moments[party.name], score, block, plan)
    name = named("coefficients", block, sweep)
    held.betas[party.name] = run.send(ANALYST, party, name, server_sent, beta, held.parts[party.name])
    made_of = run.heard(party, name)
    name = named("linear predictor", block, sweep)
    given = held.columns, held.betas[party.name], made_of, block, sweep, run.rng_for
    held.predictors[party.name] = run.send(party, ANALYST, name, local_predictor, *given)
    held.ids[party.name] = name


def residual(run: Run, plan: Plan, held: Round, block: Block, sweep: int) -> tuple[Any, tuple[str, ...]]:
    """(n,) y - mu at the active party, and the ids of the releases that it was computed with."""
    active, _ = roles(run.parties)
    exact = plan.options.own == "exact" and active.name in held.predictors
    used = [name for name in held.predictors if not (exact and name == active.name)]
    given, ids = None, tuple(held.ids[name] for name in used)
    if used:
        total, parts = named("sum of linear predictors before", block, sweep), run.heard(ANALYST, *ids)
        given = run.send(ANALYST, active, total, server_total, [held.predictors[name] for name in used], parts)
    beta = held.betas[active.name] if exact else None
    r = run.at(active, local_residual, held.y, held.columns, given, beta, plan)
    return r, (*ids, held.ids[active.name]) if exact else ids


def released_product(run: Run, plan: Plan, held: Round, party: Any, block: Block, sweep: int) -> Any:
    """X_k'r with noise at the analyst: from the active party itself, or by a secure product with it."""
    active, _ = roles(run.parties)
    r, ids = residual(run, plan, held, block, sweep)
    name, common = named("X'r", block, sweep), (block, sweep, ids, plan, run.rng_for)
    if block.active:
        score = run.send(active, ANALYST, name, local_score, held.columns, r, *common)
        held.parts[party.name].append(run.heard(ANALYST, name))
        return score
    steps = run.at(active, local_steps, r, plan.residual)
    value = private(run, held.dealt, active, steps, (plan.n, 1), BITS)
    behind = masked(run, held.dealt, value, f"residual for {name}", (party,))
    noise = run.at(DEALER, dealer_noise, block, sweep, plan, run.rng_for)
    shares = product(run, held.dealt, held.masked[party.name], behind, name, noise=noise)
    release = released(run, held.dealt, shares, ANALYST, name, made_release, *common, whole=True)
    held.parts[party.name].append([release])
    return run.send(ANALYST, party, name, server_release, release)


def fit(run: Run) -> Estimate:
    """Release second moments, then sweep over the blocks; the coefficients go back to their parties."""
    check_family(run.spec.public)
    check_private(run)
    check_statistic(run.spec.public)
    rows, n = common_rows(run)
    public, options, delta = run.spec.public, run.spec.options, run.spec.study.delta
    plan = Plan.of(run.parties, public, options, run.epsilon, delta, n)
    active, passive = roles(run.parties)
    turns = tuple(zip(run.parties, plan.blocks, strict=True))
    y = run.at(active, local_response, rows, public)
    columns = Own({p.name: run.at(p, local_columns, rows, block, plan) for p, block in turns})
    dealt, behind = dealing(run, run.parties, plan.ring), {}
    for p, block in turns:
        if not block.active:
            steps = run.at(p, local_steps, columns, block.length)
            value = private(run, dealt, p, steps, (n, block.size), BITS)
            behind[p.name] = masked(run, dealt, value, f"columns of {p.name}", (active,))
    names = {p.name: named("X'X", block) for p, block in turns}
    moments = {p.name: run.send(p, ANALYST, names[p.name], local_moments, columns, b, run.rng_for) for p, b in turns}
    betas = {p.name: run.at(ANALYST, server_started, block) for p, block in turns}
    parts = {p.name: [run.heard(ANALYST, names[p.name])] for p in run.parties}
    held, history = Round(dealt, columns, behind, y, moments, betas, parts), list[Any]()
    for sweep in range(options.sweeps):
        for party, block in turns:
            visited(run, plan, held, party, block, sweep)
        history.append(held.predictors[passive[0].name])
    answer = run.at(ANALYST, server_answer, [held.betas[p.name] for p in run.parties], plan)
    made_of = [part for some in parts.values() for part in some]
    for party, block in turns:
        run.send(ANALYST, party, "coefficients", server_returned, answer, made_of, party.columns, block.active)
    return run.assemble(reported, answer, history, passive[0].name, plan, dealt.products, rows)
