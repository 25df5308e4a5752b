"""Protocol: one noisy dot-product is released; everything after it is post-processing.

Source: seed 002, "Weighted Aggregate Logistic Regression"; published or certified by its options.

What is protected: the label of each example, against the trainer and everyone the model reaches (unit ``label``,
``label_flip``).  Trust: with Gaussian noise the measurer sees all labels (``central``); with randomised response the
holder of each label randomises it and nobody sees one (``local``).  Not protected: the features, which the trainer
shows to the measurer; the number of examples; m labels of one user cost m times as much.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.mechanisms.release import Release
from ..model import Estimate, delta_of
from ..options import WalrOptions
from ..plan import Plan
from ..planner import fixed_plan, plan_label_dp
from ..release import release_dot_product
from ..trainers import WalrFit, fit_walr
from .common import local_features, local_labels


def local_release(measurer: Party, train: np.ndarray, X: np.ndarray, plan: Plan, rng_for: Callable) -> Release:
    """The measurer's noisy dot-product (k,).

    Its noise depends on the law alone, so that methods and epsilons of one law share it.
    """
    y = local_labels(measurer, train)
    rng = rng_for("dot-product", plan.law)
    return release_dot_product(X, y, plan, rng, owner=measurer.name, release_id="dot-product")


def server_plan(X: np.ndarray, epsilon: float, delta: float, tau: float, options: WalrOptions) -> Plan:
    """Noise and ridge from the public features, by anyone who has them."""
    if options.ridge == "planned":
        law = {"shaped": "gaussian"}.get(options.noise, options.noise)
        return plan_label_dp(X, epsilon, delta, tau, law=law)
    return fixed_plan(
        X,
        epsilon,
        delta,
        law="rr" if options.noise == "rr" else "gaussian",
        sigma=options.sigma,
        bound=options.bound,
        ridge="fixed" if options.ridge == "fixed" else 0.0,
        radius=options.radius,
    )


def server_fit(
    X: np.ndarray, noisy_dot: np.ndarray, plan: Plan, options: WalrOptions, rng: np.random.Generator
) -> WalrFit:
    """The trainer's fit on the release."""
    return fit_walr(
        X,
        noisy_dot,
        plan,
        options.trainer,
        rng=rng,
        steps=options.steps,
        batch_size=min(options.batch_size, len(X)),
        learning_rate=options.learning_rate,
    )


def fit(run: Run) -> Estimate:
    """Send the features, release the dot-product, fit."""
    parties, channel, spec = run.parties, run.channel, run.spec
    epsilon, fold, rng_for = run.epsilon, run.fold, run.rng_for
    trainer, measurer = parties
    options = spec.options

    # 1. the trainer shows its features, from which everyone makes the same plan
    X = channel.send(trainer.name, measurer.name, "features", local_features(trainer, fold.train))
    plan = server_plan(X, epsilon, delta_of(spec), spec.settings.tau, options)

    # 2. one release
    release = local_release(measurer, fold.train, X, plan, rng_for)
    noisy_dot = channel.send(measurer.name, trainer.name, "noisy dot-product", release)

    # 3. the trainer fits; nothing else ever crosses
    fitted = server_fit(X, noisy_dot, plan, options, rng_for("mini-batches"))
    numbers = {
        "steps": fitted.steps,
        "bounded": fitted.bounded,
        "predicted_excess": plan.predicted_excess if np.isfinite(plan.predicted_excess) else None,
        "chosen_law": plan.law,
        "ridge": float(plan.ridge[-1]),
    }
    if options.trainer == "newton" and not fitted.converged:
        numbers["status"] = "not_converged"
    return Estimate(fitted.theta, plan.epsilon_claimed, plan, np.asarray(noisy_dot), numbers)
