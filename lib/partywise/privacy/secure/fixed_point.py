"""Sums formed in integers: the order of summation cannot add to their sensitivity, as it can in floating point."""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..accounted_values import AccountedValue, parameter, parents_of
from ..statistics.bounded import Bounded, clip_curves, record_matrix, sum_certificate

# Largest entry in grid units: with any noise the sum stays a whole number that a float holds exactly.
LIMIT = 2.0**51
GRID_BITS = 10


def require_power_of_two(grid: float) -> float:
    """Return a grid; `ValueError` unless it is a power of two between 2^-500 and 2^500."""
    grid = float(grid)
    if not 2.0**-500 <= grid <= 2.0**500 or math.frexp(grid)[0] != 0.5:
        raise ValueError(
            f"grid={grid!r} must be a power of two between 2^-500 and 2^500, so that multiples of it are exact floats; "
            "take for example 2.0 ** -10."
        )
    return grid


def default_grid(sigma: float) -> float:
    """The power of two in [sigma / 2^10, sigma / 2^9)."""
    mantissa, exponent = math.frexp(sigma)
    return require_power_of_two(math.ldexp(1.0, exponent - GRID_BITS - (mantissa == 0.5)))


def fixed_point_sum(
    records: ArrayLike,
    radius: AccountedValue,
    grid: AccountedValue,
    *,
    unit: str = "features",
    depends_on: Iterable[str] = ("features",),
    stratum: str = "*",
) -> Bounded:
    """Sum (P,) of records (n, P) in orthonormal coordinates, clipped to ``||x_i|| <= radius`` and rounded, as integers.

    ``grid`` is a power of two. If it is a multiple of the grid of a `DiscreteGaussian` mechanism, that mechanism
    charges no rounding. `OverflowError` if n records could exceed 2^51 steps of it, which depends on public numbers
    only.

    Formal guarantee: the integers of one record, times the grid, form a vector of length at most ``radius``, so
    replacing a record moves the sum by at most ``2 radius``, its l2 sensitivity, in integer arithmetic and hence in any
    order. How records are rounded is in `whole_records`.
    """
    records, length = record_matrix("records", records), float(parameter("radius", radius))
    step = require_power_of_two(parameter("grid", grid))
    if not 0 < length < math.inf:
        raise ValueError(f"radius={length!r} of a fixed-point sum must be positive and finite.")
    if len(records) * (length / step + 1) > LIMIT:
        raise OverflowError(
            f"{len(records)} records of radius={length!r} exceed 2^51 steps of grid={step!r}; choose a coarser grid "
            "(a larger power of two), or a smaller radius."
        )
    whole, share = whole_records(records, length, step, slack=2.0**-38)
    source = "every rounded record has length at most S, integers are added exactly: 2 S"
    certificate = replace(sum_certificate(2 * length, source, unit, depends_on), grid=step)
    parents = parents_of(radius, grid)
    return Bounded(whole.sum(axis=0).astype(float) * step, certificate, stratum, share, parents)


def whole_records(records: np.ndarray, length: float, step: float, *, slack: float = 0.0) -> tuple[np.ndarray, float]:
    """Records (n, P) clipped to a length and rounded to steps of a grid, int64, none longer after; and the share.

    Records are clipped to a slightly smaller length and rounded to the nearest point; the few that this would take
    beyond the clip are rounded towards zero instead. Lengths are compared in floating point: their relative errors, at
    most (P + 8) 2^-52, are what the length is reduced by beforehand. ``slack`` is a share of the length that is kept
    free where errors of lengths need less.
    """
    cap = length * (1 - max(slack, (records.shape[1] + 8) * 2.0**-51))
    clipped, _ = clip_curves(records, None, cap)
    # Records that are as long as the clip lose a rounding, which is not counted.
    with np.errstate(over="ignore"):
        long = np.linalg.norm(records, axis=1) > length * (1 + 2.0**-40)
    share = float(np.mean(long)) if len(long) else 0.0
    steps = clipped / step
    nearest = np.rint(steps)
    inside = np.linalg.norm(nearest, axis=1) * step <= cap
    return np.where(inside[:, None], nearest, np.trunc(steps)).astype(np.int64), share
