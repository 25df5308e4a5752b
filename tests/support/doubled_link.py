"""A link that is not the logit and whose fits are known: mean expit(2 z), half the logit's coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from partywise.models.links import Link


@dataclass(frozen=True)
class Doubled(Link):
    """mean expit(2 z)."""

    name: str = "doubled"
    largest_slope: float = 0.5
    far_margin: float = 500.0

    def mean(self, margins):
        return expit(2 * margins)

    def inverse(self, means):
        return logit(means) / 2

    def slope(self, margins):
        return 2 * expit(2 * margins) * expit(-2 * margins)

    def antiderivative(self, margins):
        return np.logaddexp(0, 2 * margins) / 2

    def log_loss(self, margins, y):
        return np.logaddexp(0, np.where(y == 1, -2, 2) * margins)


DOUBLED = Doubled()
