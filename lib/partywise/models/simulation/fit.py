"""Minimum distance between released sums and the law that a data model gives them.

s is normal with mean m(theta) and covariance C(theta) / n + T + E, E the error of the simulation. The derivative of m
is the covariance of f and the score of a record: it needs no derivative of f, which clips. The minimum has the least
variance among consistent estimators from the same statistic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..intervals import FittedLaw
from .base import DataModel, ReleasedSum, base_numbers, inverse_of_products, products

# Base numbers at a time; while iterating; and at most. Pairs that tell the error of one.
BLOCK, DRAWS, MOST_DRAWS = 2_000, 20_000, 800_000
ERROR_PAIRS = 10_000
STEPS, TRIES, DAMPING = 25, 12, 1e-3
# A search ends where a step would lower the distance by less; earlier on base numbers that more will follow. Where
# simulation is too rough for that it ends near the minimum, a standard error of any target away at most.
FALL, ROUGH, NEAR = 1e-4, 0.25, 1.0
# Largest share of the squared error of a target that the simulation may have, and that the search may leave.
COARSE = 0.05
# So many times as many draws as are enough for the error of a simulation, for the sake of its search.
PATIENCE = 4
# A further step moves no target by more than this share of its standard error.
NEXT = 0.02
# Before a minimum what is hidden is not known well: so many times as much as at one ends a fit.
HOPELESS = 1.5

# Change of parameters in derivatives of targets, which are smooth and cost next to nothing.
CHANGE = 1e-4
# Of a published result that is made again: the law that it states, which is evaluated instead of searched for.
STATED_LAW: ContextVar[FittedLaw | None] = ContextVar("STATED_LAW", default=None)
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
    """Simulate M = ``draws`` records; sums over these run in blocks that a processor holds close by.

    The mean of an antithetic pair is one draw. Its error is what a constant and products of base numbers, whose means
    are exact, do not explain; how much one draw has follows from the first of them.
    """
    half = base_numbers(model.name, model.base_size, draws)
    pairs_of_error = min(len(half), ERROR_PAIRS)
    totals = dict[str, np.ndarray]()
    for first in range(0, len(half), BLOCK // 2):
        u = half[first : first + BLOCK // 2]
        sample = model.draw(theta, np.concatenate([u, -u]))
        f = np.hstack([released.of_records(sample) for released in sums])
        root = np.sqrt(sample.weights)[:, None]
        f = f * root
        score = model.score(theta, sample) * root
        parts = {"f": root[:, 0] @ f, "ff": f.T @ f, "fs": f.T @ score, "s": root[:, 0] @ score}
        if first < pairs_of_error:
            pairs = (f * root).reshape(-1, 2, len(u), f.shape[1]).sum(axis=(0, 1)) / 2
            parts |= {"kg": products(u).T @ pairs, "gg": pairs.T @ pairs}
        for name, part in parts.items():
            totals[name] = totals[name] + part if name in totals else part
    mean = totals["f"] / draws
    covariance = totals["ff"] / draws - np.outer(mean, mean)
    inverse = inverse_of_products(model.name, model.base_size, draws, pairs_of_error)
    residual = totals["gg"] - totals["kg"].T @ inverse @ totals["kg"]
    error = residual / (pairs_of_error - len(inverse)) / len(half)
    slope = (totals["fs"] - np.outer(mean, totals["s"])) / draws
    return RecordMoments(mean, (covariance + covariance.T) / 2, slope, (error + error.T) / 2)


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters (size,), the law of the released numbers there, and how far these are from it.

    status : ``converged``, ``not converged``, ``not identified`` or ``simulation too coarse``
    distance : Q; steps, draws : how many
    deviation : (d,) released numbers less their mean; weights : (d, d) inverse of their covariance
    noise : (d,) variances of the noise in them; mu : Gaussian-DP parameter of all of them together
    """

    theta: np.ndarray
    moments: RecordMoments
    status: str
    steps: int
    draws: int
    deviation: np.ndarray
    weights: np.ndarray
    noise: np.ndarray
    mu: float

    @property
    def distance(self) -> float:
        """Distance Q of the released numbers from their mean."""
        return float(self.deviation @ self.weights @ self.deviation)

    @cached_property
    def directions(self) -> tuple[np.ndarray, np.ndarray]:
        """Information on the parameters, in directions: sizes (r,) and unit directions (size, r)."""
        return _directions(self.moments.derivative.T @ self.weights @ self.moments.derivative)

    @cached_property
    def covariance(self) -> np.ndarray:
        """(size, size) covariance of the parameters over records, noise and simulation."""
        values, vectors = self.directions
        return np.asarray((vectors / values) @ vectors.T)

    @cached_property
    def degrees(self) -> int:
        """Released numbers that no parameter is free for: degrees of freedom of the distance where the law holds."""
        return len(_directions(self.weights)[0]) - len(self.directions[0])

    @cached_property
    def back(self) -> np.ndarray:
        """(size, d) derivative of the parameters by the released numbers."""
        return self.covariance @ self.moments.derivative.T @ self.weights

    @cached_property
    def gradient(self) -> np.ndarray:
        """(size,) half of the fall of the distance along each parameter, at fixed weights."""
        return self.moments.derivative.T @ self.weights @ self.deviation

    @property
    def fall(self) -> float:
        """Fall of the distance by a step from here; the step moves no target by more than its root times its error."""
        return float(self.gradient @ self.covariance @ self.gradient)

    def move(self, damping: float) -> np.ndarray:
        """Return the step (size,) of Gauss and Newton with Levenberg's damping."""
        values, vectors = self.directions
        return np.asarray((vectors / (values + damping)) @ (vectors.T @ self.gradient))

    def next_step(self, target: Target) -> float:
        """Return how far a further step moves a target, as the largest share of a standard error."""
        moved = derivative(target, self.theta) @ self.move(0.0)
        return float(np.max(np.abs(moved) / np.sqrt(self.covariance_of(target)[0])))

    def is_settled(self, target: Target) -> bool:
        """Whether the end of the search leaves a small part of the error of every target."""
        return self.fall <= COARSE and self.next_step(target) <= NEXT

    def is_simulated(self, target: Target) -> bool:
        """Whether the simulation is a small part of the error of every target."""
        total, _, by_simulation = self.covariance_of(target)
        return bool(np.all(by_simulation <= COARSE * total))

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


def law_at(
    model: DataModel, sums: Sequence[ReleasedSum], theta: np.ndarray, draws: int = 2 * DRAWS, steps: int = 0
) -> Fit:
    """Return the law of the released numbers at given parameters."""
    return law_from(record_moments(model, sums, theta, draws), sums, theta, draws, steps)


def law_from(moments: RecordMoments, sums: Sequence[ReleasedSum], theta: np.ndarray, draws: int, steps: int = 0) -> Fit:
    """Return the law of the released numbers, from the moments of the records at given parameters."""
    noise = np.concatenate([released.covariance for released in sums])
    values, vectors = _directions(moments.covariance / sums[0].n + np.diag(noise) + moments.error)
    deviation = np.concatenate([released.value for released in sums]) - moments.mean
    mu = float(np.sqrt(sum(released.mu**2 for released in sums)))
    return Fit(theta, moments, "converged", steps, draws, deviation, (vectors / values) @ vectors.T, noise, mu)


def _step(model: DataModel, sums: Sequence[ReleasedSum], at: Fit, damping: float) -> tuple[Fit, float] | None:
    """Take a step that brings the law closer, with the damping of the next one; None where no step does.

    The simulated derivative has an error of its own, so that the step that it asks for may end beyond the minimum: what
    counts as well is that the next one is shorter.
    """
    for _ in range(TRIES):
        with np.errstate(all="ignore"):
            there = law_at(model, sums, model.within(at.theta + at.move(damping)), at.draws, at.steps + 1)
            rise = float(there.deviation @ at.weights @ there.deviation) - at.distance
        is_closer = rise <= 0 or (rise < 2 * at.fall and there.fall < at.fall / 2)
        if is_closer and np.all(np.isfinite(there.moments.derivative)):
            return there, damping / 10
        if at.fall < NEAR:
            break
        damping *= 10
    return None


class NotNearest(ValueError):
    """A stated law where no search for the nearest one ends, as a sentence without its end."""


def _evaluate_stated(
    model: DataModel,
    sums: Sequence[ReleasedSum],
    stated: FittedLaw,
    target: Target,
    enough: int,
    hiding: Callable[[Fit], float],
) -> Fit:
    """Return the stated law, evaluated once; NotNearest unless a search could have ended there."""
    allowed = [DRAWS << doublings for doublings in range(8) if enough <= DRAWS << doublings <= 2 * MOST_DRAWS]
    if len(stated.theta) != model.size or stated.draws not in allowed:
        raise NotNearest(
            f"theta of the intervals has {len(stated.theta)} numbers of {model.size}, by {stated.draws} draws, which "
            f"must be one of {allowed}"
        )
    try:
        with np.errstate(all="ignore"):
            at = law_at(model, sums, np.array(stated.theta, dtype=float), stated.draws)
            is_end = at.is_settled(target) and at.is_simulated(target) and hiding(at) <= 1
    except np.linalg.LinAlgError:
        raise NotNearest("theta of the intervals gives no finite law of records") from None
    if not is_end:
        raise NotNearest(
            "theta of the intervals is not where the law of records is nearest to the measurements: a further step "
            f"moves a number by {at.next_step(target):.2g} of its standard errors, and {NEXT:g} are allowed"
        )
    return at


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
    enough, stated = max(2 * DRAWS, min(least, MOST_DRAWS)), STATED_LAW.get()
    if stated is not None and stated.name == model.name:
        return _evaluate_stated(model, sums, stated, target, enough, hiding)
    at, damping = law_at(model, sums, start, DRAWS), DAMPING
    while True:
        for _ in range(STEPS):
            if hiding(at) > HOPELESS:
                return replace(at, status="not identified")
            if at.fall < (FALL if at.draws >= enough else ROUGH):
                break
            moved = _step(model, sums, at, damping)
            if moved is None:
                break
            at, damping = moved
        if at.fall >= NEAR:
            return replace(at, status="not converged")
        if hiding(at) > 1:
            return replace(at, status="not identified")
        is_settled, is_simulated = at.is_settled(target), at.is_simulated(target)
        if at.draws >= enough and is_settled and is_simulated:
            return at
        # A search that a better simulation did not help either creeps along what the released numbers hardly tell.
        if at.draws >= (min(PATIENCE * enough, MOST_DRAWS) if is_simulated else MOST_DRAWS):
            return replace(at, status="not converged" if is_simulated else "simulation too coarse")
        at = law_at(model, sums, at.theta, 2 * at.draws, at.steps)
