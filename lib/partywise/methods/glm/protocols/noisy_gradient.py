"""Protocol: gradient steps from noisy scores (trust model ``central``).

The usual private fit, for comparison with `noisy_newton`: T mean scores share the squared budget, each at coefficients
that all can compute from earlier releases; a step is the score times rate / w, w the family's public mean weight.
Messages: `partywise.methods.glm.protocols.central`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....alignment.rows import common_rows
from ....federation.roles import ANALYST
from ....federation.run import Run
from ..model import GlmEstimate
from ..noisy_statistics.scores import mean_weight
from ..options import GlmNoisyGradientOptions
from .central import (
    CentralPlan,
    Trail,
    announced_scores,
    assemble,
    check_private,
    make_plan,
    only,
    records_in,
    released_score,
    return_coefficients,
    server_estimate,
    server_started,
)


def server_step(
    trail: Trail, released: Sequence[Sequence[np.ndarray]], plan: CentralPlan[GlmNoisyGradientOptions]
) -> Trail:
    """Return the trail with the coefficients of one more gradient step."""
    return (*trail, trail[-1] + plan.options.rate / mean_weight(plan.public) * only(released))


def fit(run: Run) -> GlmEstimate:
    """Release a score at every iterate; the coefficients go back to their parties."""
    check_private(run)
    rows, n = common_rows(run)
    steps = run.spec.options.steps
    plan: CentralPlan[GlmNoisyGradientOptions] = make_plan(run, n, (1 / steps,) * steps)
    run.charge(run.parties, *announced_scores(plan, plan.mu))
    shares = records_in(run, rows)
    trail, names, clipped = run.at(ANALYST, server_started, plan), list[str](), []
    for step in range(steps):
        score, share = released_score(run, shares, plan, trail, step, plan.mu[step], tuple(names))
        clipped.append(share)
        trail = run.at(ANALYST, server_step, trail, score, plan)
        names.append(f"score {step}")
    answer, parts = return_coefficients(run, plan, trail, names)
    estimate = run.at(ANALYST, server_estimate, answer, plan, steps)
    return assemble(run, plan, estimate, parts, rows, clipped)
