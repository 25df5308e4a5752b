"""Protocol: objective perturbation (Kifer, Smith and Thakurta 2012), which protects whole rows.

Comparator G: its unit is one row, labels and features, so its noise pays for more than the other methods promise.
The measurer holds the labels and sees the features, fits by itself, and releases the coefficients (central).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ....federation.parties import Party
from ....federation.run import Run
from ....models.intervals import REASONS, Intervals, reason_of
from ....privacy.mechanisms.release import Release
from ..model import LabelEstimate, LabelSpec, delta_of, local_features
from ..perturbation import objective_perturbation, tilt_deviations


def local_coefficients(
    measurer: Party, train: np.ndarray, X: np.ndarray, epsilon: float, spec: LabelSpec[object], rng_for: Callable
) -> Release:
    """Coefficients (k,) of the perturbed objective; of ranges read from the table nothing is promised for rows."""
    y = measurer.block["y"][train]
    unit = unit_of(spec)
    return objective_perturbation(
        X,
        y,
        epsilon,
        delta_of(spec),
        rng_for("objective"),
        owner=measurer.name,
        unit=unit,
        release_id="coefficients",
    )


def unit_of(spec: LabelSpec[object]) -> str:
    """Protected unit: labels alone where the ranges of features were read from the table."""
    return "label" if spec.public.from_the_data else "row"


def server_estimate(X: np.ndarray, theta: np.ndarray, epsilon: float, spec: LabelSpec[object]) -> LabelEstimate:
    """The estimate; what its noise gives each coefficient takes the features, and is None where they are private."""
    errors = None
    if unit_of(spec) == "label":
        errors = tilt_deviations(X, theta, epsilon, delta_of(spec))
    why = REASONS["private features"] if errors is None else ""
    intervals = Intervals(reason=reason_of("private features"))
    return LabelEstimate(theta, epsilon, noise_errors=errors, intervals=intervals, noise_errors_reason=why)


def fit(run: Run) -> LabelEstimate:
    """Send the features to the measurer, get coefficients back."""
    trainer, measurer = run.parties
    train, spec = run.fold.train, run.spec
    X = run.send(trainer, measurer, "features", local_features, train)
    inputs = (train, X, run.epsilon, spec, run.rng_for)
    theta = run.send(measurer, trainer, "coefficients", local_coefficients, *inputs)
    return run.at(trainer.name, server_estimate, X, theta, run.epsilon, spec)
