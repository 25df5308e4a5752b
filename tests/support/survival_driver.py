"""Runs of survival protocols on drawn records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partywise.federation.folds import Fold, Spec
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from partywise.federation.secure_streams import addresses_of
from partywise.methods.survival.exact import (
    CoxFit,
    EventTable,
    begin_ascent,
    bins_of,
    exposure_sums,
    kaplan_meier,
    maximise,
)
from partywise.methods.survival.model import SurvivalEstimate, SurvivalFacts
from partywise.methods.survival.models import Weibull
from partywise.methods.survival.records import SurvivalRecords, pool, scale
from partywise.models.follow_up.partial_likelihood import Likelihood, partial_likelihood


@dataclass(frozen=True)
class Constants:
    """Constants of a study."""

    delta: float = 1e-5
    unit: str = "row"


def scaled(weibull: Weibull, n: int, seed: int) -> SurvivalRecords:
    """Records of a generator, with scaled covariates."""
    drawn = weibull.draw(n, np.random.default_rng(seed))
    p = drawn.covariates.shape[1]
    covariates = scale(drawn.covariates, weibull.centre, weibull.half_width, np.sqrt(p))
    return SurvivalRecords(drawn.times, drawn.events, covariates, drawn.groups)


def clients_of(records: SurvivalRecords, count: int) -> list[Party]:
    """The records in neighbouring blocks, dealt to so many clients."""
    parts = np.array_split(np.arange(len(records)), count)
    return [
        Party(
            f"client {number}",
            "client",
            {
                "times": records.times[rows],
                "events": records.events[rows],
                "covariates": records.covariates[rows],
                "groups": records.groups[rows],
            },
        )
        for number, rows in enumerate(parts, 1)
    ]


@dataclass(frozen=True)
class Done:
    """What a run left behind."""

    estimate: SurvivalEstimate
    run: Run

    def total(self, delta: float = 1e-5) -> Any:
        """What the worst coalition learnt."""
        return self.run.channel.ledger.worst_total(self.run.names, "row", delta)

    def bytes_of(self, name: str) -> list[int]:
        """Sizes of the messages whose names begin so."""
        return [row["bytes"] for row in self.run.channel.transcript() if row["name"].startswith(name)]


def run_of(
    records: SurvivalRecords,
    options: Any,
    clients: int = 3,
    epsilon: float = np.inf,
    rng: Any = 1,
    horizon: float = 2.0,
    **kept: Any,
) -> Run:
    """A run on the records, which has not begun."""
    parties = clients_of(records, clients)
    p = records.covariates.shape[1]
    facts = SurvivalFacts(
        records=len(records),
        natural_sizes=tuple(len(party.block["times"]) for party in parties),
        horizon=horizon,
        covariates=p,
        groups=int(records.groups.max(initial=0)) + 1,
        radius=float(np.sqrt(max(p, 1))),
    )
    constants = Constants()
    places = ("server", *getattr(options, "places", ()))
    spec = Spec(options, constants, constants, facts)
    fold = Fold(np.zeros(len(records), dtype=int), 0, 1)
    return Run(parties, epsilon=epsilon, fold=fold, rng_for=addresses_of(rng), spec=spec, extra=places, **kept)


def fit(program: Any, records: SurvivalRecords, options: Any, *given: Any, **named: Any) -> Done:
    """A run of a protocol on the records."""
    run = run_of(records, options, *given, **named)
    return Done(simulate(program, run), run)


def greenwood(table: EventTable) -> np.ndarray:
    """Variances (U,) of the Kaplan-Meier curve by Greenwood's formula; 0 once all have had the event."""
    left = table.at_risk - table.events
    sums = np.cumsum(np.divide(table.events, table.at_risk * left, out=np.zeros(len(left)), where=left > 0))
    return kaplan_meier(table).values ** 2 * sums


def piecewise_exponential(records: SurvivalRecords, edges: np.ndarray) -> tuple[CoxFit, np.ndarray]:
    """Cox's model with a hazard that is constant within bins (Friedman 1982): the fit, and log hazards (B,).

    Records are followed to the last edge. A bin without events has the log hazard -inf.
    """
    seen = records.until(float(edges[-1]))
    events = np.bincount(bins_of(seen.times[seen.events], edges), minlength=len(edges) - 1)
    total = seen.covariates[seen.events].sum(axis=0)

    def likelihood(coefficients: np.ndarray) -> Likelihood:
        return partial_likelihood(coefficients, events, total, exposure_sums(seen, edges, coefficients))

    fit = maximise(likelihood, begin_ascent(seen.covariates.shape[1], events))
    exposure = exposure_sums(seen, edges, fit.coefficients).zeroth
    with np.errstate(divide="ignore"):
        return fit, np.log(events) - np.log(exposure)


__all__ = ["Constants", "Done", "clients_of", "fit", "greenwood", "piecewise_exponential", "pool", "run_of", "scaled"]
