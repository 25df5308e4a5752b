"""Columns centred and scaled at their holder, and what was fitted on them back on the scale of the given columns.

Means and standard deviations are not weighted: the weights are with the active party, and other holders of columns do
not know them. Without a ridge no result depends on it; with one, the penalty is on the coefficients of columns whose
unweighted standard deviation is 1 over the records that have a weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# A column whose standard deviation is below this share of its largest value is constant but for rounding.
CONSTANT = 1e-13


@dataclass(frozen=True)
class Scaling:
    """Means (p,) that are subtracted from columns, and scales (p,) that divide them."""

    means: np.ndarray
    scales: np.ndarray

    def apply(self, X: np.ndarray) -> np.ndarray:
        """(n, p) standardised columns, C-contiguous."""
        return np.ascontiguousarray((X - self.means) / self.scales)

    def matrix(self) -> np.ndarray:
        """(1 + p, 1 + p) map of standardised coefficients, the intercept first, to those of the given columns."""
        matrix = np.diag(np.concatenate([np.ones(1), 1 / self.scales]))
        matrix[0, 1:] = -self.means / self.scales
        return matrix

    def coefficients(self, beta: np.ndarray) -> np.ndarray:
        """(1 + p,) coefficients of the given columns from those of standardised ones."""
        slopes = beta[1:] / self.scales
        return np.concatenate([[beta[0] - self.means @ slopes], slopes])

    def to_standardised(self, coefficients: np.ndarray) -> np.ndarray:
        """(1 + p,) coefficients of standardised columns from those of the given ones."""
        slopes = coefficients[1:]
        return np.concatenate([[coefficients[0] + self.means @ slopes], slopes * self.scales])

    def covariance(self, covariance: np.ndarray) -> np.ndarray:
        """(1 + p, 1 + p) covariance of the coefficients of the given columns from that of standardised ones."""
        T = self.matrix()
        return T @ covariance @ T.T

    @classmethod
    def merge(cls, parts: Sequence[Scaling], order: np.ndarray) -> Scaling:
        """Return the scaling of all columns by their global numbers, from those of several holders and their order."""
        means, scales = (np.concatenate([getattr(part, name) for part in parts]) for name in ("means", "scales"))
        return cls(means[order], scales[order])


def scaling_of(X: np.ndarray, absent: np.ndarray | None = None) -> Scaling:
    """Means and standard deviations (divisor n) of columns (n, p); a constant column is divided by 1, and becomes 0.

    absent : numbers of the records without weight, which do not count
    """
    means, spreads = moments_of(X if absent is None or not len(absent) else np.delete(X, absent, axis=0))
    return Scaling(means, np.where(spreads == 0, 1.0, spreads))


def moments_of(X: np.ndarray) -> np.ndarray:
    """(2, p) means and standard deviations (divisor n) of columns (n, p); of a constant column exactly 0."""
    means = X.mean(axis=0)
    spreads = np.sqrt(np.mean((X - means) ** 2, axis=0))
    constant = spreads <= CONSTANT * np.max(np.abs(X), axis=0)
    # The mean of a constant column is that constant to the last bit, so that it becomes 0 and not a rounding error.
    return np.stack([np.where(constant, X[0], means), np.where(constant, 0.0, spreads)])


def scaling_of_parts(counts: np.ndarray, moments: np.ndarray) -> Scaling:
    """Scaling of the rows of several holders together, from their numbers (K,) and `moments_of` theirs (K, 2, p)."""
    shares, means = counts / np.sum(counts), moments[:, 0]
    centre = shares @ means
    spreads = np.sqrt(shares @ (moments[:, 1] ** 2 + (means - centre) ** 2))
    constant = spreads <= CONSTANT * np.max(np.abs(means), axis=0)
    return Scaling(np.where(constant, means[0], centre), np.where(constant, 1.0, spreads))


def with_ones(X: np.ndarray) -> np.ndarray:
    """(n, 1 + p) columns with a one in front of each record."""
    return np.column_stack([np.ones(len(X)), X])
