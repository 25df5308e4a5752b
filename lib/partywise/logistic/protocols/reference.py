"""Protocol without privacy: the measurer sends its labels, the trainer fits them.

The floor of every comparison, and the trainers without noise: how far each of them gets, the ordinary mini-batch
(labels of the batch) included, which the source's hybrid replaces.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...federation.run import Run
from ...privacy.accounted import Clear
from ..model import Estimate
from ..objective import dot_product
from ..options import ReferenceOptions
from ..planner import fixed_plan
from ..trainers import fit_walr, ordinary_mini_batch
from .common import local_labels


def server_reference(
    X: np.ndarray, y: np.ndarray, options: ReferenceOptions, rng: np.random.Generator
) -> tuple[np.ndarray, int, bool]:
    """Coefficients, steps and whether they converged."""
    steps, rate, batch = options.steps, options.learning_rate, min(options.batch_size, len(X))
    if options.trainer == "minibatch":
        theta = ordinary_mini_batch(X, y, options.ridge, rng, steps=steps, batch_size=batch, learning_rate=rate)
        return theta, steps, False
    plan = fixed_plan(X, np.inf, 0.5, ridge=options.ridge)
    found = fit_walr(
        X, dot_product(X, y), plan, options.trainer, rng=rng, steps=steps, batch_size=batch, learning_rate=rate
    )
    return found.theta, found.steps, found.converged


def fit(run: Run) -> Estimate:
    """Labels in the clear."""
    parties, channel, fold, rng_for, spec = run.parties, run.channel, run.fold, run.rng_for, run.spec
    trainer, measurer = parties
    labels = Clear(local_labels(measurer, fold.train), units=("label",), owner=measurer.name)
    y = channel.send(measurer.name, trainer.name, "labels", labels)
    X = trainer.block["X"][fold.train]
    theta, steps, converged = server_reference(X, np.asarray(y), spec.options, rng_for("mini-batches"))
    numbers: dict[str, Any] = {"steps": steps, "ridge": spec.options.ridge}
    if spec.options.trainer == "newton" and not converged:
        numbers["status"] = "not_converged"
    return Estimate(theta, float("inf"), numbers=numbers)
