"""Cox regression by noisy gradient ascent with momentum: the contributions of scores with a curvature of 0.

Steps cost less than rounds of scores, since one record moves them less and they have fewer entries; but no curvature
shows how far to go, and none is left for standard errors.
"""

from __future__ import annotations

import numpy as np

from .scores import STEP_LIMITS, Baseline, HazardModel, ScoreTerms, log_hazards

# How far a step may move the level, and the coefficients in units of 1 / radius: what noise of few records asks for.
LONGEST_LEVEL, LONGEST = 1.0, STEP_LIMITS[0]


def public_rate(radius: float, momentum: float) -> float:
    """The largest rate that is stable where the curvature of D events is D (1 + R^2), as large as it can be."""
    return 2 * (1 + momentum) / (1 + radius**2)


def model_at(place: np.ndarray, baseline: Baseline, terms: ScoreTerms) -> HazardModel:
    """The model with a level and coefficients (1 + p,)."""
    return HazardModel(log_hazards(baseline, baseline.cumulative, float(place[0]), terms), place[1:])


def ascend(
    trail: np.ndarray, sums: np.ndarray, rate: float, momentum: float, baseline: Baseline, radius: float
) -> np.ndarray:
    """The trail (k, 1 + p) of levels and coefficients with one more step, by the released gradient (1 + p,)."""
    step = rate * sums / baseline.total
    if len(trail) > 1:
        step = step + momentum * (trail[-1] - trail[-2])
    size = radius * float(np.linalg.norm(step[1:]))
    level, move = np.clip(step[:1], -LONGEST_LEVEL, LONGEST_LEVEL), step[1:] * min(1.0, LONGEST / max(size, LONGEST))
    return np.vstack([trail, trail[-1] + np.concatenate([level, move])])


def average(trail: np.ndarray) -> np.ndarray:
    """Mean (1 + p,) of the last half of the steps."""
    return np.asarray(trail[-max((len(trail) - 1) // 2, 1) :].mean(axis=0))
