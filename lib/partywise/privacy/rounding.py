"""Floats at their edges: what is positive never vanishes, and what is too large is infinite, not an error."""

import math
from collections.abc import Iterable

__all__ = ["raised", "square", "total"]

# Below this a product may have lost digits; above it none has, whatever its factors were.
NORMAL = 1e-290


def raised(value: float, *factors: float) -> float:
    """A product or quotient of non-negative factors, rounded up where it is too small for a full float.

    Parameters
    ----------
    value : float
        As computed.
    *factors : float
        What it was computed from: it is 0 only if one of them is.

    Returns
    -------
    float
        ``value``, or its upper neighbour if that is below 1e-290 and no factor is 0.
    """
    return value if value >= NORMAL or 0 in factors else math.nextafter(value, math.inf)


def square(value: float) -> float:
    """``value`` squared: rounded up where it would vanish, infinite where it would overflow."""
    return raised(value * value, value)


def total(values: Iterable[float]) -> float:
    """Exactly rounded sum of non-negative numbers, infinite where it would overflow."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf
