"""Public facts before a label is read, the objective, the link and the plan, and the estimate that a fit returns.

The objective is a dot-product with the labels and a ridge (`partywise.models.objective`). Column 0 of X is the
intercept (all ones), which the ridge penalises a hundred times less than the other columns.

The link that a `ReleasePlan` holds is that of all that is fitted and measured with it: another one
(`partywise.models.links`) is given to `fixed_plan` or `label_noise_plan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from ...federation.folds import DeltaConstant, ProtocolSpec
from ...federation.parties import Party
from ...models.intervals import NOT_COMPUTED, Intervals
from ...models.links import LOGIT, Link, require_logit
from ...models.objective import check_diagonal, check_features, check_labels
from ...privacy.accounted_values import Clear
from ...privacy.statistics.clips import WholeClip
from .cells import Cells

INTERCEPT = 0
INTERCEPT_SHARE = 0.01


@dataclass(frozen=True)
class LabelFacts:
    """Public facts before a label is read: the sizes, and which rows train."""

    n_train: int
    n_features: int
    feature_names: tuple[str, ...]
    # Number of features whose range was read from the table, so that one row can rescale all others.
    from_the_data: int = 0
    # Of every feature without the intercept the number of its variable, alike for indicators of one; -1 of a number.
    variables: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class ReleasePlan:
    """Plan of the release of a dot-product and of its fit; computed from public inputs only."""

    # "gaussian": noise on v (central), or "rr": randomised response on every label (local), debiased.
    distribution: str
    # (k, k) of the Gaussian noise of one round, on the scale of v; None for randomised response and without noise.
    covariance: np.ndarray | None
    # Diagonal of Lambda, shape (k,).
    ridge: np.ndarray
    # What all rounds together certify at ``delta`` for one label; randomised response: at delta = 0.
    epsilon: float
    delta: float
    # Gaussian-DP parameter of one round; infinity without noise, None for randomised response.
    mu: float | None
    # NaN for a plan that was not optimised.
    predicted_excess: float
    # Whether ``epsilon`` is at most the claim.
    certified: bool
    # By the formula that set the noise.
    epsilon_claimed: float
    # Exponent a of the shape (X'X/N + r)^a of the covariance.
    power: float | None = None
    # Noisy releases of v, and the probability with which Poisson sampling takes a label into one of them.
    rounds: int = 1
    rate: float = 1.0
    # Public bound to which every row is shrunk; None: that of the longest row, since features are public.
    clip: WholeClip | None = None
    # Whether the clip is of L^-1 x, the rows in the geometry of the noise, and not of the rows themselves.
    clip_whitened: bool = False
    # Whether column 0 of the features is one.
    intercept: bool = True
    # Of everything that is fitted and measured with the plan; the release knows none.
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
class LabelEstimate:
    """Estimate that every method of the study returns."""

    # Coefficients (k,).
    theta: np.ndarray
    # By the formula that set the noise.
    epsilon_claimed: float
    # Noise and ridge of a released dot-product, and the release (k,) itself.
    plan: ReleasePlan | None = None
    noisy_dot: np.ndarray | None = None
    # Further scalars of the fit: steps, bounded, ...
    numbers: dict[str, float | int | bool | str | None] = field(default_factory=dict)
    # (k,) standard deviation that the noise of privacy gives each coefficient, to first order and from public features
    # and releases alone; None where ``noise_errors_reason`` states why.
    noise_errors: np.ndarray | None = None
    link: Link = LOGIT
    # Of the coefficients that made the labels, over labels and noise, or why there are none.
    intervals: Intervals = NOT_COMPUTED
    noise_errors_reason: str = ""
    # Whether Newton's steps reached their optimum, and what to give where they did not.
    status: str = "ok"
    reason: str = ""
    # Cells of the features whose indicators theta is of; None: of the features themselves.
    cells: Cells | None = None

    def design(self, X: np.ndarray) -> np.ndarray:
        """Columns (N, k) that the coefficients are of."""
        return X if self.cells is None else self.cells.indicators(X)


class LabelCase(Protocol):
    """Settings of a case: the planned ridge, and a delta in place of the study's."""

    @property
    def tau(self) -> float: ...
    @property
    def delta(self) -> float | None: ...


Options = TypeVar("Options", covariant=True)
# What a protocol of this package may know besides the data, by its options.
LabelSpec = ProtocolSpec[Options, DeltaConstant, LabelCase, LabelFacts]


def label_holders(y: np.ndarray, names: Sequence[str]) -> list[Party]:
    """The holders of labels: one has all, several an equal part each, in the order of the rows."""
    if len(names) == 1:
        return [Party(names[0], "active", {"y": y})]
    parts = np.array_split(np.arange(len(y)), len(names))
    return [Party(name, "active", {"y": y[rows], "rows": rows}) for name, rows in zip(names, parts, strict=True)]


def variables_of(X: np.ndarray) -> tuple[int, ...]:
    """Number of the variable of each feature (N, p) by its values; one of 0 and 1 alone has two levels."""
    binary = np.all((X == 0) | (X == 1), axis=0).tolist()
    return tuple(place if two_levels else -1 for place, two_levels in enumerate(binary))


def labels_of(spec: LabelSpec[object]) -> int:
    """Labels that are protected together: those of one person, at most, where the study protects persons."""
    group = getattr(spec.settings, "rows_per_user", None)
    return group if group is not None and getattr(spec.study, "unit", None) == "user_label" else 1


def delta_of(spec: LabelSpec[object]) -> float:
    """delta of the case in force: its own, or that of the study."""
    return spec.study.delta if spec.settings.delta is None else spec.settings.delta


def local_features(trainer: Party, train: np.ndarray) -> Clear:
    """The trainer's training rows (N, k), for the measurer of the labels.

    Features are public where the label of one example is the unit: sending them costs nothing for the unit ``label``
    and infinity for ``row``, which the ledger shows.
    """
    return Clear(trainer.block["X"][train], units=("features",), owner=trainer.name)


def dot_product(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """v = X'y / N, shape (k,): reads labels, so it is released through a mechanism or kept."""
    X = check_features(X)
    return check_labels(y, len(X)) @ X / len(X)


def ridge_vector(strength: float, k: int, intercept: bool = True) -> np.ndarray:
    """Diagonal of Lambda, shape (k,): ``strength``, and a hundredth of it for an intercept in column 0."""
    if not (np.isfinite(strength) and strength >= 0):
        raise ValueError(f"ridge={strength!r} must be finite and at least 0.")
    ridge = np.full(k, float(strength))
    if intercept:
        ridge[INTERCEPT] *= INTERCEPT_SHARE
    return ridge


def check_intercept(X: np.ndarray, intercept: bool) -> None:
    """Raise a named `ValueError` unless column 0 is constant, where it is to be the intercept."""
    first = X[:, INTERCEPT]
    if intercept and np.any(first != first[0]):
        raise ValueError(
            f"X[:, 0] runs from {float(first.min())!r} to {float(first.max())!r}: column 0 is the intercept, penalised "
            "a hundredth as much as the others; put a column of ones first, or plan with intercept=False."
        )


def check_ridge(ridge, k: int, intercept: bool = True) -> np.ndarray:
    """Return the diagonal of Lambda, shape (k,), from a scalar (see `ridge_vector`) or a vector of length k."""
    if np.ndim(ridge) == 0:
        return ridge_vector(float(ridge), k, intercept)
    return check_diagonal(ridge, k)
