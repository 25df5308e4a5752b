"""Minimum distance between released sums and the law that a data model gives them.

s is normal with mean m(theta) and covariance C(theta) / n + T + E, E the error of the simulation. The derivative of m
is the covariance of f and the score of a record: it needs no derivative of f, which clips. The minimum has the least
variance among consistent estimators from the same statistic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .base import DataModel, ReleasedSum, base_numbers

# Base numbers at a time; while iterating; and at most.
BLOCK, DRAWS, MOST_DRAWS = 20_000, 20_000, 800_000
STEPS, TRIES = 25, 12
FALL, MOVE = 1e-4, 0.02
# Largest share of the squared error of a target that the simulation may have.
COARSE = 0.05
# Before a minimum what is hidden is not known well: so many times as much as at one ends a fit.
HOPELESS = 1.5

# Change of parameters in derivatives of targets, which are smooth and cost next to nothing.
CHANGE = 1e-4
# Numbers (t,) that follow from parameters.
Target = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class RecordMoments:
    """Mean (d,) and covariance (d, d) of f over the records of one theta, and derivative (d, size) of the mean.

    error : (d, d) covariance of the error of the mean by simulation
    """

    mean: np.ndarray
    covariance: np.ndarray
    derivative: np.ndarray
    error: np.ndarray


def record_moments(model: DataModel, sums: Sequence[ReleasedSum], theta: np.ndarray, draws: int) -> RecordMoments:
    """Simulate M = ``draws`` records; sums over these run in blocks, so that memory does not grow with M.

    The mean of an antithetic pair is one draw. Its error is what a constant and products of base numbers, whose means
    are exact, do not explain.
    """
    half = base_numbers(model.name, model.base_size, draws)
    i, j = np.triu_indices(model.base_size)
    sums_of = dict[str, np.ndarray]()
    for first in range(0, len(half), BLOCK // 2):
        u = half[first : first + BLOCK // 2]
        sample = model.draw(theta, np.concatenate([u, -u]))
        f = np.hstack([released.of_records(sample) for released in sums])
        root = f * np.sqrt(sample.weights)[:, None]
        weighed = root * np.sqrt(sample.weights)[:, None]
        score = model.score(theta, sample)
        pairs = weighed.reshape(-1, 2, len(u), f.shape[1]).sum(axis=(0, 1)) / 2
        known = np.column_stack([np.ones(len(u)), u[:, i] * u[:, j]])
        parts = {
            "f": weighed.sum(axis=0),
            "ff": root.T @ root,
            "fs": weighed.T @ score,
            "s": sample.weights @ score,
            "kk": known.T @ known,
            "kg": known.T @ pairs,
            "gg": pairs.T @ pairs,
        }
        sums_of = {name: sums_of.get(name, 0.0) + part for name, part in parts.items()}
    mean = sums_of["f"] / draws
    covariance = sums_of["ff"] / draws - np.outer(mean, mean)
    explained = np.linalg.lstsq(sums_of["kk"], sums_of["kg"], rcond=None)[0]
    residual = sums_of["gg"] - sums_of["kg"].T @ explained
    error = residual / (len(half) - len(sums_of["kk"])) / len(half)
    slope = (sums_of["fs"] - np.outer(mean, sums_of["s"])) / draws
    return RecordMoments(mean, (covariance + covariance.T) / 2, slope, (error + error.T) / 2)


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters (size,) of least distance to released sums, with the law there.

    status : ``converged``, ``not converged``, ``not identified`` or ``simulation too coarse``
    distance : Q; steps, draws : how many
    """

    theta: np.ndarray
    moments: RecordMoments
    status: str
    distance: float
    steps: int
    draws: int
    weights: np.ndarray
    noise: np.ndarray

    @cached_property
    def covariance(self) -> np.ndarray:
        """(size, size) covariance of the parameters over records, noise and simulation."""
        return _inverse(self.moments.derivative.T @ self.weights @ self.moments.derivative)

    @cached_property
    def degrees(self) -> int:
        """Released numbers that no parameter is free for: degrees of freedom of the distance where the law holds."""
        information = self.moments.derivative.T @ self.weights @ self.moments.derivative
        return len(_directions(self.weights)[0]) - len(_directions(information)[0])

    @cached_property
    def back(self) -> np.ndarray:
        """(size, d) derivative of the parameters by the released numbers."""
        return self.covariance @ self.moments.derivative.T @ self.weights

    def covariance_of(self, target: Target) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Variances (t,) of a target in all, of the noise's part, and of the simulation's."""
        slope = derivative(target, self.theta)
        through = slope @ self.back
        total = np.einsum("ij,jk,ik->i", slope, self.covariance, slope)
        by_noise = through**2 @ self.noise
        return total, by_noise, np.einsum("ij,jk,ik->i", through, self.moments.error, through)


def derivative(target: Target, theta: np.ndarray) -> np.ndarray:
    """Derivative (t, size) of a target by central differences."""
    changes = CHANGE * np.eye(len(theta))
    return np.column_stack([(target(theta + change) - target(theta - change)) / (2 * CHANGE) for change in changes])


def _directions(matrix: np.ndarray, least: float = 1e-11) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (r,) and vectors (d, r) of a positive semi-definite matrix of unit diagonal, without null ones."""
    scale = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    scale[scale == 0] = 1.0
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    is_kept = values > least * values[-1]
    return values[is_kept], vectors[:, is_kept] / scale[:, None]


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """Pseudo-inverse of a positive semi-definite matrix, scaled to a unit diagonal: null directions drop out."""
    values, vectors = _directions(matrix)
    return np.asarray((vectors / values) @ vectors.T)


class _Search:
    """Gauss-Newton steps with Levenberg's damping; the weights of a step stay fixed inside it."""

    def __init__(self, model: DataModel, sums: Sequence[ReleasedSum], theta: np.ndarray) -> None:
        self.model, self.sums, self.theta = model, sums, theta
        self.value = np.concatenate([released.value for released in sums])
        self.noise = np.concatenate([released.covariance for released in sums])
        self.damping, self.steps = 1e-3, 0
        self.use(DRAWS)

    def use(self, draws: int) -> None:
        """Evaluate the law with so many draws."""
        self.draws = draws
        self._accept(self.theta, record_moments(self.model, self.sums, self.theta, draws))

    def _accept(self, theta: np.ndarray, simulated: RecordMoments) -> None:
        self.theta, self.moments = theta, simulated
        self.weights = _inverse(simulated.covariance / self.sums[0].n + np.diag(self.noise) + simulated.error)
        deviation = self.value - simulated.mean
        self.distance = float(deviation @ self.weights @ deviation)

    def step(self) -> bool:
        """Take one step; whether the fit has arrived."""
        self.steps += 1
        weights, slope = self.weights, self.moments.derivative
        matrix, gradient = slope.T @ weights @ slope, slope.T @ weights @ (self.value - self.moments.mean)
        diagonal = np.diagonal(matrix)
        scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        unit = matrix / np.outer(scale, scale)
        deviations = np.sqrt(np.maximum(np.diagonal(_inverse(matrix)), 0.0))
        undamped = np.linalg.lstsq(unit, gradient / scale, rcond=1e-12)[0] / scale
        for _ in range(TRIES):
            damped = unit + self.damping * np.diag(np.diagonal(unit))
            move = np.linalg.lstsq(damped, gradient / scale, rcond=1e-12)[0] / scale
            theta = self.model.within(self.theta + move)
            with np.errstate(all="ignore"):
                simulated = record_moments(self.model, self.sums, theta, self.draws)
                deviation = self.value - simulated.mean
                distance = float(deviation @ weights @ deviation)
            if distance <= self.distance and np.all(np.isfinite(simulated.derivative)):
                break
            if self._is_near(undamped, deviations):
                # The simulated mean has steps of its own, below which the minimum is not known.
                return True
            self.damping *= 10
        else:
            return False
        fall, moved = self.distance - distance, theta - self.theta
        self.damping /= 10
        self._accept(theta, simulated)
        return fall < FALL and self._is_near(moved, deviations)

    @staticmethod
    def _is_near(move: np.ndarray, deviations: np.ndarray) -> bool:
        return bool(np.all(np.abs(move) <= MOVE * deviations + 1e-12))

    def result(self, status: str) -> Fit:
        """Return where the search is."""
        return Fit(self.theta, self.moments, status, self.distance, self.steps, self.draws, self.weights, self.noise)


def fit(
    model: DataModel,
    sums: Sequence[ReleasedSum],
    start: np.ndarray,
    target: Target,
    least: int = 0,
    hiding: Callable[[Fit], float] = lambda fitted: 0.0,
) -> Fit:
    """Find the parameters, with so many draws that the simulation is a small part of the error of a target.

    least : draws that there are at least, unless they are more than the most
    hiding : how far noise hides what it must not; above 1 at a minimum, or above `HOPELESS` before one, the fit ends
    """
    search = _Search(model, sums, start)
    while True:
        for _ in range(STEPS):
            if hiding(search.result("not identified")) > HOPELESS:
                return search.result("not identified")
            if search.step():
                break
        else:
            return search.result("not converged")
        result = search.result("converged")
        if hiding(result) > 1:
            return search.result("not identified")
        total, _, by_simulation = result.covariance_of(target)
        is_fine = search.draws >= max(2 * DRAWS, min(least, MOST_DRAWS)) and np.all(by_simulation <= COARSE * total)
        if is_fine:
            return result
        if search.draws >= MOST_DRAWS:
            return search.result("simulation too coarse")
        search.use(2 * search.draws)
