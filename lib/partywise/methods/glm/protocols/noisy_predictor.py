"""Protocol: the architecture of document 004 with every message released (``local``; X'r ``distributed``).

Each party's linear predictor crosses, as in block coordinate descent, with noise on every entry; so do X_k'X_k and
X_k'r. Gaussian and binomial responses only: the residual y - mu of the others has no bound that its mean does not set.

Message                                     from, to             payload, bytes (w: of a ciphertext)
public key, once                            passive k, active    Public                     3 w / 2 + 8
closed columns, once                        passive k, active    Cipher, its own key        n ceil(p_k / slots) w
X_k'X_k, once                               party k, analyst     Release, local             4 q_k (q_k + 1)
a sweep, party by party
sum of the linear predictors                analyst, active      Public (post-processing)   8 n
masked products                             active, passive k    Cipher, its masks as well  ceil(p_k / slots) w
noisy words of X_k'r                        active, k to analyst Cipher, no party's key     8 p_k each
X_k'r                                       analyst, k           Release, distributed       8 p_k
  of the active party                       active, analyst      Release, local             8 q_1
b_k = (X_k'X_k + rho I)^-1 (...)            analyst, party k     Public (post-processing)   8 q_k
X_k b_k                                     party k, analyst     Release, local             8 n
coefficients of its columns, at the end     analyst, every party Public (post-processing)   8 p_k, 8 more
                                                                                                 if active

Of X_k'r of a passive party both it and the active one add all of the noise to their words
(`partywise.federation.exchanges.private_products`), so that neither knows all of it: X_k is closed once under the key
of its party, and every residual is multiplied with what was closed. y stays at the active party, whose block holds the
intercept (q_1 = p_1 + 1, else q_k = p_k): nothing here is free of noise. n entries with noise of sd 2 c_k |b_k| / mu
each are what this architecture costs. ``own: exact`` lets the active party keep the noise of its own predictor out of
its residuals, at the same certified epsilon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ....alignment.rows import common_rows
from ....federation.exchanges.column_sums.openings import Chunk, only_release
from ....federation.exchanges.private_products import ClosedColumns, Encryption, close, private_products
from ....federation.parties import Party
from ....federation.places import PerPlace, per_place
from ....federation.roles import ANALYST, records_together, roles
from ....federation.run import Run
from ....privacy.accounted_values import AccountedValue
from ..model import GlmEstimate
from ..noisy_statistics.scaling import facts_of, local_clipped, local_response
from ..noisy_statistics.sweeps import SweepBlock, SweepPlan, check_family, message_name
from .central import CURVATURE, check_private
from .noisy_blocks import (
    local_columns,
    local_moments,
    local_predictor,
    local_residual,
    local_score,
    local_steps,
    product_layout,
    product_of,
    server_answer,
    server_block,
    server_returned,
    server_sent,
    server_total,
)
from .scoring import held_parts, with_records


def server_estimate(answer: np.ndarray, history: Sequence[np.ndarray], plan: SweepPlan) -> GlmEstimate:
    """The estimate; of the noisy predictors the analyst sees K a sweep, party by party."""
    sweeps, parties = plan.options.sweeps, len(plan.blocks)
    products = plan.n * sweeps * sum(block.size for block in plan.blocks if not block.active)
    views = {f"{ANALYST}: {block.name}": np.column_stack(history[k::parties]) for k, block in enumerate(plan.blocks)}
    return GlmEstimate(
        answer,
        epsilon_claimed=plan.epsilon,
        iterations=sweeps,
        views=views,
        numbers={"openings": 0, "record_openings": sweeps * parties, "secure_products": products},
        noise_errors_reason=CURVATURE if np.isfinite(plan.epsilon) else "",
    )


@dataclass
class PredictorRound:
    """State that the program passes on from party to party; values live at their places.

    columns : of each party, there; steps : of passive ones, whole; ciphers : the same as the active one holds them
    y : response, at the active party
    moments, betas, predictors, parts : at the analyst, by party; parts: releases behind the coefficients
    ids : of the releases of linear predictors that a residual rests on
    """

    columns: PerPlace[np.ndarray]
    steps: Mapping[str, np.ndarray]
    ciphers: Mapping[str, ClosedColumns]
    y: np.ndarray
    moments: Mapping[str, np.ndarray]
    betas: dict[str, np.ndarray]
    parts: dict[str, list[Sequence[AccountedValue]]]
    predictors: dict[str, np.ndarray] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)


def visit(run: Run, plan: SweepPlan, state: PredictorRound, party: Party, block: SweepBlock, sweep: int) -> None:
    """One party's turn: residual, its noisy product with the block, the block's coefficients, its noisy predictor."""
    score = released_product(run, plan, state, party, block, sweep)
    beta = run.at(ANALYST, server_block, state.betas[party.name], state.moments[party.name], score, block, plan)
    name = message_name("coefficients", block, sweep)
    state.betas[party.name] = run.send(ANALYST, party, name, server_sent, beta, state.parts[party.name])
    made_of = run.received(party, name)
    name = message_name("linear predictor", block, sweep)
    inputs = state.columns, state.betas[party.name], made_of, block, sweep, run.rng_for
    state.predictors[party.name] = run.send(party, ANALYST, name, local_predictor, *inputs)
    state.ids[party.name] = name


def residual(
    run: Run, plan: SweepPlan, state: PredictorRound, block: SweepBlock, sweep: int
) -> tuple[np.ndarray, tuple[str, ...]]:
    """(n,) y - mu at the active party, and the ids of the releases that it was computed with."""
    active, _ = roles(run.parties)
    exact = plan.options.own == "exact" and active.name in state.predictors
    used = [name for name in state.predictors if not (exact and name == active.name)]
    predictor, ids = None, tuple(state.ids[name] for name in used)
    if used:
        total, parts = message_name("sum of linear predictors before", block, sweep), run.received(ANALYST, *ids)
        predictor = run.send(ANALYST, active, total, server_total, [state.predictors[name] for name in used], parts)
    beta = state.betas[active.name] if exact else None
    r = run.at(active, local_residual, state.y, state.columns, predictor, beta, plan)
    return r, (*ids, state.ids[active.name]) if exact else ids


def released_product(
    run: Run, plan: SweepPlan, state: PredictorRound, party: Party, block: SweepBlock, sweep: int
) -> np.ndarray:
    """X_k'r with noise at the analyst: from the active party itself, or by a secure product with it."""
    active, _ = roles(run.parties)
    r, ids = residual(run, plan, state, block, sweep)
    name, common = message_name("X'r", block, sweep), (block, sweep, ids, plan, run.rng_for)
    if block.active:
        score = run.send(active, ANALYST, name, local_score, state.columns, r, *common)
        state.parts[party.name].append(run.received(ANALYST, name))
        return score
    names = tuple(participant.name for participant in run.parties if participant.name in (active.name, party.name))
    layout, chunk = product_layout(names, block), Chunk(slice(0, plan.n), (product_of(block, sweep, ids, plan),))
    steps = {party.name: state.steps[party.name], active.name: run.at(active, local_steps, r, plan.residual)}
    encryption, closed = encryption_of(run), [state.ciphers[party.name]]
    releases = private_products(run, encryption, per_place(steps), [chunk], layout, ANALYST, closed)
    state.parts[party.name].append(releases)
    return run.send(ANALYST, party, name, only_release, releases)


def encryption_of(run: Run) -> Encryption:
    """Return the encryption that the options name."""
    return Encryption(run.spec.options.cipher, run.spec.options.key_size)


def fit(run: Run) -> GlmEstimate:
    """Release second moments, then sweep over the blocks; the coefficients go back to their parties."""
    check_family(run.spec.public)
    check_private(run)
    rows, n = common_rows(run)
    public, options, delta = facts_of(run), run.spec.options, run.spec.study.delta
    plan = SweepPlan.of(run.parties, public, options, run.epsilon, delta, n, records_together(run.spec))
    active, _ = roles(run.parties)
    turns = tuple(zip(run.parties, plan.blocks, strict=True))
    y = run.at(active, local_response, rows, public)
    columns = per_place({p.name: run.at(p, local_columns, rows, block, plan) for p, block in turns})
    steps, closed, records = {}, {}, [Chunk(slice(0, n), ())]
    for p, block in turns:
        if not block.active:
            steps[p.name] = run.at(p, local_steps, columns, block.length)
            inputs = per_place({p.name: steps[p.name]}), records, block.size
            closed[p.name] = close(run, encryption_of(run), p, (active,), *inputs)
    names = {p.name: message_name("X'X", block) for p, block in turns}
    moments = {p.name: run.send(p, ANALYST, names[p.name], local_moments, columns, b, run.rng_for) for p, b in turns}
    betas = {p.name: run.at(ANALYST, np.zeros, block.size) for p, block in turns}
    parts = {p.name: [run.received(ANALYST, names[p.name])] for p in run.parties}
    state, history = PredictorRound(columns, steps, closed, y, moments, betas, parts), list[np.ndarray]()
    for sweep in range(options.sweeps):
        for party, block in turns:
            visit(run, plan, state, party, block, sweep)
        history += [state.predictors[party.name] for party in run.parties]
    answer = run.at(ANALYST, server_answer, [state.betas[p.name] for p in run.parties], plan)
    made_of = [part for some in parts.values() for part in some]
    sent = {
        party.name: run.send(ANALYST, party, "coefficients", server_returned, answer, made_of, party.columns, b.active)
        for party, b in turns
    }
    estimate = run.at(ANALYST, server_estimate, answer, history, plan)
    positions = None if public.aligned else rows
    clipped = run.each(run.parties, local_clipped, rows, public)
    return run.assemble(with_records, estimate, positions, clipped, parts=held_parts(run, sent))
