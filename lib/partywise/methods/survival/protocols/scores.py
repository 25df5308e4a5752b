"""Protocol: Cox regression by noisy scores of the piecewise-exponential model, with the table that it starts from.

Formal guarantee: (epsilon_certified, delta)-DP for replacing one record, by exact composition of Gaussian releases: the
table (sensitivity sqrt(2)) and T rounds of sums, whose sensitivity is the largest distance of two contributions,
for any model that was sent.  Trust as of `table`, messages as of `rounds`, public facts likewise.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ....federation.exchanges.noisy_sums import ReleasedSum
from ....federation.run import Run
from ..certified.scores import Baseline, HazardModel, ScoreFit, ScoreTerms, start, update
from ..model import SurvivalEstimate
from ..options import ScoresOptions
from .rounds import Answer, NoisyRounds, fit_rounds

# After each round, from no effects on.
Fits = tuple[ScoreFit, ...]


def server_start(baseline: Baseline, terms: ScoreTerms) -> Fits:
    """Fits that hold the one without effects."""
    return (start(baseline, terms),)


def server_model(fits: Fits, baseline: Baseline, terms: ScoreTerms) -> HazardModel:
    """The model of the last round."""
    return fits[-1].model


def server_fits(fits: Fits, noisy: ReleasedSum, baseline: Baseline, terms: ScoreTerms) -> Fits:
    """Return the fits with that of one more round."""
    return (*fits, update(fits[-1], noisy.value, baseline, terms))


def server_answer(fits: Fits, baseline: Baseline, terms: ScoreTerms) -> Answer:
    """The last model, with its covariance over records and noise, or the reason why there is none."""
    last = fits[-1]
    reason = last.reason(terms)
    return last.model, np.stack([fit.model.coefficients for fit in fits]), None if reason else last.covariance, reason


def fit(run: Run) -> SurvivalEstimate:
    """Release the table, then scores in T rounds."""
    options: ScoresOptions = run.spec.options
    terms = partial(
        ScoreTerms,
        shares=options.shares,
        bins=options.bins,
        level=options.level,
        curvature=options.curvature,
        stop=options.stop,
    )
    return fit_rounds(run, NoisyRounds("scores", terms, server_start, server_model, server_fits, server_answer))
