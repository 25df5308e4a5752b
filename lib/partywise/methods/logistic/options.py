"""Options of the protocols of the label-private study; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from ...core.checks import Count, Natural, NotNegative, Positive, Probability, check_fields, check_unread_options

FIRST_ORDER = ("steps", "batch_size", "learning_rate")

# Epsilons whose noise is computed as asked. Below, a variance has no float and the accountant of sampled rounds cannot
# tell epsilon from zero: refused. Above, up to infinity, the noise of the largest is taken: it costs less than asked.
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-9, 1e6


@final
@dataclass(frozen=True)
class WalrOptions:
    """One released dot-product and everything after it.

    trainer : ``newton`` (exact), ``hybrid`` (published: mini-batch on the left, the release on the right) or
        ``full_batch``
    noise : ``iid`` (published), ``shaped`` (planned covariance), ``rr`` (randomised labels) or ``auto`` (the planner
        chooses the distribution)
    sigma : ``analytic`` (exact) or ``classic`` (published); bound : ``max_norm`` or ``sqrt_k`` (published)
    ridge : ``none`` (published), ``fixed`` (sigma sqrt(k) / radius) or ``planned``
    steps, batch_size, learning_rate : of a first-order trainer; a batch is never larger than the data
    noise_draws : the evaluator fits this many further what-if releases of the same plan, which are never sent
    bounded_draws : of this many what-if releases it asks whether they have a minimiser without ridge
    audit_draws : with this many what-if releases for each of two neighbours it attacks the noise
    trace_steps : show a first-order path up to this number of steps
    """

    trainer: Literal["newton", "hybrid", "full_batch"] = "newton"
    noise: Literal["iid", "shaped", "rr", "auto"] = "auto"
    sigma: Literal["analytic", "classic"] = "analytic"
    bound: Literal["max_norm", "sqrt_k"] = "max_norm"
    ridge: Literal["none", "fixed", "planned"] = "planned"
    radius: Positive = 10.0
    steps: Count = 2000
    batch_size: Count = 1024
    learning_rate: Positive = 1.0
    noise_draws: Natural = 0
    bounded_draws: Natural = 0
    audit_draws: Natural = 0
    trace_steps: Natural = 0

    uses_epsilon = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.noise == "iid" and self.ridge == "planned":
            raise ValueError("ridge is 'planned': noise 'iid' is a fixed plan; use 'fixed' or 'none'.")
        if self.noise in ("shaped", "auto") and self.ridge != "planned":
            raise ValueError(f"ridge is {self.ridge!r}: noise {self.noise!r} is planned together with its ridge.")
        if self.noise != "iid":
            check_unread_options(self, ("sigma", "bound"), "noise 'iid'")
        if self.ridge != "fixed":
            check_unread_options(self, ("radius",), "ridge 'fixed'")
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


@dataclass(frozen=True)
class RoundsOptions:
    """Noise in every step of gradient descent on labels.

    rounds : number of noisy gradients; rate : probability of a record to be in a round (1: all of them, no sampling)
    learning_rates : every one is tried on the same releases, the one with the least noisy objective is kept; 0 means
        one over the smoothness of the loss
    """

    rounds: Count = 50
    rate: Probability = 1.0
    learning_rates: tuple[NotNegative, ...] = (0.0,)

    uses_epsilon = True

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.learning_rates:
            raise ValueError("learning_rates is empty: give at least one.")


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
