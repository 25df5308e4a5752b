"""Cox regression over clients, as an estimator with the names that lifelines' users know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from ...core.arrays import summary_rows
from ...core.checks import positive
from ...federation.estimators.fit_budget import Budget
from ...federation.estimators.inputs import column_labels, numbers, vector
from ...federation.estimators.parameters import Method
from ...federation.secure_streams import Randomness
from ...models.intervals import CONDITION, Intervals
from .certified.scores import survival
from .estimator import SurvivalEstimator, checked_horizon
from .model import SurvivalEstimate, SurvivalFacts
from .options import (
    CoxNoisyGradientOptions,
    GradientOptions,
    OneReleaseOptions,
    PiecewiseOptions,
    RiskSetsOptions,
    ScoresOptions,
    SurvivalReferenceOptions,
    refuse_not_offered,
)
from .protocols import noisy_gradient, piecewise, reference, risk_sets, scores
from .protocols.competitors import cells, gradient, moments
from .records import clipped_counts, scale


class FederatedCox(SurvivalEstimator):
    """Log hazard ratios of clients that hold different persons.

    Parameters
    ----------
    protocol : {"scores", "gradient", "moments", "cells", "reference", "piecewise", "risk_sets", "noisy_gradient"}
        Certified by noisy scores; certified without standard errors, by gradient steps with momentum (closer at small
        epsilon), moments, or cells of the signs of at most eight indicators; all records together; exact sums that are
        opened; or gradient steps as published.
    epsilon, delta, horizon, parties, random_state, shared_budget
        As of `FederatedKaplanMeier`.
    clipped : {"refuse", "allow"}
        As in `Estimator`.
    centre, scale : array of shape (p,), optional
        Public centre and half width of each covariate, beyond which it is cut off; required where noise is calibrated.
    radius : float, optional
        To which scaled covariates are shrunk; by default the root of their number, so that none is.
    **options
        Fields of the protocol's dataclass in `partywise.methods.survival.options`.

    Attributes
    ----------
    params_, hazard_ratios_, standard_errors_ : ndarray of shape (p,)
        Of the covariates as given; errors over records and noise, nan where the protocol has none.
    variance_matrix_ : ndarray of shape (p, p)
    confidence_intervals_ : ndarray of shape (p, 2)
        95 %; `partywise.plot.coefficients` draws them.
    intervals_ : Intervals
        Of any level, or why there are none.
    baseline_cumulative_hazard_, baseline_survival_ : ndarray of shape (B + 1,), or None
        At ``timeline``, of a record with covariates at their centres.
    estimate_, ledger_, transcript_, privacy_, epsilon_claimed_
        As in `Estimator`; the unit of ``privacy_`` is ``row``.

    Notes
    -----
    Formal guarantee: ``privacy_.epsilon_certified`` at ``delta`` for replacing one record of a client.  Where the
    released events do not stand out of their noise, nothing is estimated and all of these are nan.

    Examples
    --------
    >>> import partywise as pw
    >>> rng = pw.stream(1, "durations")
    >>> X = rng.uniform(-1, 1, size=(4000, 2))
    >>> durations = rng.exponential(1 / (0.5 * 2.0 ** X[:, 0]))
    >>> model = pw.FederatedCox(epsilon=4.0, horizon=2.0, centre=[0, 0], scale=[1, 1], parties=3, random_state=7)
    >>> model.fit(X, durations).params_.round(1)  # log 2 = 0.7 and 0, with standard errors of 0.04
    array([0.6, 0. ])
    """

    methods: ClassVar[Mapping[str, Method]] = {
        "scores": Method(ScoresOptions, scores.fit, ("server",), "server"),
        "gradient": Method(GradientOptions, gradient.fit, ("server",), "server"),
        "moments": Method(OneReleaseOptions, moments.fit, ("server",), "server"),
        "cells": Method(OneReleaseOptions, cells.fit, ("server",), "server"),
        "reference": Method(SurvivalReferenceOptions, reference.fit, ("server",), "server"),
        "piecewise": Method(PiecewiseOptions, piecewise.fit, ("server",), "server"),
        "risk_sets": Method(RiskSetsOptions, risk_sets.fit, ("server",), "server"),
        "noisy_gradient": Method(CoxNoisyGradientOptions, noisy_gradient.fit, ("server",), "server", published=True),
    }
    _model_fields = ("epsilon_claimed", "clients", "coefficients", "covariance", "model", "terms")
    _finite = ("params_",)

    def __init__(
        self,
        protocol: str = "scores",
        *,
        epsilon: float | None = None,
        delta: float = 1e-5,
        horizon: float | None = None,
        centre: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        radius: float | None = None,
        parties: int | Sequence[Sequence[int]] | None = None,
        random_state: Randomness | None = None,
        shared_budget: Budget | None = None,
        clipped: Literal["refuse", "allow"] = "refuse",
        **options: object,
    ) -> None:
        self.horizon, self.centre, self.scale, self.radius = horizon, centre, scale, radius
        self.clipped: Literal["refuse", "allow"] = clipped
        super().__init__(protocol, epsilon, delta, parties, random_state, shared_budget, options)

    def fit(
        self,
        X: ArrayLike,
        durations: ArrayLike,
        event_observed: ArrayLike | None = None,
        *,
        parties: int | Sequence[Sequence[int]] | None = None,
        rng: Randomness | None = None,
        entry: None = None,
        strata: None = None,
    ) -> FederatedCox:
        """Simulate the protocol.

        Parameters
        ----------
        X : array of shape (n, p)
        durations, event_observed, parties, rng, entry, strata
            As of `FederatedKaplanMeier.fit`.

        Raises
        ------
        ValueError
            For what `FederatedKaplanMeier.fit` refuses; a centre or scale that is missing where noise is calibrated,
            of another length, or not positive.

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(-1, 1, size=(4000, 1))
        >>> durations = pw.stream(1, "durations").exponential(2.0 / 2.0 ** X[:, 0])
        >>> model = pw.FederatedCox("reference", horizon=2.0).fit(X, durations, parties=3, rng=7)
        >>> model.hazard_ratios_.round(1)
        array([2.])
        """
        refuse_not_offered(entry=entry, strata=strata)
        frame, X = X, numbers("X", X, 2, "(n, p): records, covariates")
        n, p = X.shape
        vector("durations", durations, n)
        horizon, options = checked_horizon(self.horizon), self._options()
        centre, half_width = self._public_scale(p, required=options.uses_epsilon)
        radius = float(np.sqrt(p)) if self.radius is None else float(self.radius)
        positive(radius=radius)
        # Without public scales nothing is cut off: what is fitted exactly needs none.
        bounds = centre, half_width, radius
        scaled, clips = (X, {}) if self.centre is None else (scale(X, *bounds), clipped_counts(X, *bounds))
        names = column_labels(frame) or tuple(f"x{j}" for j in range(p))
        facts = SurvivalFacts(records=n, horizon=horizon, covariates=p, radius=radius, names=names)
        self._fit(durations, event_observed, scaled, np.zeros(n, dtype=int), parties, rng, facts, clips)
        self.n_features_in_ = p
        self._keep_names(frame)
        self._derive()
        self._judge()
        return self

    def _derive(self) -> None:
        estimate, p = self.estimate_, self.n_features_in_
        half_width = self._public_scale(p, required=False)[1]
        nothing = np.full(p, np.nan)
        coefficients = nothing if estimate.coefficients is None else estimate.coefficients / half_width
        covariance = np.full((p, p), np.nan) if estimate.covariance is None else estimate.covariance
        self.variance_matrix_ = covariance / np.outer(half_width, half_width)
        self.params_, self.hazard_ratios_ = coefficients, np.exp(coefficients)
        self.standard_errors_ = np.sqrt(np.diag(self.variance_matrix_))
        reason = estimate.interval_reason
        over = f"over records and noise, {CONDITION}" if self._options().uses_epsilon else "over records, without noise"
        known = Intervals(coefficients, self.standard_errors_, estimand=f"of log hazard ratios, {over}")
        self.intervals_ = Intervals(reason=reason) if reason else known
        bounds = self.intervals_.bounds()
        self.confidence_intervals_ = np.full((p, 2), np.nan) if bounds is None else bounds
        self.timeline = self.baseline_cumulative_hazard_ = self.baseline_survival_ = None
        if estimate.model is not None and estimate.terms is not None:
            self.timeline = estimate.terms.edges
            steps = estimate.terms.width * np.exp(estimate.model.log_hazards)
            self.baseline_cumulative_hazard_ = np.append(0.0, np.cumsum(steps))
            self.baseline_survival_ = np.exp(-self.baseline_cumulative_hazard_)

    def _withhold_intervals(self, withheld: Intervals) -> None:
        super()._withhold_intervals(withheld)
        self.confidence_intervals_ = np.full((self.n_features_in_, 2), np.nan)

    def _check_model(self) -> None:
        estimate, p = self.estimate_, self.n_features_in_
        self._public_scale(p, required=False)
        for name, shape in (("coefficients", (p,)), ("covariance", (p, p))):
            array = getattr(estimate, name)
            if array is not None and array.shape != shape:
                raise ValueError(f"{name} has shape {array.shape} where {p} covariates need {shape}")
        if estimate.model is not None and estimate.terms is not None:
            shapes = estimate.model.coefficients.shape, estimate.model.log_hazards.shape
            if shapes != ((p,), (len(estimate.terms.edges) - 1,)):
                raise ValueError(f"model has shapes {shapes} where there are {p} covariates and other bins")

    def _public_scale(self, p: int, *, required: bool) -> tuple[np.ndarray, np.ndarray]:
        """Centre and half width (p,), 0 and 1 where none is given or needed."""
        if (self.centre is None) != (self.scale is None):
            raise ValueError("centre and scale go together: give the public centre and half width of each covariate.")
        if self.centre is None or self.scale is None:
            if required:
                raise ValueError(
                    f"centre is missing: protocol={self.protocol!r} adds noise for public bounds; give centre and "
                    "scale, the public centre and half width of each covariate."
                )
            return np.zeros(p), np.ones(p)
        centre, half_width = (np.asarray(values, dtype=float) for values in (self.centre, self.scale))
        for name, values in (("centre", centre), ("scale", half_width)):
            if values.shape != (p,) or not np.isfinite(values).all():
                raise ValueError(f"{name} has shape {values.shape}: give {p} finite numbers, one for each covariate.")
        if not (half_width > 0).all():
            raise ValueError(f"scale={half_width.tolist()} must be positive.")
        return centre, half_width

    def _summary_table(self) -> list[str]:
        """Coefficients, hazard ratios, standard errors, z, p-values and 95 % intervals."""
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        with np.errstate(invalid="ignore"):
            z = self.params_ / self.standard_errors_
        lower, upper = self.confidence_intervals_.T
        # Where intervals do not hold, tests do not either.
        z = np.where(np.isnan(lower), np.nan, z)
        columns = {"coef": self.params_, "exp(coef)": self.hazard_ratios_, "se": self.standard_errors_, "z": z}
        columns |= {"p": chdtrc(1, z**2), "lower": lower, "upper": upper}
        return summary_rows(columns, list(map(str, names)), 12)

    def _scale_records(self, X: ArrayLike) -> np.ndarray:
        records = self._records(X, 2, "(n, p)")
        centre, half_width = self._public_scale(records.shape[1], required=False)
        return (records - centre) / half_width

    def predict_partial_hazard(self, X: ArrayLike) -> np.ndarray:
        """exp(z'b) (n,), against a record with covariates at their centres.

        Parameters
        ----------
        X : array of shape (n, p)
            Records with the covariates of the fit.

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(-1, 1, size=(4000, 1))
        >>> durations = pw.stream(1, "durations").exponential(2.0 / 2.0 ** X[:, 0])
        >>> model = pw.FederatedCox("reference", horizon=2.0, parties=3, random_state=7).fit(X, durations)
        >>> model.predict_partial_hazard([[1.0]]).round(1)
        array([2.])
        """
        half_width = self._public_scale(self.n_features_in_, required=False)[1]
        return np.asarray(np.exp(self._scale_records(X) @ (self.params_ * half_width)))

    def predict_survival_function(self, X: ArrayLike, times: ArrayLike) -> np.ndarray:
        """Survival (n, m) of records at times.

        Parameters
        ----------
        X : array of shape (n, p)
            Records with the covariates of the fit.
        times : array of shape (m,)
            Up to the horizon.

        Raises
        ------
        ValueError
            Where no baseline was released, or for times outside of 0 to the horizon.

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(-1, 1, size=(4000, 1))
        >>> durations = pw.stream(1, "durations").exponential(2.0 / 2.0 ** X[:, 0])
        >>> model = pw.FederatedCox(epsilon=8.0, horizon=2.0, centre=[0], scale=[1], parties=3, random_state=7)
        >>> model.fit(X, durations).predict_survival_function([[0.0]], [1.0]).round(1)  # exp(-0.5) = 0.6
        array([[0.6]])
        """
        estimate: SurvivalEstimate = self._fitted_estimate()
        if estimate.model is None or estimate.terms is None:
            raise ValueError(f"protocol={self.protocol!r} released no baseline: fit with protocol='scores'.")
        return survival(estimate.model, self._scale_records(X), self._times_of_follow_up(times), estimate.terms)
