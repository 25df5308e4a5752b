"""Sub-protocol: a dot-product with the labels is released by one holder of labels, or by several together.

Planned noise is made from the features. Where its shape is shown (``publish_shape``), the release is certified by mu
and by a clip in the geometry of the noise, both public, so that readers without features make its statement again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

# Any: a specification with the options of one of two protocols.
from typing import Any, NamedTuple

import numpy as np

from ....federation.exchanges.masks.noisy_sum import noisy_sum
from ....federation.exchanges.masks.pair_keys import agree_on_keys
from ....federation.exchanges.noisy_sums import largest_entry, noise_factor
from ....federation.parties import Party, lost_squares
from ....federation.run import Run
from ....models.intervals import Intervals, reason_of
from ....privacy.accounted_values import Clear
from ....privacy.accounting.calibration import gaussian_epsilon
from ....privacy.mechanisms.release import Release, open_to_readers
from ....privacy.statistics.clips import BallClip, WholeClip
from ....privacy.statistics.whole import Whole
from ..model import LabelEstimate, LabelSpec, ReleasePlan, delta_of, labels_of, ridge_vector
from ..noise import OVERSHOT, coefficient_deviations, descent_deviations, released_intervals
from ..options import SERVER, WalrOptions
from ..planner import fixed_noise, noise_epsilon, shape_clip, shared_mu
from ..release import WholeRows, public_sum, release_dot_product, undo_whitening
from ..trainers import fit_walr

# Plan of a noise from features that are public: (X, epsilon, spec, noise factor).
Planner = Callable[[np.ndarray, float, Any, float], ReleasePlan]
SHAPE = "noise shape"
BECAUSE = "made from the features, which are public for the unit label"


class SumNoise(NamedTuple):
    """Public facts of a sum of several holders: clip of a row, mu against the colluders, and number of entries."""

    clip: WholeClip
    mu: float
    entries: int


def local_release(measurer: Party, train: np.ndarray, X: np.ndarray, plan: ReleasePlan, rng_for: Callable) -> Release:
    """The measurer's noisy dot-product (k,).

    Its noise depends on the distribution alone, so that methods and epsilons of one share it.
    """
    y = measurer.block["y"][train]
    local_count_of_shrunk(measurer, X, plan)
    rng = rng_for("dot-product", plan.distribution)
    return release_dot_product(X, y, plan, rng, owner=measurer.name, release_id="dot-product")


def local_count_of_shrunk(measurer: Party, X: np.ndarray, plan: ReleasePlan) -> None:
    """Count the rows that a declared length shrinks."""
    if isinstance(plan.clip, BallClip) and not plan.clip_whitened:
        clipped = plan.clip.of(X)
        measurer.clips.add("row_radius", clipped.number, clipped.units, lost_squares(X, clipped.records))


def local_sum(measurer: Party, train: np.ndarray, X: np.ndarray, plan: ReleasePlan) -> Whole:
    """A holder's sum (k,) of its own training rows of label 1, in whole numbers, which stays with it."""
    rows = measurer.block.get("rows", np.arange(len(train)))
    local_count_of_shrunk(measurer, X, plan)
    trains, of_features = train[rows], WholeRows.of(X, plan)
    places = (np.cumsum(train) - 1)[rows[trains]]
    return of_features.whole(measurer.block["y"][trains] @ of_features.steps[places])


def shaped_sum_noise(k: int, epsilon: float, spec: LabelSpec[Any]) -> SumNoise:
    """Clip and mu of planned noise of any shape."""
    mu = shared_mu(epsilon, delta_of(spec), labels_of(spec))
    return SumNoise(shape_clip(spec.public.n_train, mu), mu, k)


def fixed_sum_noise(clip: WholeClip, k: int, epsilon: float, spec: LabelSpec[Any]) -> SumNoise:
    """Clip and mu of independent noise for rows of the length of the clip."""
    delta, n = delta_of(spec), spec.public.n_train
    target = noise_epsilon(epsilon, delta, "gaussian")
    _, mu = fixed_noise(clip.length(k), n, target, delta, spec.options.sigma, labels_of(spec))
    return SumNoise(clip, mu, k)


def local_shape(
    trainer: Party, X: np.ndarray, epsilon: float, spec: LabelSpec[Any], factor: float, planner: Planner
) -> Clear:
    """Distribution, ridge, predicted excess and covariance of planned noise, 3 + k (k + 1) / 2 numbers of features."""
    plan, k = planner(X, epsilon, spec, factor), X.shape[1]
    covariance = np.zeros((k, k)) if plan.covariance is None else plan.covariance
    scalars = [plan.distribution == "rr", plan.ridge[-1], plan.predicted_excess]
    numbers = np.concatenate([scalars, covariance[np.triu_indices(k)]])
    return open_to_readers(SHAPE, Clear(numbers, units=("features",), owner=trainer.name), BECAUSE)


def plan_of_shape(shape: np.ndarray, n: int, k: int, epsilon: float, spec: LabelSpec[Any]) -> ReleasePlan:
    """The plan whose noise was shown; mu and the clip guarantee it for any shape."""
    delta, group = delta_of(spec), labels_of(spec)
    covariance = np.zeros((k, k))
    covariance[np.triu_indices(k)] = shape[3:]
    covariance += np.triu(covariance, 1).T
    distribution = "rr" if shape[0] else "gaussian"
    mu = None if shape[0] else shared_mu(epsilon, delta, group)
    certified = (
        noise_epsilon(epsilon, delta, distribution) / group if mu is None else float(gaussian_epsilon(mu, delta))
    )
    return ReleasePlan(
        distribution=distribution,
        covariance=covariance if np.any(covariance) else None,
        ridge=ridge_vector(float(shape[1]), k),
        epsilon=certified,
        delta=delta,
        mu=mu,
        predicted_excess=float(shape[2]),
        certified=True,
        epsilon_claimed=epsilon,
        clip=None if mu is None else shape_clip(n, mu),
        clip_whitened=mu is not None and np.isfinite(mu),
    )


def released_dot_product(
    run: Run, X: np.ndarray, plan: ReleasePlan, noise: SumNoise | None
) -> tuple[np.ndarray, ReleasePlan]:
    """The noisy dot-product at the trainer, and the plan with the noise of all holders; ``noise`` of several."""
    trainer, *holders = run.parties
    train, options = run.fold.train, run.spec.options
    if noise is None:
        return run.send(holders[0], trainer, "noisy dot-product", local_release, train, X, plan, run.rng_for), plan
    n = run.spec.public.n_train
    total = public_sum(noise.clip, n, noise.entries)
    keys = agree_on_keys(run, holders, SERVER)
    sums, largest = run.each(holders, local_sum, train, X, plan), largest_entry(total, n)
    release = noisy_sum(run, keys, "dot-product", sums, total, noise.mu, colluders=options.colluders, largest=largest)
    opened = run.send(SERVER, trainer, "noisy dot-product", server_release, release)
    noisy_dot = run.at(trainer.name, undo_whitening, opened, plan)
    return noisy_dot, run.among((trainer, *holders), with_noise, plan, factor_of(run))


def server_release(release: Release) -> Release:
    """The opened sum of all holders, which was paid for."""
    return release


def with_noise(plan: ReleasePlan, factor: float) -> ReleasePlan:
    """The plan with the covariance of the noise that the sum has."""
    return plan if plan.covariance is None else replace(plan, covariance=factor * plan.covariance)


def factor_of(run: Run) -> float:
    """Variance of the noise of all holders of labels in units of that of one for all of them."""
    options = run.spec.options
    return noise_factor("shared", len(run.parties) - 1, options.colluders) if options.holders == "rows" else 1.0


def agreed_plan(run: Run, X: np.ndarray, k: int, planner: Planner) -> ReleasePlan:
    """The plan of all who have the features (N, k); where its shape is shown, of that alone."""
    trainer, *holders = run.parties
    spec, n = run.spec, run.spec.public.n_train
    if not spec.options.publish_shape:
        return run.among(run.parties, planner, X, run.epsilon, spec, factor_of(run))
    shape = run.broadcast(trainer, holders, SHAPE, local_shape, X, run.epsilon, spec, factor_of(run), planner)
    return run.among(run.parties, plan_of_shape, shape, n, k, run.epsilon, spec)


def server_fit(
    X: np.ndarray,
    noisy_dot: np.ndarray,
    plan: ReleasePlan,
    options: WalrOptions,
    rng_for: Callable,
    no_intervals: str = "",
) -> LabelEstimate:
    """The trainer's fit on the release; ``no_intervals`` is the reason of a model that has none."""
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
    errors, why = None, ""
    sentence = f"trainer={options.trainer!r} need not have reached an optimum"
    intervals = Intervals(reason=reason_of("not at an optimum", sentence))
    if options.trainer != "newton":
        errors = descent_deviations(X, fitted.theta, plan, options.learning_rate, options.steps)
        why = OVERSHOT if errors is None else ""
    elif fitted.converged:
        errors = coefficient_deviations(X, fitted.theta, plan)
        intervals = Intervals(reason=no_intervals) if no_intervals else released_intervals(X, noisy_dot, plan)
    else:
        why = "the Newton steps have not reached an optimum"
    results = fitted.theta, plan.epsilon_claimed, plan, noisy_dot, numbers, errors, plan.link, intervals, why
    return LabelEstimate(*results, verdict.status, verdict.reason)
