"""Protocol: Cox regression by noisy gradient steps with momentum, after a table; a competitor of `scores`.

Formal guarantee: (epsilon_certified, delta)-DP for replacing one record, by exact composition of Gaussian releases: the
table (sensitivity sqrt(2)) and T gradients, whose sensitivity is the largest distance of two contributions, for any
model that was sent.  Trust as of `table`; messages as of `rounds`, and public facts with the rate and momentum.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from .....federation.run import Run
from ...certified.gradient import ascend, average, model_at, public_rate
from ...certified.scores import Baseline, HazardModel, ScoreTerms
from ...model import SurvivalEstimate
from ...options import GradientOptions
from ..rounds import Answer, NoisyRounds, fit_rounds


def server_start(baseline: Baseline, terms: ScoreTerms) -> np.ndarray:
    """Level and coefficients of 0, the only row of the trail (1, 1 + p)."""
    return np.zeros((1, 1 + terms.covariates))


def server_model(trail: np.ndarray, baseline: Baseline, terms: ScoreTerms) -> HazardModel:
    """The model after the last step."""
    return model_at(trail[-1], baseline, terms)


def server_trail(
    trail: np.ndarray, sums: np.ndarray, baseline: Baseline, terms: ScoreTerms, *, options: GradientOptions
) -> np.ndarray:
    """The trail with one more step."""
    rate = options.rate or public_rate(terms.radius, options.momentum)
    return ascend(trail, sums, rate, options.momentum, baseline, terms.radius)


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
