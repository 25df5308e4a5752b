"""Options of the protocols of sliced inverse regression; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NoReturn, final

from ...core.checks import (
    CheckedFields,
    Count,
    Natural,
    NotNegative,
    Positive,
    Share,
    check_fields,
    check_unread_options,
)
from ...core.errors import CertificationError

REFUSED = {
    "quantile edges": "one response can move every boundary; fix public edges",
    "ccmd": "index sets carry no noise; use noisy votes",
    "largest norm": "c_R = max ||X_i|| is one record's own; use the public bound R sqrt(p)",
    "vgm": "its covariance is made of the private singular vectors; use independent noise at the analytic sd",
    "eigengap": "the dimension is chosen on private singular values; take 'estimated', or state d",
    "sample centring": "certified protocols centre by released slice means and proportions, always; leave it out",
}


def check_budget_options(options: object, epsilon_second: float | None) -> None:
    """ValueError for an epsilon of the second moment of its own where epsilon is that of all releases together."""
    if epsilon_second is not None and getattr(options, "calibrate", None) == "total":
        raise ValueError(
            f"epsilon_second is {epsilon_second:g}: with calibrate 'total' epsilon is that of all releases together; "
            "give second_share, or calibrate 'each' or 'claims'."
        )


def refuse(what: str) -> NoReturn:
    """Raise a `CertificationError` for an option without a proof, with its reason."""
    raise CertificationError(f"{what!r} has no certificate: {REFUSED[what]}.")


# Fitted to the columns FSIR-IID of tables 1 and 2; no formula of the source has this form.
FITTED_FACTOR = 0.13


@final
@dataclass(frozen=True)
class SlicingPublishedOptions:
    """The source's method with the constants that come closest to its tables: never certified with its defaults.

    mechanism : ``iid`` (proposition 2) or ``vgm`` (algorithm 2); estimator : ``sir`` or ``lda`` (two classes)
    aggregation : ``mean`` (algorithm 1), ``kernel`` or ``projector``; ``fitted`` is kernel for iid, projector for vgm
    iid_variance : ``fitted`` or ``prop2``; vgm_variance : ``variance`` or ``printed`` (a precision taken as variance)
    gap_sign : ``decreasing``, or ``printed``, which has no square root
    cov_scale : factor of lemma 1's noise, 1 in the source; cov_clipped : False adds it to the unclipped moment
    dimension : ``true`` d, or ``eigengap`` of the first client (an estimate from releases needs the deviation of their
        noise, which depends on the data here); slices : each client's ``quantile`` ones or ``public``
    centre : subtract each client's mean; sigma0 : tolerated noise sd, clients below the minimal n stay silent
    screen : ``top_s`` (each slice the ``top`` best columns; None takes the true s) or ``threshold``
    """

    mechanism: Literal["iid", "vgm"] = "vgm"
    estimator: Literal["sir", "lda"] = "sir"
    aggregation: Literal["fitted", "mean", "kernel", "projector"] = "fitted"
    iid_variance: Literal["fitted", "prop2"] = "fitted"
    vgm_variance: Literal["variance", "printed"] = "variance"
    gap_sign: Literal["decreasing", "printed"] = "decreasing"
    cov_scale: Positive = 0.5
    cov_clipped: bool = True
    dimension: Literal["true", "eigengap"] = "true"
    slices: Literal["quantile", "public"] = "quantile"
    centre: bool = False
    sigma0: Positive | None = None
    screen: Literal["top_s", "threshold"] = "top_s"
    top: Count | None = None
    threshold: NotNegative | None = None

    uses_epsilon = True
    no_interval = "law from data"
    screened_by = "slice means"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.mechanism == "iid":
            check_unread_options(self, ("vgm_variance", "gap_sign"), "mechanism 'vgm'")
        else:
            check_unread_options(self, ("iid_variance",), "mechanism 'iid'")
        if (self.threshold is None) != (self.screen == "top_s"):
            raise ValueError(f"threshold is {self.threshold}: screen 'threshold' needs it, and it alone reads it.")
        if self.threshold is not None:
            check_unread_options(self, ("top",), "screen 'top_s'")

    @property
    def column(self) -> str:
        """Column of the source's tables that the method stands for."""
        return {"iid": "FSIR-IID", "vgm": "FSIR-VGM"}[self.mechanism]

    @property
    def chosen_aggregation(self) -> str:
        """The aggregation in force."""
        if self.aggregation != "fitted":
            return self.aggregation
        return {"iid": "kernel", "vgm": "projector"}[self.mechanism]


@dataclass(frozen=True)
class SlicingExactOptions:
    """Public slices, clipped moments, independent Gaussian noise at its exact level.

    calibrate : what epsilon is of: the ``total`` of all releases of a client; or, as in the source, of every kind of
        release, which then costs it (``each``), or all kinds together exactly the sum of these ``claims``
    second_share : of the squared Gaussian-DP parameter of slice means and second moment, what the second moment takes
    screening_share : of that of all releases, what screening takes; only ``total`` reads the shares
    max_size : T, columns that screening keeps; None takes 2 s
    screening : ``signs`` (contrasts of the signs of all columns), ``peeling`` (each client picks columns with the
        largest contrasts of signs by noisy maxima, for slices of about equal size) or ``votes`` (its noisy index set)
    picks : columns that each client picks by peeling; None takes half of T, which is s by default
    distribution : of the noise of peeling: ``gumbel`` (exponential mechanism, at what is left of the exact total) or
        ``laplace``, as published, by advanced composition
    rounds : of screening by signs; 2 releases the better quarter of the columns once more, at no higher total cost
    noise : ``local``, each client noises its own releases; or ``shared``, all clients release sums, and each adds a
        share of the noise: no party is trusted with all of it, and there is much less
    colluders : clients that may join what they know so that epsilon holds against them (at most all but one); only
        ``shared`` reads it
    dimension : ``true`` d, or ``estimated`` from what is released (0 directions: status ``uninformative``)
    size : ``true`` s, or ``estimated``: the number of columns of which a contrast of the released slice means exceeds
        sqrt(2 log p) standard deviations of noise and sampling
    mechanism, slices, screen, norm, centre : stated so that what has no proof is refused by its name, as is dimension
        by ``eigengap``
    intervals : of the direction of length 1 before clipping, and a bound of the loss of the basis, by
        ``minimum_distance`` of a law of records, or ``none``
    """

    calibrate: Literal["total", "each", "claims"] = "total"
    second_share: Share = 0.5
    screening_share: Share = 1 / 3
    max_size: Count | None = None
    screening: Literal["signs", "peeling", "votes"] = "signs"
    picks: Count | None = None
    distribution: Literal["gumbel", "laplace"] = "gumbel"
    rounds: Literal[1, 2] = 2
    noise: Literal["local", "shared"] = "local"
    colluders: Natural = 1
    mechanism: Literal["iid", "vgm"] = "iid"
    slices: Literal["public", "quantile"] = "public"
    screen: Literal["certified", "top_s", "threshold"] = "certified"
    norm: Literal["public", "largest"] = "public"
    dimension: Literal["true", "eigengap", "estimated"] = "true"
    size: Literal["true", "estimated"] = "true"
    centre: bool = False
    intervals: Literal["minimum_distance", "none"] = "minimum_distance"

    uses_epsilon = True

    @property
    def has_law(self) -> bool:
        """Whether a law of what is released is known."""
        return True

    @property
    def screened_by(self) -> str:
        """The statistic by which columns are screened."""
        return "votes" if self.screening == "votes" else "signs"

    @property
    def shares_noise(self) -> bool:
        """Whether releases are sums over all clients, with a share of the noise of each."""
        return self.noise == "shared"

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.shares_noise:
            check_unread_options(self, ("colluders",), "noise 'shared'")
        if self.calibrate != "total":
            check_unread_options(self, ("second_share", "screening_share"), "calibrate 'total'")
        if self.screening != "signs":
            check_unread_options(self, ("rounds",), "screening 'signs'")
        if self.screening != "peeling":
            check_unread_options(self, ("picks", "distribution"), "screening 'peeling'")
        unproved = {
            "vgm": self.mechanism == "vgm",
            "quantile edges": self.slices == "quantile",
            "ccmd": self.screen != "certified",
            "largest norm": self.norm == "largest",
            "eigengap": self.dimension == "eigengap",
            "sample centring": self.centre,
        }
        for what, asked in unproved.items():
            if asked:
                refuse(what)


@final
@dataclass(frozen=True)
class SlicingCertifiedOptions(SlicingExactOptions):
    """One round: slice means and second moment.

    second : ``goe``, or ``mirrored``: the published shape of the noise, one sd for all entries
    aggregation : ``mean``, ``kernel`` or ``projector`` of the released matrices
    """

    second: Literal["goe", "mirrored"] = "goe"
    aggregation: Literal["mean", "kernel", "projector"] = "mean"

    @property
    def has_law(self) -> bool:
        """Whether a law of what is released is known: of sums, with noise of the Frobenius norm."""
        return self.aggregation == "mean" and self.second == "goe"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shares_noise and self.aggregation != "mean":
            raise ValueError(
                f"aggregation is {self.aggregation!r}: it needs the matrix of every client, and noise 'shared' opens "
                "sums over all; take 'mean', or noise 'local'."
            )


@final
@dataclass(frozen=True)
class WhitenedOptions(SlicingExactOptions):
    """Two rounds: the released second moment whitens the records before their slice means are released.

    ball : C, whitened records are shrunk to this length
    clip : of the records behind the second moment: to a ``ball`` whose radius public numbers choose, or, entry by
        entry, to the ``box`` [-R, R]
    reach : radius of that ball over R sqrt(p), where the rule should not choose it
    """

    ball: Positive = 1.5
    clip: Literal["ball", "box"] = "ball"
    reach: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.clip == "box":
            check_unread_options(self, ("reach",), "clip 'ball'")


@final
@dataclass(frozen=True)
class SlicingReferenceOptions(CheckedFields):
    """No privacy: clients send their moments in the clear.

    clipped : whether entries are clipped to the radius, to show what that costs
    slices : each client's ``quantile`` ones or ``public``
    kernel : ``federated`` (M M' of the mean of the clients' matrices) or ``classical`` (slices weighted by 1 / p_h)
    estimator : ``sir`` or ``lda`` (two classes)
    top : columns that each slice selects where columns are screened; None takes the true s
    dimension : ``true`` d, or ``estimated`` from the moments (0 directions: status ``uninformative``)
    size : ``true`` s, or ``estimated`` from the moments: the number of columns with a contrast beyond sampling
    """

    clipped: bool = False
    slices: Literal["quantile", "public"] = "quantile"
    kernel: Literal["federated", "classical"] = "federated"
    estimator: Literal["sir", "lda"] = "sir"
    top: Count | None = None
    dimension: Literal["true", "estimated"] = "true"
    size: Literal["true", "estimated"] = "true"

    uses_epsilon = False
    screened_by = "slice means"
