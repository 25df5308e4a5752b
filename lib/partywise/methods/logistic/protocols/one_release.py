"""Protocol: one noisy dot-product is released; everything after it is post-processing.

Source: seed 002, "Weighted Aggregate Logistic Regression"; published or certified by its options.

What is protected: the label of each example, against the trainer and everyone the model reaches (unit ``label``,
``label_flip``).  Trust: with Gaussian noise the measurer sees all labels (``central``); with randomised response the
holder of each label randomises it before others see it (``local``).  Not protected: the features, which the trainer
shows to the measurer; the number of examples.  m labels of one user cost m times as much, which the noise is planned
for where the unit is ``user_label`` (the classic formula claims for one label in any unit).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....federation.parties import Party
from ....federation.run import Run
from ....models.intervals import Intervals
from ....privacy.mechanisms.release import Release
from ..model import LabelEstimate, LabelSpec, ReleasePlan, delta_of, labels_of, local_features
from ..noise import OVERSHOT, coefficient_deviations, descent_deviations, released_intervals
from ..options import WalrOptions
from ..planner import fixed_plan, plan_label_dp
from ..release import release_dot_product
from ..trainers import fit_walr


def local_release(measurer: Party, train: np.ndarray, X: np.ndarray, plan: ReleasePlan, rng_for: Callable) -> Release:
    """The measurer's noisy dot-product (k,).

    Its noise depends on the distribution alone, so that methods and epsilons of one share it.
    """
    y = measurer.block["y"][train]
    rng = rng_for("dot-product", plan.distribution)
    return release_dot_product(X, y, plan, rng, owner=measurer.name, release_id="dot-product")


def server_plan(X: np.ndarray, epsilon: float, spec: LabelSpec[WalrOptions]) -> ReleasePlan:
    """Noise and ridge from the public features, by anyone who has them."""
    options, delta = spec.options, delta_of(spec)
    if options.ridge == "planned":
        distribution = {"shaped": "gaussian"}.get(options.noise, options.noise)
        return plan_label_dp(X, epsilon, delta, spec.settings.tau, distribution=distribution, group=labels_of(spec))
    return fixed_plan(
        X,
        epsilon,
        delta,
        distribution="rr" if options.noise == "rr" else "gaussian",
        sigma=options.sigma,
        bound=options.bound,
        ridge="fixed" if options.ridge == "fixed" else 0.0,
        radius=options.radius,
        group=labels_of(spec),
    )


def server_fit(
    X: np.ndarray, noisy_dot: np.ndarray, plan: ReleasePlan, options: WalrOptions, rng_for: Callable
) -> LabelEstimate:
    """The trainer's fit on the release."""
    fitted = fit_walr(
        X,
        noisy_dot,
        plan,
        options.trainer,
        rng=rng_for("mini-batches"),
        steps=options.steps,
        batch_size=min(options.batch_size, len(X)),
        learning_rate=options.learning_rate,
    )
    numbers = {
        "steps": fitted.steps,
        "bounded": fitted.bounded,
        "predicted_excess": plan.predicted_excess if np.isfinite(plan.predicted_excess) else None,
        "chosen_distribution": plan.distribution,
        "ridge": float(plan.ridge[-1]),
    }
    verdict = fitted.verdict(options.trainer)
    errors, why, intervals = None, "", Intervals(reason=f"trainer={options.trainer!r} need not have reached an optimum")
    if options.trainer != "newton":
        errors = descent_deviations(X, fitted.theta, plan, options.learning_rate, options.steps)
        why = OVERSHOT if errors is None else ""
    elif fitted.converged:
        errors = coefficient_deviations(X, fitted.theta, plan)
        intervals = released_intervals(X, fitted.theta, plan)
    else:
        why = "the Newton steps have not reached an optimum"
    results = fitted.theta, plan.epsilon_claimed, plan, noisy_dot, numbers, errors, plan.link, intervals, why
    return LabelEstimate(*results, verdict.status, verdict.reason)


def fit(run: Run) -> LabelEstimate:
    """Show the features, from which all make the same plan; release the dot-product once; fit on it."""
    trainer, measurer = run.parties
    train, options = run.fold.train, run.spec.options
    X = run.send(trainer, measurer, "features", local_features, train)
    plan = run.everywhere(server_plan, X, run.epsilon, run.spec)
    noisy_dot = run.send(measurer, trainer, "noisy dot-product", local_release, train, X, plan, run.rng_for)
    return run.at(trainer.name, server_fit, X, noisy_dot, plan, options, run.rng_for)
