"""The law of a response in slices and of columns that are normal within each, with one covariance in all of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import log_softmax

from ..kinds import Kind
from .base import Sample
from .columns import Columns

# Logarithms of odds are cut to these, and shares of slices at a start from below.
MOST_LOG_ODDS, LEAST_SHARE = 20.0, 0.005


@dataclass(frozen=True)
class SliceMixture:
    """Slices h with shares p_h and, within them, columns normal with mean m_h and covariance L L'.

    theta has the logarithms of p_h / p_H of all slices but the last, the means (H, p) row by row, and the lower
    triangle of L as in `Columns`, so that the last slice alone is a law of columns at the end of theta.
    """

    n_slices: int
    p: int

    @cached_property
    def columns(self) -> Columns:
        """The law of the columns within the last slice."""
        return Columns((Kind(),) * self.p)

    @property
    def name(self) -> str:
        """Name of the family of laws."""
        return f"slices, {self.n_slices}, {self.p} columns"

    @property
    def size(self) -> int:
        """Number of parameters."""
        return (self.n_slices - 1) * (self.p + 1) + self.columns.size

    @property
    def base_size(self) -> int:
        """Base numbers of one record: those of its columns, since all slices are weighed."""
        return self.p

    def shares(self, theta: np.ndarray) -> np.ndarray:
        """(H,) shares of the slices."""
        return np.asarray(np.exp(log_softmax(np.append(theta[: self.n_slices - 1], 0.0))))

    def means(self, theta: np.ndarray) -> np.ndarray:
        """(H, p) means of the columns within the slices."""
        first = self.n_slices - 1
        return theta[first : first + self.n_slices * self.p].reshape(self.n_slices, self.p)

    def root(self, theta: np.ndarray) -> np.ndarray:
        """L (p, p)."""
        return self.columns.root(theta[-self.columns.size :])[0]

    def moments(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slice means p_h (m_h - m) about the mean m, (p, H), and covariance (p, p) of the columns of all slices."""
        shares, means, lower = self.shares(theta), self.means(theta), self.root(theta)
        about = means - shares @ means
        return (about * shares[:, None]).T, lower @ lower.T + (about.T * shares) @ about

    def draw(self, theta: np.ndarray, base: np.ndarray) -> Sample:
        """Make a record in every slice of each row of base numbers (M, p), weighed by the share of the slice."""
        columns = (base @ self.root(theta).T + self.means(theta)[:, None]).reshape(-1, self.p)
        slices = np.repeat(np.arange(self.n_slices), len(base))
        return Sample(base, columns, slices, np.empty(0), self.shares(theta)[slices])

    def score(self, theta: np.ndarray, sample: Sample) -> np.ndarray:
        """Derivatives (M H, size) of the log density of drawn records."""
        n_slices, p, rows = self.n_slices, self.p, len(sample.base)
        within = self.columns.score(theta[-self.columns.size :], sample.base)
        score = np.zeros((n_slices, rows, self.size))
        score[:, :, : n_slices - 1] = (np.eye(n_slices) - self.shares(theta))[:, None, :-1]
        for place in range(n_slices):
            first = n_slices - 1 + place * p
            score[place, :, first : first + p] = within[:, :p]
        score[:, :, n_slices - 1 + n_slices * p :] = within[:, p:]
        return score.reshape(-1, self.size)

    def start(self, shares: np.ndarray, sums: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return rough parameters from shares (H,), sums over slices p_h m_h (p, H) and the second moment (p, p)."""
        cut = np.maximum(shares, LEAST_SHARE)
        cut = cut / cut.sum()
        means = (sums / cut).T
        within = self.columns.start(means[-1], second - (means.T * cut) @ means)
        return self.within(np.concatenate([np.log(cut[:-1] / cut[-1]), means[:-1].ravel(), within]))

    def within(self, theta: np.ndarray) -> np.ndarray:
        """Cut logarithms of odds and of deviations."""
        cut = np.array(theta, dtype=float)
        cut[: self.n_slices - 1] = np.clip(cut[: self.n_slices - 1], -MOST_LOG_ODDS, MOST_LOG_ODDS)
        cut[-self.columns.size :] = self.columns.within(cut[-self.columns.size :])
        return cut
