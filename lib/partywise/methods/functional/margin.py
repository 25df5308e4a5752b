"""Whether a path from noisy moments is demonstrably better than the mean curve, judged by the noise that was released.

The noise of released moments has public levels, so the noise of a validation loss is known: with B from one half and
noise E_G (isometric, variance v_G), E_H (entries of variance v_H) and e (entries of the mean, variance v_m) on the
other, the change of the loss <B, G B> - 2 <B, H> against the mean curve has the variance
v_G ||B'B||^2 + 4 v_H ||B||^2 + 4 v_m ||B (mean_y - B' mean_x)||^2.  Everything here is post-processing of releases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .moments import CurveMoments
from .paths import A_ON_B, B_ON_A, FULL, PathState

# One-sided 80 % point of the normal distribution: a stricter level loses more than 2 % where little is known, a laxer
# one is worse than the mean curve by more than 5 % where nothing is.
LEVEL = 0.8416


@dataclass(frozen=True)
class ReleasedNoise:
    """Variances of the noise of released moments, each for halves A and B.

    second : of an entry of G on the diagonal (half of it off the diagonal)
    cross : of an entry of H; mean : of an entry of mean_x
    train_mean : of an entry of mean_x of all training records, with which predictions are made
    owners : coordinates of each owner, where entries of G of two owners have twice the variance; else empty
    """

    second: tuple[float, float]
    cross: tuple[float, float]
    mean: tuple[float, float]
    train_mean: float
    owners: tuple[np.ndarray, ...] = ()

    def variance(self, half: int, B: np.ndarray, moments: CurveMoments) -> float:
        """Noise variance of the change of the loss of an operator (P, Qy) on the moments of a half."""
        shift = B @ (moments.mean_y - B.T @ moments.mean_x)
        squares = [np.sum(part**2) for part in (B.T @ B, B, shift)]
        if self.owners:
            # ||B B'||^2 with every block of one owner once and all between two owners twice.
            squares[0] = 2 * squares[0] - sum(np.sum((B[rows].T @ B[rows]) ** 2) for rows in self.owners)
        levels = self.second[half], 4 * self.cross[half], 4 * self.mean[half]
        return float(np.dot(levels, squares))


@dataclass(frozen=True)
class Improvement:
    """Change of the risk against the mean curve (negative: better), its noise sd, and the number of base learners."""

    change: float
    sd: float
    n_learners: int

    @property
    def demonstrated(self) -> bool:
        """Whether the change is below zero by more than the noise explains.

        The path takes the learners that look useful on the validation moments: of k learners that are useless, about
        half look useful, and their changes add up to sqrt(k / pi) standard deviations.
        """
        return self.change + (math.sqrt(self.n_learners / math.pi) + LEVEL) * self.sd < 0

    @property
    def shrinkage(self) -> float:
        """Share of the operator that is kept: 1 - (k / 2 pi) (sd / change)^2, half of what chance explains."""
        chance = self.n_learners / (2 * math.pi)
        return max(0.0, 1 - chance * (self.sd / self.change) ** 2) if self.change < 0 else 0.0


def improvement(state: PathState, halves: list[CurveMoments], noise: ReleasedNoise) -> Improvement:
    """Return what the current state of a path gains over the mean curve, each half judged on the moments of the other.

    <B, G B> is at least 0 and no loss falls by more than the response varies: what is beyond is noise.  The noise of
    the mean with which the training fit predicts, v ||B||^2, is added.
    """
    changes, variances = [], []
    for path, check, half in ((1, A_ON_B, 1), (2, B_ON_A, 0)):
        coef = state.coef[path]
        linear = float(np.sum(coef * state.start[check]))
        quadratic = max(0.0, float(np.sum(coef * (state.start[check] - state.grad[check]))))
        changes.append(max(quadratic - 2 * linear, -float(np.trace(halves[half].K))))
        variances.append(noise.variance(half, state.rotation.operator(coef), halves[half]))
    shift = noise.train_mean * float(np.sum(state.rotation.operator(state.coef[FULL]) ** 2))
    return Improvement(sum(changes) / 2 + shift, math.sqrt(sum(variances)) / 2, len(state.rotation.starts))
