"""Laws counted exactly: sums of parts are those of the whole, in whatever order they are added."""

from __future__ import annotations

import math

from .compose import Composition, arrange
from .law import Law

# Every float is a whole number of these steps (2^-1074); no sum of finite floats that a machine holds is INFINITE.
STEPS = 1 << 1074
INFINITE = 1 << 4096


class Tally:
    """A multiset of laws, as whole numbers that are added without rounding.

    ``composition`` rounds once, as `compose` does of the same laws: it is the same to the last bit.
    """

    __slots__ = ("finite", "numeric", "rho", "sampled", "squares", "tv")

    def __init__(self) -> None:
        self.squares = self.rho = self.numeric = self.tv = 0
        self.finite: dict[tuple[float, int | None], int] = {}
        self.sampled: dict[tuple[float, float], int] = {}

    def add(self, law: Law, numeric: float = 0.0, tv: float = 0.0, times: int = 1) -> None:
        """Count a law so many times."""
        if numeric:
            self.numeric += times * _steps(numeric)
        if tv:
            self.tv += times * _steps(tv)
        square = law.mu_squared
        if square is not None:
            self.squares += times * _steps(square)
        elif law.free:
            return
        elif law.rho is not None:
            self.rho += times * _steps(law.count * law.rho)
        elif law.epsilon is not None:
            # Two outcomes are what a pure law is dominated by.
            key = law.epsilon, None if law.k == 2 else law.k
            self.finite[key] = self.finite.get(key, 0) + times * law.count
        elif law.mu is not None:
            self.sampled[law.mu, law.rate] = self.sampled.get((law.mu, law.rate), 0) + times * law.count

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
        """All laws as one `Composition`."""
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
