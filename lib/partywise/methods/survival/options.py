"""Options of the protocols of survival analysis; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum, isclose
from typing import Annotated, Literal, final

from ...core.checks import (
    CheckedFields,
    Count,
    Natural,
    Noise,
    Positive,
    Range,
    Share,
    check_fields,
    check_unread_options,
)

# Covariates whose signs make cells, at most: 256 groups.
MOST_SIGNS = 8
# What users of other programs ask for, and why there is none.
NOT_OFFERED = {
    "entry": "left truncation is not offered: a record would be in two cells, where it enters and where it leaves, and "
    "move the table by 2; count all times from one start and leave it out",
    "strata": "strata are not offered; for curves of several groups declare these",
}


# Bins of the table that make one bin of the scores.
MERGED = 3


def refuse_not_offered(**arguments: object) -> None:
    """ValueError with the reason if an argument that is not offered has a value."""
    for name, value in arguments.items():
        if value is not None:
            subject = f"{name} is {value!r}" if isinstance(value, str) else f"{name} is given"
            raise ValueError(f"{subject}: {NOT_OFFERED[name]}.")


@dataclass(frozen=True)
class NoisyOptions:
    """Sums over the records of all clients, released with noise.

    noise : ``shared``, each client adds a share of the noise and no party has all of it; ``local``, each noises its
        own sum; or ``central``, an assumed secure aggregation adds it once
    colluders : clients that may join what they know so that epsilon holds against them (at most all but one); only
        ``shared`` reads it
    relation : of neighbours: ``replace_one`` (the number of records is public) or ``add_remove``
    """

    noise: Noise = "shared"
    colluders: Natural = 1
    relation: Literal["replace_one", "add_remove"] = "replace_one"

    uses_epsilon = True

    def __post_init__(self) -> None:
        check_fields(self)
        if self.noise != "shared":
            check_unread_options(self, ("colluders",), "noise 'shared'")

    @property
    def shares_noise(self) -> bool:
        """Whether each client adds a share of the noise."""
        return self.noise == "shared"

    @property
    def places(self) -> tuple[str, ...]:
        """Places without data in addition to the server."""
        return ("aggregator",) if self.noise == "central" else ()


def require_public_size(options: NoisyOptions, what: str) -> None:
    """ValueError unless the number of records is public."""
    if options.relation == "add_remove":
        raise ValueError(f"relation is 'add_remove': {what} are released for a public number of records; leave it out.")


@final
@dataclass(frozen=True)
class SurvivalTableOptions(NoisyOptions):
    """One noisy table of cells: curves, bands, restricted means and the log-rank test.

    bins : of equal width; None: so many as public numbers recommend
    """

    bins: Annotated[int, Range(2)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.relation == "add_remove" and self.bins is None:
            raise ValueError("bins is None: with relation 'add_remove' no number of records is public; give bins.")


@final
@dataclass(frozen=True)
class ScoresOptions(NoisyOptions):
    """Cox regression: the table, then rounds of noisy scores.

    shares : of the squared Gaussian-DP parameter, what the table and each round take; they sum to 1
    bins : of the table, a multiple of 3, as many as make one bin of the scores
    stop : C, the cumulative hazard at which a record's follow-up is ended; None: by public numbers, 1, 1.5 or 2
    curvature : weight of the released curvature next to the scores; level : of the residual
    """

    shares: tuple[Share, ...] = (0.2, 0.13, 0.22, 0.45)
    bins: Annotated[int, Range(2)] = 24
    stop: Positive | None = None
    curvature: Positive = 0.25
    level: Positive = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_public_size(self, "scores")
        if len(self.shares) < 2 or not isclose(fsum(self.shares), 1, abs_tol=1e-9):
            raise ValueError(
                f"shares is {list(self.shares)}: give one for the table and one for each round, which sum to 1."
            )
        if self.bins % MERGED:
            raise ValueError(f"bins is {self.bins}: {MERGED} of them make one bin of the scores; give a multiple.")


@final
@dataclass(frozen=True)
class GradientOptions(NoisyOptions):
    """Cox regression: a table, then steps of noisy gradient ascent with momentum (Polyak 1964); a competitor of scores.

    steps : T, of equal cost; the coefficients are the mean of the last half of them
    momentum : share of the last step that the next one adds
    rate : of a step, in units of the gradient over the number of events; None: by public numbers,
        2 (1 + momentum) / (1 + R^2), the largest that is stable for any covariates of length R
    table_share : of the squared Gaussian-DP parameter, what the table takes
    bins : of table and hazard; stop : as of `ScoresOptions`
    """

    steps: Count = 20
    momentum: Annotated[float, Range(0, 0.99)] = 0.75
    rate: Positive | None = None
    table_share: Share = 0.15
    bins: Annotated[int, Range(2)] = 6
    stop: Positive | None = None

    no_interval = "not at an optimum"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_public_size(self, "gradients")


@final
@dataclass(frozen=True)
class OneReleaseOptions(NoisyOptions):
    """Cox regression from one release, of moments by class of exit or of cells by signs; competitors of scores.

    bins : of equal width
    """

    bins: Annotated[int, Range(2)] = 4

    no_interval = "later"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_public_size(self, "moments and cells")


@final
@dataclass(frozen=True)
class SurvivalReferenceOptions(CheckedFields):
    """All records together, in the clear: Kaplan-Meier, log-rank test and Cox regression.

    ties : by Efron or by Breslow
    """

    ties: Literal["efron", "breslow"] = "efron"

    uses_epsilon = False


@final
@dataclass(frozen=True)
class RiskSetsOptions(CheckedFields):
    """Exact sums over risk sets at every event time, opened at the server: as published, nothing is protected.

    ties : by Efron, or by Breslow as published
    """

    ties: Literal["efron", "breslow"] = "efron"

    uses_epsilon = False


@final
@dataclass(frozen=True)
class PiecewiseOptions(CheckedFields):
    """Exact sums over public bins, opened at the server: no event time crosses, and nothing is protected.

    bins : of equal width
    """

    bins: Annotated[int, Range(1)] = 8

    uses_epsilon = False


@final
@dataclass(frozen=True)
class CoxNoisyGradientOptions(CheckedFields):
    """FDPCox: Cox regression by noisy gradient steps.

    variant : ``interactive``, clients send noisy gradients of their own partial likelihoods; ``federated``, from a new
        batch at each step; or ``central``, an assumed aggregation has all records together
    sensitivity : ``published``, the printed bound at coefficients of 0, for all steps and all clients that of the last
        client; or ``bound``, the proved one at the coefficients of each step
    steps : T; None: as in the code, 20 log(C_z^2 n / p^2)
    step : length; c_beta : C_beta, longest coefficients; c_z : C_z, to which the longest covariates are scaled
    cutoff : events up to and including it count; None: the horizon
    """

    variant: Literal["interactive", "federated", "central"] = "central"
    sensitivity: Literal["published", "bound"] = "published"
    steps: Count | None = None
    step: Positive = 0.5
    c_beta: Positive = 3.0
    c_z: Positive = 1.0
    cutoff: Positive | None = None

    uses_epsilon = True
    no_interval = "not at an optimum"

    @property
    def places(self) -> tuple[str, ...]:
        """Places without data in addition to the server."""
        return ("aggregator",) if self.variant == "central" else ()


@final
@dataclass(frozen=True)
class NoisedTimesOptions(CheckedFields):
    """vantage6: event times with noise from a fixed seed, then exact event tables.

    noise : ``poisson``, ``gaussian`` with ``snr``, or ``none``; seed : of every call, 0 by default as published
    """

    noise: Literal["poisson", "gaussian", "none"] = "poisson"
    seed: Natural = 0
    snr: Positive | None = None

    uses_epsilon = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.snr is None) == (self.noise == "gaussian"):
            raise ValueError(f"snr is {self.snr}: noise 'gaussian' needs it, and it alone reads it.")


@final
@dataclass(frozen=True)
class EncryptedHistogramOptions(CheckedFields):
    """NVFlare: histograms of times added under encryption, whose sum every client decrypts.

    width : of a bin, in the unit of the times
    """

    width: Positive = 7.0

    uses_epsilon = False
    places = ("aggregator",)


@final
@dataclass(frozen=True)
class TreeBreslowOptions(CheckedFields):
    """FDPCox: the cumulative hazard by a noisy tree of increments, at log hazard ratios of 0.

    range : ``published``, the events that the package's loop adds; or ``all`` until the cutoff
    levels : L; None: by public numbers, floor(log2(sum of min(n_k, n_k^2 epsilon^2)) / 2)
    cutoff : end of the tree; None: the horizon
    """

    range: Literal["published", "all"] = "published"
    levels: Annotated[int, Range(1, 16)] | None = None
    cutoff: Positive | None = None

    uses_epsilon = True
    no_interval = "later"


@final
@dataclass(frozen=True)
class DpPropensityOptions(CheckedFields):
    """FedECA: a logistic model of the treatment by clipped and noised gradients; what follows it there is in the clear.

    treatment : number of the covariate that gives it, from 0: whether it is above its centre; the others predict it
    steps : ``published``, one epoch of batches a round, or as many as ``planned``, which the noise is for
    seed : ``fixed``, noise from the public seed 42 at every client; or ``own``, which only the client knows
    """

    treatment: Natural = 0
    steps: Literal["published", "planned"] = "published"
    seed: Literal["fixed", "own"] = "fixed"

    uses_epsilon = True
    no_interval = "not at an optimum"
