"""Target of an interval, the answer that has one, and the delta method for functions of the cells of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, isfinite, log, sqrt
from typing import Literal

import numpy as np
from scipy.special import ndtri

from ....core.randomness import stream
from ....federation.estimators.precision import NORMAL_95
from ....models.follow_up.incidence import complex_step
from ....models.links import LOGIT
from ..consistency import Counts, ReleasedTables

# Deviations of its own noise that a number of records must have to be divided by.
CLEAR = 4.0
# Public draws from which a simultaneous factor is read.
DRAWS = 2000
NO_REGION = "the source of the box states no region of it"
# What a reader can do about a number that noise hides.
REMEDY = "merge levels, or take a larger epsilon or weight"
Target = Literal["population", "cohort"]
Interval = Literal["score", "wald"]
Scale = Literal["identity", "log", "logit"]


@dataclass(frozen=True)
class Inference:
    """Target and factor of intervals.

    target : ``population``, of which the records are a sample, or ``cohort``, these records themselves
    factor : multiple of a standard deviation, 1.96 or a simultaneous factor
    interval : of risks and their comparisons: inverted score tests, or normal (``wald``), as in textbooks
    together : whether the numbers of one table are to hold together: their factor then follows from their correlation
    radius : half-width of a box of all cells: an interval is then the range of the number over the box (`of_release`)
    """

    target: Target = "population"
    factor: float = NORMAL_95
    interval: Interval = "score"
    together: bool = False
    radius: float = 0.0

    def __post_init__(self) -> None:
        for name, allowed in (("target", ("population", "cohort")), ("interval", ("score", "wald"))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)!r}: it must be one of {', '.join(allowed)}.")
        if not 0 < self.factor < inf:
            raise ValueError(f"factor is {self.factor!r}: it must be a positive finite number.")

    @property
    def sampling(self) -> bool:
        """Whether records are a sample."""
        return self.target == "population"

    def of_release(self, released: ReleasedTables) -> Inference:
        """Inference for a release: a box is about its records alone."""
        return replace(self, target="cohort", radius=released.radius) if released.radius else self

    def reach(self, excess: float, share: float) -> float:
        """Factor for a sum whose noise has this excess kurtosis and share of the variance (Cornish and Fisher 1938)."""
        return self.factor + (self.factor**3 - 3 * self.factor) * excess * share**2 / 24


@dataclass(frozen=True)
class Answer:
    """One number of a release.

    estimate, lower, upper : None where it is not determined; an end may be infinite
    target : `Inference.target`; noise_share : share of the variance that is noise
    determined : whether the released numbers determine it; reason : why not, or what to know of it
    """

    name: str
    estimate: float | None
    lower: float | None
    upper: float | None
    target: Target
    noise_share: float | None = None
    determined: bool = True
    reason: str = ""

    @property
    def width(self) -> float:
        """Length of the interval; nan where the number is not determined."""
        return float("nan") if self.lower is None or self.upper is None else self.upper - self.lower

    def holds(self, value: float) -> bool:
        """Whether the interval holds a value; False where the number is not determined."""
        return self.lower is not None and self.upper is not None and self.lower <= value <= self.upper

    def transform(self, name: str, function: Callable[[float], float]) -> Answer:
        """Answer of a decreasing or increasing function of the same number."""
        if self.estimate is None or self.lower is None or self.upper is None:
            return replace(self, name=name)
        ends = sorted((function(self.lower), function(self.upper)))
        return replace(self, name=name, estimate=function(self.estimate), lower=ends[0], upper=ends[1])


def undetermined_answer(name: str, inference: Inference, reason: str) -> Answer:
    """Answer without a number."""
    return Answer(name, None, None, None, inference.target, None, False, reason)


def hidden_answer(name: str, inference: Inference, what: str = "the number of records of a group") -> Answer:
    """Answer without a number, since noise hides what it would be divided by or taken from."""
    return undetermined_answer(name, inference, f"noise hides {what}: {REMEDY}")


def interval_answer(
    name: str, estimate: float, ends: tuple[float, float], inference: Inference, share: float, reason: str = ""
) -> Answer:
    """Answer with an interval, which holds its estimate also where rounding of floats is all its width."""
    lower, upper = min(ends[0], estimate), max(ends[1], estimate)
    return Answer(name, estimate, lower, upper, inference.target, share, True, reason)


@dataclass(frozen=True, eq=False)
class Cells:
    """Some cells of a table, such as those of known levels.

    values : counts; noise : (c, c) covariance of their noise, in C order; size : records of the table
    excess : excess kurtosis of the noise of a cell; centred : whether the sum of all cells of the table is exact
    """

    values: np.ndarray
    noise: np.ndarray
    size: float
    excess: float = 0.0
    centred: bool = True

    @property
    def flat(self) -> np.ndarray:
        """Counts (c,) in C order."""
        return self.values.ravel()

    def noise_variance(self, gradient: np.ndarray) -> np.ndarray:
        """Variance of the noise of linear functions of the cells (..., c)."""
        return np.maximum(((gradient @ self.noise) * gradient).sum(axis=-1), 0)

    def sampling_variance(self, gradient: np.ndarray) -> np.ndarray:
        """Multinomial variance of linear functions of the cells (..., c)."""
        counts = np.maximum(self.flat, 0)
        return gradient**2 @ counts - (gradient @ counts) ** 2 / self.size

    def kurtosis(self, gradient: np.ndarray) -> float:
        """Excess kurtosis of the noise of a linear function (c,) of the cells."""
        if not self.excess:
            return 0.0
        centred = gradient - gradient.mean() * self.centred
        return self.excess * float(np.sum(centred**4) / max(np.sum(centred**2) ** 2, 1e-300))

    def clear(self, gradient: np.ndarray) -> np.ndarray:
        """Whether linear functions (..., c) are above their noise, and positive."""
        return gradient @ self.flat > np.maximum(CLEAR * np.sqrt(self.noise_variance(gradient)), 1e-9)


def known_cells(counts: Counts, excess: float = 0.0) -> Cells:
    """Cells of the known levels of all variables of a table."""
    keep = np.ones(counts.values.shape, dtype=bool)
    for axis, variable in enumerate(counts.variables):
        places = [-1 if axis == place else 1 for place in range(keep.ndim)]
        keep &= (np.arange(len(variable.levels)) < variable.known_levels).reshape(places)
    shape = tuple(variable.known_levels for variable in counts.variables)
    inside = np.flatnonzero(keep)
    noise = counts.covariance[np.ix_(inside, inside)]
    centred = counts.records is not None
    return Cells(counts.values[keep].reshape(shape), noise, counts.size, excess, centred)


def simultaneous_factor(correlation: np.ndarray) -> float:
    """Quantile at 95 % of the largest absolute value of normal numbers, from 2,000 public draws."""
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0))
    draws = stream(0, "simultaneous factor").standard_normal((DRAWS, len(correlation))) @ root.T
    return max(float(np.quantile(np.abs(draws).max(axis=1), 0.95)), NORMAL_95)


def sidak_factor(numbers: int) -> float:
    """Factor with which as many intervals hold together at 95 %, for any correlation (Sidak 1967)."""
    return float(ndtri((1 + 0.95 ** (1 / numbers)) / 2))


@np.errstate(invalid="ignore")
def joint_inference(gradients: np.ndarray, cells: Cells, inference: Inference) -> Inference:
    """Inference whose factor holds for all numbers with these gradients (m, c) by the cells together, if it should."""
    if not inference.together or len(gradients) < 2:
        return inference
    covariance = gradients @ cells.noise @ gradients.T
    if inference.sampling:
        counts = np.maximum(cells.flat, 0)
        slopes = gradients @ counts
        covariance = covariance + (gradients * counts) @ gradients.T - np.outer(slopes, slopes) / cells.size
    deviations = np.sqrt(np.diag(covariance))
    moves = np.isfinite(deviations) & (deviations > 0)
    if not moves.any():
        return inference
    correlation = covariance[np.ix_(moves, moves)] / np.outer(deviations[moves], deviations[moves])
    return replace(inference, factor=simultaneous_factor(correlation), together=False)


# Cells of which a function has no value give numbers that are not finite, and those are not determined.
@np.errstate(divide="ignore", invalid="ignore", over="ignore")
def delta_answers(
    names: Sequence[str],
    function: Callable[[np.ndarray], np.ndarray],
    cells: Cells,
    inference: Inference,
    scales: Sequence[Scale],
    *,
    sampling: np.ndarray | None = None,
) -> list[Answer]:
    """Answers of functions of the cells, by the delta method with complex steps.

    function : from cells (..., c) to the numbers (..., m), which reads real parts where it chooses
    scales : (m,) on which intervals are normal
    sampling : (m,) sampling variances on the scales, in place of the multinomial ones
    """
    estimates, gradients = function(cells.flat), complex_step(function, cells.flat)
    if inference.radius:
        lower, upper = corner_values(function, cells.flat, gradients, inference.radius)
        rows = zip(names, estimates, lower, upper, strict=True)
        return [box_answer(name, value, (low, high), inference) for name, value, low, high in rows]
    inference = joint_inference(gradients, cells, inference)
    return [
        scaled_answer(
            name,
            float(estimate),
            float(cells.noise_variance(gradient)),
            float(cells.sampling_variance(gradient)),
            inference,
            scales[place],
            kurtosis=cells.kurtosis(gradient),
            scaled_sampling=None if sampling is None else float(sampling[place]),
        )
        for place, (name, estimate, gradient) in enumerate(zip(names, estimates, gradients, strict=True))
    ]


def scaled_answer(
    name: str,
    estimate: float,
    noise: float,
    sampling: float,
    inference: Inference,
    scale: Scale,
    *,
    kurtosis: float = 0.0,
    scaled_sampling: float | None = None,
) -> Answer:
    """Answer with a normal interval on a scale, from the variances of an estimate.

    scaled_sampling : sampling variance on the scale itself, in place of ``sampling``
    """
    inside = {"identity": isfinite(estimate), "log": 0 < estimate < inf, "logit": 0 < estimate < 1}[scale]
    if not (inside and isfinite(noise + sampling)):
        return undetermined_answer(name, inference, f"the estimate {estimate:.4g} lies outside of its range: {REMEDY}")
    slope = 1.0 if scale == "identity" else 1 / estimate if scale == "log" else 1 / (estimate * (1 - estimate))
    noise_part = max(noise, 0.0) * slope**2
    sampling_part = max(sampling, 0.0) * slope**2 if scaled_sampling is None else max(scaled_sampling, 0.0)
    variance = noise_part + sampling_part * inference.sampling
    share = noise_part / variance if variance > 0 else 0.0
    reach = inference.reach(kurtosis, share) * sqrt(variance)
    if scale == "identity":
        ends = (estimate - reach, estimate + reach)
    elif scale == "log":
        ends = (_exponential(log(estimate) - reach), _exponential(log(estimate) + reach))
    else:
        centre = LOGIT.inverse(np.array([estimate]))
        lower, upper = LOGIT.mean(centre + np.array([-reach, reach])).tolist()
        ends = (lower, upper)
    return interval_answer(name, estimate, ends, inference, share)


def corner_values(
    function: Callable[[np.ndarray], np.ndarray],
    point: np.ndarray,
    gradients: np.ndarray,
    radius: float | np.ndarray,
    least: float | np.ndarray = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Least and largest values (m,) of functions over a box around a point (c,), each monotone in every entry.

    radius : half-width of the box; least : what its entries are not below
    """
    places = np.arange(len(gradients))
    corners = (np.maximum(point + sign * radius * np.sign(gradients), least) for sign in (-1, 1))
    lower, upper = (function(corner)[places, places] for corner in corners)
    return lower, upper


def box_answer(name: str, estimate: float, ends: tuple[float, float], inference: Inference) -> Answer:
    """Answer whose interval is a range over a box."""
    if not (isfinite(estimate) and ends[0] <= ends[1]):
        return undetermined_answer(name, inference, f"the estimate {estimate:.4g} has no range over the box: {REMEDY}")
    return interval_answer(name, float(estimate), (float(ends[0]), float(ends[1])), inference, 1.0)


def _exponential(value: float) -> float:
    """Return the exponential, infinite where no float holds it."""
    return exp(value) if value < 700 else inf


def quadratic_interval(a: float, b: float, c: float, low: float, high: float) -> tuple[float, float]:
    """Interval of a x^2 - 2 b x + c <= 0, cut to [low, high]; the whole range if it does not have two ends."""
    discriminant = b * b - a * c
    # Of an interval without width it is 0 up to rounding.
    if not (a > 0 and discriminant >= -1e-12 * b * b):
        return low, high
    root = sqrt(max(discriminant, 0.0))
    return min(max((b - root) / a, low), high), min(max((b + root) / a, low), high)
