"""Profiles counted exactly: sums of parts are those of the whole, in any order of adding."""

from __future__ import annotations

import math

from .compose import Composition, arrange
from .privacy_profile import PrivacyProfile

# Every float is a whole number of these steps (2^-1074); no sum of finite floats that a machine holds is INFINITE.
STEPS = 1 << 1074
INFINITE = 1 << 4096


class Tally:
    """A multiset of profiles, as whole numbers that are added without rounding.

    ``composition`` rounds once, as `compose` does of the same profiles: it is the same to the last bit.
    """

    __slots__ = ("finite", "numeric", "rho", "sampled", "squares", "tv")

    def __init__(self) -> None:
        self.squares = self.rho = self.numeric = self.tv = 0
        self.finite: dict[tuple[float, int | None], int] = {}
        self.sampled: dict[tuple[float, float], int] = {}

    def add(self, profile: PrivacyProfile, numeric: float = 0.0, tv: float = 0.0, times: int = 1) -> None:
        """Count a profile so many times."""
        if numeric:
            self.numeric += times * _steps(numeric)
        if tv:
            self.tv += times * _steps(tv)
        square = profile.mu_squared
        if square is not None:
            self.squares += times * _steps(square)
        elif profile.free:
            return
        elif profile.rho is not None:
            self.rho += times * _steps(profile.count * profile.rho)
        elif profile.epsilon is not None:
            # Two outcomes are what a pure profile is dominated by.
            key = profile.epsilon, None if profile.k == 2 else profile.k
            self.finite[key] = self.finite.get(key, 0) + times * profile.count
        elif profile.mu is not None:
            self.sampled[profile.mu, profile.rate] = (
                self.sampled.get((profile.mu, profile.rate), 0) + times * profile.count
            )

    def join(self, other: Tally) -> None:
        """Add another tally."""
        self.squares += other.squares
        self.rho += other.rho
        self.numeric += other.numeric
        self.tv += other.tv
        for pure, count in other.finite.items():
            self.finite[pure] = self.finite.get(pure, 0) + count
        for drawn, count in other.sampled.items():
            self.sampled[drawn] = self.sampled.get(drawn, 0) + count

    @property
    def composition(self) -> Composition:
        """All profiles as one `Composition`."""
        squares, rho, numeric, tv = map(_round, (self.squares, self.rho, self.numeric, self.tv))
        if not (self.finite or self.sampled):
            return Composition(squares, rho, delta_numeric=numeric, tv=tv)
        return arrange(squares, rho, self.finite, self.sampled, numeric, tv)


def _steps(value: float) -> int:
    try:
        numerator, denominator = float(value).as_integer_ratio()
    except OverflowError:
        return INFINITE
    return numerator * (STEPS // denominator)


def _round(steps: int) -> float:
    """The nearest float, as an exactly rounded sum has it; infinite where it would overflow."""
    if not steps:
        return 0.0
    try:
        return math.inf if steps >= INFINITE else steps / STEPS
    except OverflowError:
        return math.inf
