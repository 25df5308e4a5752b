"""Kaplan-Meier, Nelson-Aalen, log-rank and Cox regression in the clear, from sums over records.

Each is a function of sums that clients can add up, so that federated and pooled fits are the same program: events and
records at risk at each time for curves and tests, sums over risk sets for Cox regression (Lu et al., WebDISCO, JAMIA
2015), sums of exposure in bins for its piecewise-exponential form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc

from ...models.follow_up.partial_likelihood import (
    Likelihood,
    Ties,
    WeightedSums,
    event_times,
    partial_likelihood,
    powers_of,
    risk_sums,
    three_parts,
    tied_sums,
)
from ...models.newton_step import GOING, Ascent
from ...models.standardise import Scaling, scaling_of
from .records import SurvivalRecords

# Evaluations of the likelihood; what a Newton step must promise to gain, as a share of the log likelihood.
LIMIT = 50
TOLERANCE = 1e-20


@dataclass(frozen=True, eq=False)
class EventTable:
    """Numbers at risk and of events at each of U times.

    times : (U,) increasing
    at_risk, events : (U,) records followed to this time or longer, and events at it
    """

    times: np.ndarray
    at_risk: np.ndarray
    events: np.ndarray

    def __add__(self, other: EventTable) -> EventTable:
        """The table of two clients, at the same times."""
        return EventTable(self.times, self.at_risk + other.at_risk, self.events + other.events)


def event_table(records: SurvivalRecords, times: np.ndarray) -> EventTable:
    """Records at risk and events at given times (U,), increasing, which hold all event times of the records."""
    at_risk = len(records) - np.searchsorted(np.sort(records.times), times, side="left")
    events = np.bincount(np.searchsorted(times, records.times[records.events]), minlength=len(times))
    return EventTable(times, at_risk, events)


def events_of(records: SurvivalRecords) -> EventTable:
    """The table of records at their own event times."""
    return event_table(records, event_times(records))


def reach_half(survival: np.ndarray) -> np.ndarray:
    """Return the mask (U,) of survival at one half or less, up to the rounding of a product of U shares."""
    return survival <= 0.5 * (1 + 2 * len(survival) * np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class StepCurve:
    """A curve that jumps at times (U,) to values (U,); before the first it has the value ``start``.

    increments : (U,) of the variance of log survival by Greenwood (1926), nan where none is at risk; None of curves
        that are not those of Kaplan and Meier
    determined : whether any record is at risk at the first time; a curve without jumps is determined
    """

    times: np.ndarray
    values: np.ndarray
    start: float
    increments: np.ndarray | None = None
    determined: bool = True

    def at(self, times: np.ndarray) -> np.ndarray:
        """Its values at given times, after a jump there."""
        return np.concatenate([[self.start], self.values])[np.searchsorted(self.times, times, side="right")]

    def until(self, horizon: float) -> StepCurve:
        """Return the curve without the jumps beyond a horizon."""
        inside = self.times <= horizon
        increments = None if self.increments is None else self.increments[inside]
        return replace(self, times=self.times[inside], values=self.values[inside], increments=increments)

    def restricted_mean(self, end: float) -> float:
        """Its integral from 0 to ``end``, of a survival curve the restricted mean; nan where it is not determined."""
        if not self.determined:
            return float("nan")
        jumps = self.times[self.times < end]
        widths = np.diff(np.concatenate([[0.0], jumps, [end]]))
        return float(widths @ np.concatenate([[self.start], self.values[: len(jumps)]]))

    def restricted_mean_error(self, end: float) -> float:
        """Standard error of the restricted mean; nan of curves without increments, or not determined."""
        if self.increments is None or not self.determined:
            return float("nan")
        jumps = self.times < end
        # The area after each jump, which is 0 where nobody is left.
        areas = np.cumsum((np.diff(np.append(self.times[jumps], end)) * self.values[jumps])[::-1])[::-1]
        return float(np.sqrt(np.sum(np.nan_to_num(areas**2 * self.increments[jumps]))))

    @property
    def median(self) -> float | None:
        """The first time at which survival is one half or less; None where more survive."""
        below = np.flatnonzero(reach_half(self.values))
        return float(self.times[below[0]]) if len(below) else None


def _hazards(table: EventTable) -> np.ndarray:
    """Events over records at risk (U,); 0 once no record is at risk, as in one of several groups."""
    return table.events / np.maximum(table.at_risk, 1)


def kaplan_meier(table: EventTable) -> StepCurve:
    """Survival (Kaplan and Meier 1958)."""
    left = table.at_risk - table.events
    increments = np.divide(table.events, table.at_risk * left, out=np.full(len(left), np.nan), where=left > 0)
    determined = bool(table.at_risk[:1].all())
    return StepCurve(table.times, np.cumprod(1 - _hazards(table)), 1.0, increments, determined)


def nelson_aalen(table: EventTable) -> StepCurve:
    """Cumulative hazard (Nelson 1972; Aalen 1978)."""
    return StepCurve(table.times, np.cumsum(_hazards(table)), 0.0)


@dataclass(frozen=True)
class RankTest:
    """A log-rank test: observed minus expected events of group 1, its variance, and the two-sided p-value."""

    difference: float
    variance: float

    @property
    def statistic(self) -> float | None:
        """Standard normal under equal hazards; None where nothing varies."""
        return self.difference / float(np.sqrt(self.variance)) if self.variance > 0 else None

    @property
    def p_value(self) -> float | None:
        """Probability of a larger statistic under equal hazards."""
        return None if self.statistic is None else float(chdtrc(1, self.statistic**2))


def log_rank(group_0: EventTable, group_1: EventTable) -> RankTest:
    """Log-rank test of two groups (Mantel 1966), from their tables at the same times."""
    both = group_0 + group_1
    share = group_1.at_risk / np.maximum(both.at_risk, 1)
    left = np.divide(both.at_risk - both.events, both.at_risk - 1, out=np.zeros(len(share)), where=both.at_risk > 1)
    variance = float(np.sum(both.events * share * (1 - share) * left))
    return RankTest(float(np.sum(group_1.events - both.events * share)), variance)


def exposure_times(times: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Time (n, B) that each record is followed within each of the bins between edges (B + 1,)."""
    return np.clip(times[:, None] - edges[:-1], 0, np.diff(edges))


@np.errstate(over="ignore", invalid="ignore")
def exposure_sums(records: SurvivalRecords, edges: np.ndarray, coefficients: np.ndarray) -> WeightedSums:
    """Sums over records weighted by their exposure in each of the bins between edges (B + 1,)."""
    return three_parts(exposure_times(records.times, edges).T @ powers_of(records, coefficients)[1], len(coefficients))


def bins_of(times: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Bin (n,) of each time in (0, last edge]: an edge belongs to the bin that it closes, time 0 to the first."""
    return np.maximum(np.searchsorted(edges, times, side="left") - 1, 0)


@dataclass(frozen=True, eq=False)
class CoxFit:
    """Log hazard ratios (p,), their covariance (p, p), the log likelihood, and how many steps it took."""

    coefficients: np.ndarray
    covariance: np.ndarray
    likelihood: float
    steps: int

    @property
    def standard_errors(self) -> np.ndarray:
        """Standard errors of the coefficients, shape (p,)."""
        return np.sqrt(np.diag(self.covariance))

    def of_columns(self, scaling: Scaling) -> CoxFit:
        """The fit of the covariates that became standardised ones."""
        scales = scaling.scales
        return replace(
            self, coefficients=self.coefficients / scales, covariance=self.covariance / np.outer(scales, scales)
        )


class NoMaximum(ValueError):
    """A partial likelihood without a maximum, or one that was not reached; ``status`` and ``reason`` name the cause."""

    def __init__(self, status: str, reason: str) -> None:
        self.status, self.reason = status, reason
        super().__init__(reason)

    def __reduce__(self) -> tuple[type[NoMaximum], tuple[str, str]]:
        """Exceptions of several arguments cross processes by these."""
        return NoMaximum, (self.status, self.reason)


def verdict_of(ascent: Ascent, names: Sequence[str] = ()) -> str:
    """Sentence, without its full stop, on steps that ended without a maximum; empty where they reached one.

    names : of the covariates; numbers from 1 where none are given
    """
    place = ascent.column
    column = "" if place is None else f"covariate {names[place] if names else place + 1}"
    return {
        "ok": "",
        "too_few_events": "no record has an event until the horizon: give a longer horizon, or more records",
        "singular": f"{column} is constant, or depends on those before it, among the records at risk: leave it out",
        "separated": f"{column} tells the events apart, so that its coefficient runs off to infinity: leave it out, or "
        "join groups without events with others",
        "not_finite": "sums over the records at risk are not finite: give finite covariates",
        "not_converged": f"the partial likelihood has no maximum after {ascent.evaluations} evaluations: leave out "
        "covariates",
    }[ascent.status]


def begin_ascent(p: int, events: np.ndarray) -> Ascent:
    """Steps from no effects; without any event there is nothing to step on."""
    return Ascent(np.zeros(p), status=GOING if np.any(events > 0) else "too_few_events")


def ascend(ascent: Ascent, at: Likelihood) -> Ascent:
    """The steps after the likelihood at the coefficients that they asked for."""
    return ascent.after(-2 * at.value, at.gradient, at.information, tolerance=TOLERANCE, limit=LIMIT)


def maximise(likelihood: Callable[[np.ndarray], Likelihood], start: Ascent, names: Sequence[str] = ()) -> CoxFit:
    """Newton's method with halved steps from no effects.

    `NoMaximum` where no event or a covariate leaves the likelihood without one, or the steps do not reach it.
    """
    ascent = start
    while ascent.status == GOING:
        ascent = ascend(ascent, likelihood(ascent.beta))
    if ascent.status != "ok" or ascent.matrix is None:
        raise NoMaximum(ascent.status, verdict_of(ascent, names))
    return CoxFit(ascent.beta, np.linalg.inv(ascent.matrix), -ascent.value / 2, ascent.evaluations - 1)


def cox(records: SurvivalRecords, ties: Ties = "efron", names: Sequence[str] = ()) -> CoxFit:
    """Cox regression of all records together (Cox 1972).

    The likelihood depends on neither centres nor scales of the covariates, so that these are taken out first.

    names : of the covariates, for a `NoMaximum`
    """
    times, p = event_times(records), records.covariates.shape[1]
    events, scaling = event_table(records, times).events, scaling_of(records.covariates)
    standard = replace(records, covariates=scaling.apply(records.covariates))
    total = standard.covariates[records.events].sum(axis=0)

    def likelihood(coefficients: np.ndarray) -> Likelihood:
        tied = tied_sums(standard, times, coefficients) if ties == "efron" else None
        return partial_likelihood(coefficients, events, total, risk_sums(standard, times, coefficients), tied)

    return maximise(likelihood, begin_ascent(p, events), names).of_columns(scaling)
