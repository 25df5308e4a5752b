"""Links of binary responses: how a linear predictor z = x'theta becomes the probability of label 1, and the losses.

This is the one place of the logistic formula: trainers, solvers, protocols, evaluators and estimators ask a link.
Another link is a subclass of `Link`; what is proved or implemented for the logit alone asks `require_logit`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

# e^300 is 2e130: its square, times a sum over many records, is a number still.
LARGEST_EXPONENT = 300.0


@dataclass(frozen=True)
class Link(ABC):
    """A mean that rises from 0 to 1, and the matching loss b(z) - y z with b' = mean.

    Labels enter that loss through X'y alone, for every mean: one noisy dot-product gives a private fit. It is the
    negative log-likelihood for the logit, up to the scale of z, and no other. Arrays keep the shape of the margins z.
    """

    name: str
    # Greatest slope of the mean, and a size of margins that makes it exactly 0 or 1.
    largest_slope: float
    far_margin: float

    @abstractmethod
    def mean(self, margins: np.ndarray) -> np.ndarray:
        """Probabilities of label 1."""

    @abstractmethod
    def inverse(self, means: np.ndarray) -> np.ndarray:
        """Margins that have these means."""

    @abstractmethod
    def slope(self, margins: np.ndarray) -> np.ndarray:
        """Derivative of the mean, exact in relative terms also where the mean is all but 1."""

    @abstractmethod
    def antiderivative(self, margins: np.ndarray) -> np.ndarray:
        """b(z), with b(-infinity) = 0."""

    @abstractmethod
    def log_loss(self, margins: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Negative log-likelihood of each label, in nats."""

    def information(self, margins: np.ndarray) -> np.ndarray:
        """Expected second derivative of the log-loss, slope^2 / (p (1 - p)); 0 where p rounds to 0 or 1."""
        means = self.mean(margins)
        variance = means * (1.0 - means)
        return np.divide(self.slope(margins) ** 2, variance, out=np.zeros_like(variance), where=variance > 0)

    def residual(self, margins: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(y - p) / slope: how far a working response lies from its margin."""
        return (y - self.mean(margins)) / self.slope(margins)

    def score(self, margins: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Minus the derivative of the log-loss: y - p for the logit."""
        return self.information(margins) * self.residual(margins, y)

    def loss(self, margins: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Matching loss b(z) - y z of each label."""
        return self.antiderivative(margins) - y * margins

    def total(self, margins: np.ndarray) -> tuple[float, np.ndarray]:
        """Sum of b(z) over the margins, and their means."""
        return float(self.antiderivative(margins).sum()), self.mean(margins)

    def centred_mean(self, margins: np.ndarray) -> np.ndarray:
        """Twice the mean less 1; the margins may be overwritten."""
        return 2.0 * self.mean(margins) - 1.0

    def label(self, margins: np.ndarray) -> np.ndarray:
        """The likelier label, 0 or 1."""
        return (self.mean(margins) > 0.5).astype(int)


@dataclass(frozen=True)
class Logit(Link):
    """mean 1 / (1 + exp(-z)), b(z) = log(1 + exp(z)); nothing overflows and no large terms cancel."""

    name: str = "logit"
    largest_slope: float = 0.25
    far_margin: float = 1e3

    def mean(self, margins: np.ndarray) -> np.ndarray:
        return _sigmoid(margins, np.exp(-np.abs(margins)))

    def inverse(self, means: np.ndarray) -> np.ndarray:
        return logit(means)

    def slope(self, margins: np.ndarray) -> np.ndarray:
        tail = np.exp(-np.abs(margins))
        return tail / (1.0 + tail) ** 2

    information = slope

    def score(self, margins: np.ndarray, y: np.ndarray) -> np.ndarray:
        return y - self.mean(margins)

    def residual(self, margins: np.ndarray, y: np.ndarray) -> np.ndarray:
        # 1 / p of a one and -1 / (1 - p) of a zero.
        sign = 2 * y - 1
        return sign * (1 + np.exp(np.clip(-sign * margins, -LARGEST_EXPONENT, LARGEST_EXPONENT)))

    def antiderivative(self, margins: np.ndarray) -> np.ndarray:
        return np.maximum(margins, 0.0) + np.log1p(np.exp(-np.abs(margins)))

    def log_loss(self, margins: np.ndarray, y: np.ndarray) -> np.ndarray:
        # log(1 + e^z) - y z = log(1 + e^(-s)) with s = z or -z.
        return self.antiderivative(np.where(y == 1, -margins, margins))

    loss = log_loss

    def total(self, margins: np.ndarray) -> tuple[float, np.ndarray]:
        tail = np.exp(-np.abs(margins))
        return float(np.maximum(margins, 0.0).sum() + np.log1p(tail).sum()), _sigmoid(margins, tail)

    def centred_mean(self, margins: np.ndarray) -> np.ndarray:
        # tanh(z/2) = 2 mean(z) - 1.
        margins *= 0.5
        return np.tanh(margins, out=margins)

    def label(self, margins: np.ndarray) -> np.ndarray:
        return (margins > 0).astype(int)


LOGIT = Logit()


def require_logit(link: Link, what: str, remedy: str) -> None:
    """Raise a `ValueError` for another link than the logit."""
    if link != LOGIT:
        raise ValueError(f"link={link.name!r}: {what} for the logit alone; {remedy}.")


def _sigmoid(z: np.ndarray, tail: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-z)) from exp(-|z|)."""
    return np.where(z >= 0, 1.0, tail) / (1.0 + tail)
