"""What the study measures: each number with its meaning, heading and direction."""

from __future__ import annotations

from dataclasses import dataclass

from partywise.experiment.measures import Measures, measure


@dataclass(frozen=True, kw_only=True)
class MeanMeasures(Measures):
    error: float | None = measure(
        "distance of the estimate from the mean of the case", heading="error of the mean", better="lower", summary=True
    )
