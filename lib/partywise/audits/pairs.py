"""Pairs of neighbours under attack: each draws releases by the mechanism itself and scores them at its best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from ..core.checks import Scalar
from ..privacy.accounted_values import Clear, Public
from ..privacy.accounting.calibration import gaussian_epsilon
from ..privacy.audit.exact import finite_epsilon, response_epsilon
from ..privacy.audit.pairs import audit_pair
from ..privacy.mechanisms.gaussian import Gaussian, SymmetricGaussian
from ..privacy.mechanisms.randomized_response import RandomizedResponse
from ..privacy.mechanisms.release import Terms
from ..privacy.statistics.bounded import Bounded, SensitivityCertificate
from .exposure import EpsilonBounds, Exposure, Task
from .worlds import World

# Entries drawn at once: memory of a job stays far below its limit.
CHUNK = 50_000
# The draws of an audit are the experimenter's: no view learns them, so their sensitivity plays no part.
_FREE = SensitivityCertificate(0.0, "l2", "row", "replace_one", frozenset(("label", "features")))


def _draws(mechanism: Gaussian, value: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Independent releases of one value by the mechanism, shape (count, entries)."""
    copies = Bounded(np.broadcast_to(value, (count, *value.shape)), _FREE)
    return np.asarray(mechanism(copies, rng, owner="experimenter").value.reshape(count, -1))


def _noise(noise: float | np.ndarray) -> Gaussian:
    if not isinstance(noise, np.ndarray):
        return Gaussian(sigma=noise)
    return Gaussian(covariance=Public(noise, because="the experimenter, who draws here, knows both worlds"))


def _precision(noise: float | np.ndarray, size: int) -> np.ndarray:
    """Inverse covariance along the last axis."""
    return np.linalg.inv(noise) if isinstance(noise, np.ndarray) else np.eye(size) / noise**2


@dataclass(frozen=True)
class GaussianPair:
    """Gaussian noise around two values, attacked by the likelihood ratio.

    first, second : (..., q) values of the statistic in the two worlds
    noise : standard deviation, or covariance along the last axis; noise2 : in the second world, where it differs
    """

    first: np.ndarray | float
    second: np.ndarray | float
    noise: float | np.ndarray
    noise2: np.ndarray | None = None

    @property
    def gap(self) -> np.ndarray:
        """Difference of the two values, at least one-dimensional."""
        return np.atleast_1d(np.asarray(self.first, dtype=float) - np.asarray(self.second))

    @property
    def mu(self) -> float:
        """Length of the difference in the geometry of the noise."""
        gap = self.gap.reshape(-1, self.gap.shape[-1])
        return float(np.sqrt(np.sum((gap @ _precision(self.noise, gap.shape[1])) * gap)))

    def scores(self, rng: np.random.Generator, draws: int, world: int) -> np.ndarray:
        """Log-likelihood ratios (up to a constant) of releases in one world."""
        value = np.atleast_1d(np.asarray((self.first, self.second)[world], dtype=float))
        noise = self.noise if world == 0 or self.noise2 is None else self.noise2
        step = max(1, CHUNK // value.size)
        parts = [
            self._score(_draws(_noise(noise), value, min(step, draws - start), rng)) for start in range(0, draws, step)
        ]
        return np.concatenate(parts)

    def _score(self, released: np.ndarray) -> np.ndarray:
        size = self.gap.shape[-1]
        first = _precision(self.noise, size)
        if self.noise2 is None:
            return np.asarray(released @ (self.gap @ first).ravel())
        squares = [
            np.sum(rest @ precision * rest, axis=(1, 2))
            for mean, precision in ((self.first, first), (self.second, _precision(self.noise2, size)))
            for rest in (released.reshape(len(released), -1, size) - np.reshape(mean, (1, -1, size)),)
        ]
        return np.asarray((squares[1] - squares[0]) / 2)

    def audit(self, rng: np.random.Generator, draws: int, delta: float, confidence: float) -> EpsilonBounds:
        """Counts at any threshold; mu and the exact epsilon of the pair where both worlds share their noise."""
        shared = self.noise2 is None
        first, second = (self.scores(rng, draws, world) for world in (0, 1))
        bound = audit_pair(first, second, delta, gaussian=shared, confidence=confidence)
        return EpsilonBounds(
            bound.eps_lower,
            bound.kind,
            bound.mu_lower if shared else None,
            float(gaussian_epsilon(self.mu, delta)) if shared else None,
            bound.n,
            bound.at_sample_limit,
        )


@dataclass(frozen=True)
class ResponsePair:
    """Randomised response on indices of which some differ, attacked by the likelihood ratio.

    first, second : (m,) indices in the two worlds; entries that agree carry no information and are left out
    epsilon, k : of one response
    """

    first: np.ndarray
    second: np.ndarray
    epsilon: float
    k: int

    @property
    def n_changed(self) -> int:
        """Number of indices that differ."""
        return int(np.sum(self.first != self.second))

    def exact(self, delta: float) -> float:
        """Epsilon of the pair: the entries that differ are independent responses."""
        return response_epsilon(self.epsilon, self.k, self.n_changed, delta)

    def scores(self, rng: np.random.Generator, draws: int, world: int) -> np.ndarray:
        """Log-likelihood ratio: entries found as in the first world less those as in the second, times epsilon."""
        moved = self.first != self.second
        first, second = self.first[moved], self.second[moved]
        if not len(first):
            return rng.integers(0, 2, draws).astype(float)
        step, parts = max(1, CHUNK // len(first)), []
        mechanism = RandomizedResponse(self.epsilon, self.k)
        certificate = SensitivityCertificate(0.0, "hamming", "row", "replace_one", frozenset(("features",)))
        for start in range(0, draws, step):
            count = min(step, draws - start)
            value = np.broadcast_to((first, second)[world], (count, len(first)))
            out = mechanism(Bounded(value, certificate), rng, owner="experimenter").value
            parts.append(self.epsilon * (np.sum(out == first, axis=1) - np.sum(out == second, axis=1)))
        return np.concatenate(parts).astype(float)

    def audit(self, rng: np.random.Generator, draws: int, delta: float, confidence: float) -> EpsilonBounds:
        """Counts at any threshold; the loss takes few values, so ties are cut as they are."""
        first, second = (self.scores(rng, draws, world) for world in (0, 1))
        bound = audit_pair(first, second, delta, gaussian=False, confidence=confidence)
        return EpsilonBounds(bound.eps_lower, bound.kind, None, self.exact(delta), bound.n, bound.at_sample_limit)


@dataclass(frozen=True)
class DistributionPair:
    """Two distributions on the same finite set of outputs, compared exactly: nothing is drawn."""

    first: np.ndarray
    second: np.ndarray

    def audit(self, rng: np.random.Generator, draws: int, delta: float, confidence: float) -> EpsilonBounds:
        """Epsilon of the pair at ``delta``."""
        epsilon = finite_epsilon(self.first, self.second, delta)
        return EpsilonBounds(epsilon, "exact", None, epsilon)


@dataclass(frozen=True)
class ResponseDistributionPair(ResponsePair):
    """Pair of responses whose distributions are compared exactly."""

    def audit(self, rng: np.random.Generator, draws: int, delta: float, confidence: float) -> EpsilonBounds:
        """Epsilon of the pair at ``delta``."""
        epsilon = self.exact(delta)
        return EpsilonBounds(epsilon, "exact", None, epsilon)


@dataclass(frozen=True)
class ClearPair:
    """Values sent as they are: one look separates two different values at every delta < 1."""

    first: np.ndarray | float
    second: np.ndarray | float

    def audit(self, rng: np.random.Generator, draws: int, delta: float, confidence: float) -> EpsilonBounds:
        """Infinite if the two values differ, 0 if they agree."""
        epsilon = 0.0 if np.array_equal(self.first, self.second) else float("inf")
        return EpsilonBounds(epsilon, "certain", None, epsilon)


@dataclass(frozen=True)
class NoDistribution:
    """A formula that is not a probability distribution: there is nothing to draw from."""

    def audit(self, rng: np.random.Generator, draws: int, delta: float, confidence: float) -> EpsilonBounds:
        """Return no bound: there is nothing to draw from."""
        return EpsilonBounds(None, "no_distribution")


def canaries(pair: GaussianPair, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """One run with many records, each in one of the two worlds by its own coin."""
    bits = rng.integers(0, 2, count)
    scores = [pair.scores(rng, count, world) for world in (0, 1)]
    return np.where(bits == 1, scores[0], scores[1]), bits


def clear_exposure(
    task: Task[object], message: Callable[[World], np.ndarray | float], unit: str, **numbers: Scalar
) -> Exposure:
    """A message in the clear."""
    payload = Clear(message(task.worst[0]), units=(unit,), owner=task.owner)
    return Exposure(
        {0: payload}, task.pairs(lambda world, neighbour: ClearPair(message(world), message(neighbour))), numbers
    )


def gaussian_exposure(
    task: Task[object],
    statistic: Callable[[World], Bounded],
    noise: float,
    numbers: Mapping[str, Scalar] | None = None,
    *,
    symmetric: bool = False,
    **booked: Unpack[Terms],
) -> Exposure:
    """A statistic with independent Gaussian noise of one deviation, in the upper triangle of a symmetric matrix.

    booked : fields of the release in addition to its owner
    """
    mechanism = SymmetricGaussian(noise) if symmetric else Gaussian(sigma=noise)
    release = mechanism(statistic(task.worst[0]), task.noise(), owner=task.owner, **booked)

    def pair_of(data: World, neighbour: World) -> GaussianPair:
        first, second = (np.asarray(statistic(world).value) for world in (data, neighbour))
        upper = np.triu_indices(len(first)) if symmetric else ...
        return GaussianPair(first[upper], second[upper], noise)

    return Exposure({0: release}, task.pairs(pair_of), dict(numbers or {}))
