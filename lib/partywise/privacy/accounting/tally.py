"""Laws counted exactly, so that some can be taken out again: what many views have in common is summed once."""

from __future__ import annotations

import math

from .compose import Composition, arranged
from .law import Law

__all__ = ["Tally"]

# Every float is a whole number of these steps (2^-1074); no sum of finite floats that a machine holds is INFINITE.
STEPS = 1 << 1074
INFINITE = 1 << 4096


class Tally:
    """A multiset of laws, as whole numbers that are added and taken away without rounding.

    ``composition`` rounds once, as `compose` does of the same laws: it is the same to the last bit.
    """

    __slots__ = ("finite", "numeric", "rho", "rows", "sampled", "squares")

    def __init__(self) -> None:
        self.rows = self.squares = self.rho = self.numeric = 0
        self.finite: dict[tuple[float, int | None], int] = {}
        self.sampled: dict[tuple[float, float], int] = {}

    def add(self, law: Law | None, numeric: float = 0.0, times: int = 1) -> None:
        """Count a law so many times; None stands for a row of which nothing is proved."""
        self.rows += times
        if law is None:
            return
        if numeric:
            self.numeric += times * _steps(numeric)
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

    def join(self, other: Tally, sign: int = 1) -> None:
        """Add another tally, or take it out (``sign`` -1)."""
        self.rows += sign * other.rows
        self.squares += sign * other.squares
        self.rho += sign * other.rho
        self.numeric += sign * other.numeric
        for pure, count in other.finite.items():
            self.finite[pure] = self.finite.get(pure, 0) + sign * count
        for drawn, count in other.sampled.items():
            self.sampled[drawn] = self.sampled.get(drawn, 0) + sign * count

    @property
    def composition(self) -> Composition:
        """All laws as one `Composition`."""
        if not (self.finite or self.sampled):
            return Composition(_rounded(self.squares), _rounded(self.rho), delta_numeric=_rounded(self.numeric))
        finite = {key: count for key, count in self.finite.items() if count}
        sampled = {key: count for key, count in self.sampled.items() if count}
        return arranged(_rounded(self.squares), _rounded(self.rho), finite, sampled, _rounded(self.numeric))


def _steps(value: float) -> int:
    try:
        numerator, denominator = float(value).as_integer_ratio()
    except OverflowError:
        return INFINITE
    return numerator * (STEPS // denominator)


def _rounded(steps: int) -> float:
    """The nearest float, as an exactly rounded sum has it; infinite where it would overflow."""
    if not steps:
        return 0.0
    try:
        return math.inf if steps >= INFINITE else steps / STEPS
    except OverflowError:
        return math.inf
