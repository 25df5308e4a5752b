"""Follow-up times of a proportional-hazards model at the party that holds them: what of them an evaluation needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...alignment.rows import vector_of
from ...federation.parties import Party
from ...models.follow_up.partial_likelihood import (
    Likelihood,
    Ties,
    concordant_pairs,
    event_times,
    martingale_residuals,
    partial_likelihood,
    risk_sums,
    tied_sums,
)


@dataclass(frozen=True, eq=False)
class StratumRecords:
    """Records of a stratum: their places, times (m,), events (m,), and covariates (m, p)."""

    places: np.ndarray
    times: np.ndarray
    events: np.ndarray
    covariates: np.ndarray


@dataclass(frozen=True, eq=False)
class FollowUp:
    """Times (n,), events (n,) bool, strata (n,) numbers, and how tied events are counted.

    shift : (n,) the offset, 0 where there is none
    """

    times: np.ndarray
    events: np.ndarray
    strata: np.ndarray
    ties: Ties
    shift: np.ndarray

    def parts(self, covariates: np.ndarray) -> Iterator[StratumRecords]:
        """The records of every stratum with covariates (n, p), the linear predictor last."""
        for stratum in np.unique(self.strata):
            places = np.flatnonzero(self.strata == stratum)
            yield StratumRecords(places, self.times[places], self.events[places], covariates[places])

    @property
    def absent(self) -> np.ndarray:
        """Numbers of the records without weight: none, each counts once."""
        return np.empty(0, dtype=int)

    @np.errstate(over="ignore", invalid="ignore")
    def likelihoods(self, eta: np.ndarray, *columns: np.ndarray) -> list[Likelihood]:
        """The log partial likelihood of each stratum at linear predictors (n,), with derivatives by columns, eta last.

        columns : (n, p) of which eta is a sum; none where derivatives are not read
        """
        terms = list[Likelihood]()
        for part in self.parts(np.column_stack([*columns, eta])):
            times, at_eta = event_times(part), np.eye(part.covariates.shape[1])[-1]
            events = np.bincount(np.searchsorted(times, part.times[part.events]), minlength=len(times))
            total = part.covariates[part.events].sum(axis=0)
            tied = tied_sums(part, times, at_eta) if self.ties == "efron" else None
            terms.append(partial_likelihood(at_eta, events, total, risk_sums(part, times, at_eta), tied))
        return terms

    def deviance(self, eta: np.ndarray) -> float:
        """Minus twice the log partial likelihood at linear predictors (n,)."""
        return -2 * sum((term.value for term in self.likelihoods(eta)), 0.0)

    def information(self, eta: np.ndarray, X: np.ndarray) -> np.ndarray:
        """(p, p) information about coefficients of columns X (n, p) at linear predictors (n,)."""
        return np.sum([term.information[:-1, :-1] for term in self.likelihoods(eta, X)], axis=0)

    def residuals(self, eta: np.ndarray) -> np.ndarray:
        """(n,) martingale residuals, the score of every record."""
        u = np.empty(len(eta))
        for part in self.parts(eta[:, None]):
            u[part.places] = martingale_residuals(part, self.ties)[0]
        return u

    def baseline(self, eta: np.ndarray) -> dict[str, np.ndarray]:
        """Times of events and cumulated hazard of a predictor of 0, (2, U), by stratum."""
        return {
            f"{self.strata[part.places[0]]:g}": np.stack(martingale_residuals(part, self.ties)[1:])
            for part in self.parts(eta[:, None])
        }

    def concordance(self, eta: np.ndarray) -> float:
        """Share of comparable pairs within strata that predictors order as the times; nan without any."""
        concordant, comparable = np.sum([concordant_pairs(part) for part in self.parts(eta[:, None])], axis=0)
        return float(concordant / comparable) if comparable else float("nan")


def local_follow_up(active: Party, rows: np.ndarray, ties: Ties | None) -> FollowUp:
    """The follow-up of the used records, after a look at it; ties by Efron where nothing else is asked for."""
    return follow_up_of(active.block, rows, ties or "efron", active.name)


def follow_up_of(block: Mapping[str, np.ndarray], rows: np.ndarray, ties: Ties, party: str) -> FollowUp:
    """The follow-up in a block; ValueError names what cannot be fitted."""
    for name in ("weights", "trials"):
        if name in block:
            raise ValueError(f"{name} of {party!r} with family 'cox': records count once; leave {name} out.")
    for name, remedy in (("y", "the follow-up times"), ("status", "1 where an event ended the follow-up, else 0")):
        if name not in block:
            raise ValueError(f"{party!r} is the active party and holds no {name}: give {remedy}.")
    times, status = vector_of(block, rows, "y", party), vector_of(block, rows, "status", party)
    shift = vector_of(block, rows, "offset", party) if "offset" in block else np.zeros(len(times))
    strata = vector_of(block, rows, "strata", party) if "strata" in block else np.zeros(len(times))
    wrong = np.flatnonzero(~(np.isfinite(times) & (times >= 0)))
    if len(wrong):
        raise ValueError(f"y of {party!r} has the time {times[wrong[0]]:g}: give finite times of at least 0.")
    wrong = np.flatnonzero((status != 0) & (status != 1))
    if len(wrong):
        raise ValueError(f"status of {party!r} has the value {status[wrong[0]]:g}: 1 is an event, 0 is censored.")
    if not np.isfinite(shift).all():
        raise ValueError(f"offset of {party!r} has a value that is not finite: fill or drop incomplete records first.")
    events = status == 1
    if not events.any():
        raise ValueError(f"status of {party!r} has no event among {len(times)} records: nothing can be estimated.")
    for stratum in np.unique(strata):
        if not events[strata == stratum].any():
            raise ValueError(
                f"stratum {stratum:g} of {party!r} has no event: leave its records out, or join it with another."
            )
    return FollowUp(times, events, strata, ties, shift)
