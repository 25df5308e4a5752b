"""Options of the protocols of the functional studies; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..checks import at_least, one_of, positive, unread, whole
from .path_options import BoostingOptions

STABILISER = ("alpha", "ridge", "h_ridge")
PATH = ("stop", "sse", "update", "score", "crossfit", "stabiliser", *STABILISER, "df", "nu")
STEPS = ("max_steps", "min_steps", "patience")


def check_path(options: BoostingOptions) -> None:
    """Raise a named error for an option of the path that was changed although no step of this path reads it."""
    if options.stabiliser != "published":
        unread(options, STABILISER, "stabiliser 'published'")
    if options.stabiliser != "project":
        unread(options, ("projection",), "stabiliser 'project'")
    if options.stop in ("cv", "cv_published"):
        unread(options, ("df",), "stop 'aic', 'aicc', 'aic_train' or 'aic_train_dp'")
    if options.stop not in ("cv", "aic", "aicc"):
        unread(options, ("sse",), "stop 'cv', 'aic' or 'aicc'")


@dataclass(frozen=True)
class LocalOptions(BoostingOptions):
    """Released curves and boosting on them: certified defaults.

    learner : ``predictor`` or ``party`` (one base learner for each, or one joint block a party)
    noise : ``local`` (every curve is clipped and noised before it leaves its party) or ``none``
    s : noise sd per coordinate, one number or one for each predictor
    s_mode : ``fixed``; ``sqrt_j`` (s times sqrt of the number of parties); ``calibrated`` (to the target epsilon of
        the grid, or to ``rho_total`` where that is given)
    calibration : ``exact`` (one Gaussian, mu) or ``classic`` (the source's formula, predictor by predictor)
    radius : ``public``, ``dp_quantile`` (charged ``radius_rho`` a predictor; needs s_mode ``calibrated``),
        ``quantile`` (the source's 95 % quantile of the data: not private)
    radius_value : public radius instead of that of the case
    geometry : noise on orthonormal coordinates, or N(0, s^2 M) on coefficients (``gram``, as published)
    coordinates, penalty_scale : ``raw`` coefficients and ``none`` are the source's
    penalty : ``second_derivative`` or ``none``
    directions : keep only this many of the smoothest directions of a curve before clipping
    release : ``once`` a replicate, or anew for every fit (``per_fit``, as published)
    sy, y_radius : noise sd and public clipping radius of the response (0: the response is used as it is, and the
        operators that go back are ``Clear`` for the unit ``label``)
    claim : the epsilon that is claimed: ``exact`` for one Gaussian, or the ``source``'s rho + 2 sqrt(rho log 1/delta)
    """

    learner: str = "predictor"
    noise: str = "local"
    s: float | tuple[float, ...] = 0.5
    s_mode: str = "fixed"
    rho_total: float | None = None
    calibration: str = "exact"
    radius: str = "public"
    radius_value: float | None = None
    radius_rho: float = 0.01
    geometry: str = "orthonormal"
    coordinates: str = "orthonormal"
    penalty: str = "second_derivative"
    penalty_scale: str = "spectral"
    directions: int | None = None
    release: str = "once"
    sy: float = 0.0
    y_radius: float | None = None
    claim: str = "exact"

    learners: ClassVar[tuple[str, ...]] = ("predictor", "party")

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("learner", self.learner, self.learners)
        one_of("noise", self.noise, ("local", "none"))
        one_of("s_mode", self.s_mode, ("fixed", "sqrt_j", "calibrated"))
        one_of("calibration", self.calibration, ("exact", "classic"))
        one_of("radius", self.radius, ("public", "dp_quantile", "quantile"))
        one_of("geometry", self.geometry, ("orthonormal", "gram"))
        one_of("coordinates", self.coordinates, ("orthonormal", "raw"))
        one_of("penalty", self.penalty, ("second_derivative", "none"))
        one_of("penalty_scale", self.penalty_scale, ("spectral", "none"))
        one_of("release", self.release, ("once", "per_fit"))
        one_of("claim", self.claim, ("exact", "source"))
        for value in self.s if isinstance(self.s, tuple) else (self.s,):
            at_least(s=(value, 0))
        for name in ("rho_total", "radius_value", "directions", "y_radius"):
            value = getattr(self, name)
            if value is not None:
                positive(**{name: value})
        whole(directions=self.directions)
        at_least(sy=(self.sy, 0))
        if self.sy > 0 and (self.y_radius is None or self.coordinates == "raw"):
            raise ValueError(
                f"sy is {self.sy}: a noisy response needs a public y_radius and coordinates 'orthonormal'."
            )
        positive(radius_rho=self.radius_rho)
        if self.rho_total is not None and (self.s_mode != "calibrated" or self.calibration != "exact"):
            raise ValueError(f"rho_total is {self.rho_total}: it needs s_mode 'calibrated' and calibration 'exact'.")
        if self.coordinates == "raw" and self.directions is not None:
            raise ValueError(f"directions is {self.directions}: it needs coordinates 'orthonormal'.")
        check_path(self)
        if self.s_mode == "calibrated":
            unread(self, ("s",), "s_mode 'fixed' or 'sqrt_j'")
        else:
            unread(self, ("calibration",), "s_mode 'calibrated'")
        if self.radius != "public":
            unread(self, ("radius_value",), "radius 'public'")
        if self.radius != "dp_quantile":
            unread(self, ("radius_rho",), "radius 'dp_quantile'")
        if self.sy == 0:
            unread(self, ("y_radius",), "sy above 0")
        if self.radius == "dp_quantile" and self.s_mode != "calibrated":
            raise ValueError(
                f"radius is 'dp_quantile' with s_mode {self.s_mode!r}: the cost of the curves would depend on the "
                "radii, which are released first; use s_mode 'calibrated', or radius 'public'."
            )

    @property
    def uses_epsilon(self) -> bool:
        """Whether the noise is set by the target epsilon of the grid."""
        return self.noise == "local" and self.s_mode == "calibrated" and self.rho_total is None


@dataclass(frozen=True)
class PublishedOptions(LocalOptions):
    """The defaults of the source, step by step (seed 000 and the settings of its runner).

    ``update`` stays ``boost``: the partial-residual increment of the text diverges with the number of visits and
    is offered as the counter-example ``update: published``.
    """

    stop: str = "cv_published"
    score: str = "published"
    crossfit: str = "shared"
    stabiliser: str = "published"
    df: str = "hutchinson"
    lambda_s: float = 0.05
    lambda_t: float = 0.05
    max_steps: int = 30
    min_steps: int = 10
    s: float | tuple[float, ...] = 0.2
    calibration: str = "classic"
    radius: str = "quantile"
    geometry: str = "gram"
    coordinates: str = "raw"
    penalty_scale: str = "none"
    release: str = "per_fit"
    claim: str = "source"


@dataclass(frozen=True)
class RoundwiseOptions(LocalOptions):
    """Comparator: every party re-releases its curves in each of ``max_steps`` rounds, at s sqrt(max_steps).

    memory : ``last`` uses the newest round only, ``mean`` the average of all rounds so far.
    """

    memory: str = "mean"
    max_steps: int = 30

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("memory", self.memory, ("last", "mean"))
        if self.geometry != "orthonormal" or self.noise != "local":
            raise ValueError("geometry and noise: the round-wise comparator needs 'orthonormal' and 'local'.")
        if self.radius == "dp_quantile":
            raise ValueError("radius is 'dp_quantile': the round-wise comparator takes 'public' or 'quantile'.")
        if self.sy > 0 or self.release == "per_fit":
            raise ValueError("sy and release 'per_fit' have no meaning in the round-wise comparator.")
        certified = ("cv", "debiased", "boost", "debiased", "own", "project")
        if (self.stop, self.sse, self.update, self.score, self.crossfit, self.stabiliser) != certified:
            raise ValueError(
                "stop, sse, update, score, crossfit, stabiliser: the round-wise comparator has the defaults."
            )


@dataclass(frozen=True)
class MomentsOptions(BoostingOptions):
    """Released second moments (trust model ``central``): noise once for each disjoint chunk of records.

    shares : parts of rho for S_zz, S_zy and the mean; response_radius : public clip S_y of the response
    (None: that of the case).  Each fold x half chunk is noised once: parallel composition, no cost per fold.
    margin : ``noise`` (a state is returned only where it beats the mean curve by more than the released noise explains,
    and shrunk by what that explains) or ``none`` (the lowest noisy criterion wins)
    """

    learner: str = "predictor"
    projection: float = 3.0
    shares: tuple[float, ...] = (0.50, 0.48, 0.02)
    radius_value: float | None = None
    response_radius: float | None = None
    margin: str = "noise"
    penalty: str = "second_derivative"
    penalty_scale: str = "spectral"
    directions: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("learner", self.learner, ("predictor", "party"))
        one_of("penalty", self.penalty, ("second_derivative", "none"))
        one_of("penalty_scale", self.penalty_scale, ("spectral", "none"))
        one_of("margin", self.margin, ("noise", "none"))
        if self.margin == "noise" and self.crossfit == "none":
            raise ValueError("margin is 'noise' with crossfit 'none': it compares two halves; use margin 'none'.")
        check_path(self)
        for name in ("score", "sse"):
            if getattr(self, name) != "debiased":
                raise ValueError(f"{name} is {getattr(self, name)!r}: released moments hold no noise to leave in.")
        if self.df != "exact":
            raise ValueError(f"df is {self.df!r}: released moments may be indefinite and have no probes; use 'exact'.")
        if len(self.shares) != 3 or min(self.shares) <= 0 or abs(sum(self.shares) - 1) > 1e-9:
            raise ValueError(f"shares is {self.shares}: give three positive parts of rho that sum to 1.")
        for name in ("radius_value", "response_radius", "directions"):
            value = getattr(self, name)
            if value is not None:
                positive(**{name: value})
        whole(directions=self.directions)

    uses_epsilon = True


@dataclass(frozen=True)
class CentralOptions(LocalOptions):
    """Central fit: one joint penalised operator on all released curves instead of a boosting path."""

    learner: str = "joint"

    learners: ClassVar[tuple[str, ...]] = ("joint",)

    def __post_init__(self) -> None:
        super().__post_init__()
        unread(self, (*PATH, *STEPS), "a boosting path (protocol 'boosting')")


@dataclass(frozen=True)
class BaselineOptions:
    """Non-private reference: ``mean`` curve, pooled ``least_squares``, or the true operators (``oracle``)."""

    kind: str = "mean"
    lambda_s: float = 1e-3
    lambda_t: float = 1e-3

    def __post_init__(self) -> None:
        one_of("kind", self.kind, ("mean", "least_squares", "oracle"))
        at_least(lambda_s=(self.lambda_s, 0), lambda_t=(self.lambda_t, 0))
        if self.kind != "least_squares":
            unread(self, ("lambda_s", "lambda_t"), "kind 'least_squares'")

    uses_epsilon = False
