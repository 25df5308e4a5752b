"""Small cases on which methods of the study are tried, and neighbours of their data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import attrgetter

import numpy as np

from ...audits.contract import changed_records
from ...experiment.trial import Trial
from .data import FilterData
from .settings import FilterGeneratedSettings


def neighbours(
    data: FilterData, settings: FilterGeneratedSettings, unit: str, count: int, rng: np.random.Generator
) -> Iterator[tuple[str, FilterData]]:
    """One training record is replaced."""
    n = data.n_train
    X, y = data.X[:n], data.y[:n].astype(float)
    for name, features, labels in changed_records(X, y, unit, count, rng, binary=True):
        changed = replace(
            data,
            X=np.concatenate([features, data.X[n:]]),
            y=np.concatenate([labels > 0.5, data.y[n:]]).astype(np.uint8),
        )
        yield name, changed


TRIALS = {"small": Trial("generated", {"clients": 24, "rows": 8}, (3, 1), 1.0, neighbours, attrgetter("coefficients"))}
