"""Precision and cost at an epsilon and a number of records, and the epsilon or number that reaches a half-width.

The cost is that of the protocol's own announced events on made-up records; no second formula computes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

# Any: options of a method that is known by its name only.
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from ...core.errors import ConfigError
from ...core.randomness import Streams
from ...core.verdicts import LEAST_RECORDS
from ...federation.estimators.precision import NORMAL_80, NORMAL_95, Precision, PrecisionModel
from ...federation.folds import Fold, Spec
from ...federation.run import Run
from ...privacy.ledger.ledger import Ledger
from ...privacy.ledger.total import Total
from ..cells import EventsAhead, events_ahead
from ..configuration.build import build
from .block import DesignBlock, protocol_of

# Largest number of records that is proposed; a number at which the part of records alone is looked up.
MOST_RECORDS, TYPICAL_RECORDS = 10_000_000, 1000
# Smallest epsilon that is proposed.
LEAST_EPSILON = 0.01
# Error of the logarithm of a root, most corrections of it, and most steps to a value that reaches what is wanted.
ACCURACY, CORRECTIONS, WALK = 1e-5, 6, 40
# Factors of a step to a smaller value and to a larger one.
LOWER, HIGHER = 0.99, 1.001
# Logarithm of a half-width over the wanted one where nothing is known.
UNKNOWN = 50.0
# Made-up records need no cipher that closes: the same integers cost the same, as experiments have it.
OPEN = "sized"


class Evaluator:
    """Evaluations of one design, each computed once."""

    def __init__(self, block: DesignBlock, where: str) -> None:
        self.block, self.where = block, where
        self.protocol = protocol_of(block, where)
        options: Any = build(self.protocol.options, block.options, f"{where}.options")
        if getattr(options, "intervals", "") == "none":
            raise ConfigError(f"{where}.options.intervals is 'none': a design is of intervals; leave it out.")
        self.options = _with_option(options, "cipher", OPEN)
        assert self.protocol.precision is not None
        self.model: PrecisionModel = build(self.protocol.precision.target, block.model, f"{where}.model")
        try:
            self.targets = self.model.targets([*block.half_width, *block.effect])
        except ValueError as error:
            key = "half_width" if block.half_width else "effect"
            raise ConfigError(f"{where}.{key}: {error}") from None
        self.ahead, self.precision = cache(self._ahead), cache(self._precision)

    def run(self, epsilon: float, n: int, streams: Streams, *, plans: bool = False) -> Run:
        """A run of the method on made-up records, not begun; ``plans`` leaves out what costs and announces nothing."""
        try:
            made_up = self.model.made_up(n, self.block.parties, streams)
        except ValueError as error:
            raise ConfigError(f"{self.where}.{error}") from None
        options = _with_option(self.options, "intervals", "none") if plans else self.options
        constants = SimpleNamespace(delta=self.block.delta, unit="row")
        settings = constants if made_up.settings is None else replace(made_up.settings, delta=self.block.delta)
        spec = Spec(options, constants, settings, made_up.public)
        places = (*self.protocol.extra, *getattr(options, "places", ()))
        fold, noise = Fold(np.zeros(n, dtype=int), 0, 1), Streams(0, "design", "noise", streams.address)
        return Run(made_up.parties, epsilon=epsilon, fold=fold, rng_for=noise, spec=spec, extra=places)

    def estimate(self, epsilon: float, n: int, replicate: int) -> object:
        """Fit other made-up records, the same for the same replicate."""
        ahead = events_ahead(self.protocol.fit, self.run(epsilon, n, Streams(0, "check of a design", replicate)))
        if ahead.error is not None:
            raise ahead.error
        return ahead.estimate

    def _ahead(self, epsilon: float, n: int) -> tuple[EventsAhead, tuple[str, ...]]:
        """Return what the method releases, and all places of its run."""
        run = self.run(epsilon, n, Streams(0, "design"), plans=True)
        ahead = events_ahead(self.protocol.fit, run)
        if isinstance(ahead.error, ValueError):
            raise ConfigError(f"{self.where}: {ahead.error}") from None
        if ahead.error is not None:
            raise ahead.error
        return ahead, run.names

    def _precision(self, epsilon: float, n: int, is_rough: bool = False) -> Precision:
        estimate = self.ahead(epsilon, n)[0].estimate
        try:
            return self.model.expected_precision(estimate, n, self.targets, is_rough=is_rough)
        except ValueError as error:
            raise ConfigError(f"{self.where}: {error}") from None

    def total(self, epsilon: float, n: int) -> Total:
        """Total of the worst coalition."""
        ahead, places = self.ahead(epsilon, n)
        return Ledger(ahead.releases).worst_total(places, "row", self.block.delta)

    def half_width(self, target: str, epsilon: float, n: int) -> float:
        """Half-width of a target; infinite where it is not identified."""
        precision = self.precision(epsilon, n)
        return float(precision.half_widths[self.targets.index(target)]) if precision.is_identified else math.inf

    def line(self, epsilons: Sequence[float], n: int, known: float) -> list[Precision]:
        """Return the precision at several epsilons: the rough one, times what it lacks at the least and at a known one.

        What it lacks grows with the squares of half-widths, and nothing is lacking where these are 0.
        """
        rough = [self.precision(epsilon, n, is_rough=True) for epsilon in epsilons]
        seen = [place for place, precision in enumerate(rough) if precision.is_identified]
        if not seen:
            return rough
        other = epsilons.index(known) if epsilons.index(known) in seen else seen[len(seen) // 2]
        knots = sorted({seen[0], other}, reverse=True)
        squares = np.array([precision.half_widths**2 for precision in rough])
        lacks = np.array([self.precision(epsilons[k], n).half_widths / rough[k].half_widths for k in knots])
        factors = [
            np.interp(along, [0.0, *along[knots]], [1.0, *lack]) for along, lack in zip(squares.T, lacks.T, strict=True)
        ]
        return [
            replace(precision, half_widths=precision.half_widths * factor)
            for precision, factor in zip(rough, np.transpose(factors), strict=True)
        ]

    def shortfall(self, wanted: Mapping[str, float], epsilon: float, n: int, is_rough: bool) -> float:
        """Largest logarithm of a half-width over the wanted one, or of noise over where it hides what is released."""
        precision = self.precision(epsilon, n, is_rough)
        ratios = [precision.half_widths[self.targets.index(target)] / width for target, width in wanted.items()]
        with np.errstate(divide="ignore"):
            logs = np.log([*ratios, precision.excess])
        return float(np.clip(np.nan_to_num(logs, nan=UNKNOWN), -UNKNOWN, UNKNOWN).max())

    def epsilon_for(self, wanted: Mapping[str, float], n: int) -> float:
        """Smallest epsilon, in three digits, that reaches every wanted half-width; ConfigError where none does."""
        largest = self.block.largest_epsilon

        def shortfall(epsilon: float, is_rough: bool) -> float:
            return self.shortfall(wanted, epsilon, n, is_rough)

        least = min(LEAST_EPSILON, largest)
        epsilon = _least_reached(shortfall, least, largest, lambda value: min(upward(value), largest))
        if shortfall(epsilon, False) > 0:
            raise ConfigError(self._out_of_reach(wanted, n))
        return epsilon

    def _out_of_reach(self, wanted: Mapping[str, float], n: int) -> str:
        """The sentence about half-widths that no epsilon reaches, with a number of records that would."""
        largest = self.block.largest_epsilon
        precision = self.precision(largest, n)
        if not precision.is_identified:
            return (
                f"{self.where}.n is {n}: what is released does not stand out of its noise at any epsilon up to "
                f"largest_epsilon ({largest:g}); give more records."
            )
        target = max(wanted, key=lambda name: self.half_width(name, largest, n) / wanted[name])
        width, place = wanted[target], self.targets.index(target)
        reached, floor = precision.half_widths[place], precision.without_noise[place]
        reason = (
            f"records alone give +-{floor:.3g}"
            if floor >= width
            else f"epsilon {largest:g} (largest_epsilon) gives +-{reached:.3g}"
        )
        return (
            f"{self.where}.half_width: no epsilon reaches +-{width:.3g} for {target!r} at n = {n}: {reason}; "
            f"n = {self.n_for(wanted, largest)} would."
        )

    def n_for(self, wanted: Mapping[str, float], epsilon: float) -> int:
        """Smallest number of records that reaches every wanted half-width; ConfigError where none does."""

        def shortfall(n: float, is_rough: bool) -> float:
            return self.shortfall(wanted, epsilon, math.ceil(n), is_rough)

        # Without noise squares of half-widths are as 1 / n.
        floors = self.precision(epsilon, TYPICAL_RECORDS, is_rough=True).without_noise
        needed = {target: (floors[self.targets.index(target)] / width) ** 2 for target, width in wanted.items()}
        low = high = max(LEAST_RECORDS, 0.9 * TYPICAL_RECORDS * max(needed.values()))
        while high <= MOST_RECORDS and shortfall(high, True) > 0:
            low, high = high, 2 * high
        if high > MOST_RECORDS:
            target = max(needed, key=needed.__getitem__)
            raise ConfigError(
                f"{self.where}.half_width: +-{wanted[target]:.3g} for {target!r} needs more than {MOST_RECORDS:,} "
                f"records at epsilon {epsilon:g}; ask for a wider one."
            )
        return int(_least_reached(shortfall, low, 2 * high, math.ceil))


def _with_option(options: Any, name: str, value: str) -> Any:
    """Return options with one changed, if they have it and read it."""
    with suppress(ValueError):
        return replace(options, **{name: value}) if hasattr(options, name) else options
    return options


def _least_reached(
    shortfall: Callable[[float, bool], float], low: float, high: float, rounded: Callable[[float], float]
) -> float:
    """Least rounded value whose full shortfall is at most 0: the root of the rough one, shifted by what that lacks."""
    lacking, before, value = 0.0, math.nan, math.nan
    ends = math.log(low), math.log(high)

    def corrected_shortfall(place: float) -> float:
        return shortfall(place, True) + lacking

    for _ in range(CORRECTIONS):
        root = high
        if corrected_shortfall(low) <= 0:
            root = low
        elif corrected_shortfall(high) <= 0:
            root = math.exp(brentq(lambda log: corrected_shortfall(math.exp(log)), *ends, xtol=ACCURACY))
        before, value = value, rounded(root)
        # Numbers of bins are whole, so that half-widths jump and have several roots.
        while low <= (lower := rounded(LOWER * value)) < value and corrected_shortfall(lower) <= 0:
            value = lower
        if value == before:
            break
        lacking = shortfall(value, False) - shortfall(value, True)
    for _ in range(WALK):
        if shortfall(value, False) <= 0 or value >= high:
            break
        value = rounded(HIGHER * value)
    return value


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
    """Half-width at which a difference is seen with a power."""
    size = abs(effect)
    ends = math.log(size / 100), math.log(size * 1e6)
    return math.exp(brentq(lambda log: power_of(size, math.exp(log)) - power, *ends))
