"""What everyone may know before a label is read, the link and the plan included, and what a fit returns.

The link, how a margin z = x'theta becomes the probability of label 1, is the one place of the logistic formula:
objective, trainers, the solver of many releases, evaluator and estimator ask the link that a `Plan` holds. Another link
is a subclass of `Link`, given to `fixed_plan` or `label_noise_plan`; what is proved or implemented for the logit alone
asks `require_logit`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np


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
class Link(ABC):
    """A mean that rises from 0 to 1, and the matching loss b(z) - y z with b' = mean.

    Labels enter that loss through X'y alone, whatever the mean is: one noisy dot-product gives a private fit. It is the
    negative log-likelihood for the logit, up to the scale of z, and no other.
    """

    name: str
    # Greatest slope of the mean, and a size of margins that makes it exactly 0 or 1.
    largest_slope: float
    far_margin: float

    @abstractmethod
    def mean(self, margins: np.ndarray) -> np.ndarray:
        """Probabilities of label 1, in the shape of the margins."""

    @abstractmethod
    def slope(self, margins: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Derivative of the mean at margins whose means are known, in their shape."""

    @abstractmethod
    def antiderivative(self, margins: np.ndarray) -> np.ndarray:
        """b(z) in the shape of the margins, with b(-infinity) = 0."""

    @abstractmethod
    def log_loss(self, margins: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Negative log-likelihood of each label, in nats, in the shape of the margins."""

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

    def slope(self, margins: np.ndarray, means: np.ndarray) -> np.ndarray:
        return means * (1.0 - means)

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


@dataclass(frozen=True, eq=False)
class Plan:
    """How a dot-product will be released and fitted; computed from public inputs only.

    Parameters
    ----------
    law : {"gaussian", "rr"}
        Gaussian noise on v (central), or randomised response on every label (local), debiased.
    covariance : ndarray of shape (k, k) or None
        Of the Gaussian noise of one round, on the scale of v; None for randomised response and without noise.
    ridge : ndarray of shape (k,)
        Diagonal of Lambda.
    epsilon : float
        What all rounds together certify at ``delta`` for one label; randomised response: at delta = 0.
    delta : float
    mu : float or None
        Gaussian-DP parameter of one round; infinity without noise, None for randomised response.
    predicted_excess : float
        The planner's prediction of the excess risk; NaN for a plan that was not optimised.
    certified : bool
        Whether ``epsilon`` is at most the claim.
    epsilon_claimed : float
        By the formula that set the noise.
    power : float or None
        Exponent a of the shape (X'X/N + r)^a of the covariance.
    rounds, rate : int, float
        Noisy releases of v, and the probability with which Poisson sampling takes a label into one of them.
    intercept : bool
        Whether column 0 of the features is one.
    link : Link
        Of everything that is fitted and measured with the plan; the release knows none.

    Raises
    ------
    ValueError
        If the excess risk is predicted for another link than the logit, whose curvature the planner assumes.
        If ``epsilon`` or ``mu`` is NaN, or the covariance is not finite with a positive diagonal: no such plan says
        what it costs.
    """

    law: str
    covariance: np.ndarray | None
    ridge: np.ndarray
    epsilon: float
    delta: float
    mu: float | None
    predicted_excess: float
    certified: bool
    epsilon_claimed: float
    power: float | None = None
    rounds: int = 1
    rate: float = 1.0
    intercept: bool = True
    link: Link = LOGIT

    def __post_init__(self) -> None:
        if not np.isnan(self.predicted_excess):
            require_logit(self.link, "plan_label_dp predicts the excess risk", "use fixed_plan")
        for name in ("epsilon", "mu"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise ValueError(f"{name}={value!r} of a plan must be non-negative.")
        variances = np.ones(1) if self.covariance is None else np.diagonal(self.covariance)
        if not (np.all(variances > 0) and (self.covariance is None or np.all(np.isfinite(self.covariance)))):
            raise ValueError(
                f"covariance of a plan for epsilon={self.epsilon_claimed!r} has variances from {variances.min()} to "
                f"{variances.max()}, beyond what a float can hold; ask for another epsilon or delta, or scale the "
                "features."
            )

    @property
    def deviation(self) -> float:
        """Root mean variance of the Gaussian noise on one entry; 0 without noise."""
        return 0.0 if self.covariance is None else float(np.sqrt(np.trace(self.covariance) / len(self.covariance)))


@dataclass(frozen=True)
class Estimate:
    """What every method of the study returns.

    theta : (k,) coefficients
    epsilon_claimed : by the formula that set the noise
    plan : noise and ridge of a released dot-product, else None
    noisy_dot : (k,) the release itself, else None
    noise_errors : (k,) standard deviation that the noise of privacy gives each coefficient, to first order and from
        public features and releases alone; None where steps do not settle, and where features are private
    numbers : further scalars of the fit (steps, bounded, ...)
    link : how margins X theta become probabilities
    """

    theta: np.ndarray
    epsilon_claimed: float
    plan: Plan | None = None
    noisy_dot: np.ndarray | None = None
    numbers: dict[str, float | int | bool | str | None] = field(default_factory=dict)
    noise_errors: np.ndarray | None = None
    link: Link = LOGIT


def labels_of(spec: Any) -> int:
    """Labels that are protected together: those of one person, at most, where the study protects persons."""
    group = getattr(spec.settings, "rows_per_user", None)
    return group if group is not None and getattr(spec.study, "unit", None) == "user_label" else 1


def delta_of(spec: Any) -> float:
    """delta of the case in force: its own, or that of the study."""
    return spec.study.delta if spec.settings.delta is None else spec.settings.delta
