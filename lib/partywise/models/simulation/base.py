"""Base numbers of the simulation, and what a law of records and a released sum are to it.

Of n records that are drawn alike, a released mean of f is normal with mean E f and covariance Cov f / n + T, T the
covariance of its noise, which is known. E f and Cov f come from M records that a law makes of the same base numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from ...core.randomness import stream
from ..intervals import FittedLaw


@dataclass(frozen=True, eq=False)
class Sample:
    """Records that a law makes of M base numbers, as J blocks of M below each other.

    base : (M, b); columns : (M J, p)
    response : (M J,), or the number of its slice; predictor : (M J,) of the response, (0,) where the law has none
    weights : (M J,) those of one base number sum to 1
    """

    base: np.ndarray
    columns: np.ndarray
    response: np.ndarray
    predictor: np.ndarray
    weights: np.ndarray


class DataModel(Protocol):
    """A family of laws of one record; its theta (size,) is free of bounds except those of `within`."""

    @property
    def name(self) -> str:
        """Name of the family, part of the address of its base numbers."""

    @property
    def size(self) -> int:
        """Number of parameters."""

    @property
    def base_size(self) -> int:
        """Number b of base numbers of one record."""

    def draw(self, theta: np.ndarray, base: np.ndarray) -> Sample:
        """Make a record of each row of the base numbers (M, b)."""

    def score(self, theta: np.ndarray, sample: Sample) -> np.ndarray:
        """Return the derivatives (M J, size) of the log density of drawn records by the parameters."""

    def within(self, theta: np.ndarray) -> np.ndarray:
        """Cut logarithms of scales to where the simulation is finite."""


@dataclass(frozen=True, eq=False)
class ReleasedSum:
    """One released mean over n records.

    value : (d,); covariance : (d,) variances of independent noise in its entries
    of_records : f, drawn records to (M J, d): the clip of the released statistic in floats, without its rounding
    """

    value: np.ndarray
    covariance: np.ndarray
    of_records: Callable[[Sample], np.ndarray]
    n: int


@lru_cache(maxsize=8)
def base_numbers(name: str, size: int, draws: int) -> np.ndarray:
    """Return half (M / 2, b) of M antithetic normal numbers, whose second moment is the identity; the rest are -these.

    They are raw words of a stream through the normal quantile: any version of NumPy gives the same.
    """
    words = stream(*FittedLaw(name, (), draws).seed).bit_generator.random_raw(draws // 2 * size).reshape(-1, size)
    numbers = ndtri(((words >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53)
    values, vectors = np.linalg.eigh(numbers.T @ numbers / len(numbers))
    half = np.asarray(numbers @ (vectors / np.sqrt(values)) @ vectors.T)
    half.flags.writeable = False
    return half


def products(u: np.ndarray) -> np.ndarray:
    """Return a constant and all products of two base numbers (m, b), shape (m, 1 + b (b + 1) / 2)."""
    i, j = np.triu_indices(u.shape[1])
    return np.column_stack([np.ones(len(u)), u[:, i] * u[:, j]])


@lru_cache(maxsize=8)
def inverse_of_products(name: str, size: int, draws: int, pairs: int) -> np.ndarray:
    """Return the inverse of the sum of `products` times their transpose over the first pairs of base numbers."""
    known = products(base_numbers(name, size, draws)[:pairs])
    inverse = np.linalg.inv(known.T @ known)
    inverse.flags.writeable = False
    return inverse
