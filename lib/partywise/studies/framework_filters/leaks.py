"""Privacy layers under audit: x of a world has an update of each client, of which the first becomes another.

Where a record is protected its rows are gradients of records, or entries of a column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import numpy as np

from ...audits.exposure import EpsilonBounds, Exposure, Task, unproved_release
from ...audits.pairs import GaussianPair, clear_exposure, gaussian_exposure
from ...audits.worlds import AuditData, World
from ...core.randomness import Rng
from ...methods.filters.guarantees import (
    adaptive_epsilon,
    biomed_central_mu,
    biomed_local_epsilon,
    fixed_optimiser_mu,
    svt_index_epsilon,
    unreachable,
)
from ...methods.filters.layers.flower import local_sd, optimiser_step
from ...methods.filters.layers.masks import EXAMPLES, MODULUS, quantise
from ...methods.filters.layers.nvflare import svt_counts
from ...methods.filters.layers.pfl import pfl_sigma
from ...methods.filters.layers.statistics import LEVELS
from ...methods.filters.options import FedavgOptions
from ...methods.filters.protocols.fedavg import certificate_of
from ...methods.filters.training import SVT_GAMMA, SparseVector, clip_rows, plain_rows
from ...privacy.audit.pairs import clopper_pearson
from ...privacy.mechanisms.gaussian import Gaussian
from ...privacy.mechanisms.integer import IntegerGaussian
from ...privacy.mechanisms.release import Terms
from ...privacy.statistics.bounded import Bounded
from ...privacy.statistics.clips import ball_squares, ball_steps
from ...privacy.statistics.whole import whole
from .attacks import SeedSearch, pair_mask, recovered_entries, search_seeds
from .claims import ColumnClaim, LayerSettings, SeedSettings, TrainingSettings

CLIP, STEP_BITS = 1.0, 20
# Clip around an optimiser of the server, whose step does not scale with it.
SMALL_CLIP = 0.01
# Largest whole number of a column.
LARGEST = 100
Rows = LayerSettings | TrainingSettings


def opposite_update(settings: Rows, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """The first update, of length C, becomes its opposite; ordinarily one of other directions becomes another."""
    rng = rng_for("updates")
    x = np.repeat(clip_rows(rng.standard_normal((settings.n, settings.entries)), CLIP)[None], 4, axis=0)
    x[:2, 0], x[3, 0] = np.eye(settings.entries)[0], clip_rows(rng.standard_normal((1, settings.entries)), CLIP)[0]
    x[1, 0] *= -1
    return AuditData(x, np.zeros(x.shape[:2]))


def even_update(settings: Rows, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """Likewise, the first update having all entries alike."""
    data = opposite_update(settings, spec, rng_for, resources)
    data.x[:2, 0] = CLIP / np.sqrt(settings.entries) * np.array([[1.0], [-1.0]])
    return data


def leaving_update(settings: Rows, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """The first update, of length C, ordinarily of C / 2, becomes 0, as if no client sent it."""
    data = opposite_update(settings, spec, rng_for, resources)
    data.x[2, 0] /= 2
    data.x[1::2, 0] = 0
    return data


def sparse_update(settings: LayerSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """Updates whose entries but the first are alike: a row is the first entry and each of the others.

    The one entry of absolute value gamma becomes the only one that is 0; ordinarily likewise at half of the value.
    """
    x = np.repeat(SVT_GAMMA * rng_for("updates").random((1, settings.n, 2)), 4, axis=0)
    x[:, 0] = SVT_GAMMA * np.array([[1, 0], [0, 1], [0.5, 0], [0, 0.5]])
    return AuditData(x, np.zeros(x.shape[:2]))


def another_maximum(settings: ColumnClaim, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """Half of the largest entry of a column is still the largest; ordinarily it falls by a twelfth."""
    x = np.repeat(rng_for("column").integers(20, 40, (1, settings.n, 1)).astype(float), 4, axis=0)
    x[:, 0, 0] = 90, 45, 60, 55
    return AuditData(x, np.zeros(x.shape[:2]))


def _first(world: World) -> np.ndarray:
    """The update of the first client, clipped."""
    return np.asarray(clip_rows(world.x[:1], CLIP)[0])


@dataclass(frozen=True)
class ComputedPair:
    """A pair whose epsilon is known without a draw; of one that is not attacked it is None."""

    epsilon: float | None
    exact: bool = True

    def audit(self, rng: np.random.Generator, draws: int, delta: float, confidence: float) -> EpsilonBounds:
        """Return the verdict with the known epsilon."""
        kind = "no_distribution" if self.epsilon is None else "exact"
        return EpsilonBounds(self.epsilon, kind, None, self.epsilon if self.exact else None)


@dataclass(frozen=True)
class ImpossiblePair:
    """A pair of which the first world has outputs that the second cannot have.

    outputs : (rng, draws) -> of the first; impossible : outputs -> (draws,) bool, those that the second has not
    """

    outputs: Callable[[np.random.Generator, int], np.ndarray]
    impossible: Callable[[np.ndarray], np.ndarray]

    def audit(self, rng: np.random.Generator, draws: int, delta: float, confidence: float) -> EpsilonBounds:
        """Infinite where their share exceeds delta: no epsilon makes up for it."""
        seen = int(np.count_nonzero(self.impossible(self.outputs(rng, draws))))
        share = float(clopper_pearson(seen, draws, 1 - confidence)[0])
        return EpsilonBounds(np.inf if share > delta else 0.0, "counts", draws=draws)


@dataclass(frozen=True)
class UnboundedPair(GaussianPair):
    """Pair out of many that lie ever farther apart: none is the worst, so that none has the exact epsilon."""

    def audit(self, rng: np.random.Generator, draws: int, delta: float, confidence: float) -> EpsilonBounds:
        """Return the verdict of a Gaussian pair without its exact epsilon."""
        verdict = super().audit(rng, draws, delta, confidence)
        return EpsilonBounds(verdict.lower, verdict.kind, verdict.mu_lower, None, verdict.draws, verdict.at_limit)


def _several(
    task: Task[LayerSettings] | Task[TrainingSettings],
    scale: float,
    source: str,
    noise: float,
    **booked: Unpack[Terms],
) -> Exposure:
    """Rounds that each release the first update times a scale: their sum over the root of T is sufficient."""
    scale *= float(np.sqrt(task.settings.rounds))

    def statistic(world: World) -> Bounded:
        return Bounded(scale * _first(world), certificate_of(2 * CLIP * scale, source))

    return gaussian_exposure(task, statistic, noise, {"noise_sd": noise}, **booked)


def _local_sd(task: Task[LayerSettings]) -> float:
    """Noise of the classic formula for S, which lacks the clip."""
    return local_sd(task.settings.sensitivity * CLIP, task.epsilon, task.delta)


def local_noise(task: Task[LayerSettings]) -> Exposure:
    """An update with the noise of the formula for S."""
    return _several(task, 1.0, "2 C, S stands apart", _local_sd(task), epsilon_claimed=task.epsilon)


def float_noise(task: Task[LayerSettings]) -> Exposure:
    """The update with this noise in floating point: some of its outputs cannot come from the other update."""
    noise = _local_sd(task)

    def pair_of(data: World, neighbour: World) -> ImpossiblePair:
        first, second = _first(data), _first(neighbour)

        def impossible(outputs: np.ndarray) -> np.ndarray:
            flags = [unreachable(entry, float(value)) for entry, value in zip(outputs.T, second, strict=True)]
            return np.asarray(np.any(flags, axis=0))

        return ImpossiblePair(lambda rng, draws: first + rng.normal(0, noise, (draws, len(first))), impossible)

    release = unproved_release(_first(task.worst[0]), task.owner, "user", "float_noise", task.noise())
    return Exposure({0: release}, task.pairs(pair_of), {"noise_sd": noise})


def fixed_clip(task: Task[LayerSettings]) -> Exposure:
    """A mean with noise z C / n, z that of the claim by zero-out over all rounds."""
    settings = task.settings
    noise = float(np.sqrt(settings.rounds)) / task.mu * CLIP / settings.n
    # Worlds are opposite updates; half of each is as far as an update that becomes 0.
    scale, source = settings.heaviest / settings.n / 2, "C times the largest weight, by zero-out"
    return _several(task, scale, source, noise, epsilon_claimed=task.epsilon)


def fixed_optimiser(task: Task[LayerSettings]) -> Exposure:
    """The first step of an optimiser from a mean of small updates, with the noise of that mean."""
    n, entries = task.settings.n, task.settings.entries
    noise = SMALL_CLIP / n / task.mu
    moved = 2 * fixed_optimiser_mu("FedAdam", n, SMALL_CLIP, 1 / task.mu, entries) * noise

    def statistic(world: World) -> Bounded:
        step = optimiser_step("FedAdam", SMALL_CLIP / n * _first(world))
        return Bounded(step, certificate_of(moved, "the step from one mean, and from its opposite"))

    return gaussian_exposure(task, statistic, noise, {"noise_sd": noise}, epsilon_claimed=task.epsilon)


def cohort_sum(task: Task[LayerSettings]) -> Exposure:
    """A sum in which one user is or is not, with the analytic noise: the first update becomes 0."""
    noise = pfl_sigma(task.epsilon, task.delta) * CLIP

    def statistic(world: World) -> Bounded:
        # Worlds are opposite updates; half of each is as far as a user who leaves.
        return Bounded(_first(world) / 2, certificate_of(CLIP, "a user is added or removed"))

    return gaussian_exposure(task, statistic, noise, {"noise_sd": noise}, epsilon_claimed=task.epsilon)


def adaptive_clip(task: Task[LayerSettings]) -> Exposure:
    """A mean with noise for the clip of the next round, and the noisy count that sets it: all others are clipped."""
    release = unproved_release(_first(task.worst[0]), task.owner, "user", "adaptive_clip", task.noise())

    def pair_of(data: World, neighbour: World) -> ComputedPair:
        moved = float(np.linalg.norm(_first(data) - _first(neighbour))) / CLIP
        return ComputedPair(adaptive_epsilon(1 / task.mu, task.settings.n, task.delta, moved))

    return Exposure({0: release}, task.pairs(pair_of))


def sparse_vector(task: Task[LayerSettings]) -> Exposure:
    """Entries that exceed a noisy threshold: where one is sent, its index alone is attacked, whose law is known."""
    entries = task.settings.entries
    first, others = np.clip(task.worst[0].x[0], -SVT_GAMMA, SVT_GAMMA)
    values = np.append(first, np.full(entries - 1, others))
    statistic = Bounded(values[None], certificate_of(2 * SVT_GAMMA, "entries are clipped", norm="linf", records=1))
    release = SparseVector(task.epsilon)(statistic, task.noise(), owner=task.owner)
    one_sent = svt_counts(entries, epsilon=task.epsilon)[0] == 1

    def pair_of(data: World, neighbour: World) -> ComputedPair:
        largest = float(data.x[0].max())
        return ComputedPair(svt_index_epsilon(entries, task.epsilon, largest) if one_sent else None, exact=False)

    return Exposure({0: release}, task.pairs(pair_of))


def percentile_update(task: Task[LayerSettings]) -> Exposure:
    """The update through a percentile: no noise."""
    return _clear_update(task, FedavgOptions(layer="percentile"))


def excluded_variables(task: Task[LayerSettings]) -> Exposure:
    """The update without its first entries: no noise."""
    return _clear_update(task, FedavgOptions(layer="exclude_vars"))


def _clear_update(task: Task[LayerSettings], options: FedavgOptions) -> Exposure:
    return clear_exposure(task, lambda world: plain_rows(world.x[:1], options)[0], "user")


def planted_mask(task: Task[SeedSettings]) -> Exposure:
    """An update under the mask of a pair of clients, whose planted seed is searched for."""
    bits, rows = task.settings.bits, int(EXAMPLES)
    seed = int(task.rng_for("seed").integers(1 << bits))

    def search(world: World) -> SeedSearch:
        integers = np.concatenate(quantise([_first(world)], EXAMPLES, task.rng_for("rounding")))
        return search_seeds((integers + pair_mask(seed, len(integers))) % MODULUS, bits)

    share = recovered_entries(search(task.worst[0]), _first(task.worst[0]), rows)
    return clear_exposure(task, lambda world: search(world).update, "user", recovered_share=share)


def noisy_extreme(task: Task[ColumnClaim]) -> Exposure:
    """The largest entry, moved up by a share of itself as `noisy_maximum` does."""

    def outputs(world: World, rng: np.random.Generator, draws: int) -> np.ndarray:
        return np.asarray(world.x.max() * (1 + rng.uniform(*LEVELS, draws)))

    def pair_of(data: World, neighbour: World) -> ImpossiblePair:
        low, high = (float(neighbour.x.max()) * (1 + level) for level in LEVELS)
        return ImpossiblePair(lambda rng, draws: outputs(data, rng, draws), lambda sent: (sent < low) | (sent > high))

    sent = outputs(task.worst[0], task.noise(), 1)
    return Exposure({0: unproved_release(sent, task.owner, "row", "min_max", task.noise())}, task.pairs(pair_of))


def few_bins(task: Task[ColumnClaim]) -> Exposure:
    """Counts of bins one unit wide, a few of them in each job, of at least 10 records: jobs tile the column."""
    return clear_exposure(task, _counts, "row")


def _counts(world: World) -> np.ndarray:
    return np.bincount(world.x[:, 0].astype(int), minlength=LARGEST + 1)


def certified_counts(task: Task[ColumnClaim]) -> Exposure:
    """Counts of public bins with integer noise, from which extremes can be read as well."""
    statistic = whole(_counts(task.worst[0]), 2, 1.0, "a record leaves one bin for another", unit="row")
    release = IntegerGaussian(mu=task.mu)(statistic, task.noise(), owner=task.owner)
    noise = float(np.sqrt(2)) / task.mu
    return Exposure(
        {0: release}, task.pairs(lambda data, neighbour: GaussianPair(_counts(data), _counts(neighbour), noise))
    )


def parameters_with_noise(task: Task[LayerSettings]) -> Exposure:
    """Parameters with noise, which nothing bounds: as far as the noise hides it, an update may be longer."""
    far = 1e6

    def pair_of(data: World, neighbour: World) -> UnboundedPair:
        return UnboundedPair(far * data.x[0], far * neighbour.x[0], CLIP)

    release = unproved_release(task.worst[0].x[0], task.owner, "user", "parameters_with_noise", task.noise())
    return Exposure({0: release}, task.pairs(pair_of))


def noise_of_small_steps(task: Task[TrainingSettings]) -> Exposure:
    """Parameters with noise after steps down a convex loss, all records in every batch: linear, which moves most."""
    settings = task.settings
    noise = settings.multiplier * CLIP
    mu = biomed_central_mu(settings.step, settings.steps, settings.batch, settings.multiplier)
    return _several(task, mu * noise / (2 * CLIP), "2 C in every step", noise)


def record_noise(task: Task[TrainingSettings]) -> Exposure:
    """Steps on Poisson batches with noise: here all gradients but that of the first record are 0."""
    settings = task.settings
    rate, noise = settings.batch / settings.n, settings.multiplier * CLIP
    steps = settings.rounds * settings.steps
    # Another record in place of this one is charged as if it stood in every batch: by sampling nothing is won of it.
    certificate = certificate_of(2 * CLIP * float(np.sqrt(steps)), "gradients are clipped")
    taken = task.rng_for("batches").random((steps, 1)) < rate
    release = Gaussian(sigma=noise)(Bounded(taken * _first(task.worst[0]), certificate), task.noise(), owner=task.owner)

    def pair_of(data: World, neighbour: World) -> ComputedPair:
        moved = float(np.linalg.norm(_first(data) - _first(neighbour)))
        if not moved:
            return ComputedPair(0.0)
        return ComputedPair(biomed_local_epsilon(noise / moved, settings.batch, settings.n, steps, task.delta))

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

    def pair_of(data: World, neighbour: World) -> GaussianPair:
        return GaussianPair(steps(data) * step, steps(neighbour) * step, noise)

    return Exposure({0: release}, task.pairs(pair_of))
