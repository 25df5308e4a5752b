"""Sums of privacy losses on a grid by one Fourier transform, and the epsilon or delta they give.

The distributions are tilted by exp(theta loss) first (Esscher's transform), with theta chosen for the delta or epsilon
that is asked for: round-off is then small against that delta and not against 1. What wraps around the grid only adds
mass within the window, what lies above the window is bounded by Chernoff's inequality and charged, and so is the
round-off of the transform: every number errs on the safe side.
"""

import math
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .finite import Atoms
from .pld import GridDistribution, LossPart, cumulant, tilt
from .roots import golden_section

UNIT = sys.float_info.epsilon
# Relative error of the long sums, charged.
SLACK = 1e-10
# Cells of a distribution while theta is sought.
COARSE = 10_000
# Aim for the error of epsilon by the grid, limits on its step (absolute, and against the spread) and on its size.
AIM = 1e-5
STEPS = (1e-6, 1e-3)
SPREADS = (1e-4, 0.05)
CELLS = 2**21
# Steps whose exponential has no float: the safe end of a cell is taken.
WIDE = 700.0
# Natural logarithm of the share of delta that may lie above the window.
ABOVE = 21.0
# Losses down to this are kept for the power of an attack: below, its misses are rarer than 1 in 3000.
MISSES = -8.0


class SumDistribution(NamedTuple):
    """Distribution of a sum near the losses that matter.

    Masses on a window that begins at ``first step``, ``infinity_mass`` outside any distribution and above the window;
    the round-off of delta at epsilon is below exp(noise - theta epsilon).
    """

    first: int
    mass: np.ndarray
    infinity_mass: float
    step: float
    noise: float
    theta: float

    def _falls(self) -> np.ndarray:
        """1 - exp(-i step): what a loss i cells above epsilon adds to delta."""
        return -np.expm1(-self.step * np.arange(len(self.mass)))

    def _at(self, j: int, falls: np.ndarray) -> float:
        """Delta at loss j of the window, round-off and what is lost included."""
        above = float(self.mass[j:] @ falls[: len(falls) - j]) * (1 + SLACK)
        return above + self.infinity_mass + math.exp(min(self.noise - self.theta * (self.first + j) * self.step, 0.0))

    def delta(self, epsilon: float) -> float:
        """Delta at an epsilon, at most 1: 1 below the window."""
        j = math.floor(epsilon / self.step) - self.first
        if j < 0:
            return 1.0
        falls = self._falls()
        if j >= len(self.mass) - 1:
            return min(1.0, self._at(len(self.mass) - 1, falls))
        left, right = self._at(j, falls), self._at(j + 1, falls)
        if self.step > WIDE:
            return min(1.0, left)
        share = math.expm1(max(epsilon - (self.first + j) * self.step, 0.0)) / math.expm1(self.step)
        return min(1.0, left + (right - left) * min(share, 1.0))

    def power(self, fpr: float) -> float:
        """Least of ``fpr e^epsilon + delta(epsilon)`` over the losses of the window, negative ones included."""
        loss = (self.first + np.arange(len(self.mass))) * self.step
        above = np.cumsum(self.mass[::-1])[::-1]
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            # delta(e) = sum over losses above e of m (1 - exp(e - loss)); the subtracted sum, one step after the other.
            less = (
                np.exp(np.minimum(loss, WIDE)) * np.cumsum((self.mass * np.exp(-np.maximum(loss, -WIDE)))[::-1])[::-1]
            )
            # Where it overflows nothing is subtracted: a larger delta is still a bound.
            less = np.where(np.isfinite(less), less, 0.0)
            noise = np.exp(np.minimum(self.noise - self.theta * loss, 0.0))
            delta = np.maximum(above - less, 0.0) + SLACK * above + self.infinity_mass + noise
            return float(np.min(fpr * np.exp(np.minimum(loss, WIDE)) + np.minimum(delta, 1.0)))

    def epsilon(self, target: float) -> float | None:
        """Least epsilon with delta <= target; inf if it is above the window, None if below."""
        low, high, falls = 0, len(self.mass) - 1, self._falls()
        if self._at(high, falls) > target:
            return math.inf
        at_low = self._at(low, falls)
        if at_low <= target:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            value = self._at(middle, falls)
            if value > target:
                low, at_low = middle, value
            else:
                high = middle
        if self.step > WIDE:
            return (self.first + high) * self.step
        # Between two losses delta is linear in exp(epsilon).
        at_high = self._at(high, falls)
        rise = math.expm1(self.step) * (at_low - target) / (at_low - at_high)
        return (self.first + low) * self.step + math.log1p(rise)


def grid_epsilon(parts: Sequence[LossPart], delta: float) -> float:
    """Least epsilon >= 0 of the composed parts at ``delta`` in (0, 1), rounded up; the worse of both directions."""
    return max(_epsilon(parts, delta, removed) for removed in _directions(parts))


def grid_delta(parts: Sequence[LossPart], epsilon: float) -> float:
    """Delta of the composed parts at ``epsilon >= 0``, rounded up; the worse of both directions."""
    return max(_delta(parts, epsilon, removed) for removed in _directions(parts))


def grid_power(parts: Sequence[LossPart], fpr: float) -> float:
    """Largest true-positive rate of a test of the composed parts, rounded up; the worse of both directions."""
    return min(max(_power(parts, fpr, removed) for removed in _directions(parts)), 1.0)


def _power(parts: Sequence[LossPart], fpr: float, removed: bool) -> float:
    log_fpr = math.log(fpr)
    rough = _rough(parts, fpr, removed)
    theta = _least(rough, lambda t, bound: (bound - log_fpr) / t)
    return _near(parts, rough, theta, log_fpr, removed, 1.0, cover=MISSES).power(fpr)


def _epsilon(parts: Sequence[LossPart], delta: float, removed: bool) -> float:
    log_delta = math.log(delta)
    rough = _rough(parts, delta, removed)
    theta = _least(rough, lambda t, bound: (bound - log_delta) / t)
    left = delta - _lost_mass(rough)
    plain = (_bound(rough, theta) - math.log(left)) / theta if left > 0 else math.inf
    reach = 1.0
    while True:
        distribution = _near(parts, rough, theta, log_delta, removed, reach)
        epsilon = distribution.epsilon(delta)
        if epsilon is not None:
            return max(min(epsilon, plain), 0.0)
        if distribution.first <= 0:
            return 0.0
        reach *= 2


def _delta(parts: Sequence[LossPart], epsilon: float, removed: bool) -> float:
    rough = _rough(parts, 1e-30, removed)
    theta = _least(rough, lambda t, bound: bound - t * epsilon)
    bound = min(_bound(rough, theta) - theta * epsilon, 0.0)
    plain = math.exp(bound) + _lost_mass(rough)
    if bound < -600:
        return plain
    return min(plain, _near(parts, rough, theta, bound - 5, removed, 1.0, cover=epsilon).delta(epsilon))


Distributions = list[tuple[GridDistribution, int]]
Rough = Sequence[tuple[GridDistribution | Atoms, int]]


def _directions(parts: Sequence[LossPart]) -> tuple[bool, ...]:
    """Finite distributions and unsampled Gaussians look the same from both sides."""
    return (True, False) if any(part.rate < 1 for part in parts) else (True,)


def _tail(delta: float, parts: Sequence[LossPart]) -> float:
    return max(1e-10 * delta / sum(part.count for part in parts), 1e-300)


def _rough(parts: Sequence[LossPart], delta: float, removed: bool) -> Rough:
    """The distributions as they are, or on a coarse grid: never below the truth, and quick to tilt."""
    tail = _tail(delta, parts)
    return [
        (part.atoms or part.on_grid(max(part.span(tail) / COARSE, 1e-9), tail, removed=removed), part.count)
        for part in parts
    ]


def _lost_mass(distributions: Rough) -> float:
    return math.fsum(count * distribution.infinity_mass for distribution, count in distributions)


def _cumulant(distributions: Rough, theta: float) -> float:
    return math.fsum(count * cumulant(distribution, theta) for distribution, count in distributions)


def _bound(distributions: Rough, theta: float) -> float:
    """log of sup over epsilon of delta(epsilon) exp(theta epsilon), bounded as in the conversion of Renyi DP."""
    return _cumulant(distributions, theta) - math.log1p(theta) - theta * math.log1p(1 / theta)


def _moments(distributions: Rough, theta: float) -> tuple[float, float]:
    """Mean and standard deviation of the tilted sum."""
    mean = variance = 0.0
    for distribution, count in distributions:
        mass, loss = tilt(distribution, theta), distribution.loss
        centre = float(mass @ loss)
        mean += count * centre
        variance += count * float(mass @ (loss - centre) ** 2)
    return mean, math.sqrt(variance)


def _least(distributions: Rough, score: Callable[[float, float], float]) -> float:
    """Minimiser over theta > 0 of a unimodal score(theta, bound), roughly (golden section in log theta)."""

    def objective(log_theta: float) -> float:
        theta = math.exp(log_theta)
        return score(theta, _bound(distributions, theta))

    scale = max(_moments(distributions, 0.0)[1], 1e-12)
    return math.exp(golden_section(objective, math.log(1e-3 / scale), math.log(1e4 / scale), steps=24)[0])


def _near(
    parts: Sequence[LossPart],
    rough: Rough,
    theta: float,
    log_delta: float,
    removed: bool,
    reach: float,
    cover: float = math.inf,
) -> SumDistribution:
    """Distribution of the sum on a window around the losses that make up delta; ``cover`` is within or above it."""
    mean, spread = _moments(rough, theta)
    pad = reach * (8 * spread + 30 / theta) + max(mean - cover, 0.0)
    step = _step(parts, spread, pad, _tail(math.exp(log_delta), parts))
    tail = _tail(math.exp(log_delta), parts)
    distributions = [(part.on_grid(step, tail, removed=removed), part.count) for part in parts]
    # Chernoff at a second theta, sought roughly: above this loss lies less than exp(log_delta - ABOVE).
    seconds = [theta + c / max(spread, 1 / theta) for c in (0.0, 0.5, 1.0, 2.0, 4.0, 6.0)]
    second = min(seconds, key=lambda t: (_cumulant(rough, t) - log_delta + ABOVE) / t)
    high = (_cumulant(distributions, second) - log_delta + ABOVE) / second
    top = sum(count * distribution.loss[-1] for distribution, count in distributions)
    lost = _lost_mass(distributions)
    if high < top:
        lost += math.exp(log_delta - ABOVE)
    high = min(high, top)
    low = min(mean, high) - max(pad, 20 * step)
    return _sum_distribution(distributions, theta, (low, high), lost)


def _step(parts: Sequence[LossPart], spread: float, pad: float, tail: float) -> float:
    """Step of the grid: n chords of a step widen the sum by n step^2 / 6 in variance, which moves epsilon by AIM."""
    spread = max(spread, 1e-3)
    aim = math.sqrt(2.4 * AIM * spread / sum(part.count for part in parts))
    aim = min(max(aim, STEPS[0]), max(STEPS[1], SPREADS[0] * spread), SPREADS[1] * spread)
    return max(aim, 2 * pad / CELLS, max(part.span(tail) for part in parts) / CELLS)


def _sum_distribution(
    distributions: Distributions, theta: float, window: tuple[float, float], lost: float
) -> SumDistribution:
    """Distribution of the sum on a window of losses; ``infinity_mass`` bounds the mass above it and at infinity."""
    step = distributions[0][0].step
    first, last = math.floor(window[0] / step), math.ceil(window[1] / step)
    if last - first > 8 * CELLS:
        # No window of this size is added up: nothing is known.
        return SumDistribution(first, np.zeros(2), 1.0, step, -math.inf, theta)
    size = _fast_size(last - first + 1)
    spectrum, total = np.ones(size // 2 + 1, dtype=complex), 0.0
    for distribution, count in distributions:
        wrapped = np.zeros(size)
        np.add.at(wrapped, (distribution.first + np.arange(len(distribution.mass))) % size, tilt(distribution, theta))
        spectrum *= np.fft.rfft(wrapped) ** count
        total += count * cumulant(distribution, theta)
    sums = np.roll(np.fft.irfft(spectrum, size), -(first % size))
    # A transform is off by a few units times log size; a power multiplies that by its exponent.
    trials = sum(count for _, count in distributions)
    noise = 8 * UNIT * math.log2(size) * (trials + 1) * math.sqrt(size) * float(np.linalg.norm(sums))
    loss = (first + np.arange(size)) * step
    # What overflows is cut at 1 below.
    with np.errstate(under="ignore", over="ignore"):
        mass = np.minimum(np.maximum(sums, 0.0) * np.exp(np.minimum(total - theta * loss, 700.0)), 1.0)
    return SumDistribution(first, mass, lost, step, total + math.log(max(noise, 1e-300)), theta)


def _fast_size(size: int) -> int:
    """Least 2^a or 3 2^a that is large enough."""
    power = 1 << max(size - 1, 1).bit_length()
    return 3 * power // 4 if size <= 3 * power // 4 else power
