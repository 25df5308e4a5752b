"""Survival curves over clients, as an estimator with the names that lifelines' users know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...core.arrays import summary_rows
from ...core.verdicts import OK, Verdict
from ...federation.estimators.fit_budget import Budget
from ...federation.estimators.inputs import vector
from ...federation.estimators.parameters import Method
from ...federation.secure_streams import Randomness
from .bands import Band, MeanComparison, compare_means, step_intervals
from .curves import SurvivalCurve, incidences_of, survival_curves
from .estimator import SurvivalEstimator, checked_horizon
from .exact import RankTest, StepCurve
from .model import SurvivalFacts
from .options import (
    EncryptedHistogramOptions,
    NoisedTimesOptions,
    PiecewiseOptions,
    RiskSetsOptions,
    SurvivalReferenceOptions,
    SurvivalTableOptions,
    refuse_not_offered,
)
from .protocols import encrypted_histogram, noised_times, piecewise, reference, risk_sets, table
from .tables import cells_per_group

# Protocols that count events by cause.
OF_CAUSES = ("table", "reference")


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
    causes : sequence of number, optional
        Public values of ``event_observed`` that name competing causes, other than 0; read by ``table`` and
        ``reference``. By default every event is of one cause.
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
    cumulative_incidence_, cumulative_incidence_interval_ : ndarray of shape (A, C, m) and (A, C, m, 2), or None
        Share of each group that has had an event of each cause (Aalen and Johansen 1978), with 95 % intervals at each
        time over records and noise. None with one cause; exact curves have no intervals.
    event_table_ : ndarray of shape (A, (C + 1) J + 1), or None
        Released counts: events by cause and cell, censored records by cell, and those still followed at the horizon.
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
        causes: Sequence[float] | None = None,
        edges: Sequence[float] | None = None,
        parties: int | Sequence[Sequence[int]] | None = None,
        random_state: Randomness | None = None,
        shared_budget: Budget | None = None,
        **options: object,
    ) -> None:
        self.horizon, self.groups, self.causes, self.edges = horizon, groups, causes, edges
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
            1, or one of ``causes``, where the duration ended in an event; 0 where it was censored. By default 1
            everywhere.
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
            For negative or missing durations, events other than 0 and 1 or ``causes``, a group that is not among
            ``groups``, a missing horizon, edges that do not go from 0 to it, or causes that a protocol does not
            distinguish.

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
        causes = _checked_causes(self.causes, self.protocol)
        self._fit(durations, event_observed, np.zeros((n, 0)), codes, parties, rng, facts, causes=causes)
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
            curves_of_file = survival_curves(estimate.table)
            estimate = replace(estimate, curves=curves_of_file, incidences=incidences_of(estimate.table))
            self.estimate_ = estimate
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
        self.cumulative_incidence_ = self.cumulative_incidence_interval_ = None
        if estimate.incidences:
            self.cumulative_incidence_ = np.stack([curve.at(self.timeline) for curve in estimate.incidences])
            intervals = [curve.intervals() for curve in estimate.incidences]
            self.cumulative_incidence_interval_ = None if intervals[0] is None else np.array(intervals)
        self.median_survival_time_ = [curve.median for curve in estimate.curves]
        self.median_standard_errors_ = estimate.median_errors()
        self.median_confidence_interval_ = estimate.median_intervals()
        self.logrank_: RankTest | None = estimate.log_rank

    def _summary_table(self) -> list[str]:
        """Median of each group with its interval."""
        names = ["all"] if self.groups is None else list(map(str, self.groups))
        medians = np.array([np.nan if median is None else median for median in self.median_survival_time_])
        lower, upper = self.median_confidence_interval_.T
        return summary_rows({"median": medians, "2.5 %": lower, "97.5 %": upper}, names, 12)

    def _interval_lines(self) -> list[str]:
        if self.confidence_interval_ is None:
            return super()._interval_lines()
        return ["", f"intervals: of survival and medians, over records{' and noise' * self._options().uses_epsilon}"]

    def _check_model(self) -> None:
        cells, groups = self.estimate_.table, len(self.groups or (0,))
        causes = len(self.causes or (1,))
        shape = None if cells is None else (groups, cells_per_group(len(cells.edges) - 1, causes))
        if cells is None or cells.edges.ndim != 1 or cells.causes != causes or cells.cells.shape != shape:
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


def _checked_causes(causes: Sequence[float] | None, protocol: str) -> tuple[float, ...]:
    """The causes, (1,) where none are given; ValueError for the same one twice, 0, or a protocol that has no causes."""
    if causes is None:
        return (1,)
    if protocol not in OF_CAUSES:
        raise ValueError(
            f"causes is {list(causes)}: protocol {protocol!r} does not distinguish causes; leave it out, or take "
            f"{' or '.join(map(repr, OF_CAUSES))}."
        )
    if len(set(causes)) < max(len(causes), 2) or 0 in causes:
        raise ValueError(
            f"causes is {list(causes)}: give at least two different numbers other than 0, which means censored."
        )
    return tuple(causes)


def _codes(group: np.ndarray, known: list[object]) -> np.ndarray:
    """Numbers (n,) of the groups; ValueError for one that is not public."""
    codes = np.full(len(group), -1)
    for number, label in enumerate(known):
        codes[group == label] = number
    if (codes < 0).any():
        unknown = group[codes < 0][0]
        raise ValueError(f"group holds {unknown!s}, which is not among groups={known}: declare every group.")
    return codes


def _ends(bands: Sequence[Band]) -> np.ndarray | None:
    """Ends (A, m, 2) of intervals or bands, from time 0 on."""
    if not bands:
        return None
    return np.stack([np.column_stack([np.append(1.0, band.lower), np.append(1.0, band.upper)]) for band in bands])
