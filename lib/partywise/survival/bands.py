"""Intervals and bands of a released survival curve that count the noise of privacy beside that of sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from ..randomness import stream
from .curves import LARGEST_HAZARD, Curve, hazards
from .tables import Table

DRAWS = 2000
# Address of the draws of largest deviations, which read no data.
DEVIATIONS = 2000
# Variance of a count that rounds a uniform number, which the noise of a whole-number release carries beside its own.
ROUNDING_VARIANCE = 1 / 12


@dataclass(frozen=True, eq=False)
class Band:
    """Lower and upper survival (J,) at the edges after the first."""

    lower: np.ndarray
    upper: np.ndarray

    def covers(self, survival: np.ndarray) -> np.ndarray:
        """Which of the values (J,) it holds."""
        return (self.lower <= survival) & (survival <= self.upper)


def log_survival_covariance(table: Table, *, noise: bool = True) -> np.ndarray:
    """Covariance (J, J) of log S at the edges after the first, by the delta method over cells, of a single group.

    The multinomial of n records, and the noise of the released cells unless ``noise`` is False.
    """
    h, at_risk = np.clip(hazards(table), 0, LARGEST_HAZARD), table.at_risk[0]
    steps = h / (at_risk * (1 - h))
    sums = np.cumsum(steps)
    bins = table.bins
    j, k = np.arange(bins)[:, None], np.arange(bins)[None, :]
    by_event = sums[np.minimum(j, k)] - (k <= j) / (at_risk * (1 - h))[None, :]
    by_censored = np.where(k <= j, (sums - steps / 2)[None, :], sums[:, None])
    gradient = np.hstack([by_event, by_censored, sums[:, None]])
    shares = np.maximum(table.cells[0], 0) / table.size
    mean = gradient @ shares
    covariance = table.size * ((gradient * shares) @ gradient.T - np.outer(mean, mean))
    if not noise or table.sd == 0:
        return covariance
    if table.records is not None:
        gradient = gradient - gradient.mean(axis=1, keepdims=True)
    return covariance + (table.sd**2 + ROUNDING_VARIANCE) * gradient @ gradient.T


def pointwise(curve: Curve, covariance: np.ndarray, level: float = 0.95) -> Band:
    """Intervals of which each holds the true survival at its edge with probability ``level``."""
    return _log_log(curve, covariance, float(ndtri((1 + level) / 2)))


@lru_cache(maxsize=8)
def public_draws(edges: int) -> np.ndarray:
    """Standard normal numbers (2000, J) of one address, which reads no data: the same for every curve."""
    return stream(DEVIATIONS, "largest deviations").standard_normal((DRAWS, edges))


def simultaneous(curve: Curve, covariance: np.ndarray, draws: np.ndarray, level: float = 0.95) -> Band:
    """A band that holds the true survival at all edges with probability ``level``: largest deviations are drawn.

    draws : (m, J) standard normal numbers, from which they are made

    Survival falls, so that no end of a band may rise: what later lower ends and earlier upper ends exclude is cut off.
    """
    sd = np.sqrt(np.diag(covariance))
    scale = np.where(sd > 0, sd, 1)
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1)
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0))
    largest = np.abs(draws @ root.T).max(axis=1)
    band = _log_log(curve, covariance, float(np.quantile(largest, level)))
    return Band(np.maximum.accumulate(band.lower[::-1])[::-1], np.minimum.accumulate(band.upper))


def _log_log(curve: Curve, covariance: np.ndarray, factor: float) -> Band:
    """S^exp(+- factor se / |log S|); where S is 1, from exp(-factor se) to 1."""
    survival, se = curve.survival[1:], np.sqrt(np.diag(covariance))
    log = np.log(survival)
    whole = log == 0
    # Of a curve near 1 and much noise the exponent overflows: the interval is from 0 to 1 then.
    with np.errstate(over="ignore"):
        spread = np.exp(factor * se / np.where(whole, 1, np.abs(log)))
    lower = np.where(whole, np.exp(-factor * se), survival**spread)
    return Band(lower, np.where(whole, 1.0, survival ** (1 / spread)))


def released_bands(table: Table, curves: Sequence[Curve], *, together: bool, noise: bool = True) -> list[Band]:
    """Of each group's curve its intervals, or its simultaneous band: from what was released alone.

    noise : whether the noise of privacy is counted
    """
    bands = []
    for group, curve in enumerate(curves):
        covariance = log_survival_covariance(table.group(group), noise=noise)
        if together:
            bands.append(simultaneous(curve, covariance, public_draws(table.bins)))
        else:
            bands.append(pointwise(curve, covariance))
    return bands
