"""Small cases on which methods of the study are tried, and neighbours of their data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

import numpy as np

from ...experiment.trial import Trial
from ...models.criteria import CLASSES
from .data import LinearData


def neighbours(
    data: LinearData, settings: object, unit: str, count: int, rng: np.random.Generator
) -> Iterator[tuple[str, LinearData]]:
    """One training record is replaced: its label by the other one, its features by an end of their range, or both."""
    for number, i in enumerate(rng.permutation(np.flatnonzero(data.train))[:count]):
        X, y = data.X.copy(), data.y.copy()
        if unit != "features":
            y[i] = 1 - y[i] if data.criterion == CLASSES else -data.label_bound
        if unit != "label":
            X[i] = data.bounds * (-1) ** number
        yield f"record {i}", replace(data, X=X, y=y)


TRIALS = {"generated": Trial("generated", {"n": 120, "d": 4}, (2, 3), 1.0, neighbours, attrgetter("coefficients"))}
