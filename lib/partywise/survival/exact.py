"""Kaplan-Meier, Nelson-Aalen, log-rank and Cox regression in the clear, from sums over records.

Each is a function of sums that clients can add up, so that federated and pooled fits are the same program: events and
records at risk at each time for curves and tests, sums over risk sets for Cox regression (Lu et al., WebDISCO, JAMIA
2015), sums of exposure in bins for its piecewise-exponential form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import chdtrc

from .records import Records

Ties = Literal["efron", "breslow"]
# Newton steps; what one must promise to gain, and what rounding may take, as shares of the log likelihood.
LIMIT = 50
HALVINGS = 40
TOLERANCE = 1e-20
ROUNDING = 1e-14
# Share of the largest eigenvalue of the information at the start below which a direction is not told.
SINGULAR = 1e-11


@dataclass(frozen=True, eq=False)
class EventTable:
    """What happened at each of U times.

    times : (U,) increasing
    at_risk, events : (U,) records followed to this time or longer, and events at it
    """

    times: np.ndarray
    at_risk: np.ndarray
    events: np.ndarray

    def __add__(self, other: EventTable) -> EventTable:
        """The table of two clients, at the same times."""
        return EventTable(self.times, self.at_risk + other.at_risk, self.events + other.events)


def event_times(records: Records) -> np.ndarray:
    """Distinct times of events (U,), increasing."""
    return np.unique(records.times[records.events])


def event_table(records: Records, times: np.ndarray) -> EventTable:
    """Records at risk and events at given times (U,), increasing, which hold all event times of the records."""
    at_risk = len(records) - np.searchsorted(np.sort(records.times), times, side="left")
    events = np.bincount(np.searchsorted(times, records.times[records.events]), minlength=len(times))
    return EventTable(times, at_risk, events)


def events_of(records: Records) -> EventTable:
    """The table of records at their own event times."""
    return event_table(records, event_times(records))


@dataclass(frozen=True, eq=False)
class StepCurve:
    """A curve that jumps at times (U,) to values (U,); before the first it has the value ``start``."""

    times: np.ndarray
    values: np.ndarray
    start: float

    def at(self, times: np.ndarray) -> np.ndarray:
        """Its values at given times, after a jump there."""
        return np.concatenate([[self.start], self.values])[np.searchsorted(self.times, times, side="right")]

    def restricted_mean(self, end: float) -> float:
        """Its integral from 0 to ``end``: of a survival curve, the restricted mean survival time."""
        jumps = self.times[self.times < end]
        widths = np.diff(np.concatenate([[0.0], jumps, [end]]))
        return float(widths @ np.concatenate([[self.start], self.values[: len(jumps)]]))

    @property
    def median(self) -> float | None:
        """The first time at which survival is one half or less; None where more survive."""
        below = np.flatnonzero(self.values <= 0.5)
        return float(self.times[below[0]]) if len(below) else None


def _hazards(table: EventTable) -> np.ndarray:
    """Events over records at risk (U,); 0 once nobody is at risk, as in one of several groups."""
    return table.events / np.maximum(table.at_risk, 1)


def kaplan_meier(table: EventTable) -> StepCurve:
    """Survival (Kaplan and Meier 1958)."""
    return StepCurve(table.times, np.cumprod(1 - _hazards(table)), 1.0)


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


@dataclass(frozen=True, eq=False)
class WeightedSums:
    """Sums of w, w z and w z z' over some records at each of U times (or bins), with w = exp(z'b) times an exposure.

    zeroth : (U,); first : (U, p); second : (U, p, p)
    """

    zeroth: np.ndarray
    first: np.ndarray
    second: np.ndarray


def _powers(records: Records, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights w (n,), and w (1, z, z z' flattened) as one matrix (n, 1 + p + p p)."""
    z = records.covariates
    with np.errstate(over="ignore"):
        weights = np.exp(z @ coefficients)
    squares = (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)
    return weights, weights[:, None] * np.column_stack([np.ones(len(z)), z, squares])


def _three_parts(sums: np.ndarray, p: int) -> WeightedSums:
    """The three parts of sums (U, 1 + p + p p)."""
    return WeightedSums(sums[:, 0], sums[:, 1 : p + 1], sums[:, p + 1 :].reshape(len(sums), p, p))


def risk_sums(records: Records, times: np.ndarray, coefficients: np.ndarray) -> WeightedSums:
    """Sums over the records that are followed to each time (U,) or longer."""
    order = np.argsort(records.times, kind="stable")
    powers = _powers(records, coefficients)[1][order]
    after = np.concatenate([np.cumsum(powers[::-1], axis=0)[::-1], np.zeros((1, powers.shape[1]))])
    return _three_parts(after[np.searchsorted(records.times[order], times, side="left")], len(coefficients))


def tied_sums(records: Records, times: np.ndarray, coefficients: np.ndarray) -> WeightedSums:
    """Sums over the records whose event came at each time (U,)."""
    powers = _powers(records, coefficients)[1][records.events]
    sums = np.zeros((len(times), powers.shape[1]))
    np.add.at(sums, np.searchsorted(times, records.times[records.events]), powers)
    return _three_parts(sums, len(coefficients))


def exposure_times(times: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Time (n, B) that each record is followed within each of the bins between edges (B + 1,)."""
    return np.clip(times[:, None] - edges[:-1], 0, np.diff(edges))


def exposure_sums(records: Records, edges: np.ndarray, coefficients: np.ndarray) -> WeightedSums:
    """Sums over records weighted by their exposure in each of the bins between edges (B + 1,)."""
    return _three_parts(exposure_times(records.times, edges).T @ _powers(records, coefficients)[1], len(coefficients))


def bins_of(times: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Bin (n,) of each time in (0, last edge]: an edge belongs to the bin that it closes, time 0 to the first."""
    return np.maximum(np.searchsorted(edges, times, side="left") - 1, 0)


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Logarithm of a partial likelihood with its gradient (p,) and information (p, p)."""

    value: float
    gradient: np.ndarray
    information: np.ndarray


def partial_likelihood(
    coefficients: np.ndarray,
    events: np.ndarray,
    covariate_sum: np.ndarray,
    at_risk: WeightedSums,
    tied: WeightedSums | None = None,
) -> Likelihood:
    """Cox's partial likelihood from sums over all clients.

    Parameters
    ----------
    coefficients : (p,)
    events : (U,) events at each time
    covariate_sum : (p,) of the covariates of all events
    at_risk : sums over the risk set of each time; of exposure_times in bins, for the piecewise-exponential model, whose
        baseline is profiled out
    tied : sums over the events at each time: ties by Efron (1977); None: by Breslow (1974)
    """
    counts = events.astype(int)
    rows = np.repeat(np.arange(len(counts)), counts)
    zeroth, first, second = at_risk.zeroth[rows], at_risk.first[rows], at_risk.second[rows]
    if tied is not None:
        before = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        share = before / counts[rows]
        zeroth = zeroth - share * tied.zeroth[rows]
        first = first - share[:, None] * tied.first[rows]
        second = second - share[:, None, None] * tied.second[rows]
    # Coefficients that run off leave no finite sums: whoever maximises looks at what comes out.
    with np.errstate(all="ignore"):
        means = first / zeroth[:, None]
        information = (second / zeroth[:, None, None]).sum(axis=0) - means.T @ means
        value = float(covariate_sum @ coefficients - np.log(zeroth).sum())
    return Likelihood(value, covariate_sum - means.sum(axis=0), information)


@dataclass(frozen=True, eq=False)
class CoxFit:
    """Log hazard ratios (p,), their covariance (p, p), the log likelihood, and how many steps it took."""

    coefficients: np.ndarray
    covariance: np.ndarray
    likelihood: float
    steps: int

    @property
    def standard_errors(self) -> np.ndarray:
        """Of the coefficients (p,)."""
        return np.sqrt(np.diag(self.covariance))


def maximise(likelihood: Callable[[np.ndarray], Likelihood], p: int) -> CoxFit:
    """Newton's method with halved steps from 0.

    Raises
    ------
    ValueError
        Where there is no maximum: a covariate is constant, a combination of others, or separates the events.
    """
    coefficients = np.zeros(p)
    at = first = likelihood(coefficients)
    for steps in range(LIMIT):
        if not _is_determined(at, first):
            break
        step = np.linalg.solve(at.information, at.gradient)
        gain = float(step @ at.gradient)
        if gain <= TOLERANCE * max(1.0, abs(at.value)):
            return CoxFit(coefficients, np.linalg.inv(at.information), at.value, steps)
        for _ in range(HALVINGS):
            trial = likelihood(coefficients + step)
            if trial.value >= at.value - ROUNDING * max(1.0, abs(at.value)):
                break
            step = step / 2
        coefficients, at = coefficients + step, trial
    raise ValueError(
        "the partial likelihood has no maximum: a covariate is constant, a combination of others, or tells the events "
        "apart; leave it out."
    )


def _is_determined(at: Likelihood, first: Likelihood) -> bool:
    """Whether the information tells all coefficients, and has not died away since the start, as where they run off."""
    if not (np.isfinite(at.value) and np.isfinite(at.information).all()):
        return False
    own, start = np.linalg.eigvalsh(at.information), np.linalg.eigvalsh(first.information)
    return bool(start[0] > SINGULAR * start[-1] > 0 and own[0] > SINGULAR * start[-1])


def cox(records: Records, ties: Ties = "efron") -> CoxFit:
    """Cox regression of all records together (Cox 1972)."""
    times = event_times(records)
    events, total = event_table(records, times).events, records.covariates[records.events].sum(axis=0)

    def likelihood(coefficients: np.ndarray) -> Likelihood:
        tied = tied_sums(records, times, coefficients) if ties == "efron" else None
        return partial_likelihood(coefficients, events, total, risk_sums(records, times, coefficients), tied)

    return maximise(likelihood, records.covariates.shape[1])
