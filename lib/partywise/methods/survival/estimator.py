"""Kaplan-Meier curves and Cox regression over clients, as estimators with the names that lifelines' users know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import ClassVar, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from ...core.checks import positive
from ...core.verdicts import OK, Verdict
from ...federation.estimators.estimator import Estimator, summary_rows
from ...federation.estimators.fit_budget import Budget
from ...federation.estimators.inputs import column_labels, numbers, vector
from ...federation.estimators.parameters import Method
from ...federation.secure_streams import Randomness
from ...models.intervals import CONDITION, NOT_COMPUTED, Intervals
from .bands import Band, MeanComparison, compare_means, step_intervals
from .certified.scores import survival
from .curves import SurvivalCurve, survival_curves
from .exact import RankTest, StepCurve
from .model import SurvivalEstimate, SurvivalFacts
from .options import (
    CoxNoisyGradientOptions,
    EncryptedHistogramOptions,
    GradientOptions,
    NoisedTimesOptions,
    OneReleaseOptions,
    PiecewiseOptions,
    RiskSetsOptions,
    ScoresOptions,
    SurvivalReferenceOptions,
    SurvivalTableOptions,
    refuse_not_offered,
)
from .protocols import (
    encrypted_histogram,
    noised_times,
    noisy_gradient,
    piecewise,
    reference,
    risk_sets,
    scores,
    table,
)
from .protocols.common import NOT_ESTIMABLE
from .protocols.competitors import cells, gradient, moments
from .records import as_written, clipped_counts, scale


class SurvivalEstimator(Estimator):
    """Common base of both estimators: records with a duration and an event, divided among clients."""

    unit = "row"
    _estimate = SurvivalEstimate
    estimate_: SurvivalEstimate
    horizon: float | None

    def __sklearn_tags__(self) -> NoReturn:
        """These are not estimators of scikit-learn: a fit takes durations and events."""
        raise AttributeError(f"{type(self).__name__} takes durations and events, which scikit-learn knows nothing of.")

    def _fit(
        self,
        durations: ArrayLike,
        event_observed: ArrayLike | None,
        covariates: np.ndarray,
        group: np.ndarray,
        parties: int | Sequence[Sequence[int]] | None,
        rng: Randomness | None,
        facts: SurvivalFacts,
        clips: Mapping[str, tuple[int, int, float]] | None = None,
    ) -> None:
        times, events = checked_follow_up(durations, event_observed)
        arrays = {"times": times, "events": events, "covariates": covariates, "groups": group}
        clients = self._clients(parties, arrays)
        for bound, counts in (clips or {}).items():
            clients[0].clips.add(bound, *counts)
        public = replace(facts, natural_sizes=tuple(len(client.block["times"]) for client in clients))
        self._simulate(clients, len(times), rng, public=public, settings=SimpleNamespace(delta=self.delta))

    def _times_of_follow_up(self, times: ArrayLike) -> np.ndarray:
        """Times (m,) at which survival is asked for; ValueError outside of 0 to the horizon."""
        points, horizon = numbers("times", times, 1, "(m,)"), checked_horizon(self.horizon)
        outside = points[(points < 0) | (points > horizon)]
        if len(outside):
            raise ValueError(
                f"times holds {outside[0]:g}: follow-up is from 0 to the horizon, {horizon:g}; ask within it, "
                "or fit with a longer horizon."
            )
        return points

    def _end_of_follow_up(self, t: float | None) -> float:
        """End of a restricted mean, the horizon where none is given; ValueError beyond the horizon."""
        horizon = checked_horizon(self.horizon)
        if t is None:
            return horizon
        positive(t=t)
        if t > horizon:
            raise ValueError(
                f"t is {t:g}: no record is followed beyond the horizon, {horizon:g}; give at most that, or fit with a "
                "longer horizon."
            )
        return float(t)


def checked_follow_up(durations: ArrayLike, event_observed: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Durations (n,) and events (n,) bool; ValueError for what is none."""
    times = numbers("durations", as_written(durations), 1, "(n,), one a record")
    if (times < 0).any():
        raise ValueError("durations holds negative values: count time from the start of follow-up.")
    events = np.ones(len(times)) if event_observed is None else vector("event_observed", event_observed, len(times))
    if not np.isin(events, (0, 1)).all():
        raise ValueError("event_observed holds values other than 0 and 1 (or False and True): 1 is an event.")
    return times, events.astype(bool)


def checked_horizon(horizon: float | None) -> float:
    """A public end of follow-up; ValueError where it is missing or no positive number."""
    if horizon is None:
        raise ValueError("horizon is missing: give a public end of follow-up; the largest duration is a record.")
    positive(horizon=horizon)
    return float(horizon)


class FederatedKaplanMeier(SurvivalEstimator):
    """Survival curves of clients that hold different persons, with the log-rank test of two groups.

    Parameters
    ----------
    protocol : {"table", "reference", "piecewise", "risk_sets", "noised_times", "encrypted_histogram"}
        Certified by one noisy table; all records together; or as published, which protects nothing.
    epsilon : float, optional
        Of the table, for one record. inf: no noise; refused by the others.
    delta : float
        Of every epsilon.
    horizon : float
        Public end of follow-up, in the unit of the durations.
    groups : sequence, optional
        The public groups; by default one.
    edges : sequence of float, optional
        Public edges of the cells, from 0 to the horizon; by default equal widths.
    parties, random_state, shared_budget
        As in `Estimator`; ``parties`` and ``rng`` of a fit come before those given here.
    **options
        Fields of the protocol's dataclass in `partywise.methods.survival.options`, such as ``noise`` and ``bins``.

    Attributes
    ----------
    timeline : ndarray of shape (m,)
        Times at which the curves are given: the edges, or of an exact curve its event times.
    survival_function_, cumulative_hazard_ : ndarray of shape (A, m)
        Of each group.
    confidence_interval_, confidence_band_ : ndarray of shape (A, m, 2), or None
        Of survival, 95 %: at each time, and for all times together; over records and noise. Exact curves have
        Greenwood's intervals, and no band. Between two edges survival is above the lower end at the next edge and
        below the upper end at the last one: draw steps, not lines. Where nothing is known it is from 0 to 1.
    event_table_ : ndarray of shape (A, 2 J + 1), or None
        Released counts: events and censored records by cell, and those still followed at the horizon.
    median_survival_time_ : list of float or None
        Of each group; None where more than half survive the horizon, or nothing of the group stands out of the noise.
    median_standard_errors_ : ndarray of shape (A,)
        By the delta method, over records and noise; nan without a median, and of exact curves, which have no slope.
    median_confidence_interval_ : ndarray of shape (A, 2)
        Of the medians, 95 %: of released curves by these standard errors, of exact ones by inverting
        ``confidence_interval_`` (Brookmeyer and Crowley 1982); inf where the end lies beyond the horizon.
    logrank_ : RankTest or None
        Of two groups: `statistic`, `p_value`.
    estimate_, ledger_, transcript_, privacy_, epsilon_claimed_
        As in `Estimator`; the unit of ``privacy_`` is ``row``.

    Notes
    -----
    Formal guarantee: ``privacy_.epsilon_certified`` at ``delta`` for replacing one record of a client.

    Examples
    --------
    >>> import partywise as pw
    >>> durations = pw.stream(1, "durations").exponential(size=3000)
    >>> model = pw.FederatedKaplanMeier(epsilon=1.0, horizon=2.0, parties=3, random_state=7).fit(durations)
    >>> print(f"{model.predict([1.0])[0, 0]:.2f}")  # exp(-1) = 0.37
    0.36
    """

    methods: ClassVar[Mapping[str, Method]] = {
        "table": Method(SurvivalTableOptions, table.fit, ("server",), "server"),
        "reference": Method(SurvivalReferenceOptions, reference.fit, ("server",)),
        "piecewise": Method(PiecewiseOptions, piecewise.fit, ("server",)),
        "risk_sets": Method(RiskSetsOptions, risk_sets.fit, ("server",)),
        "noised_times": Method(NoisedTimesOptions, noised_times.fit, ("server",)),
        "encrypted_histogram": Method(EncryptedHistogramOptions, encrypted_histogram.fit, ("server",)),
    }
    _model_fields = ("epsilon_claimed", "clients", "table", "log_rank")
    _without_holder = "its curves jump at times of records; take protocol='table'"

    def __init__(
        self,
        protocol: str = "table",
        *,
        epsilon: float | None = None,
        delta: float = 1e-5,
        horizon: float | None = None,
        groups: Sequence[object] | None = None,
        edges: Sequence[float] | None = None,
        parties: int | Sequence[Sequence[int]] | None = None,
        random_state: Randomness | None = None,
        shared_budget: Budget | None = None,
        **options: object,
    ) -> None:
        self.horizon, self.groups, self.edges = horizon, groups, edges
        super().__init__(protocol, epsilon, delta, parties, random_state, shared_budget, options)

    def fit(
        self,
        durations: ArrayLike,
        event_observed: ArrayLike | None = None,
        group: ArrayLike | None = None,
        *,
        parties: int | Sequence[Sequence[int]] | None = None,
        rng: Randomness | None = None,
        entry: None = None,
        strata: None = None,
    ) -> FederatedKaplanMeier:
        """Simulate the protocol.

        Parameters
        ----------
        durations : array of shape (n,)
            At least 0.
        event_observed : array of shape (n,), optional
            1 where the duration ended in an event; by default everywhere.
        group : array of shape (n,), optional
            One of ``groups`` each.
        parties : int or sequence of sequences of int
            How many clients hold the rows in contiguous runs, or the rows of each.
        rng : int, numpy.random.Generator, Streams or SecureStreams
            Source of all noise.
        entry, strata : None
            Not offered: the error states why.

        Raises
        ------
        ValueError
            For negative or missing durations, events other than 0 and 1, a group that is not among ``groups``, a
            missing horizon, or edges that do not go from 0 to it.

        Examples
        --------
        >>> import partywise as pw
        >>> rng = pw.stream(1, "durations")
        >>> arm = rng.integers(2, size=4000)
        >>> durations = rng.exponential(1 / (1 + 0.5 * arm))
        >>> model = pw.FederatedKaplanMeier(epsilon=2.0, horizon=2.0, groups=[0, 1])
        >>> model.fit(durations, group=arm, parties=2, rng=7).logrank_.p_value < 0.001
        True
        """
        refuse_not_offered(entry=entry, strata=strata)
        horizon = checked_horizon(self.horizon)
        n = len(np.atleast_1d(np.asarray(durations)))
        known: list[object] = [0] if self.groups is None else list(self.groups)
        if (group is None) != (self.groups is None):
            raise ValueError("group and groups go together: give the public groups, and the group of each record.")
        codes = np.zeros(n, dtype=int) if group is None else _codes(vector("group", group, n), known)
        edges = () if self.edges is None else tuple(map(float, self.edges))
        facts = SurvivalFacts(records=n, horizon=horizon, groups=len(known), edges=edges)
        self._fit(durations, event_observed, np.zeros((n, 0)), codes, parties, rng, facts)
        self.n_features_in_ = 0
        self._derive()
        self._judge(self._judge_groups())
        return self

    def _judge_groups(self) -> Verdict:
        """Judge whether anything that was released of each group stands out of its noise."""
        names = ("all",) if self.groups is None or not len(self.groups) else tuple(self.groups)
        curves = zip(names, self.estimate_.curves, strict=True)
        unknown = [
            str(name) for name, curve in curves if isinstance(curve, SurvivalCurve) and not curve.determined_bins
        ]
        if not unknown:
            return OK
        return Verdict(
            "not_estimable",
            f"the numbers at risk of group {', '.join(unknown)} do not stand out of their noise, so that its curve, "
            "median and restricted mean are unknown: give a larger epsilon, more records, or leave it out of groups",
        )

    def _derive(self) -> None:
        estimate = self.estimate_
        if not estimate.curves and estimate.table is not None:
            # A file has the table alone.
            estimate = self.estimate_ = replace(estimate, curves=survival_curves(estimate.table))
        horizon = checked_horizon(self.horizon)
        curves = tuple(curve.until(horizon) if isinstance(curve, StepCurve) else curve for curve in estimate.curves)
        # Bins and noisy times of published protocols go on beyond what anybody asks for.
        estimate = replace(estimate, curves=curves)
        first = estimate.curves[0]
        self.timeline = first.edges if isinstance(first, SurvivalCurve) else first.times
        self.survival_function_ = np.stack([curve.at(self.timeline) for curve in estimate.curves])
        with np.errstate(divide="ignore"):
            self.cumulative_hazard_ = -np.log(self.survival_function_)
        self.event_table_ = None if estimate.table is None else estimate.table.cells
        self.confidence_interval_, self.confidence_band_ = (
            _ends(estimate.bands(together=together)) for together in (False, True)
        )
        if isinstance(first, StepCurve):
            steps = [step_intervals(curve, self.timeline) for curve in estimate.curves if isinstance(curve, StepCurve)]
            ends = [np.column_stack([band.lower, band.upper]) for band in steps if band is not None]
            self.confidence_interval_ = np.stack(ends) if len(ends) == len(estimate.curves) else None
        self.median_survival_time_ = [curve.median for curve in estimate.curves]
        self.median_standard_errors_ = estimate.median_errors()
        self.median_confidence_interval_ = estimate.median_intervals()
        self.logrank_: RankTest | None = estimate.log_rank

    def _check_model(self) -> None:
        cells, groups = self.estimate_.table, len(self.groups or (0,))
        if cells is None or cells.edges.ndim != 1 or cells.cells.shape != (groups, 2 * len(cells.edges) - 1):
            raise ValueError(f"table has no cells of {groups} groups")
        if not (np.diff(cells.edges) > 0).all() or cells.edges[0] != 0 or not np.isfinite(cells.cells).all():
            raise ValueError("table has edges that do not increase from 0, or cells that are not finite")

    def predict(self, times: ArrayLike) -> np.ndarray:
        """Survival (A, m) of each group.

        Parameters
        ----------
        times : array of shape (m,)
            Up to the horizon.

        Raises
        ------
        ValueError
            For times outside of 0 to the horizon, of which no record has information.

        Examples
        --------
        >>> import partywise as pw
        >>> durations = pw.stream(1, "durations").exponential(size=3000)
        >>> model = pw.FederatedKaplanMeier(epsilon=1.0, horizon=2.0, parties=3, random_state=7).fit(durations)
        >>> model.predict([0.0, 2.0]).round(2)  # exp(-2) = 0.14
        array([[1.  , 0.14]])
        """
        curves, points = self._fitted_estimate().curves, self._times_of_follow_up(times)
        return np.stack([curve.at(points) for curve in curves])

    def restricted_mean_survival_time(self, t: float | None = None) -> np.ndarray:
        """Mean survival time (A,) of each group until an end.

        Parameters
        ----------
        t : float, optional
            The end; by default the horizon, which it may not exceed.

        Examples
        --------
        >>> import partywise as pw
        >>> durations = pw.stream(1, "durations").exponential(size=3000)
        >>> model = pw.FederatedKaplanMeier(epsilon=1.0, horizon=2.0, parties=3, random_state=7).fit(durations)
        >>> model.restricted_mean_survival_time().round(2)  # 1 - exp(-2) = 0.86
        array([0.86])
        """
        end = self._end_of_follow_up(t)
        return np.array([curve.restricted_mean(end) for curve in self._fitted_estimate().curves])

    def restricted_mean_standard_errors(self, t: float | None = None) -> np.ndarray:
        """Standard errors (A,) of the restricted means of each group, over records and noise.

        Parameters
        ----------
        t : float, optional
            The end; by default the horizon, which it may not exceed.

        Examples
        --------
        >>> import partywise as pw
        >>> durations = pw.stream(1, "durations").exponential(size=3000)
        >>> model = pw.FederatedKaplanMeier(epsilon=1.0, horizon=2.0, parties=3, random_state=7).fit(durations)
        >>> model.restricted_mean_standard_errors().round(3)
        array([0.015])
        """
        return self._fitted_estimate().restricted_mean_errors(self._end_of_follow_up(t))

    def compare_restricted_means(self, t: float | None = None) -> MeanComparison:
        """Difference and ratio of the restricted means of two groups, with standard errors and a test of equality.

        Parameters
        ----------
        t : float, optional
            The end; by default the horizon.

        Returns
        -------
        MeanComparison
            Group 1 against group 0: ``difference``, ``difference_error``, ``ratio``, ``ratio_error``, ``statistic``
            and ``p_value``.

        Raises
        ------
        ValueError
            Unless there are two groups.

        Examples
        --------
        >>> import partywise as pw
        >>> rng = pw.stream(1, "durations")
        >>> arm = rng.integers(2, size=4000)
        >>> durations = rng.exponential(1 / (1 + 0.5 * arm))
        >>> model = pw.FederatedKaplanMeier(epsilon=2.0, horizon=2.0, groups=[0, 1])
        >>> found = model.fit(durations, group=arm, parties=2, rng=7).compare_restricted_means()
        >>> print(f"{found.difference:.2f}", found.p_value < 0.001)  # 0.63 - 0.86, error 0.03
        -0.27 True
        """
        means, errors = self.restricted_mean_survival_time(t), self.restricted_mean_standard_errors(t)
        if len(means) != 2:
            raise ValueError(f"groups has {len(means)} entries: two restricted means are compared; give two groups.")
        return compare_means(means, errors)


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
        if estimate.coefficients is None:
            self.intervals_ = Intervals(reason=estimate.reason or NOT_ESTIMABLE)
        elif estimate.covariance is None:
            self.intervals_ = Intervals(reason=estimate.reason) if estimate.reason else NOT_COMPUTED
        else:
            self.intervals_ = Intervals(coefficients, self.standard_errors_)
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

    def summary(self) -> str:
        """Coefficients, hazard ratios, standard errors, z, p-values and 95 % intervals, and what the fit cost.

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(-1, 1, size=(4000, 1))
        >>> durations = pw.stream(1, "durations").exponential(2.0 / 2.0 ** X[:, 0])
        >>> model = pw.FederatedCox(epsilon=4.0, horizon=2.0, centre=[0], scale=[1], parties=3, random_state=7)
        >>> print(model.fit(X, durations).summary().splitlines()[0])
        epsilon 4 at delta 1e-05, for one row
        """
        self._fitted_estimate()
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        with np.errstate(invalid="ignore"):
            z = self.params_ / self.standard_errors_
        lower, upper = self.confidence_intervals_.T
        # Where intervals do not hold, tests do not either.
        z = np.where(np.isnan(lower), np.nan, z)
        columns = {"coef": self.params_, "exp(coef)": self.hazard_ratios_, "se": self.standard_errors_, "z": z}
        columns |= {"p": chdtrc(1, z**2), "lower": lower, "upper": upper}
        rows = [self._cost()]
        if self._options().uses_epsilon:
            reason = self.intervals_.reason
            rows.append(f"no intervals: {reason}" if reason else f"intervals: over records and noise, {CONDITION}")
        return "\n".join([*rows, *summary_rows(columns, list(map(str, names)), 12)])

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


def _codes(group: np.ndarray, known: list[object]) -> np.ndarray:
    """Numbers (n,) of the groups; ValueError for one that is not public."""
    codes = np.full(len(group), -1)
    for number, label in enumerate(known):
        codes[group == label] = number
    if (codes < 0).any():
        raise ValueError(f"group holds a value that is not among groups={known}: declare every group.")
    return codes


def _ends(bands: Sequence[Band]) -> np.ndarray | None:
    """Ends (A, m, 2) of intervals or bands, from time 0 on."""
    if not bands:
        return None
    return np.stack([np.column_stack([np.append(1.0, band.lower), np.append(1.0, band.upper)]) for band in bands])
