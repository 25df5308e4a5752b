"""Roots of monotone functions, by bisection and by Newton steps inside a bracket; least values by golden section."""

import math
from collections.abc import Callable

import numpy as np


def bisect(
    below: Callable[[float], bool], low: float, high: float, *, rounds: int = 200, gap: float = 0.0
) -> tuple[float, float]:
    """Narrow [low, high] around the place where ``below`` turns from true to false."""
    for _ in range(rounds):
        middle = (low + high) / 2
        if high - low <= gap or middle in (low, high):
            break
        low, high = (middle, high) if below(middle) else (low, middle)
    return low, high


def golden_section(function: Callable[[float], float], low: float, high: float, *, steps: int) -> tuple[float, float]:
    """Narrow [low, high] around the minimiser of a unimodal function."""
    ratio = (math.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = function(a), function(b)
    least = min(at_a, at_b)
    for _ in range(steps):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = function(b)
        least = min(least, at_a, at_b)
    return (low + high) / 2, least


def solve_monotone(
    function: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    low: np.ndarray,
    high: np.ndarray,
    *,
    decreasing: bool,
) -> np.ndarray:
    """Root of a monotone vectorised function in [low, high]: Newton, with bisection wherever it leaves the bracket."""
    low, high = low.copy(), high.copy()
    x = (low + high) / 2
    # A finished element stays as it is: its root must not depend on what else is in the array.
    done = np.zeros(x.shape, dtype=bool)
    for _ in range(200):
        value, slope = function(x)
        above = (value < 0) if decreasing else (value > 0)
        high, low = np.where(above, x, high), np.where(above, low, x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = x - value / slope
        inside = (newton >= low) & (newton <= high)
        step = np.where(inside, newton, (low + high) / 2) - x
        x = np.where(done, x, x + step)
        done |= (np.abs(step) <= 4e-16 * np.abs(x)) | (high - low <= 4e-16 * np.abs(x))
        if np.all(done):
            break
    return x
