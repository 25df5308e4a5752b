"""Options of the protocols of the label-private study; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, final

from ...core.checks import (
    Count,
    Natural,
    NotNegative,
    Positive,
    Probability,
    Range,
    check_fields,
    check_unread_options,
)

FIRST_ORDER = ("steps", "batch_size", "learning_rate")

# Epsilons whose noise is computed as asked. Below, a variance has no float and the accountant of sampled rounds cannot
# tell epsilon from zero: refused. Above, up to infinity, the noise of the largest is taken: it costs less than asked.
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-9, 1e6
# Place without data that opens the sum of several holders of labels.
SERVER = "server"
# Why a release has no folder.
LONGEST_ROW = (
    "the noise depends on the longest row, which no reader has (bound: declared states a public row_radius, and "
    "sqrt_k that of k features in [0, 1] where noise iid has it)"
)
SHAPE = (
    "the noise depends on features that no reader has (publish_shape: true consents to show k (k + 1) / 2 numbers of "
    "them)"
)


def check_row_radius(bound: str, row_radius: float | None) -> None:
    """Raise a named ValueError unless a declared bound, and only that, has its length."""
    if (row_radius is not None) != (bound == "declared"):
        raise ValueError(
            f"row_radius is {row_radius!r} with bound {bound!r}: bound 'declared' needs the public length of a row, "
            "and no other bound reads it."
        )


@dataclass(frozen=True)
class HoldersOptions:
    """Options of one release of the labels of one or several holders.

    holders : ``one`` measurer has all labels, or several those of disjoint ``rows``; of these each adds a share of the
        Gaussian noise, and a server opens the sum alone
    colluders : holders that may join what they know so that epsilon holds against them (at most all but one); only
        with holders ``rows``
    publish_shape : show planned noise, k (k + 1) / 2 numbers of the features, to all who see the release
    radius : of ridge ``fixed``, whose sigma is that of the noise of all holders together
    noise_draws : the evaluator fits this many further what-if releases of the same plan, which are never sent
    audit_draws : with this many what-if releases for each of two neighbours it attacks the noise
    """

    holders: Literal["one", "rows"] = "one"
    colluders: Natural = 1
    publish_shape: bool = False
    radius: Positive = 10.0
    noise_draws: Natural = 0
    audit_draws: Natural = 0

    def __post_init__(self) -> None:
        check_fields(self)
        if self.holders == "one":
            check_unread_options(self, ("colluders",), "holders 'rows'")
        # Each protocol has a ridge of its own.
        if getattr(self, "ridge", "fixed") != "fixed":
            check_unread_options(self, ("radius",), "ridge 'fixed'")

    @property
    def places(self) -> tuple[str, ...]:
        """Places without data."""
        return (SERVER,) if self.holders == "rows" else ()


@final
@dataclass(frozen=True)
class WalrOptions(HoldersOptions):
    """One released dot-product and everything after it.

    trainer : ``newton`` (exact), ``hybrid`` (published: mini-batch on the left, the release on the right) or
        ``full_batch``
    noise : ``iid`` (published), ``shaped`` (planned covariance), ``rr`` (randomised labels) or ``auto`` (the planner
        chooses the distribution)
    sigma : ``analytic`` (exact) or ``classic`` (published)
    bound : of a row's length: ``max_norm`` (the longest row), ``sqrt_k`` (published, features in [0, 1]) or
        ``declared`` (``row_radius``, to which longer rows are shrunk); the last two are public without the features
    row_radius : declared bound; sqrt(f + a + 1) for f one-hot features, a others in [0, 1] and an intercept
    ridge : ``none`` (published), ``fixed`` (sigma sqrt(k) / radius) or ``planned``
    steps, batch_size, learning_rate : of a first-order trainer; a batch is never larger than the data
    bounded_draws : of this many what-if releases it asks whether they have a minimiser without ridge
    trace_steps : show a first-order path up to this number of steps
    """

    trainer: Literal["newton", "hybrid", "full_batch"] = "newton"
    noise: Literal["iid", "shaped", "rr", "auto"] = "auto"
    sigma: Literal["analytic", "classic"] = "analytic"
    bound: Literal["max_norm", "sqrt_k", "declared"] = "max_norm"
    row_radius: Positive | None = None
    ridge: Literal["none", "fixed", "planned"] = "planned"
    steps: Count = 2000
    batch_size: Count = 1024
    learning_rate: Positive = 1.0
    bounded_draws: Natural = 0
    trace_steps: Natural = 0

    uses_epsilon = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise == "iid" and self.ridge == "planned":
            raise ValueError("ridge is 'planned': noise 'iid' is a fixed plan; use 'fixed' or 'none'.")
        if self.noise in ("shaped", "auto") and self.ridge != "planned":
            raise ValueError(f"ridge is {self.ridge!r}: noise {self.noise!r} is planned together with its ridge.")
        if self.noise != "iid":
            check_unread_options(self, ("sigma", "bound"), "noise 'iid'")
        check_row_radius(self.bound, self.row_radius)
        if self.noise not in ("shaped", "auto"):
            check_unread_options(self, ("publish_shape",), "noise 'shaped' or 'auto'")
        if self.holders == "rows" and (
            self.noise in ("rr", "auto") or (self.noise == "iid" and self.bound == "max_norm")
        ):
            raise ValueError(
                f"holders is 'rows' with noise {self.noise!r} and bound {self.bound!r}: shares are of Gaussian noise "
                "that a server without features knows; take noise 'shaped', or 'iid' with bound 'sqrt_k' or 'declared'."
            )
        if self.trainer == "newton":
            check_unread_options(self, (*FIRST_ORDER, "trace_steps"), "trainer 'hybrid' or 'full_batch'")
        elif self.trainer == "full_batch":
            check_unread_options(self, ("batch_size",), "trainer 'hybrid'")
        if self.trainer == "newton" and self.ridge == "none":
            raise ValueError("ridge is 'none': trainer 'newton' needs one, the noisy objective is usually unbounded.")
        if self.noise_draws and (self.trainer != "newton" or self.noise_draws < 2):
            raise ValueError(f"noise_draws is {self.noise_draws}: it needs trainer 'newton' and at least 2 draws.")
        if self.audit_draws and self.noise in ("rr", "auto"):
            raise ValueError(f"audit_draws is {self.audit_draws}: the audit here is of Gaussian noise.")

    @property
    def publication_refusal(self) -> str:
        """Why no reader can make the statement of a release again; empty if they can."""
        if self.noise == "iid":
            return LONGEST_ROW if self.bound == "max_norm" else ""
        return "" if self.noise == "rr" or self.publish_shape else SHAPE


@final
@dataclass(frozen=True)
class BucketsOptions(HoldersOptions):
    """Noisy counts of positive labels in cells of the features, and a regression on indicators of these cells.

    bins : equal parts of [0, 1] that a feature of numbers is cut into; an indicator has two levels, and indicators of
        one variable are its levels
    pairs : ``all`` counts in tables of every two features as well
    shape : ``iid`` whole noise on whole counts, or ``planned`` (as noise ``shaped`` of ``walr``)
    sigma : ``analytic`` (exact) or ``classic`` (published), of independent noise
    ridge : ``fixed`` (sigma sqrt(cells) / radius) or ``planned``
    """

    bins: Annotated[int, Range(2)] = 10
    pairs: Literal["none", "all"] = "none"
    shape: Literal["iid", "planned"] = "iid"
    sigma: Literal["analytic", "classic"] = "analytic"
    ridge: Literal["fixed", "planned"] = "planned"

    uses_epsilon = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shape == "planned":
            check_unread_options(self, ("sigma",), "shape 'iid'")
            if self.ridge == "fixed":
                raise ValueError("ridge is 'fixed': shape 'planned' is planned together with its ridge; use 'planned'.")
        else:
            check_unread_options(self, ("publish_shape",), "shape 'planned'")
        if self.noise_draws == 1:
            raise ValueError("noise_draws is 1: it needs at least 2 draws.")

    @property
    def publication_refusal(self) -> str:
        """Why no reader can make the statement of a release again; empty if they can."""
        return SHAPE if self.shape == "planned" and not self.publish_shape else ""


@dataclass(frozen=True)
class RoundsOptions:
    """Noise in every step of gradient descent on labels.

    rounds : number of noisy gradients; rate : probability of a record to be in a round (1: all of them, no sampling)
    learning_rates : every one is tried on the same releases, the one with the least noisy objective is kept; 0 means
        one over the smoothness of the loss
    bound : of a row's length: ``max_norm`` (the longest row) or ``declared`` (``row_radius``, public)
    row_radius : declared bound, to which longer rows are shrunk
    """

    rounds: Count = 50
    rate: Probability = 1.0
    learning_rates: tuple[NotNegative, ...] = (0.0,)
    bound: Literal["max_norm", "declared"] = "max_norm"
    row_radius: Positive | None = None

    uses_epsilon = True

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.learning_rates:
            raise ValueError("learning_rates is empty: give at least one.")
        check_row_radius(self.bound, self.row_radius)

    @property
    def publication_refusal(self) -> str:
        """Why no reader can make the statement of a release again; empty if they can."""
        return LONGEST_ROW if self.bound == "max_norm" else ""


@final
@dataclass(frozen=True)
class LabelSgdOptions(RoundsOptions):
    """Label-private stochastic gradient descent: Poisson samples, the noise accounted with amplification."""

    rounds: Count = 500
    rate: Probability = 0.02
    learning_rates: tuple[NotNegative, ...] = (1.0, 4.0)


@final
@dataclass(frozen=True)
class ObjectiveOptions:
    """Objective perturbation, which protects whole rows: labels and features."""

    uses_epsilon = True


@final
@dataclass(frozen=True)
class LabelReferenceOptions:
    """No privacy: the optimum of the data, or a first-order trainer on its way there.

    trainer : ``newton``, ``full_batch``, ``hybrid``, or ``minibatch`` (labels of the batch instead of all of them)
    ridge : small, so that separable data have an optimum
    trace_steps : show the path up to this number of steps (of a first-order trainer)
    """

    trainer: Literal["newton", "hybrid", "full_batch", "minibatch"] = "newton"
    ridge: NotNegative = 1e-6
    steps: Count = 2000
    batch_size: Count = 1024
    learning_rate: Positive = 1.0
    trace_steps: Natural = 0

    uses_epsilon = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.trainer == "newton":
            check_unread_options(self, FIRST_ORDER, "a first-order trainer")
        if self.trainer == "full_batch":
            check_unread_options(self, ("batch_size",), "trainer 'hybrid' or 'minibatch'")
