"""The law of columns: latent normal numbers z = mu + L u, each mapped to its column by its kind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from ..kinds import Kind

# Logarithms of deviations are cut to these.
SMALLEST, LARGEST = -8.0, 3.0
# Least eigenvalue of the correlations at a start.
FLOOR = 0.05
# Exponents beyond are cut, and shares nearer to 0 or 1: only a rough start meets them.
LARGEST_EXPONENT, LEAST_SHARE = 50.0, 0.02


def column_of(kind: Kind, latent: np.ndarray) -> np.ndarray:
    """Map latent normal numbers to a column of a kind; the maps are free of every parameter."""
    low, high = kind.ends
    if kind.name == "normal":
        return latent
    if kind.name == "lognormal":
        return kind.shift + np.exp(np.minimum(latent, LARGEST_EXPONENT))
    share = ndtr(latent) if kind.name == "uniform" else latent > 0
    return np.asarray(low + (high - low) * share)


def latent_start(kind: Kind, mean: float, variance: float) -> tuple[float, float]:
    """Return a rough mean and deviation of the latent number, from those of the column."""
    if kind.name == "normal":
        return mean, float(np.sqrt(variance))
    if kind.name == "lognormal":
        above = max(mean - kind.shift, LEAST_SHARE * float(np.sqrt(variance)))
        spread = float(np.log1p(variance / above**2))
        return float(np.log(above)) - spread / 2, float(np.sqrt(spread))
    share = (mean - kind.ends[0]) / (kind.ends[1] - kind.ends[0])
    latent = float(ndtri(np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE)))
    return (latent * float(np.sqrt(2)) if kind.name == "uniform" else latent), 1.0


@dataclass(frozen=True)
class Columns:
    """Normal columns through public maps; theta has p means, then the lower triangle of L, its diagonal as logarithms.

    Of a ``binary`` column the latent scale means nothing: its row of L is divided by its length.
    """

    kinds: tuple[Kind, ...]

    @property
    def p(self) -> int:
        """Number of columns."""
        return len(self.kinds)

    @property
    def size(self) -> int:
        """Number of parameters."""
        return self.p + self.p * (self.p + 1) // 2

    @cached_property
    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries of L in theta."""
        return np.tril_indices(self.p)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """(p,) places of the logarithms of the diagonal of L in theta."""
        return np.asarray(self.p + np.flatnonzero(self.places[0] == self.places[1]))

    def root(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """L (p, p), and the lengths (p,) that its rows were divided by."""
        lower = np.zeros((self.p, self.p))
        lower[self.places] = theta[self.p : self.size]
        np.fill_diagonal(lower, np.exp(theta[self.diagonal]))
        is_binary = np.array([kind.name == "binary" for kind in self.kinds])
        lengths = np.where(is_binary, np.linalg.norm(lower, axis=1), 1.0)
        return lower / lengths[:, None], lengths

    def of(self, theta: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Make the columns (M, p) of base numbers (M, p)."""
        latent = theta[: self.p] + u @ self.root(theta)[0].T
        return np.column_stack([column_of(kind, z) for kind, z in zip(self.kinds, latent.T, strict=True)])

    def score(self, theta: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Derivatives (M, size) of the log density of the latent numbers of base numbers (M, p)."""
        lower, lengths = self.root(theta)
        a = u @ np.linalg.inv(lower)
        rows, columns = self.places
        by_entry = a[:, rows] * u[:, columns]
        by_entry[:, rows == columns] -= 1 / np.diagonal(lower)
        for place, kind in enumerate(self.kinds):
            if kind.name == "binary":
                entries, row = rows == place, lower[place, : place + 1]
                along = np.outer(by_entry[:, entries] @ row, row)
                by_entry[:, entries] = (by_entry[:, entries] - along) / lengths[place]
        by_entry[:, rows == columns] *= np.exp(theta[self.diagonal])
        return np.hstack([a, by_entry])

    def start(self, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """Return rough parameters from means (p,) and a covariance (p, p) of the columns, which noise may spoil."""
        variances = np.maximum(np.diagonal(covariance), 1e-4 * max(np.diagonal(covariance).max(), 1e-6))
        starts = [latent_start(kind, *moments) for kind, *moments in zip(self.kinds, mean, variances, strict=True)]
        latent, deviations = (np.array(part) for part in zip(*starts, strict=True))
        values, vectors = np.linalg.eigh(covariance / np.sqrt(np.outer(variances, variances)))
        correlations = (vectors * np.maximum(values, FLOOR)) @ vectors.T
        roots = np.sqrt(np.diagonal(correlations))
        lower = deviations[:, None] * np.linalg.cholesky(correlations / np.outer(roots, roots))
        theta = np.concatenate([latent, lower[self.places]])
        theta[self.diagonal] = np.log(np.diagonal(lower))
        return self.within(theta)

    def within(self, theta: np.ndarray) -> np.ndarray:
        """Cut logarithms of deviations."""
        cut = np.array(theta, dtype=float)
        cut[self.diagonal] = np.clip(cut[self.diagonal], SMALLEST, LARGEST)
        return cut

    def residual_logs(self, theta: np.ndarray) -> np.ndarray:
        """(p,) logarithms of the deviation of each latent number given all others."""
        inverse = np.linalg.inv(self.root(theta)[0])
        return np.asarray(-np.log(np.sum(inverse**2, axis=0)) / 2)
