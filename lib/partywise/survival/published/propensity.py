"""The propensity model of FedECA (state 135f89e; Nature Communications 16:7496): noise for steps that are not made.

Clients train a logistic model of the treatment by clipped and noised gradients of Poisson batches.  The noise is
calibrated for every planned step; the loop makes one epoch of batches a round.  Every party draws from the public seed
42, so that anybody who knows the algorithm can subtract the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from ...models.links import LOGIT

PUBLIC_SEED = 42


@dataclass(frozen=True)
class Training:
    """A plan of training.

    updates, rounds : planned steps of a round, and rounds; batch : records of a batch; rate : of learning; clip : C of
    a record's gradient
    """

    updates: int = 100
    rounds: int = 10
    batch: int = 32
    rate: float = 0.01
    clip: float = 1.0

    def steps_made(self, n: int) -> int:
        """Steps that a client of n records makes: one epoch a round."""
        return self.rounds * ceil(n / self.batch)

    def steps_planned(self) -> int:
        """Steps that the noise is calibrated for."""
        return self.rounds * self.updates

    def planned_rate(self, n: int) -> float:
        """Share of records in a batch as the plan has it."""
        return min(1.0, self.batch / n)

    def sampled_rate(self, n: int) -> float:
        """Share of records in a batch as the loader draws it."""
        return 1 / ceil(n / self.batch)


def clipped_sum(X: np.ndarray, y: np.ndarray, coefficients: np.ndarray, clip: float) -> np.ndarray:
    """Sum (p,) of the gradients of the logistic loss, each shrunk to length C; the intercept is a column of X."""
    residual = LOGIT.mean(X @ coefficients) - y
    lengths = np.abs(residual) * np.linalg.norm(X, axis=1)
    return np.asarray((residual * np.minimum(1, clip / np.maximum(lengths, 1e-300))) @ X)


def draw_table(rng: np.random.Generator, n: int = 300, p: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """The table of the script: X from N(0, .5^|i-j|), coefficients 101 U(-.5, .5) / sqrt(p), Bernoulli treatment."""
    places = np.arange(p)
    root = np.linalg.cholesky(0.5 ** np.abs(places[:, None] - places[None, :]))
    X = rng.standard_normal((n, p)) @ root.T
    coefficients = 101 * rng.uniform(-0.5, 0.5, p) / np.sqrt(p)
    return X, (rng.random(n) < LOGIT.mean(X @ coefficients)).astype(float)


def train(
    parts: list[tuple[np.ndarray, np.ndarray]],
    plan: Training,
    noise_multiplier: float,
    rngs: list[tuple[np.random.Generator, np.random.Generator]],
    *,
    steps: int | None = None,
) -> np.ndarray:
    """Coefficients (1 + p,), intercept first, after rounds of local steps and averaging.

    parts : X and y of each client; rngs : of each client, for its batches and for its noise
    steps : of a round; None: one epoch of batches
    """
    blocks = [(np.column_stack([np.ones(len(X)), X]), y) for X, y in parts]
    shared = np.zeros(blocks[0][0].shape[1])
    for _ in range(plan.rounds):
        local = []
        for (X, y), (batches, noise) in zip(blocks, rngs, strict=True):
            own, share = shared.copy(), plan.sampled_rate(len(y))
            for _ in range(ceil(len(y) / plan.batch) if steps is None else steps):
                chosen = batches.random(len(y)) < share
                total = clipped_sum(X[chosen], y[chosen], own, plan.clip)
                total = total + noise.normal(0, noise_multiplier * plan.clip, len(own))
                own = own - plan.rate * total / plan.batch
            local.append(own)
        shared = np.mean(local, axis=0)
    return shared
