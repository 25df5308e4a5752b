"""Floats at their edges: what is positive never vanishes, and what is too large is infinite, not an error."""

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

# Below this a product may have lost digits; above it none has, whatever its factors were.
NORMAL = 1e-290
# Entries up to here have squares, and sums and products of many of them, that floats hold.
LARGEST_ENTRY = 1e100
# Accuracy of `gaussian_epsilon` (relative): an epsilon so little above a target is not known to exceed it.
TOLERANCE = Decimal("1e-12")


def bounded_entries(values: ArrayLike) -> np.ndarray:
    """Entries of records as every constructor of a certified statistic may read them: nan is 0, the rest in +-1e100.

    The rule reads each entry alone, so that it moves no sensitivity, and no record of one party can end a run of all
    or show its value in an error. Arrays that it leaves as they are come back themselves.
    """
    array = np.asarray(values)
    if array.dtype.kind != "f":
        return array
    # Single precision ends below the bound.
    most = array.dtype.type(min(LARGEST_ENTRY, float(np.finfo(array.dtype).max)))
    # Of an entry that is nan so are both.
    if array.min(initial=0.0) >= -most and array.max(initial=0.0) <= most:
        return array
    return np.clip(np.nan_to_num(array, nan=0.0, posinf=most, neginf=-most), -most, most)


def as_decimal(value: float) -> Fraction:
    """Return the decimal number that a finite float prints as: stated amounts add and compare as they are written."""
    return Fraction(repr(float(value)))


def round_up(value: float, *factors: float) -> float:
    """A product or quotient of non-negative factors, rounded up where it is too small for a full float."""
    return value if value >= NORMAL or 0 in factors else math.nextafter(value, math.inf)


def square(value: float) -> float:
    """``value`` squared: rounded up where it would vanish, infinite where it would overflow."""
    return round_up(value * value, value)


def total(values: Iterable[float]) -> float:
    """Exactly rounded sum of non-negative numbers, infinite where it would overflow."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


def upward(value: float | str, infinity: str = "inf", digits: int = 4) -> str:
    """A number in so many significant digits: a printed epsilon covers the certified one.

    It is never below the value, except by the relative accuracy 1e-12 to which an epsilon is computed.
    """
    number = float(value)
    if not math.isfinite(number) or number == 0:
        return infinity if number == math.inf else f"{number:g}"
    exact = Decimal(repr(number))
    if number > 0:
        exact *= 1 - TOLERANCE
    step = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return f"{float(exact.quantize(step, rounding=ROUND_CEILING)):g}"


def downward(value: float) -> str:
    """A number in four significant digits, never above the value: a printed rest of a budget is there."""
    return f"{-float(upward(-value)):g}" if value else "0"
