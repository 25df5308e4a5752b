"""Seed 002 under audit: one noisy sum of features weighted by labels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ...audits.exposure import Exposure, Task
from ...audits.pairs import gaussian_exposure
from ...audits.worlds import AuditData, World
from ...privacy.statistics.bounded import Bounded
from ...privacy.statistics.records import label_dot_product
from .claims import SumSettings


def flipped_label(
    settings: SumSettings, spec: object, rng_for: Callable[..., np.random.Generator], resources: Path
) -> AuditData:
    """The label of the longest record flips; ordinarily that of an average one."""
    rng = rng_for("records")
    x = np.repeat(rng.random((1, settings.n, settings.k)), 4, axis=0)
    y = np.repeat((rng.random((1, settings.n)) < 0.3).astype(float), 4, axis=0)
    # The largest norm of all four worlds is that of record 1, so features are the same in all of them.
    x[:, 1], x[:2, 0] = 1.0, 1.0
    y[0::2, 0], y[1::2, 0] = 1.0, 0.0
    return AuditData(x, y)


def label_sum_published(task: Task[SumSettings]) -> Exposure:
    """X'y / N plus N(0, sigma^2 I), sigma = max ||x_i|| / N sqrt(2 log(1.25 / delta)) / epsilon."""
    return _label_sum_exposure(task, task.classic)


def label_sum_corrected(task: Task[SumSettings]) -> Exposure:
    """X'y / N plus N(0, sigma^2 I), sigma at the analytic level."""
    return _label_sum_exposure(task, task.analytic)


def _label_sum_exposure(task: Task[SumSettings], multiplier: float) -> Exposure:
    """The guarantee is about one label; the features are public to the observer who measures the labels."""
    noise = _sum(task.worst[0]).certificate.value * multiplier
    return gaussian_exposure(task, _sum, noise, {"noise_sd": noise}, epsilon_claimed=task.epsilon, trust_model="label")


def _sum(world: World) -> Bounded:
    return label_dot_product(world.x, world.y)
