"""Cox's partial likelihood from sums over risk sets, and what a record adds to its score: each formula once.

Clients that hold the rows add up the sums (Lu et al., WebDISCO, JAMIA 2015); a party that holds times and status alone
needs linear predictors instead of covariates: of one covariate, the predictor, at coefficient 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

Ties = Literal["efron", "breslow"]


class FollowUpRecords(Protocol):
    """Records that are followed: times (n,), whether each ended with an event (n,), covariates (n, p)."""

    @property
    def times(self) -> np.ndarray:
        """(n,) at least 0."""

    @property
    def events(self) -> np.ndarray:
        """(n,) bool."""

    @property
    def covariates(self) -> np.ndarray:
        """(n, p)."""


def event_times(records: FollowUpRecords) -> np.ndarray:
    """Distinct times of events (U,), increasing."""
    return np.unique(records.times[records.events])


@dataclass(frozen=True, eq=False)
class WeightedSums:
    """Sums of w, w z and w z z' over some records at each of U times (or bins), with w = exp(z'b) times an exposure.

    zeroth : (U,); first : (U, p); second : (U, p, p)
    """

    zeroth: np.ndarray
    first: np.ndarray
    second: np.ndarray

    @property
    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The three sums, in the order of the fields."""
        return self.zeroth, self.first, self.second


# Trial coefficients may leave no finite sums: the steps look at what comes out.
@np.errstate(over="ignore", invalid="ignore")
def powers_of(records: FollowUpRecords, coefficients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights w (n,), and w (1, z, z z' flattened) as one matrix (n, 1 + p + p p)."""
    z = records.covariates
    weights = np.exp(z @ coefficients)
    squares = (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)
    return weights, weights[:, None] * np.column_stack([np.ones(len(z)), z, squares])


def three_parts(sums: np.ndarray, p: int) -> WeightedSums:
    """The three parts of sums (U, 1 + p + p p)."""
    return WeightedSums(sums[:, 0], sums[:, 1 : p + 1], sums[:, p + 1 :].reshape(len(sums), p, p))


@np.errstate(over="ignore", invalid="ignore")
def risk_sums(records: FollowUpRecords, times: np.ndarray, coefficients: np.ndarray) -> WeightedSums:
    """Sums over the records that are followed to each time (U,) or longer."""
    order = np.argsort(records.times, kind="stable")
    powers = powers_of(records, coefficients)[1][order]
    after = np.concatenate([np.cumsum(powers[::-1], axis=0)[::-1], np.zeros((1, powers.shape[1]))])
    return three_parts(after[np.searchsorted(records.times[order], times, side="left")], len(coefficients))


@np.errstate(over="ignore", invalid="ignore")
def tied_sums(records: FollowUpRecords, times: np.ndarray, coefficients: np.ndarray) -> WeightedSums:
    """Sums over the records whose event came at each time (U,)."""
    powers = powers_of(records, coefficients)[1][records.events]
    sums = np.zeros((len(times), powers.shape[1]))
    np.add.at(sums, np.searchsorted(times, records.times[records.events]), powers)
    return three_parts(sums, len(coefficients))


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
    """Cox's partial likelihood at coefficients (p,) from sums over all clients.

    events : (U,) events at each time; covariate_sum : (p,) of the covariates of all events
    at_risk : sums over the risk set of each time; of exposure_times in bins, for the piecewise-exponential model, whose
        baseline is profiled out
    tied : sums over the events at each time: ties by Efron (1977); None: by Breslow (1974)
    """
    rows, share = event_rows(events)
    p = len(coefficients)
    # Coefficients that run off leave no finite sums, or none above 0: whoever maximises looks at what comes out.
    nowhere = Likelihood(np.nan, np.full(p, np.nan), np.full((p, p), np.nan))
    if not all(np.isfinite(part[rows]).all() for sums in (at_risk, tied) if sums is not None for part in sums.parts):
        return nowhere
    zeroth, first, second = (part[rows] for part in at_risk.parts)
    if tied is not None:
        zeroth = zeroth - share * tied.zeroth[rows]
        first = first - share[:, None] * tied.first[rows]
        second = second - share[:, None, None] * tied.second[rows]
    if not np.all(zeroth > 0):
        return nowhere
    means = first / zeroth[:, None]
    information = (second / zeroth[:, None, None]).sum(axis=0) - means.T @ means
    value = float(covariate_sum @ coefficients - np.log(zeroth).sum())
    return Likelihood(value, covariate_sum - means.sum(axis=0), information)


def event_rows(events: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Place of the time of every event, and the share of its ties that came before it, from counts (U,) by time."""
    counts = events.astype(int)
    rows = np.repeat(np.arange(len(counts)), counts)
    before = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, before / counts[rows]


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def martingale_residuals(records: FollowUpRecords, ties: Ties) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Residuals u (n,) of records whose one covariate is their linear predictor, and the cumulated hazard by time.

    u_i, the derivative of the log partial likelihood by that predictor, is the event less the hazard that the record
    has met, exp(eta_i) H(t_i); by Efron an event meets a share of the hazard of its own time.

    Returns
    -------
    residuals (n,), times (U,) of events, cumulated baseline hazard (U,) at these
    """
    times, unit = event_times(records), np.ones(1)
    places = np.searchsorted(times, records.times[records.events])
    rows, share = event_rows(np.bincount(places, minlength=len(times)))
    at_risk = risk_sums(records, times, unit).zeroth[rows]
    if ties == "efron":
        at_risk = at_risk - share * tied_sums(records, times, unit).zeroth[rows]
    hazard = np.bincount(rows, 1 / at_risk, len(times))
    cumulated = np.cumsum(hazard)
    met = np.concatenate([np.zeros(1), cumulated])[np.searchsorted(times, records.times, side="right")]
    if ties == "efron":
        met[records.events] -= np.bincount(rows, share / at_risk, len(times))[places]
    return records.events - np.exp(records.covariates[:, 0]) * met, times, cumulated


def concordant_pairs(records: FollowUpRecords) -> tuple[float, float]:
    """Pairs that the predictor, the one covariate, orders as the times, ties counted half; and all comparable pairs.

    The earlier record of a pair has an event; a record that is censored at that time is the later one (Harrell).
    """
    risk, concordant, comparable = records.covariates[:, 0], 0.0, 0.0
    for time in event_times(records):
        cases = np.sort(risk[(records.times == time) & records.events])
        later = risk[(records.times > time) | ((records.times == time) & ~records.events)]
        below, above = np.searchsorted(cases, later, side="left"), np.searchsorted(cases, later, side="right")
        concordant += float(np.sum(len(cases) - above + (above - below) / 2))
        comparable += float(len(cases) * len(later))
    return concordant, comparable
