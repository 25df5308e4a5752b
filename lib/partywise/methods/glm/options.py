"""Options of the protocols of vertical generalised linear models; standard library only, checked before any job."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, final, get_args

from ...alignment.options import AlignmentOptions, Mode
from ...core.checks import (
    Count,
    Dealer,
    KeySize,
    NotNegative,
    Positive,
    Range,
    check_dealer,
    check_key_size,
    check_unread_options,
    places_of,
)
from ...models.family_facts import FACTS

Dispersion = Literal["family", "pearson"]
# A family of follow-up times: no row of the table of families, as it has no density of single records.
COX = "cox"
if TYPE_CHECKING:
    GlmFamily = str
else:
    GlmFamily = Literal[(*FACTS, COX)]
Penalty = Literal["ridge", "lasso", "elastic_net"]
Choice = float | Literal["universal", "bic"]
Covariance = Literal["nonrobust", "HC0", "HC1"]
Clip = Literal["record", "residual"]
Iterate = Literal["last", "mean"]
RadiusRule = Literal["chi", "small"]
IntervalRule = Literal["minimum_distance", "none"]
CountShare = Annotated[float, Range(0, 1, "[)")]


def check_covariance(cov_type: Covariance, ridge: float) -> None:
    """ValueError for a sandwich around coefficients that a ridge shrinks."""
    if cov_type != "nonrobust" and ridge:
        raise ValueError(f"cov_type is {cov_type!r} with ridge {ridge}: robust errors are of fits without one.")


def lasso_share(penalty: Penalty, alpha: float | None, choose: Choice) -> float:
    """Share of the absolute penalty; ValueError for an ``alpha`` or a choice that the penalty does not have."""
    if penalty not in get_args(Penalty):
        raise ValueError(f"penalty={penalty!r} is unknown; use one of {', '.join(get_args(Penalty))}.")
    if (alpha is None) == (penalty == "elastic_net"):
        raise ValueError(
            f"alpha is {alpha!r} with penalty {penalty!r}: give it, between 0 and 1, with 'elastic_net' only."
        )
    if alpha is not None and not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha!r}: it must lie in (0, 1).")
    if isinstance(choose, str) and choose not in ("universal", "bic"):
        raise ValueError(f"choose is {choose!r}: use 'universal', 'bic' or a value of lambda.")
    if not isinstance(choose, str) and not 0 < choose < math.inf:
        raise ValueError(f"choose is {choose!r}: lambda must be positive and finite.")
    if penalty == "ridge" and choose == "universal":
        raise ValueError(
            "choose is 'universal': it is a threshold of absolute penalties; with 'ridge' use 'bic' or a number."
        )
    return {"ridge": 0.0, "lasso": 1.0}.get(penalty, alpha or 0.0)


@dataclass(frozen=True)
class PenalisedOptions(AlignmentOptions):
    """Options of protocols whose second moments give a penalised path.

    penalty : None, or ``ridge``, ``lasso`` or ``elastic_net``: the estimate is one of a path of 40 values, on scaled
        columns, and has no standard errors
    alpha : share of the absolute penalty of ``elastic_net``
    choose : lambda as a number, at the least ``bic``, or the least above the ``universal`` threshold of noise and
        sampling; of families other than Gaussian ``reference`` and ``joint`` take ``lasso`` with a number
    """

    penalty: Penalty | None = None
    alpha: float | None = None
    choose: Choice = "universal"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.penalty is None:
            check_unread_options(self, ("alpha", "choose"), "a penalty")
            return
        lasso_share(self.penalty, self.alpha, self.choose)
        required = {"cov_type": "nonrobust", "dispersion": "family", "link": "opened", "ridge": 0.0}
        for name, value in required.items():
            if getattr(self, name, value) != value:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r} with penalty {self.penalty!r}: leave one of them out."
                )

    def lasso_of(self, family: str, n: int) -> float:
        """Return what half the deviance rises by per unit of |b|; 0 of Gaussian responses, whose path needs moments."""
        return 0.0 if self.penalty is None or family == "gaussian" else n * float(self.choose)


@dataclass(frozen=True)
class ExactOptions(PenalisedOptions):
    """Options of fits on all columns at once, without noise.

    ties : of family ``cox`` alone: by Efron (None) or ``breslow``
    ridge : times the squared length of the standardised coefficients, without the intercept, is added to the deviance
    dispersion : ``family`` (1 of binomial and Poisson, else Pearson's) or ``pearson`` (quasi-likelihood)
    cov_type : of the standard errors: that of the model, or from squared scores (sandwich), ``HC1`` times n / (n - q)
    """

    ties: Literal["efron", "breslow"] | None = None
    ridge: NotNegative = 0.0
    dispersion: Dispersion = "family"
    cov_type: Covariance = "nonrobust"
    tolerance: Positive = 1e-8
    max_iter: Count = 100

    uses_epsilon = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_covariance(self.cov_type, self.ridge)


@final
@dataclass(frozen=True)
class GlmReferenceOptions(ExactOptions):
    """The pooled fit, all in the clear: Newton steps on all columns in one place."""


@final
@dataclass(frozen=True)
class BcdOptions(AlignmentOptions):
    """Block coordinate descent (document 004, "The BCD Algorithm").

    variant : ``published`` (start 0, no step control, y at every party) or ``corrected`` (columns standardised,
        intercept at the link of the mean, steps halved until the objective falls)
    local : a block takes ``one_step`` of iteratively reweighted least squares, or goes to its ``argmin``
    ridge : of ``published`` for all coefficients, of ``corrected`` for all but the intercept; 0 needs columns of all
        parties that do not depend on each other, which this protocol checks within each party alone: with a copy at two
        parties the status is ``ok``, and the coefficients are one of many minimisers
    tolerance : of the sum over blocks of the length of the change of a sweep
    """

    alignment: Mode = "sha256"
    variant: Literal["published", "corrected"] = "published"
    local: Literal["one_step", "argmin"] = "one_step"
    ridge: NotNegative = 1e-4
    tolerance: Positive = 1e-8
    max_sweeps: Count = 5000

    uses_epsilon = False


@final
@dataclass(frozen=True)
class JointOptions(ExactOptions):
    """All blocks together, from sums that secure products open; a sandwich opens two matrices more.

    solver : ``newton`` (observed weights) or ``lbfgs`` (memory 10)
    link : ``opened`` (the active party sees the linear predictor of every iteration) or ``shared`` (it stays in shares,
        and the link is a polynomial on them; ``lbfgs`` only)
    start : matrix at which ``lbfgs`` starts: of the whole ``gram`` matrix, or of each party's ``block`` alone
    """

    solver: Literal["newton", "lbfgs"] = "newton"
    link: Literal["opened", "shared"] = "opened"
    start: Literal["gram", "block"] = "gram"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.link == "shared" and self.solver != "lbfgs":
            raise ValueError("link is 'shared': solver must be 'lbfgs', Newton's weights are not formed in shares.")
        if self.link == "shared" and self.cov_type != "nonrobust":
            raise ValueError(f"cov_type is {self.cov_type!r}: scores are not squared in shares; use link 'opened'.")
        if self.solver != "lbfgs":
            check_unread_options(self, ("start",), "solver 'lbfgs'")


@final
@dataclass(frozen=True)
class GlmMomentsOptions(PenalisedOptions):
    """Private: one noisy matrix of second moments, from secure products; no party sees a record (distributed trust).

    dealer : ``none``: either party of a product adds all of the noise, which doubles the variance of these entries; or
        the ``dealer``, a place without data that must not collude, as it knows the noise and could open what crosses
    cipher : without a dealer: ``paillier``, or ``sized`` (the same integers computed openly, the same bytes)
    key_size : bits of the Paillier modulus
    count_clipped : share of the squared budget for counts of clipped records, which are released as well; 0: none
    radius_rule : clipping radius of a party's block where none is stated: ``chi``, what 0.3 % of normal records exceed,
        or ``small``, 1.4 times the root of its number of columns (less noise, more records clipped)
    intervals : of coefficients before clipping, by ``minimum_distance`` of a law of records, or ``none``
    """

    dealer: Dealer = "none"
    cipher: Literal["paillier", "sized"] = "paillier"
    key_size: KeySize = 2048
    count_clipped: CountShare = 0.04
    radius_rule: RadiusRule = "chi"
    intervals: IntervalRule = "minimum_distance"

    uses_epsilon = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_dealer(self)

    @property
    def places(self) -> tuple[str, ...]:
        """Places without data that take part besides those of the protocol."""
        return places_of(self.dealer)


@final
@dataclass(frozen=True)
class NoisyNewtonOptions(AlignmentOptions):
    """Private: noisy scores along a noisy matrix of second moments (central trust).

    steps : number of scores; None for 4 (Gaussian), 8 (at least 20,000 records) or 2
    share : of the squared budget for the matrix
    clip : ``record`` (the length of x r to C), ``residual`` (r alone, so that C is sqrt(1 + S^2) times its bound) or
        None for the family's
    bound : C of ``record`` or the bound of r of ``residual``; None for the family's
    iterate : what is answered, the ``mean`` of the iterates from half of the steps on, or the ``last``; None for the
        mean of Gaussian and inverse Gaussian responses, else the last
    count_clipped, radius_rule, intervals : as of `GlmMomentsOptions`; ``share`` is of what the counts leave
    """

    steps: Count | None = None
    share: Annotated[float, Range(0, 1, "()")] = 0.1
    clip: Clip | None = None
    bound: Positive | None = None
    iterate: Iterate | None = None
    count_clipped: CountShare = 0.04
    radius_rule: RadiusRule = "chi"
    intervals: IntervalRule = "minimum_distance"

    uses_epsilon = True


@final
@dataclass(frozen=True)
class GlmNoisyGradientOptions(AlignmentOptions):
    """Private: noisy gradient steps (central trust).

    steps : number of scores; rate : length of a step, over the mean weight of the family
    clip, bound, iterate, radius_rule : as of `NoisyNewtonOptions`
    """

    steps: Count = 20
    rate: Positive = 0.15
    clip: Clip | None = None
    bound: Positive | None = None
    iterate: Iterate = "last"
    radius_rule: RadiusRule = "chi"

    uses_epsilon = True
    no_interval = "later"


@final
@dataclass(frozen=True)
class NoisyPredictorOptions(AlignmentOptions):
    """Private: the architecture of document 004 with every message released; Gaussian and binomial only.

    Trust is local except for X'r, to which either of two parties adds all of the noise (distributed).

    sweeps : over all blocks; shares : of the squared budget for X'X, for X'r and for the linear predictors, in all 1
    own : the active party's predictor in its residuals, as ``released`` like those of the others, or ``exact``
    cipher, key_size : of the products of two parties, as of `GlmMomentsOptions`
    radius_rule : as of `GlmMomentsOptions`
    """

    sweeps: Count = 1
    shares: tuple[Positive, Positive, Positive] = (0.2, 0.5, 0.3)
    own: Literal["released", "exact"] = "released"
    cipher: Literal["paillier", "sized"] = "paillier"
    key_size: KeySize = 2048
    radius_rule: RadiusRule = "chi"

    uses_epsilon = True
    no_interval = "single records"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_key_size(self.key_size)
        if abs(sum(self.shares) - 1) > 1e-12:
            raise ValueError(f"shares is {list(self.shares)}: they must sum to 1, the whole budget.")


def check_family(options: object, family: str) -> None:
    """ValueError for options that a family does not have; ``cox`` is of the pooled and the joint fit alone."""
    if family != COX:
        if isinstance(options, ExactOptions):
            _check_exact(options, family)
        return
    if not isinstance(options, ExactOptions):
        raise ValueError(
            "family is 'cox', which this protocol does not fit: use 'joint' with solver 'lbfgs', or 'reference'."
        )
    wanted = {"solver": "lbfgs", "link": "opened", "dispersion": "family", "cov_type": "nonrobust", "penalty": None}
    for name, value in wanted.items():
        if getattr(options, name, value) != value:
            raise ValueError(f"{name} is {getattr(options, name)!r} with family 'cox': it must be {value!r}.")


def _check_exact(options: ExactOptions, family: str) -> None:
    """Raise a named error for what a fit of single records does not read."""
    if options.ties is not None:
        raise ValueError(f"ties is {options.ties!r} with family {family!r}: it is read with family 'cox' only.")
    if options.penalty is None:
        return
    if family != "gaussian":
        if options.penalty != "lasso" or isinstance(options.choose, str):
            raise ValueError(
                f"penalty is {options.penalty!r} and choose {options.choose!r} with family {family!r}: give 'lasso' "
                "and lambda as a number; others are of Gaussian responses, of protocol 'moments', or of path() after "
                "a fit."
            )
    elif isinstance(options, JointOptions):
        if options.solver != "newton":
            raise ValueError(
                f"solver is {options.solver!r} with a penalty of Gaussian responses: 'newton' opens what it needs."
            )
        check_unread_options(options, ("tolerance", "max_iter"), "a penalty of other families")
