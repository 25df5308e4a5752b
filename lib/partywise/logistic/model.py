"""What everyone may know before a label is read, and what a fit returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .plan import Plan


@dataclass(frozen=True)
class PublicFacts:
    """What everyone knows before a label is read: the sizes, and which rows train.

    from_the_data : number of features whose range was read from the table, so that one row can rescale all others
    """

    n_train: int
    n_features: int
    feature_names: tuple[str, ...]
    from_the_data: int = 0


@dataclass(frozen=True)
class Estimate:
    """What every method of the study returns.

    theta : (k,) coefficients
    epsilon_claimed : by the formula that set the noise
    plan : noise and ridge of a released dot-product, else None
    noisy_dot : (k,) the release itself, else None
    numbers : further scalars of the fit (steps, bounded, ...)
    """

    theta: np.ndarray
    epsilon_claimed: float
    plan: Plan | None = None
    noisy_dot: np.ndarray | None = None
    numbers: dict[str, float | int | bool | str | None] = field(default_factory=dict)


def delta_of(spec: Any) -> float:
    """delta of the case in force: its own, or that of the study."""
    return spec.study.delta if spec.settings.delta is None else spec.settings.delta
