"""Privacy layers under audit: x of a world has an update of each client, of which the first becomes another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...audits.exposure import Exposure, Task, Verdict, unproved_release
from ...audits.pairs import DistributionPair, GaussianPair, clear_exposure, gaussian_exposure
from ...audits.worlds import AuditData, World
from ...filters.guarantees import adaptive_epsilon, svt_index_probability
from ...filters.layers.flower import local_sd
from ...filters.layers.pfl import pfl_sigma
from ...filters.protocols.fedavg import certificate_of
from ...filters.training import SVT_GAMMA, clip_rows, percentile_rows
from ...privacy.mechanisms.integer import IntegerGaussian
from ...privacy.statistics.bounded import Bounded
from ...privacy.statistics.clips import ball_squares, ball_steps
from ...privacy.statistics.whole import whole
from ...randomness import Rng
from .claims import LayerSettings

CLIP, STEP_BITS = 1.0, 20
# Clients beside the attacked one, all clipped, of a clip that follows counts.
CLIENTS = 100


def opposite_update(settings: LayerSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """The first update, of length C, becomes its opposite; ordinarily one of other directions becomes another."""
    rng = rng_for("updates")
    x = np.repeat(clip_rows(rng.standard_normal((settings.n, settings.entries)), CLIP)[None], 4, axis=0)
    x[:2, 0], x[3, 0] = np.eye(settings.entries)[0], clip_rows(rng.standard_normal((1, settings.entries)), CLIP)[0]
    x[1, 0] *= -1
    return AuditData(x, np.zeros(x.shape[:2]))


def _first(world: World) -> np.ndarray:
    """The update of the first client, clipped."""
    return np.asarray(clip_rows(world.x[:1], CLIP)[0])


def _several(task: Task[LayerSettings], scale: float, source: str, noise: float) -> Exposure:
    """Rounds that each release the first update times a scale: all of them are one vector with one certificate."""
    rounds = task.settings.rounds

    def statistic(world: World) -> Bounded:
        moved = 2 * CLIP * scale * float(np.sqrt(rounds))
        return Bounded(np.tile(scale * _first(world), rounds), certificate_of(moved, source))

    return gaussian_exposure(task, statistic, noise, {"noise_sd": noise}, epsilon_claimed=task.epsilon)


def local_noise(task: Task[LayerSettings]) -> Exposure:
    """An update with the noise of the classic formula for S, in which the clip does not stand."""
    noise = local_sd(task.settings.sensitivity * CLIP, task.epsilon, task.delta)
    return _several(task, 1.0, "2 C, S stands apart", noise)


def fixed_clip(task: Task[LayerSettings]) -> Exposure:
    """A mean with noise z C / n, z that of the claim by zero-out over all rounds."""
    settings = task.settings
    multiplier = float(np.sqrt(settings.rounds)) / task.mu
    return _several(
        task, settings.heaviest / settings.n, "2 C times the largest weight", multiplier * CLIP / settings.n
    )


def cohort_sum(task: Task[LayerSettings]) -> Exposure:
    """A sum in which one user is or is not, with the analytic noise: the first update becomes 0."""
    noise = pfl_sigma(task.epsilon, task.delta) * CLIP

    def statistic(world: World) -> Bounded:
        # Worlds are opposite updates; half of each is as far as a user who leaves.
        return Bounded(_first(world) / 2, certificate_of(CLIP, "a user is added or removed"))

    return gaussian_exposure(task, statistic, noise, {"noise_sd": noise}, epsilon_claimed=task.epsilon)


@dataclass(frozen=True)
class AdaptivePair:
    """One round of a clip that follows the clipped updates, where all others are clipped: its exact epsilon."""

    multiplier: float

    def audit(self, rng: np.random.Generator, draws: int, delta: float, confidence: float) -> Verdict:
        """By quadrature over the noisy share: nothing is drawn."""
        epsilon = adaptive_epsilon(self.multiplier, CLIENTS, delta)
        return Verdict(epsilon, "exact", None, epsilon)


def adaptive_clip(task: Task[LayerSettings]) -> Exposure:
    """A mean with noise for the clip of the next round, beside the noisy count that sets it."""
    release = unproved_release(_first(task.worst[0]), task.owner, "user", "adaptive_clip", task.noise())
    pair = AdaptivePair(1 / task.mu)
    return Exposure({0: release}, (pair, pair))


def sparse_vector(task: Task[LayerSettings]) -> Exposure:
    """The index that is sent where one entry is, in two worlds that are opposite in every entry."""
    entries = task.settings.entries

    def probabilities(first: float) -> np.ndarray:
        p = svt_index_probability(first, SVT_GAMMA - first, entries, task.epsilon)
        return np.array([p, *[(1 - p) / (entries - 1)] * (entries - 1)])

    release = unproved_release(_first(task.worst[0]), task.owner, "user", "svt", task.noise())
    pair = DistributionPair(probabilities(SVT_GAMMA), probabilities(0.0))
    return Exposure({0: release}, (pair, pair))


def percentile_update(task: Task[LayerSettings]) -> Exposure:
    """The update through a percentile: no noise."""
    return clear_exposure(task, lambda world: percentile_rows(world.x[:1])[0], "user")


def parameters_with_noise(task: Task[LayerSettings]) -> Exposure:
    """Parameters with noise, which nothing bounds: as far as the noise hides it, an update may be longer."""
    far = 1e6

    def pair_of(one: World, other: World) -> GaussianPair:
        return GaussianPair(far * one.x[0], far * other.x[0], CLIP)

    release = unproved_release(task.worst[0].x[0], task.owner, "user", "parameters_with_noise", task.noise())
    return Exposure({0: release}, task.pairs(pair_of))


def certified_update(task: Task[LayerSettings]) -> Exposure:
    """The update in whole steps of a ball, with integer noise of sensitivity 2 C."""
    step = CLIP / 2.0**STEP_BITS

    def steps(world: World) -> np.ndarray:
        return np.asarray(ball_steps(world.x[:1], CLIP, step).records[0])

    squares = 4 * ball_squares(CLIP, step)
    statistic = whole(steps(task.worst[0]), squares, step, "2 C, in integers", unit="user")
    release = IntegerGaussian(mu=task.mu)(statistic, task.noise(), owner=task.owner)
    noise = 2 * CLIP / task.mu

    def pair_of(one: World, other: World) -> GaussianPair:
        return GaussianPair(steps(one) * step, steps(other) * step, noise)

    return Exposure({0: release}, task.pairs(pair_of))
