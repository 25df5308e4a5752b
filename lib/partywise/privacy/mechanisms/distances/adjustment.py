"""The adjusting variant of OpBoost with the formula that makes it a distribution, and the printed one that is none."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ...accounted_values import AccountedValue
from .exponential import DistanceMechanism, check_positive, powers


@dataclass(frozen=True)
class AdjustedDistanceExponential(DistanceMechanism):
    """First a bucket of theta integers, near buckets preferred, then an integer of it, near integers preferred.

    Parameters
    ----------
    epsilon_prt : float
        Positive; between buckets.
    epsilon_ner : float
        Positive; within a bucket.
    theta : int
        Width of the buckets, from 1 to the size of the domain; the last one is shorter if theta does not divide it. A
        plain number, as epsilon is: the exact loss of the distribution that it makes is what is charged.
    domain : AccountedValue
        Ends ``(lo, hi)`` of the domain, ``lo < hi``, whole numbers.

    Notes
    -----
    Formal guarantee: inputs at distance t have a loss of at most `policy` of t; pure DP at `epsilon_pure`, the
    exact largest loss over the domain. The distribution is the corrected one: bucket i given bucket m by
    ``exp(-|m - i| epsilon_prt / 2)`` over the buckets, integer v of bucket i by ``exp(-|x - v| epsilon_ner / 2)``
    over that bucket. In the source both sums run over lo..hi, which is not a distribution: see `printed_matrix`.
    """

    mechanism: ClassVar[str] = "adjusted_distance_exponential"

    epsilon_prt: float
    epsilon_ner: float
    theta: int
    domain: AccountedValue

    def __post_init__(self) -> None:
        check_positive("epsilon_prt", self.epsilon_prt)
        check_positive("epsilon_ner", self.epsilon_ner)
        self._check_domain()
        if self.theta != int(self.theta) or not 1 <= self.theta <= self.hi - self.lo + 1:
            raise ValueError(f"theta={self.theta!r} must be a whole number from 1 to {self.hi - self.lo + 1}.")

    @property
    def epsilon_per_step(self) -> float:
        """Loss of one step: losses obey the triangle inequality."""
        return self.worst_loss(1)

    def pair_loss(self, x: int, x2: int) -> float:
        """Exact largest log ratio of the distributions of two inputs."""
        first, second = map(self._position, (x, x2))
        return self._largest(self._log_matrix[first] - self._log_matrix[second])

    def worst_loss(self, distance: int) -> float:
        """Exact largest `pair_loss` of two inputs at a distance of 0..hi - lo."""
        t, logs = self._distance(distance), self._log_matrix
        return self._largest(logs[t:] - logs[: len(logs) - t])

    @cached_property
    def epsilon_pure(self) -> float:
        """Exact pure-DP parameter over the whole domain: the largest log ratio within a column of the distribution."""
        return self._largest(np.ptp(self._log_matrix, axis=0))

    @staticmethod
    def _largest(losses: np.ndarray) -> float:
        """Largest loss; infinite if logarithms are so extreme that one has no float."""
        largest = float(np.max(np.abs(losses)))
        return math.inf if math.isnan(largest) else largest

    def policy(self, distance: int) -> float:
        """Proved bound of the loss at a distance: ``ceil(t / theta) epsilon_prt + theta epsilon_ner``."""
        t = self._distance(distance)
        return -(-t // self.theta) * self.epsilon_prt + self.theta * self.epsilon_ner

    def printed_matrix(self) -> tuple[np.ndarray, np.ndarray]:
        """The two stages as printed in the source; no distribution, kept to show it."""
        domain = np.arange(self.lo, self.hi + 1)
        labels = np.arange(1, len(self._starts) + 1)[:, None]
        buckets = np.exp(-self.epsilon_prt / 2 * np.abs(labels - labels.T))
        bucket_sums = np.exp(-self.epsilon_prt / 2 * np.abs(labels - domain)).sum(axis=1, keepdims=True)
        values = np.exp(-self.epsilon_ner / 2 * np.abs(domain[:, None] - domain))
        return buckets / bucket_sums, values / values.sum(axis=1, keepdims=True)

    @property
    def _starts(self) -> np.ndarray:
        """Positions at which the buckets start."""
        return np.arange(0, self.hi - self.lo + 1, self.theta)

    def _exponents(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Minus the logarithms of the unnormalised weights of bucket and integer, for positions x of shape (n, 1).

        Distances within a bucket are counted from its end nearest to x: the shift cancels in the distribution, and
        nothing underflows before it is normalised.
        """
        position = np.arange(self.hi - self.lo + 1)
        away = np.abs(x - position)
        nearest = np.repeat(np.minimum.reduceat(away, self._starts, axis=1), self._widths, axis=1)
        bucket = np.abs(x // self.theta - np.arange(len(self._starts)))
        return bucket * self.epsilon_prt / 2, (away - nearest) * self.epsilon_ner / 2

    @property
    def _widths(self) -> np.ndarray:
        return np.diff(self._starts, append=self.hi - self.lo + 1)

    def _row(self, x: int) -> np.ndarray:
        bucket, inner = (np.exp(-part) for part in self._exponents(np.array([[x - self.lo]])))
        share = bucket[0] / bucket.sum() / np.add.reduceat(inner[0], self._starts)
        return inner[0] * np.repeat(share, self._widths)

    def weights(self, x: int, precision: int) -> list[int]:
        """The weight of a bucket, divided among its integers by theirs."""
        size, m = self.hi - self.lo + 1, (x - self.lo) // self.theta
        outer, inner = (powers(e, size, precision) for e in (self.epsilon_prt, self.epsilon_ner))
        bucket_weights = list[int]()
        for i, start in enumerate(range(0, size, self.theta)):
            away = [abs(x - self.lo - j) for j in range(start, min(start + self.theta, size))]
            inner_weights = [inner[d - min(away)] for d in away]
            bucket_weights += [outer[abs(m - i)] * weight // sum(inner_weights) for weight in inner_weights]
        return bucket_weights

    @cached_property
    def _log_matrix(self) -> np.ndarray:
        return self._log_rows(np.arange(self.hi - self.lo + 1)[:, None])

    def _log_rows(self, x: np.ndarray) -> np.ndarray:
        """Logarithms of the distribution for positions x of shape (n, 1)."""
        bucket, inner = self._exponents(x)
        stage = -bucket - np.log(np.exp(-bucket).sum(axis=1, keepdims=True))
        stage = stage - np.log(np.add.reduceat(np.exp(-inner), self._starts, axis=1))
        return np.repeat(stage, self._widths, axis=1) - inner
