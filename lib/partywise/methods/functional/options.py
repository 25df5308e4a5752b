"""Options of the protocols of the functional studies; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from ...core.checks import (
    Count,
    Dealer,
    KeySize,
    NotNegative,
    Positive,
    check_dealer,
    check_fields,
    check_unread_options,
    places_of,
)
from .path_options import BoostingOptions, PathOptions, PenaltyOptions, WalkOptions


@dataclass(frozen=True)
class NoiseOptions:
    """Options of the release and its noise.

    s : noise sd per coordinate, one number or one for each predictor
    s_mode : ``fixed``; ``sqrt_j`` (s times sqrt of the number of parties); ``calibrated`` (to the target epsilon of
        the grid, or to ``rho_total`` where that is given)
    calibration : ``exact`` (one Gaussian, mu) or ``classic`` (the source's formula, predictor by predictor)
    radius : ``public``, ``dp_quantile`` (charged ``radius_rho`` a predictor; needs s_mode ``calibrated``),
        ``quantile`` (the source's 95 % quantile of the data: not private)
    radius_value : public radius instead of that of the case
    coordinates : ``raw`` coefficients are the source's
    directions : keep only this many of the smoothest directions of a curve before clipping
    claim : the epsilon that is claimed: ``exact`` for one Gaussian, or the ``source``'s rho + 2 sqrt(rho log 1/delta)
    """

    s: NotNegative | tuple[NotNegative, ...] = 0.5
    s_mode: Literal["fixed", "sqrt_j", "calibrated"] = "fixed"
    rho_total: Positive | None = None
    calibration: Literal["exact", "classic"] = "exact"
    radius: Literal["public", "dp_quantile", "quantile"] = "public"
    radius_value: Positive | None = None
    coordinates: Literal["orthonormal", "raw"] = "orthonormal"
    directions: Count | None = None
    claim: Literal["exact", "source"] = "exact"

    noise = "local"
    # Options that set the noise alone: without any, methods that differ in nothing else are one.
    noise_fields = ("noise", "s", "s_mode", "rho_total", "calibration", "claim")

    no_interval = "selection"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.rho_total is not None and (self.s_mode != "calibrated" or self.calibration != "exact"):
            raise ValueError(f"rho_total is {self.rho_total}: it needs s_mode 'calibrated' and calibration 'exact'.")
        if self.coordinates == "raw" and self.directions is not None:
            raise ValueError(f"directions is {self.directions}: it needs coordinates 'orthonormal'.")
        if self.s_mode == "calibrated":
            check_unread_options(self, ("s",), "s_mode 'fixed' or 'sqrt_j'")
        else:
            check_unread_options(self, ("calibration",), "s_mode 'calibrated'")
        if self.radius != "public":
            check_unread_options(self, ("radius_value",), "radius 'public'")

    @property
    def uses_epsilon(self) -> bool:
        """Whether the noise is set by the target epsilon of the grid."""
        return self.noise == "local" and self.s_mode == "calibrated" and self.rho_total is None


@dataclass(frozen=True)
class ReleaseOptions(NoiseOptions):
    """Curves that are released for good.

    noise : ``local`` (every curve is clipped and noised before it leaves its party) or ``none``
    geometry : noise on orthonormal coordinates, or N(0, s^2 M) on coefficients (``gram``, as published)
    release : ``once`` a replicate, or anew for every fit (``per_fit``, as published)
    sy, y_radius : noise sd of the response, by ``geometry`` as that of the curves, and its clipping radius: a public
        number, or ``quantile``, the source's 95 % quantile of the data, which is not private (sy 0: the response is
        used as it is, and the operators that go back are ``Clear`` for the unit ``label``)
    """

    noise: Literal["local", "none"] = "local"
    radius_rho: Positive = 0.01
    geometry: Literal["orthonormal", "gram"] = "orthonormal"
    release: Literal["once", "per_fit"] = "once"
    sy: NotNegative = 0.0
    y_radius: Positive | Literal["quantile"] | None = None

    @property
    def noise_free(self) -> bool:
        """Whether curves leave their party as they are."""
        return self.noise == "none" and self.sy == 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sy > 0 and self.y_radius is None:
            raise ValueError(f"sy is {self.sy}: a noisy response needs a y_radius, fixed before the data are seen.")
        if self.radius != "dp_quantile":
            check_unread_options(self, ("radius_rho",), "radius 'dp_quantile'")
        if self.sy == 0:
            check_unread_options(self, ("y_radius",), "sy above 0")
        if self.radius == "dp_quantile" and self.s_mode != "calibrated":
            raise ValueError(
                f"radius is 'dp_quantile' with s_mode {self.s_mode!r}: the cost of the curves would depend on the "
                "radii, which are released first; use s_mode 'calibrated', or radius 'public'."
            )


@dataclass(frozen=True)
class CurveOptions(BoostingOptions, ReleaseOptions):
    """Released curves and boosting on them.

    learner : ``predictor`` or ``party`` (one base learner for each, or one joint block a party)
    """

    learner: Literal["predictor", "party"] = "predictor"

    def __post_init__(self) -> None:
        BoostingOptions.__post_init__(self)
        ReleaseOptions.__post_init__(self)
        self.refuse_unread()


@final
@dataclass(frozen=True)
class LocalOptions(CurveOptions):
    """Released curves and boosting on them: certified defaults."""


@final
@dataclass(frozen=True)
class CurvePublishedOptions(CurveOptions):
    """The defaults of the source, step by step (document 000 and the settings of its runner).

    ``update`` stays ``boost``: the partial-residual increment of the text diverges with the number of visits and
    is offered as the counter-example ``update: published``.

    solver : ``diagonal`` (one factorisation of each side), or ``kronecker``, the source's system of all coefficients
        of a block; both are exact
    """

    stop: Literal["cv", "aic", "aicc", "cv_published", "aic_train", "aic_train_dp"] = "cv_published"
    score: Literal["debiased", "raw", "published"] = "published"
    crossfit: Literal["own", "shared", "none"] = "shared"
    stabiliser: Literal["project", "published", "none"] = "published"
    df: Literal["exact", "hutchinson"] = "hutchinson"
    lambda_s: NotNegative = 0.05
    lambda_t: NotNegative = 0.05
    max_steps: Count = 30
    min_steps: Count = 10
    s: NotNegative | tuple[NotNegative, ...] = 0.2
    calibration: Literal["exact", "classic"] = "classic"
    radius: Literal["public", "dp_quantile", "quantile"] = "quantile"
    geometry: Literal["orthonormal", "gram"] = "gram"
    coordinates: Literal["orthonormal", "raw"] = "raw"
    penalty_scale: Literal["spectral", "none"] = "none"
    release: Literal["once", "per_fit"] = "per_fit"
    claim: Literal["exact", "source"] = "source"
    solver: Literal["diagonal", "kronecker"] = "diagonal"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.solver == "kronecker" and self.df == "exact" and self.stop not in ("cv", "cv_published"):
            raise ValueError(
                f"solver is 'kronecker' with df 'exact' and stop {self.stop!r}: exact degrees of freedom need the "
                "diagonal solver; use df 'hutchinson'."
            )


@final
@dataclass(frozen=True)
class RoundwiseOptions(WalkOptions, NoiseOptions):
    """Comparator: every party re-releases its curves in each of ``max_steps`` rounds, at s sqrt(max_steps).

    memory : ``last`` uses the newest round only, ``mean`` the average of all rounds so far.
    """

    radius: Literal["public", "quantile"] = "public"
    max_steps: Count = 30
    learner: Literal["predictor", "party"] = "predictor"
    memory: Literal["mean", "last"] = "mean"

    def __post_init__(self) -> None:
        WalkOptions.__post_init__(self)
        NoiseOptions.__post_init__(self)


@final
@dataclass(frozen=True)
class CurveMomentsOptions(PathOptions):
    """Released second moments (trust model ``distributed``): noise once for each disjoint chunk of records.

    shares : parts of rho for S_zz, S_zy and the mean; response_radius : public clip S_y of the response
    (None: that of the case).  Each fold x half chunk is noised once: parallel composition, no cost per fold.
    dealer : ``none``: either party of a product adds all of the noise, which doubles the variance of these entries; or
        the ``dealer``, a place without data that must not collude, as it knows the noise and could open what crosses
    cipher, key_size : without a dealer: ``paillier``, or ``sized`` (the same integers openly, the same bytes); bits
    margin : ``noise`` (a state is returned only where it beats the mean curve by more than the released noise explains,
    and shrunk by what that explains) or ``none`` (the lowest noisy criterion wins)
    """

    learner: Literal["predictor", "party"] = "predictor"
    projection: NotNegative = 3.0
    shares: tuple[float, ...] = (0.50, 0.48, 0.02)
    radius_value: Positive | None = None
    response_radius: Positive | None = None
    dealer: Dealer = "none"
    cipher: Literal["paillier", "sized"] = "paillier"
    key_size: KeySize = 2048
    margin: Literal["noise", "none"] = "noise"
    directions: Count | None = None

    uses_epsilon = True
    no_interval = "later"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.margin == "noise" and self.crossfit == "none":
            raise ValueError("margin is 'noise' with crossfit 'none': it compares two halves; use margin 'none'.")
        self.refuse_unread()
        if len(self.shares) != 3 or min(self.shares) <= 0 or abs(sum(self.shares) - 1) > 1e-9:
            raise ValueError(f"shares is {self.shares}: give three positive parts of rho that sum to 1.")
        check_dealer(self)

    @property
    def places(self) -> tuple[str, ...]:
        """Places without data that take part in addition to those of the protocol."""
        return places_of(self.dealer)


@final
@dataclass(frozen=True)
class CentralOptions(PenaltyOptions, ReleaseOptions):
    """Central fit: one joint penalised operator on all released curves instead of a boosting path."""

    learner = "joint"

    def __post_init__(self) -> None:
        PenaltyOptions.__post_init__(self)
        ReleaseOptions.__post_init__(self)


@final
@dataclass(frozen=True)
class BaselineOptions:
    """Non-private reference: ``mean`` curve, pooled ``least_squares``, or the true operators (``oracle``)."""

    kind: Literal["mean", "least_squares", "oracle"] = "mean"
    lambda_s: NotNegative = 1e-3
    lambda_t: NotNegative = 1e-3

    uses_epsilon = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.kind != "least_squares":
            check_unread_options(self, ("lambda_s", "lambda_t"), "kind 'least_squares'")
