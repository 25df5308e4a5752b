"""Inference on survival curves: intervals, bands, errors of medians and means, and the log-rank test.

Of released curves all of it counts the noise of privacy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import chdtrc, ndtri

from ...core.arrays import symmetric_root
from ...core.randomness import stream
from .curves import LARGEST_HAZARD, SurvivalCurve, delta_covariance, hazards
from .exact import RankTest, StepCurve
from .tables import CellTable

DRAWS = 2000
# Address of the draws of largest deviations, which read no data.
DEVIATIONS = 2000


@dataclass(frozen=True, eq=False)
class Band:
    """Lower and upper survival (J,) at the edges after the first."""

    lower: np.ndarray
    upper: np.ndarray

    def covers(self, survival: np.ndarray) -> np.ndarray:
        """Return the mask (J,) of values inside the band."""
        return (self.lower <= survival) & (survival <= self.upper)

    def at(self, times: np.ndarray, edges: np.ndarray) -> Band:
        """The band (m,) at times between the edges (J + 1,): the lower end of the next one, the upper of the last one.

        Survival falls, so that this holds wherever the ends at the edges do; ends that are interpolated do not.
        """
        following = np.searchsorted(edges[1:], times, side="left")
        return Band(self.lower[following], np.append(1.0, self.upper)[np.searchsorted(edges, times, side="right") - 1])


def log_survival_covariance(table: CellTable, *, noise: bool = True) -> np.ndarray:
    """Covariance (J, J) of log S at the edges after the first, as of `delta_covariance`, of a single group."""
    h, at_risk = np.clip(hazards(table), 0, LARGEST_HAZARD), table.at_risk[0]
    steps = h / (at_risk * (1 - h))
    sums = np.cumsum(steps)
    bins = table.bins
    j, k = np.arange(bins)[:, None], np.arange(bins)[None, :]
    by_event = sums[np.minimum(j, k)] - (k <= j) / (at_risk * (1 - h))[None, :]
    by_censored = np.where(k <= j, (sums - steps / 2)[None, :], sums[:, None])
    gradient = np.hstack([*[by_event] * table.causes, by_censored, sums[:, None]])
    return delta_covariance(table, gradient, noise=noise)


def pointwise(curve: SurvivalCurve, covariance: np.ndarray, level: float = 0.95) -> Band:
    """Intervals of which each holds the true survival at its edge with probability ``level``."""
    return _log_log(curve.survival[1:], _errors(covariance), float(ndtri((1 + level) / 2)))


def step_intervals(curve: StepCurve, times: np.ndarray, level: float = 0.95) -> Band | None:
    """Intervals (m,) of a Kaplan-Meier curve at times, by Greenwood's variances; None of other curves."""
    if curve.increments is None:
        return None
    # Once nobody is left, what was known before bounds survival from above, and nothing from below.
    known = np.isfinite(curve.increments)
    se = np.sqrt(np.cumsum(np.nan_to_num(curve.increments)))
    ends = _log_log(np.where(known, curve.values, 1.0), np.where(known, se, 0.0), float(ndtri((1 + level) / 2)))
    lower = np.where(known, ends.lower, 0.0)
    places = np.searchsorted(curve.times, times, side="right")
    return Band(np.append(1.0, lower)[places], np.append(1.0, np.minimum.accumulate(ends.upper))[places])


def median_interval(curve: StepCurve, level: float = 0.95) -> tuple[float, float]:
    """Times that the pointwise intervals of a Kaplan-Meier curve do not reject as its median.

    From the first time at which the lower end is one half or less to the first at which the upper end is (Brookmeyer
    and Crowley 1982, with intervals on the scale of log(-log S)); inf where none is, nan where nothing is known.
    """
    band = step_intervals(curve, curve.times, level)
    if band is None or not curve.determined:
        return float("nan"), float("nan")
    low, high = (np.append(curve.times[ends <= 0.5], np.inf)[0] for ends in (band.lower, band.upper))
    return float(low), float(high)


@dataclass(frozen=True)
class MeanComparison:
    """Restricted mean of group 1 against that of group 0, with standard errors by the delta method.

    difference, difference_error : mean of group 1 minus that of group 0
    ratio, ratio_error : mean of group 1 over that of group 0
    """

    difference: float
    difference_error: float
    ratio: float
    ratio_error: float

    @property
    def statistic(self) -> float | None:
        """Standard normal where the means are equal; None without an error."""
        return self.difference / self.difference_error if self.difference_error > 0 else None

    @property
    def p_value(self) -> float | None:
        """Probability of a larger statistic where the means are equal."""
        return None if self.statistic is None else float(chdtrc(1, self.statistic**2))


def compare_means(means: np.ndarray, errors: np.ndarray) -> MeanComparison:
    """The comparison of two means (2,) with their errors (2,), which are independent."""
    ratio = float(means[1] / means[0])
    relative = float(np.hypot(*(errors / means)))
    return MeanComparison(float(means[1] - means[0]), float(np.hypot(*errors)), ratio, ratio * relative)


def delta_error(gradient: np.ndarray, covariance: np.ndarray) -> float:
    """Standard error of a value with this gradient (J,) by log S, whose covariance is (J, J)."""
    return float(np.sqrt(max(gradient @ covariance @ gradient, 0.0)))


@lru_cache(maxsize=8)
def public_draws(edges: int) -> np.ndarray:
    """Standard normal numbers (2000, J) of one address, which reads no data: the same for every curve."""
    return stream(DEVIATIONS, "largest deviations").standard_normal((DRAWS, edges))


def simultaneous(curve: SurvivalCurve, covariance: np.ndarray, draws: np.ndarray, level: float = 0.95) -> Band:
    """A band that holds the true survival at all edges with probability ``level``: largest deviations are drawn.

    draws : (m, J) standard normal numbers, from which they are made

    Survival falls, so that no end of a band may rise: what later lower ends and earlier upper ends exclude is cut off.
    """
    sd = _errors(covariance)
    scale = np.where(sd > 0, sd, 1)
    correlation = covariance / np.outer(scale, scale)
    np.fill_diagonal(correlation, 1)
    largest = np.abs(draws @ symmetric_root(correlation)).max(axis=1)
    band = _log_log(curve.survival[1:], sd, float(np.quantile(largest, level)))
    return Band(np.maximum.accumulate(band.lower[::-1])[::-1], np.minimum.accumulate(band.upper))


def _errors(covariance: np.ndarray) -> np.ndarray:
    """(J,) square roots of variances, of which rounding leaves some that are 0 below it."""
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))


def _log_log(survival: np.ndarray, se: np.ndarray, factor: float) -> Band:
    """S^exp(+- factor se / |log S|); where S is 1, from exp(-factor se) to 1."""
    log = np.log(survival)
    whole = log == 0
    # Of a curve near 1 and much noise the exponent overflows: the interval is from 0 to 1 then.
    with np.errstate(over="ignore"):
        spread = np.exp(factor * se / np.where(whole, 1, np.abs(log)))
    lower = np.where(whole, np.exp(-factor * se), survival**spread)
    return Band(lower, np.where(whole, 1.0, survival ** (1 / spread)))


def released_bands(
    table: CellTable, curves: Sequence[SurvivalCurve], *, together: bool, noise: bool = True
) -> list[Band]:
    """Return pointwise intervals or a simultaneous band per group, from released values alone.

    noise : whether the noise of privacy is counted
    """
    bands = []
    for group, curve in enumerate(curves):
        covariance = log_survival_covariance(table.group(group), noise=noise)
        if curve.determined_bins == 0:
            # Nothing is known of the curve.
            bands.append(Band(np.zeros(table.bins), np.ones(table.bins)))
        elif together:
            bands.append(simultaneous(curve, covariance, public_draws(table.bins)))
        else:
            bands.append(pointwise(curve, covariance))
    return bands


def noisy_log_rank(table: CellTable, *, noise: bool = True) -> RankTest | None:
    """Log-rank test of groups 0 and 1 of a table (2, 2 J + 1); None where no bin stands out of its noise.

    Only the bins up to the last whose smaller group at risk stands out of its noise take part.  The variance is that
    of the hypergeometric events and, unless ``noise`` is False, that of the released cells to first order.
    """
    if len(table.cells) != 2:
        raise ValueError(f"the table has {len(table.cells)} groups: the log-rank test compares two.")
    at_risk = table.at_risk
    clear = at_risk.min(axis=0) >= table.least_at_start
    # A bin that does not stand out ends the test: what comes after it is left out as well.
    bins = int(np.argmin(clear)) if not clear.all() else table.bins
    if bins == 0:
        return None
    (d_0, d_1), (n_0, n_1) = table.events[:, :bins], at_risk[:, :bins]
    n = np.maximum(n_0 + n_1, 2)
    q, d = n_1 / n, d_0 + d_1
    variance = float(np.sum(np.maximum(d, 0) * q * (1 - q) * (n - d) / (n - 1)))
    if noise:
        variance += table.sd**2 * float(np.sum(_gradient(d, n, q, table) ** 2))
    if not variance > 0:
        return None
    return RankTest(float(np.sum(d_1 - d * q)), variance)


def _gradient(d: np.ndarray, n: np.ndarray, q: np.ndarray, table: CellTable) -> np.ndarray:
    """Derivatives of observed minus expected by the cells of both groups, all bins of the table and the survivors."""
    used, bins = len(d), table.bins

    def extend(sums: np.ndarray) -> np.ndarray:
        return np.concatenate([sums, np.full(bins - used, sums[-1])])

    def pad(values: np.ndarray) -> np.ndarray:
        return np.concatenate([values, np.zeros(bins - used)])

    B, D = extend(np.cumsum(d * (1 - q) / n)), extend(np.cumsum(d * q / n))
    return np.concatenate(
        [
            *[pad(1 - q) - B] * table.causes,
            pad(d * (1 - q) / (2 * n)) - B,
            [-B[-1]],
            *[pad(-q) + D] * table.causes,
            D - pad(d * q / (2 * n)),
            [D[-1]],
        ]
    )
