"""Numbers as integers for encryption, and how large they can become: from public bounds, before anything is closed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...core.errors import CertificationError
from .model import LinearFacts
from .options import ModelOptions
from .steps import SLOPES, WEIGHTS

# Features and residuals are multiples of 2^-40 of their units, products of two of 2^-80.
FRACTION_BITS = 40


@dataclass(frozen=True)
class Sizes:
    """Bits of integers: magnitudes are smaller than two to this power.

    residual : of a residual, whole or of some parties; gradient : of a sum over a batch of feature times residual, all
        in their units
    """

    residual: int
    gradient: int


def units(public: LinearFacts, model: str) -> tuple[np.ndarray, int]:
    """Exponents of two of the units of the features (d,) and of the residual, from what is declared.

    A bound below 1 is less than twice its unit, so that small numbers keep their digits; others have the unit 1.
    """
    bounds, label = declared_bounds(public, model)
    exponents = np.frexp(np.append(bounds, label))[1]
    capped = np.minimum(exponents, 0)
    return capped[:-1], int(capped[-1])


def to_fixed_point(values: np.ndarray) -> np.ndarray:
    """Numbers as the nearest multiples of 2^-40: Python integers in an object array of the same shape."""
    scaled = np.rint(np.ldexp(np.asarray(values, dtype=float), FRACTION_BITS))
    integers = np.empty(scaled.shape, dtype=object)
    integers.ravel()[:] = [int(value) for value in scaled.ravel()]
    return integers


def mean_of(total: int, count: int) -> float:
    """Mean of ``count`` products from their integer sum, correctly rounded."""
    return total / (count << 2 * FRACTION_BITS)


def sizes(public: LinearFacts, options: ModelOptions, batch: int) -> Sizes:
    """Bits of the largest residuals and gradients in all rounds, for any data within their bounds.

    A step maps coefficients b to (I - rate M) b + rate w X'y / m, where M = s X'X / m + ridge is positive semi-definite
    with norm at most L = s R^2 + ridge, R the bound of the length of a row (with its 1 for the intercept), s the slope
    and w the weight of the residual. So a round makes ||b|| at most max(1, rate L - 1) ||b|| + rate w R max|y|, and
    |u| <= s R ||b|| + w max|y|; the same holds of the part of the residual that some parties make.
    """
    bounds, label = declared_bounds(public, options.model)
    unit = math.ldexp(1.0, units(public, options.model)[1])
    slope, weight = SLOPES[options.model], WEIGHTS[options.model]
    reach = math.sqrt(float(bounds @ bounds) + options.intercept)
    factor = max(1.0, options.learning_rate * (slope * reach**2 + options.ridge) - 1)
    step = options.learning_rate * weight * reach * label
    # A part for rounding: one next to the length of the coefficients, one next to each residual.
    try:
        length = unit + step * _geometric(factor, options.total_round_num)
    except OverflowError:
        length = math.inf
    residual = (slope * reach * length + weight * label) / unit + 1
    total = batch * max(1.0, float(bounds.max(initial=0))) * residual
    if not math.isfinite(total):
        raise OverflowError(
            f"learning_rate={options.learning_rate} lets coefficients grow {factor:.3g} times a round with features of "
            f"up to {bounds.max(initial=0):g}, which no ciphertext holds after {options.total_round_num} rounds: scale "
            "the features, or use a smaller learning_rate or fewer rounds."
        )
    bits = math.ceil(math.log2(residual)), math.ceil(math.log2(total))
    return Sizes(bits[0] + FRACTION_BITS + 1, bits[1] + 2 * FRACTION_BITS + 1)


def declared_bounds(public: LinearFacts, model: str) -> tuple[np.ndarray, float]:
    """Bounds of the features (d,) and of the response, which is -1 or 1 in a logistic model."""
    if public.bounds is None:
        raise CertificationError(
            "bounds is None: sums under encryption need a declared largest absolute value of every feature; declare "
            "it from public things."
        )
    if model == "logistic":
        return public.bounds.value, 1.0
    if public.label_bound is None:
        raise CertificationError(
            "label_bound is None: sums under encryption need a declared largest absolute value of the response; "
            "declare it from public things."
        )
    return public.bounds.value, float(public.label_bound.value)


def check_bounds(X: np.ndarray, bounds: np.ndarray, names: tuple[str, ...]) -> None:
    """Refuse columns (n, d) with a value beyond its declared bound."""
    beyond = np.flatnonzero(np.abs(X).max(axis=0, initial=0) > bounds)
    if beyond.size:
        raise ValueError(
            f"column {names[beyond[0]]!r} has a value beyond its declared bound {bounds[beyond[0]]:g}: declare a "
            "larger one, from public things, or clip the column."
        )


def _geometric(factor: float, count: int) -> float:
    """Sum of the powers 0 .. count - 1."""
    return float(count) if factor == 1 else (factor**count - 1) / (factor - 1)
