"""Precision and cost at an epsilon and a number of records, and the epsilon or number that reaches a half-width.

The cost is that of the protocol's own announced events on made-up records; no second formula computes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace

import numpy as np
from scipy.special import ndtr

from ...core.errors import ConfigError
from ...core.randomness import Streams
from ...core.verdicts import LEAST_RECORDS
from ...federation.estimators.precision import NORMAL_80, NORMAL_95, Precision, PrecisionModel
from ...federation.folds import Fold, Spec
from ...federation.run import Run
from ...privacy.accounting.calibration import gaussian_epsilon, gdp_mu
from ...privacy.accounting.roots import bisect
from ...privacy.ledger.event import Event
from ...privacy.ledger.ledger import Ledger
from ...privacy.ledger.total import Total
from ..cells import events_ahead
from ..configuration.build import build
from .block import DesignBlock, protocol_of

# Largest number of records that is proposed, relative error of a half-width, steps to reach it, and single ones.
MOST_RECORDS, ACCURACY, STEPS, WALK = 10_000_000, 5e-4, 10, 40
FIRST_EPSILONS = (8.0, 4.0, 2.0, 1.0)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A design at one epsilon and number of records.

    events : of the release; places : names of all places of the run; delta : of its epsilon
    """

    precision: Precision
    events: tuple[Event, ...]
    places: tuple[str, ...]
    delta: float

    @cached_property
    def total(self) -> Total:
        """Total of the worst coalition."""
        return Ledger(self.events).worst_total(self.places, "row", self.delta)


class Evaluator:
    """Evaluations of one design, each computed once."""

    def __init__(self, block: DesignBlock, where: str) -> None:
        self.block, self.where = block, where
        self.protocol = protocol_of(block, where)
        self.options: object = build(self.protocol.options, block.options, f"{where}.options")
        assert self.protocol.precision is not None
        self.model: PrecisionModel = build(self.protocol.precision.target, block.model, f"{where}.model")
        try:
            self.targets = self.model.targets([*block.half_width, *block.effect])
        except ValueError as error:
            key = "half_width" if block.half_width else "effect"
            raise ConfigError(f"{where}.{key}: {error}") from None
        self._known = dict[tuple[float, int], Evaluation]()

    def run(self, epsilon: float, n: int, streams: Streams) -> Run:
        """A run of the method on made-up records, not begun."""
        made_up = self.model.made_up(n, self.block.parties, streams)
        constants = SimpleNamespace(delta=self.block.delta, unit="row")
        spec = Spec(self.options, constants, constants, made_up.public)
        places = (*self.protocol.extra, *getattr(self.options, "places", ()))
        fold, noise = Fold(np.zeros(n, dtype=int), 0, 1), Streams(0, "design", "noise", streams.address)
        return Run(made_up.parties, epsilon=epsilon, fold=fold, rng_for=noise, spec=spec, extra=places)

    def __call__(self, epsilon: float, n: int) -> Evaluation:
        """The evaluation at an epsilon and a number of records."""
        if (epsilon, n) not in self._known:
            try:
                run = self.run(epsilon, n, Streams(0, "design"))
                ahead = events_ahead(self.protocol.fit, run)
                if ahead.error is not None:
                    raise ahead.error
                precision = self.model.expected_precision(ahead.estimate, n, self.targets)
            except ValueError as error:
                raise ConfigError(f"{self.where}: {error}") from None
            self._known[epsilon, n] = Evaluation(precision, ahead.releases, run.names, self.block.delta)
        return self._known[epsilon, n]

    def half_width(self, target: str, epsilon: float, n: int) -> float:
        """Half-width of a target; infinite where it is not identified."""
        precision = self(epsilon, n).precision
        return float(precision.half_widths[self.targets.index(target)]) if precision.is_identified else math.inf

    def floor(self, target: str, epsilon: float, n: int) -> float:
        """Half-width of a target over records alone."""
        return float(self(epsilon, n).precision.without_noise[self.targets.index(target)])

    def epsilon_for(self, wanted: Mapping[str, float], n: int) -> float:
        """Smallest epsilon, in three digits, that reaches every wanted half-width; ConfigError where none does."""
        start = max(self._epsilon_for(target, width, n) for target, width in wanted.items())
        largest = self.block.largest_epsilon

        def is_reached(epsilon: float) -> bool:
            return all(self.half_width(target, epsilon, n) <= width for target, width in wanted.items())

        return self._least_reached(
            min(upward(start), largest), is_reached, lambda value: min(upward(1.003 * value), largest)
        )

    def n_for(self, wanted: Mapping[str, float], epsilon: float) -> int:
        """Smallest number of records that reaches every wanted half-width; ConfigError where none does."""
        start = max(self._n_for(target, width, epsilon) for target, width in wanted.items())

        def is_reached(n: float) -> bool:
            return all(self.half_width(target, epsilon, int(n)) <= width for target, width in wanted.items())

        return int(self._least_reached(math.ceil(start), is_reached, lambda value: math.ceil(1.001 * value)))

    def _least_reached(
        self, value: float, is_reached: Callable[[float], bool], following: Callable[[float], float]
    ) -> float:
        """Least value near a first one that reaches what is wanted: numbers of bins are whole, so half-widths jump."""
        for _ in range(WALK):
            if is_reached(value):
                break
            value = following(value)
        else:
            raise ConfigError(f"{self.where}: no value near {value:.4g} reaches every half-width; ask for wider ones.")
        for _ in range(WALK):
            lower = 2 * value - following(value)
            lower = math.floor(lower) if isinstance(value, int) else upward(lower)
            if lower < (LEAST_RECORDS if isinstance(value, int) else 0) or lower == value or not is_reached(lower):
                break
            value = lower
        return value

    def _epsilon_for(self, target: str, width: float, n: int) -> float:
        """Epsilon of one wanted half-width: squares of half-widths are nearly linear in 1/mu^2."""
        largest, delta = self.block.largest_epsilon, self.block.delta

        def point(place: float) -> tuple[float, float]:
            return place, self.half_width(target, float(gaussian_epsilon(place**-0.5, delta)), n) ** 2

        least = float(gdp_mu(largest, delta)) ** -2
        starts = [float(gdp_mu(epsilon, delta)) ** -2 for epsilon in FIRST_EPSILONS if epsilon <= largest] or [least]
        points = [start for start in map(point, starts[:1]) if math.isfinite(start[1])] or [point(least)]
        points += [next(filter(_is_known, map(point, reversed(starts[1:]))), point(least))]
        for _ in range(STEPS):
            points.sort(key=lambda known: abs(known[1] - width**2))
            (x, square), (other, other_square) = points[:2]
            if abs(square / width**2 - 1) < 2 * ACCURACY:
                break
            slope = (square - other_square) / (x - other) if x != other else 0.0
            following = point(max(x + (width**2 - square) / slope if slope > 0 else math.sqrt(x * other), least))
            while not _is_known(following) and following[0] > 1.001 * x:
                # Beyond the last epsilon that is identified: back towards what is known.
                following = point(math.sqrt(following[0] * x))
            if following in points:
                break
            points.append(following)
        place, square = min(points, key=lambda known: abs(known[1] - width**2))
        if not square <= width**2 * (1 + 10 * ACCURACY) and not self.half_width(target, largest, n) <= width:
            raise ConfigError(self._out_of_reach(target, width, n))
        return float(gaussian_epsilon(place**-0.5, delta))

    def _out_of_reach(self, target: str, width: float, n: int) -> str:
        """The sentence about a half-width that no epsilon reaches, with a number of records that would."""
        largest = self.block.largest_epsilon
        if not self(largest, n).precision.is_identified:
            return (
                f"{self.where}.n is {n}: what is released does not stand out of its noise at any epsilon up to "
                f"largest_epsilon ({largest:g}); give more records."
            )
        floor, more = self.floor(target, largest, n), self._n_for(target, width, largest)
        reason = (
            f"records alone give +-{floor:.3g}"
            if floor >= width
            else f"epsilon {largest:g} (largest_epsilon) gives +-{self.half_width(target, largest, n):.3g}"
        )
        return (
            f"{self.where}.half_width: no epsilon reaches +-{width:.3g} for {target!r} at n = {n}: {reason}; "
            f"n = {math.ceil(more)} would."
        )

    def _n_for(self, target: str, width: float, epsilon: float) -> float:
        """Number of records of one wanted half-width, whose square is a / n + b / n^2."""
        n = float(max(LEAST_RECORDS, 1000))
        for _ in range(STEPS):
            whole = math.ceil(n)
            reached = self.half_width(target, epsilon, whole)
            if math.isfinite(reached):
                if abs(reached / width - 1) < ACCURACY:
                    return n
                a = self.floor(target, epsilon, whole) ** 2 * whole
                b = max(reached**2 * whole - a, 0.0) * whole
                n = (a + math.sqrt(a * a + 4 * width**2 * b)) / (2 * width**2)
            else:
                n = 4 * whole
            if n > MOST_RECORDS:
                raise ConfigError(
                    f"{self.where}.half_width: +-{width:.3g} for {target!r} needs more than {MOST_RECORDS:,} records "
                    f"at epsilon {epsilon:g}; ask for a wider one."
                )
            n = max(n, float(LEAST_RECORDS))
        return n


def _is_known(point: tuple[float, float]) -> bool:
    """Whether a half-width is identified there."""
    return math.isfinite(point[1])


def upward(value: float) -> float:
    """A positive number rounded up at its third digit."""
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return float(f"{math.ceil(value / step - 1e-9) * step:.3g}")


def power_of(effect: float, half_width: float) -> float:
    """Power of the two-sided test at 5 % against a difference."""
    shift = abs(effect) * NORMAL_95 / half_width
    return float(ndtr(shift - NORMAL_95) + ndtr(-shift - NORMAL_95))


def detectable(half_width: float) -> float:
    """Smallest difference that is seen with a power of 80 %."""
    return half_width * (1 + NORMAL_80 / NORMAL_95)


def half_width_for(effect: float, power: float) -> float:
    """Half-width at which a difference is seen with a power, by bisection."""
    size = abs(effect)
    return math.exp(
        bisect(lambda log: power_of(size, math.exp(log)) > power, math.log(size / 100), math.log(size * 1e6))[0]
    )
