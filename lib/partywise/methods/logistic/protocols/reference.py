"""Protocol without privacy: the measurer sends its labels, the trainer fits them.

The floor of every comparison, and the trainers without noise: how far each of them gets, the ordinary mini-batch
(labels of the batch) included, which the source's hybrid replaces.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypedDict

import numpy as np

from ....core.verdicts import first_fault, rank_verdict
from ....federation.parties import Party
from ....federation.run import Run
from ....models.intervals import Intervals, reason_of
from ....models.newton_step import dependent_columns
from ....privacy.accounted_values import Clear
from ..model import LabelEstimate, dot_product
from ..noise import released_intervals
from ..options import LabelReferenceOptions
from ..planner import fixed_plan
from ..trainers import fit_walr, ordinary_mini_batch


class Descent(TypedDict):
    """Arguments of every trainer."""

    rng: np.random.Generator
    steps: int
    batch_size: int
    learning_rate: float


def local_labels(measurer: Party, train: np.ndarray) -> Clear:
    """The measurer's training labels (N,), unprotected."""
    return Clear(measurer.block["y"][train], units=("label",), owner=measurer.name)


def local_fit(
    trainer: Party,
    train: np.ndarray,
    y: np.ndarray,
    names: Sequence[str],
    options: LabelReferenceOptions,
    rng_for: Callable,
) -> LabelEstimate:
    """The trainer's fit on labels that it was shown."""
    X, rng = trainer.block["X"][train], rng_for("mini-batches")
    steps, rate, batch = options.steps, options.learning_rate, min(options.batch_size, len(X))
    numbers: dict[str, float | int | bool | str | None] = {"steps": steps, "ridge": options.ridge}
    plan = fixed_plan(X, np.inf, 0.5, ridge=options.ridge)
    descent: Descent = {"rng": rng, "steps": steps, "batch_size": batch, "learning_rate": rate}
    if options.trainer == "minibatch":
        theta = ordinary_mini_batch(X, y, options.ridge, link=plan.link, **descent)
        return LabelEstimate(theta, float("inf"), numbers=numbers, link=plan.link)
    dot = dot_product(X, y)
    walr_fit = fit_walr(X, dot, plan, options.trainer, **descent)
    numbers["steps"] = walr_fit.steps
    intervals = Intervals(
        reason=reason_of("not at an optimum", f"trainer={options.trainer!r} need not have reached an optimum")
    )
    if options.trainer == "newton" and walr_fit.converged:
        intervals = released_intervals(X, dot, plan)
    verdict = walr_fit.verdict(options.trainer)
    if options.trainer == "newton" and not options.ridge and X.shape[1] < len(X):
        verdict = first_fault((verdict, rank_verdict([names[1 + place] for place in dependent_columns(X[:, 1:])])))
    return LabelEstimate(
        walr_fit.theta,
        float("inf"),
        numbers=numbers,
        link=plan.link,
        intervals=intervals,
        status=verdict.status,
        reason=verdict.reason,
    )


def fit(run: Run) -> LabelEstimate:
    """Labels in the clear."""
    trainer, measurer = run.parties
    train = run.fold.train
    y = run.send(measurer, trainer, "labels", local_labels, train)
    return run.at(trainer, local_fit, train, y, run.spec.public.feature_names, run.spec.options, run.rng_for)
