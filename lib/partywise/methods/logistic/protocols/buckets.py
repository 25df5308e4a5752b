"""Protocol: noisy breakdown buckets, the rival that document 002 names: counts of positive labels in cells of features.

Source: "Background" of document 002.  The trainer cuts its features into public cells, one table per feature or also
one per pair of features.  The counts of positive labels of all cells are released once, with the total; the counts of
records are public with the features.  What follows is logistic regression on indicators of the cells, for which these
counts are the dot-product: it is ``walr`` on other columns, coarser and more of them.

What is protected, from whom, and several holders of labels: as in ``one_release``.  A flipped label moves the total by
1 and the count of one cell of each of T tables: squared sensitivity T + 1.

Message              from, to               payload
features             trainer, measurers     Clear
noise shape, dot-product, noisy dot-product: as in ``one_release``; dot-product: counts over N
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ....federation.run import Run
from ....models.intervals import reason_of
from ..cells import Cells
from ..model import LabelEstimate, LabelFacts, LabelSpec, ReleasePlan, delta_of, labels_of, local_features
from ..options import BucketsOptions, WalrOptions
from ..planner import fixed_plan, plan_label_dp, planned_ridge
from .releases import SumNoise, agreed_plan, fixed_sum_noise, released_dot_product, server_fit, shaped_sum_noise


def cells_of(spec: LabelSpec[BucketsOptions]) -> Cells:
    """Cells by public facts and options alone."""
    facts: LabelFacts = spec.public
    variables = facts.variables or (-1,) * (facts.n_features - 1)
    return Cells.of(variables, spec.options.bins, spec.options.pairs == "all")


def server_plan(Z: np.ndarray, epsilon: float, spec: LabelSpec[BucketsOptions], factor: float = 1.0) -> ReleasePlan:
    """Noise and ridge from the indicators of the cells (N, cells)."""
    options, delta, group, tau = spec.options, delta_of(spec), labels_of(spec), spec.settings.tau
    if options.shape == "planned":
        return plan_label_dp(
            Z,
            epsilon,
            delta,
            tau,
            distribution="gaussian",
            group=group,
            clip_shape=options.publish_shape or options.holders == "rows",
            noise_factor=factor,
        )
    plan = fixed_plan(
        Z,
        epsilon,
        delta,
        sigma=options.sigma,
        bound=cells_of(spec).clip,
        ridge="fixed" if options.ridge == "fixed" else 0.0,
        radius=options.radius,
        group=group,
        noise_factor=factor,
    )
    return planned_ridge(Z, plan, tau, factor) if options.ridge == "planned" else plan


def public_noise(run: Run, cells: Cells) -> SumNoise | None:
    """Clip of a record's cells and mu of the noise of several holders."""
    if run.spec.options.holders == "one":
        return None
    if run.spec.options.shape == "planned":
        return shaped_sum_noise(cells.count, run.epsilon, run.spec)
    return fixed_sum_noise(cells.clip, cells.count, run.epsilon, run.spec)


def server_cells_fit(
    Z: np.ndarray, noisy_dot: np.ndarray, plan: ReleasePlan, cells: Cells, rng_for: Callable
) -> LabelEstimate:
    """The trainer's fit on the released counts."""
    estimate = server_fit(Z, noisy_dot, plan, WalrOptions(), rng_for, reason_of("coarser model"))
    return replace(estimate, cells=cells)


def fit(run: Run) -> LabelEstimate:
    """Show the features, cut them into cells, release the counts of positive labels once, fit on these."""
    trainer, *holders = run.parties
    cells = cells_of(run.spec)
    X = run.broadcast(trainer, holders, "features", local_features, run.fold.train)
    Z = run.among(run.parties, cells.indicators, X)
    plan = agreed_plan(run, Z, cells.count, server_plan)
    noisy_dot, plan = released_dot_product(run, Z, plan, public_noise(run, cells))
    return run.at(trainer.name, server_cells_fit, Z, noisy_dot, plan, cells, run.rng_for)
