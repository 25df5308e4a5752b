"""Base numbers of the simulation, and what a law of records and a released sum are to it.

Of n records that are drawn alike, a released mean of f is normal with mean E f and covariance Cov f / n + T, T the
covariance of its noise, which is known. E f and Cov f come from M records that a law makes of the same base numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from ...core.errors import CertificationError
from ...core.randomness import stream
from ...privacy.ledger.event import Event
from ...privacy.mechanisms.release import noise_scale
from ..intervals import FittedLaw

# Mechanisms whose noise on a sum is Gaussian, whatever the records are.
GAUSSIAN = ("gaussian", "rounded_gaussian")


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
    mu : Gaussian-DP parameter that all of it cost
    """

    value: np.ndarray
    covariance: np.ndarray
    of_records: Callable[[Sample], np.ndarray]
    n: int
    mu: float = np.inf

    @classmethod
    def from_release(
        cls,
        value: np.ndarray,
        events: Sequence[Event],
        units: np.ndarray | float,
        of_records: Callable[[Sample], np.ndarray],
        n: int,
        copies: np.ndarray | float = 1.0,
        records: int = 1,
    ) -> ReleasedSum:
        """Return what was released, over a number of records, as a mean; its noise follows from rows of a ledger.

        events : rows, of noise of one deviation; units, copies : as of `noise_variances`
        CertificationError names a row whose noise has no known law.
        """
        if fault := next(filter(None, map(law_fault, events)), ""):
            raise CertificationError(f"{fault}: intervals need another release.")
        variances = np.broadcast_to(noise_variances(events[0], units, copies) / records**2, value.shape)
        mu = float(np.sqrt(sum((event.mu or 0.0) ** 2 for event in events)))
        return cls(value / records, variances, of_records, n, mu)


def law_fault(event: Event) -> str:
    """Return why the law of the noise of a release is not known from its row; empty where it is."""
    if event.mechanism not in GAUSSIAN or event.mu is None or event.sensitivity is None or event.norm != "l2":
        return f"{event.release_id!r} has noise by {event.mechanism!r}, which is not Gaussian noise on a sum"
    if not event.certified:
        return f"{event.release_id!r} is not certified: a number that it rests on was taken from private data"
    return ""


def noise_deviation(event: Event) -> float:
    """Return the standard deviation of the noise in an entry of a release, in its units, from its row alone.

    Of noise in shares all owners add theirs, more than those that ``event.mu`` counts on.
    """
    shares = float(sum(event.weights.values())) if event.shares else 1.0
    return noise_scale(event.sensitivity or 0.0, event.mu or 0.0) * float(np.sqrt(shares))


def noise_variances(event: Event, units: np.ndarray | float, copies: np.ndarray | float = 1.0) -> np.ndarray:
    """Return the variances (d,) of the noise in the entries of a release, that of rounding to whole steps included.

    units : (d,) size of a step of each entry; 0 without rounding
    copies : (d,) how many parties add all of the noise to an entry
    """
    return np.asarray(noise_deviation(event) ** 2 * copies + np.asarray(units) ** 2 / 12)


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
