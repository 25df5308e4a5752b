"""Protocol: the architecture of seed 004 with every message released (``local``; X'r ``distributed``).

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
with nobody: the ledger is infinite against it.  y stays at the active party, whose block holds the intercept (q_1 = p_1
+ 1, else q_k = p_k): nothing here is free of noise.  n entries with noise of sd 2 c_k |b_k| / mu each are what this
architecture costs.  ``own: exact`` lets the active party keep the noise of its own predictor out of its residuals, at
the same certified epsilon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...alignment.rows import common_rows
from ...federation.exchanges.cross_product import private, product, release_shared, send_masked
from ...federation.exchanges.dealing import Dealing, dealing
from ...federation.exchanges.shared_values import MaskedValue
from ...federation.exchanges.sharing import DEALER
from ...federation.parties import Party
from ...federation.roles import ANALYST, records_together, roles
from ...federation.run import PerPlace, Run, per_place
from ...privacy.accounted_values import AccountedValue
from ..model import Estimate
from ..noisy_statistics.blocks import BITS
from ..noisy_statistics.scaling import local_response
from ..noisy_statistics.sweeps import Block, Plan, check_family, message_name
from .central import check_private
from .noisy_blocks import (
    announced_score,
    dealer_noise,
    local_columns,
    local_moments,
    local_predictor,
    local_residual,
    local_score,
    local_steps,
    made_release,
    server_answer,
    server_block,
    server_release,
    server_returned,
    server_sent,
    server_started,
    server_total,
)


def to_estimate(
    answer: np.ndarray,
    history: Sequence[np.ndarray],
    plan: Plan,
    products: int,
    rows: Mapping[str, np.ndarray],
) -> Estimate:
    """The estimate; of the noisy predictors the analyst sees K a sweep, party by party."""
    sweeps, parties = plan.options.sweeps, len(plan.blocks)
    views = {f"{ANALYST}: {block.name}": np.column_stack(history[k::parties]) for k, block in enumerate(plan.blocks)}
    return Estimate(
        answer,
        epsilon_claimed=plan.epsilon,
        iterations=sweeps,
        views=views,
        rows=None if plan.public.aligned else dict(rows),
        numbers={"openings": 0, "record_openings": sweeps * parties, "secure_products": products},
    )


@dataclass
class Round:
    """What the program passes on from party to party; values live at their places.

    dealing : of the dealer; columns : of each party, there; masked_columns : the same behind masks, of passive parties
    y : response, at the active party
    moments, betas, predictors, parts : at the analyst, by party; parts: what coefficients are made of
    ids : of the releases of linear predictors that a residual rests on
    """

    dealing: Dealing
    columns: PerPlace[np.ndarray]
    masked_columns: Mapping[str, MaskedValue]
    y: np.ndarray
    moments: Mapping[str, np.ndarray]
    betas: dict[str, np.ndarray]
    parts: dict[str, list[Sequence[AccountedValue]]]
    predictors: dict[str, np.ndarray] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)


def visit(run: Run, plan: Plan, state: Round, party: Party, block: Block, sweep: int) -> None:
    """One party's turn: residual, its noisy product with the block, the block's coefficients, its noisy predictor."""
    score = released_product(run, plan, state, party, block, sweep)
    beta = run.at(ANALYST, server_block, state.betas[party.name], state.moments[party.name], score, block, plan)
    name = message_name("coefficients", block, sweep)
    state.betas[party.name] = run.send(ANALYST, party, name, server_sent, beta, state.parts[party.name])
    made_of = run.received(party, name)
    name = message_name("linear predictor", block, sweep)
    given = state.columns, state.betas[party.name], made_of, block, sweep, run.rng_for
    state.predictors[party.name] = run.send(party, ANALYST, name, local_predictor, *given)
    state.ids[party.name] = name


def residual(run: Run, plan: Plan, state: Round, block: Block, sweep: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """(n,) y - mu at the active party, and the ids of the releases that it was computed with."""
    active, _ = roles(run.parties)
    exact = plan.options.own == "exact" and active.name in state.predictors
    used = [name for name in state.predictors if not (exact and name == active.name)]
    given, ids = None, tuple(state.ids[name] for name in used)
    if used:
        total, parts = message_name("sum of linear predictors before", block, sweep), run.received(ANALYST, *ids)
        given = run.send(ANALYST, active, total, server_total, [state.predictors[name] for name in used], parts)
    beta = state.betas[active.name] if exact else None
    r = run.at(active, local_residual, state.y, state.columns, given, beta, plan)
    return r, (*ids, state.ids[active.name]) if exact else ids


def released_product(run: Run, plan: Plan, state: Round, party: Party, block: Block, sweep: int) -> np.ndarray:
    """X_k'r with noise at the analyst: from the active party itself, or by a secure product with it."""
    active, _ = roles(run.parties)
    r, ids = residual(run, plan, state, block, sweep)
    name, common = message_name("X'r", block, sweep), (block, sweep, ids, plan, run.rng_for)
    if block.active:
        score = run.send(active, ANALYST, name, local_score, state.columns, r, *common)
        state.parts[party.name].append(run.received(ANALYST, name))
        return score
    run.charge((active, party), announced_score(block, sweep, plan))
    steps = run.at(active, local_steps, r, plan.residual)
    value = private(run, state.dealing, active, steps, (plan.n, 1), BITS)
    behind = send_masked(run, state.dealing, value, f"residual for {name}", (party,))
    noise = run.at(DEALER, dealer_noise, block, sweep, plan, run.rng_for)
    shares = product(run, state.dealing, state.masked_columns[party.name], behind, name, noise=noise)
    release = release_shared(run, shares, ANALYST, name, made_release, *common, whole=True)
    state.parts[party.name].append([release])
    return run.send(ANALYST, party, name, server_release, release)


def fit(run: Run) -> Estimate:
    """Release second moments, then sweep over the blocks; the coefficients go back to their parties."""
    check_family(run.spec.public)
    check_private(run)
    rows, n = common_rows(run)
    public, options, delta = run.spec.public, run.spec.options, run.spec.study.delta
    plan = Plan.of(run.parties, public, options, run.epsilon, delta, n, records_together(run.spec))
    active, _ = roles(run.parties)
    turns = tuple(zip(run.parties, plan.blocks, strict=True))
    y = run.at(active, local_response, rows, public)
    columns = per_place({p.name: run.at(p, local_columns, rows, block, plan) for p, block in turns})
    triples, behind = dealing(run, run.parties, plan.ring), {}
    for p, block in turns:
        if not block.active:
            steps = run.at(p, local_steps, columns, block.length)
            value = private(run, triples, p, steps, (n, block.size), BITS)
            behind[p.name] = send_masked(run, triples, value, f"columns of {p.name}", (active,))
    names = {p.name: message_name("X'X", block) for p, block in turns}
    moments = {p.name: run.send(p, ANALYST, names[p.name], local_moments, columns, b, run.rng_for) for p, b in turns}
    betas = {p.name: run.at(ANALYST, server_started, block) for p, block in turns}
    parts = {p.name: [run.received(ANALYST, names[p.name])] for p in run.parties}
    state, history = Round(triples, columns, behind, y, moments, betas, parts), list[np.ndarray]()
    for sweep in range(options.sweeps):
        for party, block in turns:
            visit(run, plan, state, party, block, sweep)
        history += [state.predictors[party.name] for party in run.parties]
    answer = run.at(ANALYST, server_answer, [state.betas[p.name] for p in run.parties], plan)
    made_of = [part for some in parts.values() for part in some]
    for party, block in turns:
        run.send(ANALYST, party, "coefficients", server_returned, answer, made_of, party.columns, block.active)
    return run.assemble(to_estimate, answer, history, plan, triples.products, rows)
