"""A method of your own, without a fork: one Newton step from zero on a noisy label sum.

Named by its address in a configuration (config/own_method.example.yaml) and checked by
`./run check-method config.own_method`.  docs/own_method.md explains every part.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from partywise.experiment.study import Protocol
from partywise.federation.parties import Party
from partywise.federation.run import Run
from partywise.methods.logistic.model import LabelEstimate, delta_of
from partywise.privacy.accounted_values import Clear
from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.mechanisms.gaussian import Gaussian
from partywise.privacy.mechanisms.release import Release
from partywise.privacy.statistics.records import label_dot_product


@dataclass(frozen=True)
class OneStepOptions:
    """Keys beside ``protocol`` in the configuration.

    ridge : added to the diagonal of the curvature X'X / 4N
    """

    ridge: float = 1e-3
    uses_epsilon = True

    def __post_init__(self) -> None:
        if not self.ridge >= 0:
            raise ValueError(f"ridge is {self.ridge}: it must be at least 0.")


def local_features(trainer: Party, train: np.ndarray) -> Clear:
    """The trainer's training rows (N, k): public where a label is protected, unprotected in every other unit."""
    return Clear(trainer.block["X"][train], units=("features",), owner=trainer.name)


def local_sum(measurer: Party, train: np.ndarray, X: np.ndarray, mu: float, rng_for: Callable) -> Release:
    """The measurer's X'y / N (k,) with Gaussian noise at the exact level: the one thing that costs anything."""
    bounded = label_dot_product(X, measurer.block["y"][train])
    return Gaussian(mu=mu)(bounded, rng_for("one step"), owner=measurer.name, release_id="label sum")


def server_step(X: np.ndarray, noisy_sum: np.ndarray, ridge: float) -> np.ndarray:
    """Coefficients (k,) after one Newton step from zero, where every predicted probability is one half."""
    n, k = X.shape
    curvature = X.T @ X / (4 * n) + ridge * np.eye(k)
    return np.linalg.solve(curvature, noisy_sum - X.mean(axis=0) / 2)


def fit(run: Run) -> LabelEstimate:
    """Show the features, release the label sum, take the step."""
    trainer, measurer = run.parties
    mu = gdp_mu(run.epsilon, delta_of(run.spec))
    X = run.send(trainer, measurer, "features", local_features, run.fold.train)
    noisy_sum = run.send(measurer, trainer, "noisy label sum", local_sum, run.fold.train, X, mu, run.rng_for)
    theta = run.at(trainer.name, server_step, X, noisy_sum, run.spec.options.ridge)
    return run.at(trainer.name, LabelEstimate, theta, run.epsilon)


PROTOCOL = Protocol(OneStepOptions, study="label_private")
