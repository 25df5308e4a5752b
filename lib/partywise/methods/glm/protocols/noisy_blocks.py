"""Local computations of `noisy_predictor`, at the parties and at the analyst."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....core.randomness import Rng
from ....federation.exchanges.column_sums.layout import SumGroup, SumLayout
from ....federation.exchanges.column_sums.openings import NoisySum
from ....federation.parties import Party
from ....models.families import FAMILIES
from ....privacy.accounted_values import AccountedValue, Public
from ....privacy.mechanisms.integer import IntegerGaussian
from ....privacy.mechanisms.release import Release, noise_scale
from ....privacy.statistics.moments import second_moment_bound
from ..noisy_statistics.blocks import (
    block_moments,
    block_predictor,
    block_score,
    constant_of,
    product_total,
    regularise,
    whole_block,
    with_intercept,
)
from ..noisy_statistics.scaling import constant, local_scaled_block, unscale_coefficients
from ..noisy_statistics.scores import mean_weight
from ..noisy_statistics.sweeps import SweepBlock, SweepPlan, message_name
from .central import AFTER, server_back


def local_columns(party: Party, rows: np.ndarray, block: SweepBlock, plan: SweepPlan) -> np.ndarray:
    """(n, q_k) scaled and clipped columns, the active party's after a constant."""
    z = local_scaled_block(party, rows, plan.public)
    return with_intercept(z, float(block.radius.value)) if block.active else z


def local_moments(party: Party, x: np.ndarray, block: SweepBlock, rng_for: Rng) -> Release:
    """X_k'X_k / n with noise."""
    rng, name = rng_for("X'X", party.name), message_name("X'X", block)
    return IntegerGaussian(mu=block.moments)(block_moments(x, block.length), rng, owner=party.name, release_id=name)


def local_residual(
    active: Party, y: np.ndarray, x: np.ndarray, others: np.ndarray | None, beta: np.ndarray | None, plan: SweepPlan
) -> np.ndarray:
    """(n,) y - mu at the sum of predictors that was handed out, and at the active party's own where that is exact."""
    eta = np.full(len(y), float(constant(plan.public, "eta_start")))
    eta = eta if others is None else eta + others
    eta = eta if beta is None else eta + x @ beta
    return y - FAMILIES[plan.public.family].mean(eta)


def local_score(
    active: Party,
    x: np.ndarray,
    r: np.ndarray,
    block: SweepBlock,
    sweep: int,
    rests_on: tuple[str, ...],
    plan: SweepPlan,
    rng_for: Rng,
) -> Release:
    """X_k'r of the active party, with noise; ``rests_on``: ids of the releases that r was computed with."""
    score = block_score(x, r, block.length, plan.residual)
    score = replace(score, parents=tuple(dict.fromkeys((*score.parents, *rests_on))))
    rng, name = rng_for("X'r", active.name, sweep), message_name("X'r", block, sweep)
    return IntegerGaussian(mu=block.scores[sweep])(score, rng, owner=active.name, release_id=name)


def local_predictor(
    party: Party,
    x: np.ndarray,
    beta: np.ndarray,
    made_of: Sequence[AccountedValue],
    block: SweepBlock,
    sweep: int,
    rng_for: Rng,
) -> Release:
    """X_k b_k with noise on every entry; the constant part of the active party's block is a number, not data."""
    first = int(block.active)
    slopes = Public(beta[first:], because=AFTER, made_of=made_of)
    level = float(beta[0]) * float(x[0, 0]) if first else 0.0
    predictors = block_predictor(x[:, first:], slopes, block.radius)
    rng, name = rng_for("linear predictor", party.name, sweep), message_name("linear predictor", block, sweep)
    release = IntegerGaussian(mu=block.predictors[sweep])(predictors, rng, owner=party.name, release_id=name)
    return release.post_process(lambda noisy: level + noisy)


def local_steps(party: Party, x: np.ndarray, length: AccountedValue) -> np.ndarray:
    """Columns, or residuals, in whole steps, no record longer than the length."""
    return whole_block(x.reshape(len(x), -1), length)


def product_of(block: SweepBlock, sweep: int, rests_on: tuple[str, ...], plan: SweepPlan) -> NoisySum:
    """X_k'r of a passive party as all parties know it; ``rests_on`` as of `local_score`."""
    total = product_total(block.size, block.length, plan.residual, rests_on)
    return NoisySum(message_name("X'r", block, sweep), total, block.scores[sweep])


def product_layout(names: tuple[str, ...], block: SweepBlock) -> SumLayout:
    """Products of the columns of a block with the residual, the only column of the other of two parties."""
    numbers = np.arange(1, 1 + block.size)
    part = SumGroup(np.zeros_like(numbers), numbers)
    return SumLayout(names, tuple(tuple(numbers.tolist()) if name == block.name else (0,) for name in names), (part,))


def server_total(predictors: Sequence[np.ndarray], made_of: Sequence[AccountedValue]) -> Public:
    """Sum of what was released of linear predictors."""
    return Public(np.sum(predictors, axis=0), because=AFTER, made_of=made_of)


def server_block(
    beta: np.ndarray, moments: np.ndarray, score: np.ndarray, block: SweepBlock, plan: SweepPlan
) -> np.ndarray:
    """(M + rho I)^-1 (M b + X'r / (n w)): the block's step of document 004 with the family's public mean weight."""
    sigma = noise_scale(second_moment_bound(float(block.length.value), plan.n), block.moments)
    second, matrix = regularise(moments, block.size, sigma)
    target = second @ beta + score / (plan.n * mean_weight(plan.public))
    return np.linalg.lstsq(matrix, target, rcond=None)[0]


def server_sent(beta: np.ndarray, parts: Sequence[Sequence[AccountedValue]]) -> Public:
    """Coefficients of one block."""
    return Public(beta, because=AFTER, made_of=flat(parts))


def flat(parts: Sequence[Sequence[AccountedValue]]) -> tuple[AccountedValue, ...]:
    """The releases of several lists."""
    return tuple(release for some in parts for release in some)


def server_returned(
    answer: np.ndarray, parts: Sequence[Sequence[AccountedValue]], columns: Sequence[int], active: bool
) -> Public:
    """Coefficients of a party's own columns."""
    return server_back(answer, flat(parts), columns, active)


def server_answer(betas: Sequence[np.ndarray], plan: SweepPlan) -> np.ndarray:
    """Coefficients (1 + p,) of the columns as they were given."""
    answer = np.zeros(1 + len(plan.public.names))
    answer[0] = float(constant(plan.public, "eta_start"))
    for beta, block in zip(betas, plan.blocks, strict=True):
        answer[1 + np.asarray(block.columns, dtype=int)] = beta[int(block.active) :]
        if block.active:
            answer[0] += beta[0] * constant_of(float(block.radius.value), len(block.columns))
    return unscale_coefficients(answer, plan.public)
