"""The propensity model of FedECA (state 135f89e; Nature Communications 16:7496): noise for steps that are not made.

Clients train a logistic model of the treatment by clipped and noised gradients of Poisson batches.  The noise is
calibrated for every planned step; the loop makes one epoch of batches a round.  Every party draws from the public seed
42, so that any reader who knows the algorithm can subtract the noise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf, sqrt
from typing import Literal

import numpy as np

from ....core.randomness import mersenne_twister
from ....models.links import LOGIT
from ....models.standardise import with_ones
from ....privacy.accountants.renyi import RDP
from ....privacy.accounting.compose import cost

PUBLIC_SEED = 42
BISECTIONS = 30

Steps = Literal["published", "planned"]
AddNoise = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class PropensityTraining:
    """Public plan of the training.

    updates, rounds : planned steps of a round, and rounds; batch : records of a batch; rate : of learning; clip : C of
    a record's gradient
    """

    updates: int = 100
    rounds: int = 10
    batch: int = 32
    rate: float = 0.01
    clip: float = 1.0

    def steps_of_round(self, n: int, steps: Steps) -> int:
        """Steps of a client of n records in a round: as published one epoch of batches."""
        return ceil(n / self.batch) if steps == "published" else self.updates

    def planned_rate(self, n: int) -> float:
        """Share of records in a batch as the plan has it."""
        return min(1.0, self.batch / n)

    def sampled_rate(self, n: int) -> float:
        """Share of records in a batch as the loader draws it."""
        return 1 / ceil(n / self.batch)


@lru_cache(maxsize=256)
def noise_multiplier(plan: PropensityTraining, n: int, epsilon: float, delta: float) -> float:
    """Noise of a step in units of C, for all planned steps at the planned rate by Renyi accounting."""
    if epsilon == inf:
        return 0.0
    low, high = 0.01, 1000.0
    for _ in range(BISECTIONS):
        middle = sqrt(low * high)
        steps = plan.updates * plan.rounds * cost(mu=1 / middle, rate=plan.planned_rate(n))
        if RDP(steps).epsilon(delta) > epsilon:
            low = middle
        else:
            high = middle
    return high


def propensity_table(covariates: np.ndarray, treatment: int) -> tuple[np.ndarray, np.ndarray]:
    """X (n, p) with a first column of ones and without the treatment, and y (n,) whether that is above its centre."""
    return with_ones(np.delete(covariates, treatment, axis=1)), (covariates[:, treatment] > 0).astype(float)


def clipped_sum(X: np.ndarray, y: np.ndarray, coefficients: np.ndarray, clip: float) -> np.ndarray:
    """Sum (p,) of the gradients of the logistic loss, each shrunk to length C; the intercept is a column of X."""
    residual = LOGIT.mean(X @ coefficients) - y
    lengths = np.abs(residual) * np.linalg.norm(X, axis=1)
    return np.asarray((residual * np.minimum(1, clip / np.maximum(lengths, 1e-300))) @ X)


def descend(
    X: np.ndarray,
    y: np.ndarray,
    start: np.ndarray,
    plan: PropensityTraining,
    steps: int,
    batches: np.random.Generator,
    add_noise: AddNoise,
) -> np.ndarray:
    """Coefficients after a client's steps of one round; the intercept is a column of X."""
    coefficients, share = start.copy(), plan.sampled_rate(len(y))
    for _ in range(steps):
        chosen = batches.random(len(y)) < share
        coefficients = (
            coefficients
            - plan.rate * add_noise(clipped_sum(X[chosen], y[chosen], coefficients, plan.clip)) / plan.batch
        )
    return coefficients


def normal_noise(sd: float, generator: np.random.Generator | np.random.RandomState) -> AddNoise:
    """Return a function that adds normal noise to a sum, drawn anew at every call."""
    return lambda total: total + generator.normal(0, sd, len(total))


def seeded_noise(sd: float, drawn: int = 0) -> AddNoise:
    """Normal noise of the public seed, whose generator goes on from round to round; ``drawn`` earlier entries."""
    generator = mersenne_twister(PUBLIC_SEED)
    generator.standard_normal(drawn)
    return normal_noise(sd, generator)


def train(
    parts: Sequence[tuple[np.ndarray, np.ndarray]],
    plan: PropensityTraining,
    rngs: Sequence[tuple[np.random.Generator, AddNoise]],
    steps: Steps = "published",
) -> np.ndarray:
    """Coefficients (1 + p,), intercept first, after rounds of local steps and averaging.

    parts : X and y of each client; rngs : of each client, for its batches, and what adds its noise
    """
    blocks = [(with_ones(X), y) for X, y in parts]
    shared = np.zeros(blocks[0][0].shape[1])
    for _ in range(plan.rounds):
        local = [
            descend(X, y, shared, plan, plan.steps_of_round(len(y), steps), *rng)
            for (X, y), rng in zip(blocks, rngs, strict=True)
        ]
        shared = np.mean(local, axis=0)
    return shared


def draw_table(rng: np.random.Generator, n: int = 300, p: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """The table of the script: X from N(0, 0.5^|i-j|), coefficients 101 U(-0.5, 0.5) / sqrt(p), Bernoulli treatment."""
    places = np.arange(p)
    root = np.linalg.cholesky(0.5 ** np.abs(places[:, None] - places[None, :]))
    X = rng.standard_normal((n, p)) @ root.T
    coefficients = 101 * rng.uniform(-0.5, 0.5, p) / np.sqrt(p)
    return X, (rng.random(n) < LOGIT.mean(X @ coefficients)).astype(float)
