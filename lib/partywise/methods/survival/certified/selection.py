"""Coefficients and baseline of records of which those at high risk leave first: post-processing of released sums.

The marginal hazard of the released table falls as records at high risk leave.  A working model of the predictors z'b
at the start gives by how much: a scaled beta distribution on their range, whose moments, weighted by hazard, are those
of the released curvature.  From it follow the baseline of a record with covariates 0, how long a step has to be for
the score that was released, and how far noise and sampling of the table move the coefficients along themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

# Predictors of the working model, in units of the longest, and the ends of their cells.
GRID = np.linspace(-1, 1, 41)
ENDS = np.append((GRID[1:] + GRID[:-1]) / 2, 1.0)
# A marginal cumulative hazard beyond this is taken for it.
LARGEST_MARGINAL = 30.0
# How much longer or shorter a step may become, and after how many alternations of both equations it is taken.
SHORTEST, LONGEST_FACTOR, ALTERNATIONS = 0.5, 2.2, 12
NEWTON_STEPS, WARM_STEPS = 14, 5


@dataclass(frozen=True, eq=False)
class Selection:
    """Predictors (Q,) of records at the start with their shares (Q,), and the baseline (B + 1,) of a predictor of 0.

    factor : of the step that the released score asks for
    """

    predictors: np.ndarray
    shares: np.ndarray
    cumulative: np.ndarray
    factor: float = 1.0


@dataclass(frozen=True, eq=False)
class RoundValues:
    """Released values of a round on a candidate b of the coefficients, and the hazards of its model.

    reach : longest predictor; mean, variance : of predictors, weighted by hazard; score : along b, per record
    hazards : log hazards (B,) of the model; overlap : of its coefficients with b
    """

    reach: float
    mean: float
    variance: float
    score: float
    hazards: np.ndarray
    overlap: float


def beta_shares(mean: float, variance: float) -> np.ndarray:
    """Shares (Q,) of the cells of a beta distribution on [-1, 1]; of the largest variance both ends alone have any."""
    middle = (float(np.clip(mean, -0.98, 0.98)) + 1) / 2
    spread = float(np.clip(variance / 4 / (middle * (1 - middle)), 1e-4, 1 - 1e-3))
    size = 1 / spread - 1
    shares = np.diff(np.append(0.0, betainc(middle * size, (1 - middle) * size, (ENDS + 1) / 2)))
    return np.maximum(shares, 1e-300) / shares.sum()


def conditional_hazard(
    marginal: np.ndarray, predictors: np.ndarray, shares: np.ndarray, start: np.ndarray | None = None
) -> np.ndarray:
    """Cumulative hazard (B + 1,) of a predictor of 0 under which the marginal one (B + 1,) is as given.

    The logarithm of the marginal survival is convex in it: Newton's steps rise to the solution from below.
    """
    risk, aim = np.exp(predictors), np.minimum(marginal, LARGEST_MARGINAL)
    least = aim / float(shares @ risk)
    hazard = least if start is None else np.maximum(start, least)
    for _ in range(NEWTON_STEPS if start is None else WARM_STEPS):
        left = np.exp(-hazard[:, None] * risk) * shares
        survival = np.maximum(left.sum(axis=1), 1e-300)
        hazard = np.maximum(hazard + (aim + np.log(survival)) * survival / np.maximum(left @ risk, 1e-300), least)
    return np.maximum.accumulate(hazard)


def mean_survival(cumulative: np.ndarray) -> np.ndarray:
    """Mean (B, Q) within each bin of exp(-H), whose cumulative hazard H (B + 1, Q) is linear there."""
    survival, steps = np.exp(-cumulative), np.diff(cumulative, axis=0)
    flat = steps < 1e-8
    return np.where(flat, survival[:-1], (survival[:-1] - survival[1:]) / np.where(flat, 1, steps))


def followed_share(cumulative: np.ndarray, stop: float) -> np.ndarray:
    """Share (B, Q) of each bin before the cumulative hazard (B + 1, Q) reaches C."""
    return np.clip((stop - cumulative[:-1]) / np.maximum(np.diff(cumulative, axis=0), 1e-300), 0, 1)


def select(marginal: np.ndarray, followed: np.ndarray, released: RoundValues, width: float, stop: float) -> Selection:
    """The working model whose weighted moments and score are those that a round released.

    marginal : (B + 1,) cumulative hazard of the table; followed : (B + 1,) share that is not censored, at edges
    """
    middle = (followed[1:] + followed[:-1])[:, None] / 2
    grid = released.reach * GRID
    sent = width * np.exp(released.hazards)[:, None] * np.exp(np.clip(released.overlap * grid, -30, 30))
    before = middle * followed_share(np.vstack([np.zeros(len(grid)), np.cumsum(sent, axis=0)]), stop)
    aim_mean = float(np.clip(released.mean / released.reach, -0.98, 0.98))
    aim_variance = float(np.clip(released.variance / released.reach**2, 1e-6, 1 - aim_mean**2))
    mean, variance, factor, hazard = aim_mean, aim_variance, 1.0, None
    for _ in range(ALTERNATIONS):
        shares = beta_shares(mean, variance)
        scores = []
        for length in (1.03 * factor, factor):
            hazard = conditional_hazard(marginal, length * grid, shares, hazard)
            true = hazard[:, None] * np.exp(length * grid)
            at_risk = before * mean_survival(true)
            residuals = (at_risk * (np.diff(true, axis=0) - sent)).sum(axis=0)
            scores.append(float(shares @ (residuals * (grid - released.mean))))
        weights = shares * (at_risk * sent).sum(axis=0)
        weights = weights / weights.sum()
        found_mean = float(weights @ GRID)
        found_variance = max(float(weights @ (GRID - found_mean) ** 2), 1e-9)
        slope = (scores[0] - scores[1]) / (0.03 * factor)
        # A step of Newton, no longer than a factor of 1.3.
        wanted = factor + (released.score - scores[1]) / slope if slope > 0 else factor
        longer = float(np.clip(np.clip(wanted, factor / 1.3, 1.3 * factor), SHORTEST, LONGEST_FACTOR))
        moved = max(abs(longer / factor - 1), abs(aim_mean - found_mean), abs(aim_variance / found_variance - 1))
        factor = longer
        mean = float(np.clip(mean + aim_mean - found_mean, -0.98, 0.98))
        variance = float(
            np.clip(variance * np.clip(aim_variance / found_variance, 0.25, 4), 1e-6, 0.999 * (1 - mean**2))
        )
        if moved < 2e-3:
            break
    shares = beta_shares(mean, variance)
    return Selection(factor * grid, shares, conditional_hazard(marginal, factor * grid, shares), factor)


def length_variance(
    selection: Selection,
    events: np.ndarray,
    exposure: np.ndarray,
    followed: np.ndarray,
    mean: float,
    stop: float,
    records: int,
    noise: float,
) -> float:
    """Variance of the factor of the coefficients, whose baseline follows from the table and from themselves.

    events, exposure : (B,) of the table, exposure in records; noise : variance of a cell of it

    By the delta method over kinds of records: predictor, and the bin in which they leave.
    """
    grid, shares, hazard = selection.predictors, selection.shares, selection.cumulative
    risk, deviation = np.exp(grid), grid - mean
    true = hazard[:, None] * risk
    middle = (followed[1:] + followed[:-1])[:, None] / 2
    # Derivatives of the score per record by the steps of the baseline, and by its cumulative hazards.
    by_step = -(middle * mean_survival(true) * followed_share(true, stop) * risk) @ (shares * deviation)
    by_hazard = np.append(0.0, by_step) - np.append(by_step, 0.0)
    left = np.exp(-true) * shares
    rate = np.maximum(left @ risk, 1e-300)
    by_factor = -hazard * (left @ (risk * grid)) / rate
    direct = (middle * mean_survival(true) * followed_share(true, stop) * np.diff(hazard)[:, None] * risk) @ (
        shares * deviation * grid
    )
    slope = float(direct.sum() - by_hazard @ by_factor)
    by_marginal = by_hazard * left.sum(axis=1) / rate
    # Steps of the marginal hazard are d / r, with r those at risk, of whom half of who leave in the bin count.
    by_marginal_step = np.cumsum(by_marginal[::-1])[::-1][1:]
    later = by_marginal_step * events / exposure**2
    removed = -np.cumsum(later) + later / 2
    by_cell = np.concatenate([by_marginal_step / exposure + removed, removed, [-later.sum()]])
    return (
        _variance_of_kinds(true, shares, deviation, followed, stop, records * by_cell, records, noise)
        / max(slope, 1e-6) ** 2
    )


def _variance_of_kinds(
    true: np.ndarray,
    shares: np.ndarray,
    deviation: np.ndarray,
    followed: np.ndarray,
    stop: float,
    by_cell: np.ndarray,
    records: int,
    noise: float,
) -> float:
    """Variance of the mean score over records and the noise of the table; by_cell (2 B + 1,) in units of a record."""
    bins, survival, middle = len(true) - 1, np.exp(-true), (true[1:] + true[:-1]) / 2
    with_event = (followed[1:] + followed[:-1])[:, None] / 2 * (survival[:-1] - survival[1:])
    censored = (survival[:-1] + survival[1:]) / 2 * (followed[:-1] - followed[1:])[:, None]
    chances = np.concatenate([with_event, censored, survival[-1:] * followed[-1]]) * shares
    stopped = np.minimum(np.concatenate([middle, middle, true[-1:]]), stop)
    seen = np.concatenate([middle <= stop, np.zeros((bins + 1, len(shares)), dtype=bool)])
    influence = (seen - stopped) * deviation + by_cell[:, None]
    chances = chances / chances.sum()
    mean = float(np.sum(chances * influence))
    return float(np.sum(chances * (influence - mean) ** 2)) / records + noise * float(by_cell @ by_cell) / records**2
