"""Protocol: Cox regression by noisy gradient steps with momentum, after a table; a competitor of `scores`.

Contributions are those of scores with a curvature of 0.  Steps cost less than rounds of scores, since one record moves
them less and they have fewer entries; but no curvature shows how far to go, and none is left for standard errors.

Formal guarantee: (epsilon_certified, delta)-DP for replacing one record, by exact composition of Gaussian releases: the
table (sensitivity sqrt(2)) and T gradients, whose sensitivity is the largest distance of two contributions, for any
model that was sent.  Trust as of `table`; messages as of `rounds`, and public facts with the rate and momentum.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from .....federation.exchanges.noisy_sums import ReleasedSum
from .....federation.run import Run
from ...certified.scores import STEP_LIMITS, Baseline, HazardModel, ScoreTerms, log_hazards
from ...model import SurvivalEstimate
from ...options import GradientOptions
from ..rounds import Answer, NoisyRounds, fit_rounds

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


def server_start(baseline: Baseline, terms: ScoreTerms) -> np.ndarray:
    """Level and coefficients of 0, the only row of the trail (1, 1 + p)."""
    return np.zeros((1, 1 + terms.covariates))


def server_model(trail: np.ndarray, baseline: Baseline, terms: ScoreTerms) -> HazardModel:
    """The model after the last step."""
    return model_at(trail[-1], baseline, terms)


def server_trail(
    trail: np.ndarray, noisy: ReleasedSum, baseline: Baseline, terms: ScoreTerms, *, options: GradientOptions
) -> np.ndarray:
    """The trail with one more step."""
    rate = options.rate or public_rate(terms.radius, options.momentum)
    return ascend(trail, noisy.value, rate, options.momentum, baseline, terms.radius)


def server_answer(trail: np.ndarray, baseline: Baseline, terms: ScoreTerms) -> Answer:
    """Mean coefficients, without a covariance."""
    return model_at(average(trail), baseline, terms), trail[:, 1:], None, ""


def fit(run: Run) -> SurvivalEstimate:
    """The table, then T noisy gradients."""
    options: GradientOptions = run.spec.options
    shares = (options.table_share, *((1 - options.table_share) / options.steps,) * options.steps)
    terms = partial(ScoreTerms, shares=shares, bins=options.bins, merge_count=1, curvature=0.0, stop=options.stop)
    update = partial(server_trail, options=options)
    return fit_rounds(run, NoisyRounds("gradient", terms, server_start, server_model, update, server_answer))
