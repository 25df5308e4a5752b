"""Small cases on which methods of the study are tried, and neighbours of their data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...experiment.trial import Trial
from ...methods.survival.model import SurvivalEstimate
from .data import SurvivalData
from .settings import SurvivalGeneratedSettings

# Where a neighbour's record may end: at a public edge, at once, at the horizon, far beyond it.
EXITS = (0.0, 0.25, 1.0, 2.0, 1e300)


def neighbours(
    data: SurvivalData, settings: SurvivalGeneratedSettings, unit: str, count: int, rng: np.random.Generator
) -> Iterator[tuple[str, SurvivalData]]:
    """One record is replaced: by one that ends at an extreme time, with covariates in a corner."""
    for number in range(count):
        place, exit_ = int(rng.integers(len(data.times))), EXITS[number % len(EXITS)]
        times, events, z = data.times.copy(), data.events.copy(), data.covariates.copy()
        times[place], events[place] = exit_, number % 2 == 0
        z[place] = rng.choice([-1.0, 1.0], z.shape[1]) if number % 3 else 0.0
        changed = replace(data, times=times, events=events, covariates=z)
        yield f"a record that ends at {exit_:g}", changed


def answer(estimate: SurvivalEstimate) -> np.ndarray:
    """Curves at some times and log hazard ratios, in one array."""
    times = np.linspace(0.1, 1.9, 10)
    curves = [curve.at(times) for curve in estimate.curves]
    return np.concatenate([*curves, np.zeros(0) if estimate.coefficients is None else estimate.coefficients])


TRIALS = {
    "covariates": Trial("generated", {"n": 300, "effects": "moderate"}, (3, 1), 1.0, neighbours, answer),
}
